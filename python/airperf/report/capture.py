"""The report of a capture: what was captured, who did what, what went wrong, and sequence plots to zoom into.

Model: the figures of the study kamaluddeen2004, definitions of docs/reference/captures.md and statistics.md.
Leaves out numbers of its own: every value comes from ``analysis`` or from the summary.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from airperf.analysis.capture import connections, http, recovery, retransmissions, tails, traffic
from airperf.analysis.capture.distributions import Spread, numbers, share_below, spread
from airperf.analysis.capture.segments import of_connections
from airperf.analysis.capture.tails import Memory
from airperf.analysis.heavy_tail import Tail
from airperf.records.capture import Capture
from airperf.records.formats.summary import CLASSES, sections
from airperf.report import sequence
from airperf.report.capture_figures import MOST_CLIENTS, MOST_ROWS, Tables, figures, read
from airperf.report.page import number, render

MOST_CAUSES = 200
"""Connections with retransmissions whose causes are looked for, those with the most first."""

MOST_SEGMENTS = 5_000
"""Segments of each of them that are looked at."""

MOST_STATIONS = 40


def capture_report(capture: Capture, path: Path, *, command: str, against: Path | None = None) -> Path:
    """Writes the report of an analysed capture and gives its path.

    ``command`` is what the user typed; ``against`` is the directory of the run that the capture was made in.
    """
    tables = read(capture, command)
    summary = capture.summary
    viewer = sequence.viewer(tables)
    checks = None if against is None else capture.check(against)
    content: dict[str, Any] = {
        "name": capture.name,
        "command": command if against is None else f"{command} --against {shlex.quote(str(against))}",
        "summary": summary,
        "began": _began(tables.origin_ns),
        "duration_s": tables.duration_s,
        "mean_mbps": _rate(tables),
        "peak": _peak(tables),
        "classes": _classes(summary.get("tcp") or {}),
        "checks": checks,
        "check_rows": _check_rows(checks),
        "against": None if against is None else str(against),
        "peaks": _rows(traffic.peaks(traffic.sizes(tables.histograms)))
        if tables.histograms is not None
        else [],
        "clients": _clients(tables),
        "spreads": _spreads(tables),
        "below": _below(tables),
        "outcomes": _rows(http.outcomes(tables.exchanges)) if tables.exchanges is not None else [],
        "media": _rows(http.media_types(tables.exchanges)) if tables.exchanges is not None else [],
        "again": _retransmissions(tables),
        "causes": _causes(tables),
        "stations": _stations(tables),
        "tails": {name: asdict(tail) | {"verdict": tail.verdict} for name, tail in _tails(tables).items()},
        "memory": [{"memory": item, "verdict": item.verdict} for item in _memory(tables)],
        "tables": tables.capture.tables,
        "viewer": viewer,
    }
    return render("capture.html.j2", path, content, figures(tables))


def _began(origin_ns: int) -> str:
    try:
        begin = datetime.fromtimestamp(origin_ns // 1_000_000_000, UTC)
    except (OverflowError, OSError, ValueError):
        return f"{origin_ns} ns since 1970"
    return f"{begin:%Y-%m-%d %H:%M:%S} UTC"


def _rate(tables: Tables) -> float | None:
    """Mean Mbit/s on the wire or air, headers that only the capture has left out."""
    if tables.series is None or not tables.duration_s:
        return None
    octets = tables.series.filter(pl.col("client").is_null())["bytes"].sum()
    return int(octets) * 8 / tables.duration_s / 1e6


def _rows(table: pl.DataFrame) -> list[dict[str, Any]]:
    return table.to_dicts()


def _peak(tables: Tables) -> dict[str, Any] | None:
    """The busiest interval, by packets and by bytes; they need not be the same."""
    if tables.series is None or tables.series.is_empty():
        return None
    rates = traffic.over_time(tables.series, tables.origin_ns)
    length = int(tables.series["length_ns"][0]) / 1e9
    return {
        "packets": float(rates["peak_packets"].to_numpy().max()),
        "mbps": float(rates["peak_mbps"].to_numpy().max()),
        "length_s": length,
    }


def _classes(tcp: Mapping[str, Any]) -> list[dict[str, Any]]:
    total = int(tcp.get("connections") or 0)
    return [
        {
            "name": name,
            "what": what,
            "decision": decision,
            "count": int(tcp.get(name) or 0),
            "share": int(tcp.get(name) or 0) / total if total else None,
        }
        for name, what, decision in CLASSES
    ]


def _check_rows(checks: Mapping[str, Any] | None) -> list[tuple[str, ...]]:
    # The first section is of the capture as a whole, of which nothing is given here.
    return sections({"checks": checks})[-1].rows if checks else []


def _clients(tables: Tables) -> dict[str, Any]:
    if tables.connections is None:
        return {"rows": [], "more": 0}
    table = connections.by_client(tables.connections)
    return {"rows": _rows(table.head(MOST_ROWS)), "more": max(0, table.height - MOST_ROWS)}


def _spreads(tables: Tables) -> list[tuple[str, str, Spread]]:
    """Quantity, unit and what is read off its sample."""
    found: list[tuple[str, str, Spread]] = []
    if tables.connections is not None:
        table = connections.whole(tables.connections)
        found += [
            ("connection: duration", "s", spread(numbers(table["duration_s"]))),
            ("connection: payload both ways", "kB", spread(numbers(table["bytes"]) / 1e3)),
            ("connection: segments", "", spread(numbers(table["segments"]))),
            ("connection: requests, where any", "", spread(_requests(tables.connections))),
            ("connection: handshake", "ms", spread(numbers(table["handshake_ns"]) / 1e6)),
            ("connection: mean RTT", "ms", spread(numbers(table["rtt_mean_ns"]) / 1e6)),
        ]
    if tables.exchanges is not None:
        done = http.complete(tables.exchanges)
        found += [
            ("exchange: body", "kB", spread(numbers(done["body_bytes"]) / 1e3)),
            ("exchange: response time", "ms", spread(numbers(done["response_s"]) * 1e3)),
            ("exchange: transfer duration", "ms", spread(numbers(done["transfer_s"]) * 1e3)),
            ("exchange: throughput", "kbit/s", spread(numbers(done["throughput_bps"]) / 1e3)),
        ]
    return [one for one in found if one[2].n]


def _requests(table: pl.DataFrame) -> Any:
    return numbers(table.filter(pl.col("exchanges") > 0)["exchanges"])


def _below(tables: Tables) -> list[tuple[str, float, int]]:
    """The study's shares: what, how large, of how many."""
    if tables.connections is None:
        return []
    table = connections.whole(tables.connections)
    found: list[tuple[str, Any, float]] = [
        ("connections shorter than 10 s", numbers(table["duration_s"]), 10.0),
        ("connections with less than 250 kB of payload", numbers(table["bytes"]), 250e3),
        ("connections with fewer than 2,000 segments", numbers(table["segments"]), 2_000.0),
        ("connections with one request, of those with any", _requests(tables.connections), 1.5),
    ]
    if tables.exchanges is not None:
        done = http.complete(tables.exchanges)
        found.append(("HTTP transfers shorter than 10 s", numbers(done["transfer_s"]), 10.0))
    shares = [(what, share_below(values, limit), int(values.size)) for what, values, limit in found]
    return [(what, share, n) for what, share, n in shares if share is not None]


def _retransmissions(tables: Tables) -> dict[str, Any] | None:
    if "retransmissions" not in tables.capture.tables:
        return None
    rows = tables.capture.retransmissions
    clients = tables.clients or sorted(rows["client"].cast(pl.String).unique())[:MOST_CLIENTS]
    mac = rows["mac_retransmissions"].null_count() < rows.height
    clients = clients if len(clients) > 1 else []
    return {"clients": clients, "rows": retransmissions.table(rows, clients), "mac": mac}


def _causes(tables: Tables) -> dict[str, Any] | None:
    """Why segments were sent again, over the connections with the most retransmissions."""
    if tables.connections is None or "segments" not in tables.capture.tables:
        return None
    affected = tables.connections.filter(pl.col("retransmissions") > 0)
    if affected.is_empty():
        return None
    chosen = affected.sort(["retransmissions", "connection"], descending=[True, False]).head(MOST_CAUSES)
    sizes = dict(chosen.select("connection", "segments").iter_rows())
    found = of_connections(tables.capture.scan("segments"), sizes, MOST_SEGMENTS)
    counts = recovery.causes(found.values())
    total = counts.total()
    return {
        "looked": chosen.height,
        "of": affected.height,
        "total": total,
        "rows": [
            {
                "cause": cause.replace("_", " "),
                "what": what,
                "count": counts[cause],
                "share": counts[cause] / total,
            }
            for cause, what in recovery.CAUSES.items()
            if counts[cause]
        ],
    }


def _stations(tables: Tables) -> dict[str, Any]:
    if "stations" not in tables.capture.tables:
        return {"rows": [], "more": 0}
    table = tables.capture.stations.sort("airtime_ns", descending=True)
    return {"rows": _rows(table.head(MOST_STATIONS)), "more": max(0, table.height - MOST_STATIONS)}


def _tails(tables: Tables) -> dict[str, Tail]:
    samples = {}
    if tables.connections is not None:
        table = connections.whole(tables.connections)
        samples["connection duration (s)"] = numbers(table["duration_s"])
        samples["connection payload (B)"] = numbers(table["bytes"])
    if tables.exchanges is not None:
        done = http.complete(tables.exchanges)
        samples["HTTP body (B)"] = numbers(done["body_bytes"])
        samples["HTTP transfer duration (s)"] = numbers(done["transfer_s"])
        samples["HTTP response time (s)"] = numbers(done["response_s"])
    return tails.tails(samples)


def _memory(tables: Tables) -> list[Memory]:
    series = tables.series
    if "frames" in tables.capture.tables:
        series = traffic.counted(tables.capture.scan("frames"), tails.interval_ns(tables.duration_s))
    if series is None or series.is_empty():
        return []
    interval_s = int(series["length_ns"][0]) / 1e9
    return [
        tails.memory(f"{what} per {number(interval_s * 1e3)} ms", interval_s, traffic.regular(series, what))
        for what in ("packets", "bytes")
    ]
