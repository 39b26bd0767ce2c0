"""``airperf link``: what links can be driven by, and what they did in a form that others can be driven by.

Reference: docs/models/trace-link.md. Leaves out links that are described by a scenario's keys alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.table import Table

from airperf.analysis.deliveries import opportunities
from airperf.cli.output import add_row, number, print_json, say, show
from airperf.errors import InputError
from airperf.records import open_run
from airperf.scenario import describe_trace, export_trace

PERCENTILES = (5, 25, 50, 75, 95)
MOST_MS = 31 * 86_400_000
"""No trace is longer."""


@click.group("link")
def command() -> None:
    """Link traces: what is in them, and traces for Mahimahi."""


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


@command.command("export")
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--way", type=click.Choice(("down", "up")), default="down", help="Of a run: which direction.")
@click.option("--seconds", type=click.FloatRange(min=0.001), help="Of a series of rates: how much at most.")
def export(source: Path, out: Path, way: str, seconds: float | None) -> None:
    """Write SOURCE to OUT as Mahimahi's mm-link reads it.

    SOURCE is a series of rates or a run directory, of which the schedule is what the link delivered.
    """
    if source.is_dir():
        text = _of_run(source, way)
    else:
        text = export_trace(source, MOST_MS if seconds is None else round(seconds * 1000))
    try:
        out.write_text(text, encoding="ascii")
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror or error}") from None
    say(f"{text.count(chr(10))} opportunities written to {out}")


def _of_run(folder: Path, way: str) -> str:
    run = open_run(folder)
    server = next(station.id for station in run.manifest.stations if station.role == "server")
    if not run.has("packets"):
        raise InputError(f"{folder}: has no table of packets; a run with record.level=full has")
    times = opportunities(run.table("packets"), server, up=way == "up", elapsed_s=run.manifest.elapsed_s)
    if not times:
        raise InputError(f"{folder}: delivered less than 1500 bytes {way}")
    return "".join(f"{ms}\n" for ms in times)
