"""A result in httperf's words: which of the engine's figures is which of httperf's.

Reference: httperf(1), OUTPUT; docs/reference/load.md, "The report of httperf". Loaded when there is
something to print: the table libraries come with it, too large beside a run. Leaves out the layout.
"""

from __future__ import annotations

import resource
import shlex
from collections.abc import Iterable

from airperf.records.formats.httperf import Figures, SessionFigures, report
from airperf.testbed.load import Plan, Result

_SAMPLE_S = 4.99
"""httperf knows whole samples of 5 s only."""
_LONGEST = 10_000
"""Replies of one session up to which the histogram goes."""
_NAMED = ("timeout", "tcp_timeout", "refused", "reset")
"""Causes that httperf counts by name: client-timo, socket-timo, connrefused, connreset."""


def httperf_text(line: str, result: Result, *, verbose: bool = False) -> str:
    """The report, with ``line`` as its first."""
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if verbose else None
    return report(line, figures(result), descriptors=descriptors)


def native_text(plan: Plan, result: Result) -> str:
    """The report of ``airperf load --format httperf``, whose first line is the nearest httperf command."""
    words = ["httperf", "--client=0/1", f"--server={plan.target.host}", f"--port={plan.target.port}"]
    words.append(f"--uri={plan.paths[0]}")
    if plan.rate:
        words.append(f"--rate={plan.rate * len(plan.clients):g}")
    opened = result.values["connections"]["opened"]
    words += [f"--num-conns={opened}", f"--num-calls={plan.requests_per_connection}"]
    return httperf_text(shlex.join(words), result)


def figures(result: Result) -> Figures:
    """The engine's figures under httperf's names; what was not measured is 0, as in httperf."""
    v = result.values
    connections, octets, causes, local = v["connections"], v["bytes"], v["causes"], v["local"]
    times = v["connection_ms"]
    counts = {
        int(replies): int(count) for replies, count in v["replies_per_connection"].items() if int(replies)
    }
    completed = v["completed"]
    others = sum(count for cause, count in causes.items() if cause not in _NAMED)
    return Figures(
        connections=connections["opened"],
        requests=v["sent"],
        replies=completed,
        duration_s=v["elapsed_s"],
        longest_burst=connections["longest_burst"],
        concurrent=connections["most_concurrent"],
        connection_ms=(
            times["min"] or 0.0,
            times["mean"] or 0.0,
            times["max"] or 0.0,
            times["p50"] or 0.0,
            times["stddev"] or 0.0,
        ),
        connect_ms=v["connect_ms"]["mean"] or 0.0,
        replies_per_connection=_mean(
            sum(replies * count for replies, count in counts.items()), counts.values()
        ),
        request_bytes=_mean(octets["sent"], [v["sent"]]),
        reply_rates=[s["replies_per_s"] for s in v["rates"] if s["span_s"] >= _SAMPLE_S],
        response_ms=v["first_byte_ms"]["mean"] or 0.0,
        transfer_ms=v["transfer_ms"]["mean"] or 0.0,
        reply_bytes=(
            _mean(octets["reply_heads"], [completed]),
            _mean(octets["reply_bodies"], [completed]),
            0.0,
        ),
        status=tuple(v["status"][f"{hundreds}xx"] for hundreds in range(1, 6)),
        cpu_s=(v["cpu"]["user_s"], v["cpu"]["system_s"]),
        octets=octets["sent"] + octets["received"],
        errors=tuple(causes.get(cause, 0) for cause in _NAMED),
        local=(local["fd"], local["port"], local["file_table"], local["limit"] + local["other"] + others),
        sessions=_sessions(result) if v["session_ms"] is not None else None,
    )


def _sessions(result: Result) -> SessionFigures:
    v = result.values
    lengths = {int(replies): int(count) for replies, count in v["replies_per_connection"].items()}
    due = v["connections"]["due"]
    return SessionFigures(
        rates=[s["ends_per_s"] for s in v["rates"] if s["span_s"] >= _SAMPLE_S],
        per_s=_mean(v["connections"]["completed"], [v["elapsed_s"]]),
        completed=v["connections"]["completed"],
        begun=due,
        connections=_mean(v["connections"]["opened"], [due]),
        lifetime_s=(v["session_ms"]["mean"] or 0.0) / 1e3,
        failtime_s=(v["failed_session_ms"]["mean"] or 0.0) / 1e3,
        lengths=[lengths.get(replies, 0) for replies in range(min(max(lengths, default=0), _LONGEST) + 1)],
    )


def _mean(total: float, counts: Iterable[float]) -> float:
    whole = sum(counts)
    return total / whole if whole else 0.0
