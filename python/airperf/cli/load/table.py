"""What a load came to, for people: rates, times beside each other, errors, and whether to believe it.

Model: response time (from due) above service time (from sent): where they part, requests waited before they
were sent, which a closed loop would hide. Leaves out httperf's layout.
"""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

from airperf.analysis.bisection import Knee
from airperf.cli.output import add_row, number
from airperf.files import printable
from airperf.testbed.load import CARRIED, ONCE, Plan, Result

_TIMES = (
    ("response_ms", "response, from due"),
    ("service_ms", "service, from sent"),
    ("first_byte_ms", "first byte, from sent"),
    ("connect_ms", "connect"),
    ("connection_ms", "connection"),
    ("session_ms", "session"),
    ("page_ms", "page, from due"),
)
_LABEL, _NUMBER = 27, 7
_SPREAD = ("mean", "p50", "p90", "p99", "max")
_LOCAL = {
    "fd": "descriptors",
    "file_table": "file table",
    "port": "ports",
    "limit": "--concurrency",
    "other": "memory, buffers",
}


def heading(title: str, plan: Plan, *, rate: bool = True) -> str:
    """What was done, in one line."""
    return f"{printable(title)}: {_about(plan, rate=rate)}"


def times_table(result: Result) -> Table:
    """Every time measured, the schedule's error below."""
    v = result.values
    table = Table()
    table.add_column("time", min_width=_LABEL)
    for column in ("mean", "50%", "90%", "99%", "max"):
        table.add_column(column, justify="right", min_width=_NUMBER)
    for key, label in _TIMES:
        if v.get(key) and v[key]["count"]:
            add_row(table, f"{label} [ms]", *(number(v[key][part]) for part in _SPREAD))
    late = v["schedule_error_us"]
    if late["count"]:
        table.add_section()
        add_row(table, "opened after due [µs]", *(number(late[part]) for part in _SPREAD))
    return table


def counts_table(plan: Plan, result: Result) -> Table:
    """Rates, counts, errors, and what it cost."""
    v = result.values
    table = Table(show_header=False)
    table.add_column("what", min_width=_LABEL)
    table.add_column("value", min_width=5 * (_NUMBER + 3) - 3)
    begun = "sessions" if plan.sessions or plan.users else "connections"
    opened, most = v["connections"]["opened"], v["connections"]["most_concurrent"]
    add_row(
        table, f"{begun} per second", f"offered {_rate(v['offered_cps'])}, opened {_rate(v['opened_cps'])}"
    )
    add_row(
        table, "exchanges per second", f"offered {_rate(v['offered_rps'])}, carried {_rate(v['carried_rps'])}"
    )
    table.add_section()
    add_row(table, "connections", f"{opened} opened in {v['elapsed_s']:.3g} s, at most {most} at once")
    unfinished = f", {v['unfinished']} unfinished" if v["unfinished"] else ""
    add_row(table, "exchanges", f"{v['sent']} sent, {v['completed']} completed{unfinished}")
    if v.get("pages"):
        add_row(table, "pages", _listed({key.replace("_", " "): n for key, n in v["pages"].items()}))
    add_row(table, "errors by phase", _listed(v["errors"]))
    if any(v["causes"].values()):
        add_row(table, "errors by cause", _listed(v["causes"]))
    local = {_LOCAL.get(key, key): count for key, count in v["local"].items()}
    add_row(table, "limits of this machine", _listed(local))
    add_row(table, "status", _listed(v["status"]))
    octets = v["bytes"]
    add_row(table, "octets", f"{octets['sent']:,} sent, {octets['received']:,} received")
    cpu = v["cpu"]
    add_row(
        table,
        "processor time",
        f"{cpu['user_s']:.2f} s user, {cpu['system_s']:.2f} s system, {cpu['share']:.0%} of one core",
    )
    return table


def verdict_line(result: Result) -> Text:
    """The verdict, in the colour that it deserves."""
    style = "bold green" if result.good else "bold red" if not result.values["valid"] else "bold yellow"
    return Text(printable(verdict(result)), style=style)


def verdict(result: Result) -> str:
    """Whether the figures are those of the loop that was asked for."""
    v = result.values
    if not v["valid"]:
        return f"invalid because {_reasons(v['why_invalid'])}"
    if result.limited:
        return f"generator-limited because {_reasons(v['why'])}"
    if result.interrupted:
        return "interrupted"
    if not v["open_loop"]:
        return "closed loop: every answer made room for the next request; times hide waiting"
    return "open loop kept"


def points_table(points: Mapping[int, Result]) -> Table:
    """One row for each rate: exchanges per second, times, and whether they were carried."""
    table = Table()
    for column in (
        "rate [/s]",
        "offered [/s]",
        "carried [/s]",
        "response [ms], mean | 99%",
        "service [ms]",
        "errors",
        "late 99% [µs]",
        "carried?",
    ):
        table.add_column(column, justify="right")
    for rate, result in points.items():
        v = result.values
        carried = "yes" if result.carried else "no"
        add_row(
            table,
            f"{rate / 1e6:g}",
            number(v["offered_rps"], 4),
            number(v["carried_rps"], 4),
            f"{number(v['response_ms']['mean'])} | {number(v['response_ms']['p99'])}",
            number(v["service_ms"]["mean"]),
            str(sum(v["errors"].values())),
            number(v["schedule_error_us"]["p99"]),
            carried if result.good else f"{carried} ({verdict(result).split()[0]})",
        )
    return table


def knee_line(knee: Knee | None, points: Mapping[int, Result]) -> str:
    """Where the knee is, or why that is not known."""
    if knee is None or (knee.low is None and knee.high is None):
        return "knee: not found; the search was interrupted"
    rule = f"(carried: at least {CARRIED:.0%} completed while offered)"
    if knee.low is None:
        return f"knee: below {knee.high / 1e6 if knee.high else 0:g}/s, the lowest rate tried {rule}"
    low = f"{knee.low / 1e6:g}/s"
    if knee.high is None:
        return f"knee: at least {low}, the highest rate tried {rule}"
    if not points[knee.high].good:
        why = verdict(points[knee.high])
        return f"knee: at least {low}; at {knee.high / 1e6:g}/s the run was {why}"
    return f"knee: between {low}, carried, and {knee.high / 1e6:g}/s, not carried {rule}"


def _about(plan: Plan, *, rate: bool = True) -> str:
    if plan.arrivals.process == ONCE:
        parts = ["people who come and stay"]
    elif plan.rate is None:
        parts = [f"{plan.concurrency} connections kept busy"]
    else:
        parts = [f"{plan.arrivals.process} {plan.rate:g}/s" if rate else plan.arrivals.process]
    if plan.duration_ns is not None:
        parts.append(f"{plan.duration_ns / 1e9:g} s")
    if len(plan.clients) > 1:
        parts.append(f"each of {len(plan.clients)} clients")
    if plan.sessions:
        parts.append(f"{len(plan.sessions)} session{'s' if len(plan.sessions) > 1 else ''} in turn")
    elif plan.users:
        parts.append("sessions drawn")
    elif plan.requests_per_connection > 1:
        parts.append(f"{plan.requests_per_connection} requests per connection")
    parts.append(f"seed {plan.seed}")
    return ", ".join(parts)


def _rate(value: float | None) -> str:
    return "—" if value is None else f"{value:.6g}"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count) or "none"


def _reasons(reasons: list[str]) -> str:
    return "; ".join(reasons)
