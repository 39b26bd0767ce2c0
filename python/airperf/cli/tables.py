"""Tables for people, on the terminal or in a file.

Leaves out the HTML report.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from airperf.analysis.scoreboard import Row
from airperf.cli.output import add_row, number
from airperf.experiment import Study
from airperf.files import printable
from airperf.records import Run


def summary_table(run: Run, values: Mapping[str, Any]) -> Table:
    """The summary for people."""
    manifest = run.manifest
    about = f"{manifest.testbed}, seed {manifest.seed}, {manifest.duration_s:g} s, n = 1"
    table = Table(title=f"{printable(manifest.name)} on {about}")
    table.add_column("measure")
    table.add_column("value", justify="right")
    add_row(table, "offered", f"{number(values['offered_rps'])} exchanges/s")
    add_row(table, "carried", f"{number(values['carried_rps'])} exchanges/s")
    add_row(table, "goodput (HTTP responses)", f"{number(values['goodput_bps'] / 1e6)} Mbit/s")
    for key, label in (("response_ms", "response time"), ("connection_ms", "connection on the air")):
        spread = values[key]
        add_row(
            table,
            f"{label}, mean | median | 99%",
            f"{number(spread['mean'])} | {number(spread['p50'])} | {number(spread['p99'])} ms",
        )
    if pages := values.get("page_ms"):
        spread = " | ".join(number(pages[name]) for name in ("mean", "p50", "p95", "p99"))
        add_row(table, "page load, mean | median | 95% | 99%", f"{spread} ms")
        ended = ", ".join(f"{name} {count}" for name, count in values["pages"].items() if count)
        add_row(table, "pages", ended or "none")
    seen = ", ".join(f"{phase} {count}" for phase, count in values["errors"].items() if count) or "none"
    add_row(table, "errors", seen)
    for station, queue in values["queues"].items():
        add_row(
            table,
            f"transmit queue of {station}, mean | max | drops",
            f"{number(queue['mean'])} | {queue['max']} | {queue['drops']}",
        )
    for flow in values.get("flows", {}).get("each", []):
        add_row(table, f"flow {flow['flow']}: {flow['kind']} {flow['station']} to {flow['to']}", _flow(flow))
    if streams := values.get("flows", {}).get("streams"):
        add_row(table, "streams playable", f"{streams['playable']} of {streams['offered']}")
    busy = sorted(values["airtime"].items(), key=lambda item: -item[1])
    whole = sum(values["airtime"].values()) or 1.0
    add_row(table, "airtime", ", ".join(f"{name} {seconds / whole:.1%}" for name, seconds in busy[:6]))
    if lag := values.get("lag_us"):
        add_row(
            table, "lag, median | 99% | max", f"{lag['p50']:.0f} | {lag['p99']:.0f} | {lag['max']:.0f} µs"
        )
    return table


def _flow(flow: Mapping[str, Any]) -> str:
    said = f"{number(flow['goodput_bps'] / 1e6)} Mbit/s"
    if flow["missing"] is not None:
        said += f", {flow['missing']:.2%} missing"
    if flow["delay_ms"] is not None:
        said += f", delay {number(flow['delay_ms']['p50'])} | {number(flow['delay_ms']['p99'])} ms"
    return said


def score_table(study: Study, rows: list[Row]) -> Table:
    """The scoreboard for people."""
    table = Table(title=printable(f"{study.name}: {study.title}"))
    table.add_column("row", no_wrap=True, min_width=26)
    table.add_column("what", overflow="fold")
    table.add_column("unit")
    table.add_column("published", justify="right")
    table.add_column("ours (95% interval; n)", justify="right")
    table.add_column("within?")
    for row in rows:
        target = row.target
        published = target.get("published_text") or number(target.get("published"))
        interval = row.ours
        ours = number(interval.mean)
        if interval.low is not None:
            ours += f" ({number(interval.low)} … {number(interval.high)}; {interval.n})"
        elif interval.n:
            ours += f" (n = {interval.n})"
        within = {True: "yes", False: "no", None: "—"}[row.within]
        add_row(
            table, str(target["id"]), str(target["what"]), str(target["unit"]), str(published), ours, within
        )
    return table


def emu_table(rows: list[dict[str, Any]]) -> Table:
    """Emulated beside simulated transactions/s."""
    table = Table(title="emulated (real Apache and httperf) against simulated, both with the kernel's TCP")
    for title in (
        "variant",
        "level",
        "offered, achieved /s",
        "emulated /s",
        "simulated /s",
        "difference",
        "limit",
        "within?",
        "lag p50 | p99 µs",
    ):
        table.add_column(title, justify="right")
    for row in rows:
        difference = "—" if row["difference"] is None else f"{row['difference']:+.1%}"
        limit = "—" if row["limit"] is None else f"±{row['limit']:.0%}"
        lag = "—" if row["lag_p50_us"] is None else f"{row['lag_p50_us']:.0f} | {row['lag_p99_us']:.0f}"
        within = {True: "yes", False: "no", None: "—"}[row["within"]]
        if row["limited"]:
            within += f" ({row['limited']} generator-limited)"
        if row["invalid"]:
            within += f" ({row['invalid']} invalid)"
        add_row(
            table,
            row["variant"],
            f"{row['factor']} {row['level']:g}",
            number(row["offered"], 4),
            f"{number(row['emu'], 4)} (n = {row['emu_n']})",
            f"{number(row['sim'], 4)} (n = {row['sim_n']})",
            difference,
            limit,
            within,
            lag,
        )
    return table


def agreement_table(rows: list[dict[str, Any]]) -> Table:
    """Emulated beside simulated values, as ``analysis.beside.agreements`` gives them."""
    table = Table(title="measured with real programs, beside the model")
    for title in ("what", "level", "measured", "modelled", "more", "within?"):
        table.add_column(title, justify="right")
    for row in rows:
        values = [f"{number(row[part], 3)} (n = {row[f'{part}_n']})" for part in ("emu", "sim")]
        difference = "—" if row["difference"] is None else f"{row['difference']:+.1%}"
        within = {True: "yes", False: "no", None: "—"}[row["within"]]
        add_row(table, row["row"], row["level"], *values, difference, within)
    return table
