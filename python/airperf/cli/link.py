"""``airperf link``: what links can be driven by.

Reference: docs/models/trace-link.md. Leaves out links that are described by a scenario's keys alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.table import Table

from airperf.cli.output import add_row, number, print_json, show
from airperf.scenario import describe_trace

PERCENTILES = (5, 25, 50, 75, 95)


@click.group("link")
def command() -> None:
    """Link traces: what is in them."""


@command.command("show")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def show_traces(files: tuple[Path, ...], as_json: bool) -> None:
    """Say how long the traces FILES last, how much they carry, and their longest gap."""
    traces = [describe_trace(path) for path in files]
    if as_json:
        print_json({"schema": 1, "traces": traces})
        return
    table = Table(title="link traces; rates in Mbit/s, percentiles of whole seconds")
    table.add_column("file", overflow="fold")
    percents = [f"{percent}%" for percent in PERCENTILES]
    for title in ("form", "entries", "seconds", "mean", *percents, "longest gap, s"):
        table.add_column(title, justify="right")
    for trace in traces:
        add_row(table, *_cells(trace))
    show(table)


def _cells(trace: dict[str, Any]) -> list[str]:
    percentiles = trace["percentiles_bps"]
    rates = [trace["mean_bps"], *(percentiles[f"p{percent}"] for percent in PERCENTILES)]
    return [
        trace["file"],
        trace["form"],
        str(trace["entries"]),
        number(trace["duration_s"]),
        *(number(rate / 1e6) for rate in rates),
        number(trace["longest_gap_s"]),
    ]
