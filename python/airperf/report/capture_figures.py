"""The figures of a capture's report: what they are drawn from and show, and the command for the numbers.

Model: the figures of the study kamaluddeen2004. A figure without data is left out. Leaves out the page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from airperf.analysis.capture import connections, http, traffic
from airperf.analysis.capture.distributions import distribution, numbers
from airperf.analysis.intervals import Floats
from airperf.plots import airtime
from airperf.plots.capture import activity
from airperf.plots.capture import traffic as drawn
from airperf.plots.capture.distributions import Panel, pairs
from airperf.records.capture import Capture
from airperf.report.page import Figure, number

MOST_CLIENTS = 6
"""Clients that have a curve or column of their own."""

MOST_ROWS = 24
"""Clients that have a row in the figure of activity and in the table of clients."""


@dataclass(frozen=True, slots=True)
class Tables:
    """What the report is made from; tables that the capture lacks are None."""

    capture: Capture
    command: str
    origin_ns: int
    duration_s: float
    series: pl.DataFrame | None
    histograms: pl.DataFrame | None
    connections: pl.DataFrame | None
    exchanges: pl.DataFrame | None

    @property
    def clients(self) -> list[str]:
        """The clients with the most bytes."""
        return [] if self.series is None else traffic.busiest(self.series, MOST_CLIENTS)

    def verb(self, words: str) -> str:
        """The ``trace`` command that gives the numbers of a figure of this report."""
        verb, *options = words.split()
        return " ".join([self.command.replace(" trace report ", f" trace {verb} ", 1), *options])


def read(capture: Capture, command: str) -> Tables:
    """Reads the tables that fit into memory; frames and segments are scanned when they are used."""
    has, origin = capture.tables, int(capture.summary.get("first_ns") or 0)
    return Tables(
        capture=capture,
        command=command,
        origin_ns=origin,
        duration_s=float(capture.summary.get("duration_s") or 0.0),
        series=capture.series if "series" in has else None,
        histograms=capture.histograms if "histograms" in has else None,
        connections=connections.prepare(capture.scan("connections"), origin)
        if "connections" in has
        else None,
        exchanges=http.prepare(capture.scan("exchanges")) if "exchanges" in has else None,
    )


def figures(tables: Tables) -> list[Figure]:
    """Every figure for which there is something to show."""
    return [*_traffic(tables), *_packets(tables), *_connections(tables), *_http(tables), *_air(tables)]


def _traffic(tables: Tables) -> list[Figure]:
    if tables.series is None or tables.series.is_empty():
        return []
    whole = traffic.over_time(tables.series, tables.origin_ns)
    length = number(float(whole["length_s"][0]))
    found = [
        Figure(
            "traffic",
            drawn.over_time(whole),
            f"All traffic: packets (frames) and megabits per second, means over {length} s; n = "
            f"{tables.capture.summary['packets']:,} packets. Bytes as captured on the wire or air.",
            tables.verb("series"),
        )
    ]
    if len(tables.clients) > 1:
        rates = {
            client: traffic.over_time(tables.series, tables.origin_ns, client) for client in tables.clients
        }
        found.append(
            Figure(
                "clients",
                drawn.clients_over_time(rates),
                f"The {len(rates)} clients with the most bytes: packets and megabits per second of their "
                "connections, both ways, all on one scale.",
                tables.verb("series --by-client"),
            )
        )
    return found


def _packets(tables: Tables) -> list[Figure]:
    if tables.histograms is None:
        return []
    found = []
    sizes, gaps = traffic.sizes(tables.histograms), traffic.gaps(tables.histograms)
    histograms = tables.verb("export --tables histograms --format csv --out histograms")
    if sizes.height:
        caption = f"Sizes of IP packets, n = {int(sizes['count'].sum()):,}."
        found.append(Figure("sizes", drawn.sizes(sizes, traffic.peaks(sizes)), caption, histograms))
    if spread := traffic.gap_spread(gaps):
        mean, variation = spread
        caption = (
            f"Times between packets, n = {int(gaps['count'].sum()):,}: mean {number(mean)} ms, coefficient "
            f"of variation {number(variation)} (1 for Poisson arrivals)."
        )
        found.append(Figure("gaps", drawn.gaps(gaps, mean), caption, histograms))
    return found


def _panel(quantity: str, counted: str, **curves: Floats) -> Panel:
    return Panel(
        quantity, counted, {name: distribution(values) for name, values in curves.items() if values.size}
    )


def _pairs(name: str, panels: list[Panel], caption: str, command: str) -> list[Figure]:
    # A sample that does not vary is a line of the table of quantiles, not a figure.
    shown = [panel for panel in panels if any(table.height > 1 for table in panel.curves.values())]
    return [Figure(name, pairs(name, shown), caption, command)] if shown else []


def _connections(tables: Tables) -> list[Figure]:
    table = tables.connections
    if table is None or table.is_empty():
        return []
    found = []
    clients = connections.by_client(table)["client"].head(MOST_ROWS).to_list()
    spans = connections.spans(table, clients)
    shown = f"{spans.height:,} of {table.height:,} connections"
    caption = f"When each client had connections open: {shown}, a line from first to last packet."
    found.append(
        Figure(
            "activity",
            activity.timeline(spans, clients, tables.duration_s),
            caption,
            tables.verb("connections"),
        )
    )
    whole = connections.whole(table)
    return found + _pairs(
        "connections",
        [
            _panel("duration (s)", "connections", durations=numbers(whole["duration_s"])),
            _panel("payload, both ways (kB)", "connections", payload=numbers(whole["bytes"]) / 1e3),
            _panel("TCP segments, both ways", "connections", segments=numbers(whole["segments"])),
        ],
        f"Durations, payload and segments of the {whole.height:,} connections whose beginning and end were "
        "captured (n). Left: distribution with its 95% band. Right: tail.",
        tables.verb("connections"),
    )


def _http(tables: Tables) -> list[Figure]:
    if tables.exchanges is None or tables.exchanges.is_empty():
        return []
    done, table = http.complete(tables.exchanges), tables.connections
    panels = [
        _panel("body (kB)", "responses", bodies=numbers(done["body_bytes"]) / 1e3),
        _panel("transfer duration (s)", "responses", transfers=numbers(done["transfer_s"])),
        _panel("response time (s)", "responses", response=numbers(done["response_s"])),
    ]
    if table is not None:
        requests = numbers(table.filter(pl.col("exchanges") > 0)["exchanges"])
        panels.insert(0, _panel("requests on a connection", "connections with any", requests=requests))
    found = _pairs(
        "http",
        panels,
        "HTTP/1: requests per connection, sizes of bodies, transfer durations (first octet of the request to "
        "last of the response) and response times (last octet of the request to first of the response) of "
        f"{done.height:,} complete exchanges (n). What does not vary has no figure.",
        tables.verb("exchanges"),
    )
    curves: Mapping[str, Floats] = {"HTTP transfer": numbers(done["throughput_bps"]) / 1e3}
    if table is not None:
        with_http = table.filter(pl.col("exchanges") > 0)
        curves = {
            **curves,
            "connection, think time off": numbers(with_http["busy_bps"]) / 1e3,
            "connection": numbers(with_http["throughput_bps"]) / 1e3,
        }
    counts = ", ".join(f"{name} n = {values.size:,}" for name, values in curves.items())
    return found + _pairs(
        "throughput",
        [_panel("throughput (kbit/s)", "share", **curves)],
        "Throughput towards the client: of single transfers, of connections from opening to the last octet "
        f"without think time, and of connections over their whole duration; {counts}.",
        tables.verb("connections"),
    )


def _air(tables: Tables) -> list[Figure]:
    found = []
    budget: Mapping[str, float] = tables.capture.summary.get("airtime") or {}
    if whole := sum(budget.values()):
        shares = [seconds / whole for seconds in budget.values()]
        svg = airtime.bar(pl.DataFrame({"category": list(budget), "share": shares}))
        caption = (
            f"What {number(whole, 5)} s of the channel were used for, estimated from the captured frames: "
            "what the sniffer missed counts as idle or backoff."
        )
        found.append(Figure("airtime", svg, caption, tables.verb("summary")))
    if tables.capture.summary.get("mac") and "frames" in tables.capture.tables:
        shares_over = traffic.airtime_over_time(
            tables.capture.scan("frames"), tables.origin_ns, tables.duration_s
        )
        if shares_over.height:
            caption = "Share of the time with captured frames on the air, spaces between them left out."
            found.append(
                Figure("air", drawn.airtime_over_time(shares_over), caption, tables.verb("frames --limit 0"))
            )
    return found
