"""The result of a load as the text of httperf 0.9, so that scripts which read that text go on working.

Reference: httperf(1), OUTPUT, and what httperf 0.9.0 of Debian 12 prints; line by line and digit by digit.
Where a figure does not exist httperf prints 0, and so does this. Leaves out figures that httperf does not
have: the schedule error, response time from the due instant, percentiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev


@dataclass(frozen=True, slots=True)
class SessionFigures:
    """What httperf adds for sessions: rates per second, times in seconds, and replies by session."""

    rates: Sequence[float]
    per_s: float
    completed: int
    begun: int
    connections: float
    lifetime_s: float
    failtime_s: float
    lengths: Sequence[int]


@dataclass(frozen=True, slots=True)
class Figures:
    """Every figure of httperf's report: times in ms, sizes in octets, rates per second."""

    connections: int
    requests: int
    replies: int
    duration_s: float
    longest_burst: int
    concurrent: int
    connection_ms: tuple[float, float, float, float, float]
    connect_ms: float
    replies_per_connection: float
    request_bytes: float
    reply_rates: Sequence[float]
    response_ms: float
    transfer_ms: float
    reply_bytes: tuple[float, float, float]
    status: tuple[int, int, int, int, int]
    cpu_s: tuple[float, float]
    octets: int
    errors: tuple[int, int, int, int]
    local: tuple[int, int, int, int]
    sessions: SessionFigures | None = None


def report(echo: str, figures: Figures, *, descriptors: int | None = None) -> str:
    """The whole report.

    Args:
        echo: Its first line, the command.
        figures: What was measured.
        descriptors: With ``--verbose``: how many descriptors there are; rate samples are listed too.
    """
    f = figures
    lines = [echo]
    if descriptors is not None:
        lines.append(f"httperf: maximum number of open descriptors = {descriptors}")
        lines += [f"reply-rate = {rate:<8.1f}" for rate in f.reply_rates]
    low, mean, high, median, deviation = f.connection_ms
    head, content, footer = f.reply_bytes
    user, system = f.cpu_s
    share = 100 / f.duration_s if f.duration_s else 0.0
    per_s = f.octets / f.duration_s if f.duration_s else 0.0
    lines += [
        f"Maximum connect burst length: {f.longest_burst}",
        "",
        (
            f"Total: connections {f.connections} requests {f.requests} replies {f.replies} "
            f"test-duration {f.duration_s:.3f} s"
        ),
        "",
        (
            f"Connection rate: {_rate(f.connections, f.duration_s)} conn/s "
            f"({_period(f.connections, f.duration_s)} ms/conn, <={f.concurrent} concurrent connections)"
        ),
        (
            f"Connection time [ms]: min {low:.1f} avg {mean:.1f} max {high:.1f} median {median:.1f} "
            f"stddev {deviation:.1f}"
        ),
        f"Connection time [ms]: connect {f.connect_ms:.1f}",
        f"Connection length [replies/conn]: {f.replies_per_connection:.3f}",
        "",
        f"Request rate: {_rate(f.requests, f.duration_s)} req/s ({_period(f.requests, f.duration_s)} ms/req)",
        f"Request size [B]: {f.request_bytes:.1f}",
        "",
        f"Reply rate [replies/s]: {_spread(f.reply_rates, 1)} ({len(f.reply_rates)} samples)",
        f"Reply time [ms]: response {f.response_ms:.1f} transfer {f.transfer_ms:.1f}",
        (
            f"Reply size [B]: header {head:.1f} content {content:.1f} footer {footer:.1f} "
            f"(total {head + content + footer:.1f})"
        ),
        "Reply status: " + " ".join(f"{number}xx={count}" for number, count in enumerate(f.status, 1)),
        "",
        (
            f"CPU time [s]: user {user:.2f} system {system:.2f} (user {user * share:.1f}% "
            f"system {system * share:.1f}% total {(user + system) * share:.1f}%)"
        ),
        f"Net I/O: {per_s / 1024:.1f} KB/s ({per_s * 8 / 1e6:.1f}*10^6 bps)",
        "",
        "Errors: total {} client-timo {} socket-timo {} connrefused {} connreset {}".format(
            sum((*f.errors, *f.local)), *f.errors
        ),
        "Errors: fd-unavail {} addrunavail {} ftab-full {} other {}".format(*f.local),
    ]
    if f.sessions:
        lines += _sessions(f.sessions)
    return "\n".join(lines) + "\n"


def _sessions(s: SessionFigures) -> list[str]:
    spread = _spread(s.rates, 2, mean=s.per_s)
    return [
        "",
        f"Session rate [sess/s]: {spread} ({s.completed}/{s.begun})",
        f"Session: avg {s.connections:.2f} connections/session",
        f"Session lifetime [s]: {s.lifetime_s:.1f}",
        f"Session failtime [s]: {s.failtime_s:.1f}",
        f"Session length histogram: {' '.join(map(str, s.lengths or [0]))}",
    ]


def _rate(count: int, seconds: float) -> str:
    return f"{count / seconds if seconds else 0.0:.1f}"


def _period(count: int, seconds: float) -> str:
    return f"{1e3 * seconds / count if count else 0.0:.1f}"


def _spread(rates: Sequence[float], digits: int, mean: float | None = None) -> str:
    low, high = (min(rates), max(rates)) if rates else (0.0, 0.0)
    middle = mean if mean is not None else fmean(rates) if rates else 0.0
    deviation = stdev(rates) if len(rates) > 1 else 0.0
    numbers = {"min": low, "avg": middle, "max": high, "stddev": deviation}
    return " ".join(f"{name} {value:.{digits}f}" for name, value in numbers.items())
