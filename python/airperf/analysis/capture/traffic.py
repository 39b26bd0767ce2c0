"""Packets over time, how large they are and how far apart: of all traffic and of each client.

Model: the tables ``series`` and ``histograms``. Intervals without a row had no packet and count as zero.
Leaves out what the packets were for.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from airperf.analysis.intervals import Floats

MOST_POINTS = 600
"""Intervals that one curve shows; beyond, several are taken together."""

MOST_INTERVALS = 1 << 19
"""Intervals that a regular series may have: a broken clock can put years between two packets."""

LEAST_SHARE = 0.02
MOST_PEAKS = 8

KNOWN_SIZES = {
    28: "UDP without payload",
    40: "TCP without payload or options: ACK, FIN, RST",
    44: "SYN with MSS",
    48: "SYN with MSS and SACK permitted",
    52: "TCP without payload, with time stamps",
    60: "SYN with usual options, or TCP over IPv6 without payload",
    64: "ACK with a SACK block and time stamps",
    72: "TCP over IPv6 without payload, with time stamps",
    80: "SYN over IPv6 with usual options",
    576: "MTU every IPv4 host must take",
    1280: "least MTU of IPv6",
    1420: "MTU in a WireGuard tunnel",
    1492: "MTU behind PPPoE",
    1500: "MTU of Ethernet: full segments",
    9000: "jumbo frames",
}
"""What IP packets of a size usually are (RFC 9293, 7323, 2018, 8200, 2516)."""


def over_time(series: pl.DataFrame, origin_ns: int, client: str | None = None) -> pl.DataFrame:
    """Rates of all traffic (``client`` None) or of one client, at most ``MOST_POINTS`` of them.

    Columns ``time_s, packets, mbps`` are means over ``length_s``; ``peak_packets, peak_mbps`` are the highest
    of the intervals taken together.
    """
    rows = _rows(series, client)
    if rows.is_empty():
        return pl.DataFrame(schema=dict.fromkeys(_RATES, pl.Float64))
    length_ns = int(rows["length_ns"][0])
    first, last = int(rows["interval"][0]), int(rows["interval"][-1])
    together = -(-(last - first + 1) // MOST_POINTS)
    seconds = length_ns / 1e9
    points = rows.group_by(((pl.col("interval") - first) // together).alias("point")).agg(
        pl.col("packets", "bytes").sum(),
        peak_packets=pl.col("packets").max() / seconds,
        peak_mbps=pl.col("bytes").max() * 8 / seconds / 1e6,
    )
    every = pl.DataFrame({"point": range(-(-(last - first + 1) // together))}, schema={"point": pl.Int64})
    begin_s = (first * length_ns - origin_ns) / 1e9
    return (
        every.join(points, on="point", how="left", maintain_order="left")
        .fill_null(0)
        .select(
            time_s=begin_s + (pl.col("point") + 0.5) * together * seconds,
            length_s=pl.lit(together * seconds),
            packets=pl.col("packets") / (together * seconds),
            mbps=pl.col("bytes") * 8 / (together * seconds) / 1e6,
            peak_packets="peak_packets",
            peak_mbps="peak_mbps",
        )
    )


_RATES = ("time_s", "length_s", "packets", "mbps", "peak_packets", "peak_mbps")


def regular(series: pl.DataFrame, what: str) -> Floats | None:
    """Column ``what`` of all traffic for every interval; None where the span has too many of them."""
    rows = _rows(series, None)
    if rows.is_empty():
        return np.empty(0)
    intervals = rows["interval"].to_numpy()
    if int(intervals[-1] - intervals[0]) >= MOST_INTERVALS:
        return None
    values = np.zeros(int(intervals[-1] - intervals[0]) + 1)
    values[intervals - intervals[0]] = rows[what].to_numpy()
    return values


def counted(frames: pl.LazyFrame, interval_ns: int) -> pl.DataFrame:
    """Frames and bytes per interval, as rows of ``series`` have them; for intervals shorter than those."""
    return (
        frames.group_by((pl.col("time_ns") // interval_ns * interval_ns).alias("time_ns"))
        .agg(packets=pl.len(), bytes=pl.col("bytes").sum())
        .with_columns(length_ns=pl.lit(interval_ns), client=pl.lit(None, dtype=pl.String))
        .sort("time_ns")
        .collect(engine="streaming")
    )


def busiest(series: pl.DataFrame, most: int) -> list[str]:
    """The clients with the most bytes, at most so many, the busiest first."""
    totals = (
        series.filter(pl.col("client").is_not_null())
        .group_by(pl.col("client").cast(pl.String))
        .agg(pl.col("bytes").sum())
        .sort(["bytes", "client"], descending=[True, False])
    )
    return [str(client) for client in totals["client"].head(most)]


def _rows(series: pl.DataFrame, client: str | None) -> pl.DataFrame:
    whose = pl.col("client").is_null() if client is None else pl.col("client").cast(pl.String) == client
    rows = series.filter(whose)
    if rows.is_empty():
        return rows
    interval = pl.col("time_ns").cast(pl.Int64) // int(rows["length_ns"][0])
    return rows.with_columns(interval=interval).sort("interval")


def sizes(histograms: pl.DataFrame) -> pl.DataFrame:
    """Sizes of IP packets: ``bytes, count, share``, and up to each ``packets`` and ``octets`` as shares."""
    rows = histograms.filter(pl.col("what").cast(pl.String) == "packet_bytes").sort("from")
    octets = (pl.col("from") * pl.col("count")).cast(pl.Float64)
    return rows.select(
        bytes="from",
        count="count",
        share=pl.col("count") / pl.col("count").sum(),
        packets=pl.col("count").cum_sum() / pl.col("count").sum(),
        octets=octets.cum_sum() / octets.sum(),
    )


def peaks(table: pl.DataFrame) -> pl.DataFrame:
    """The sizes that at least ``LEAST_SHARE`` of the packets have, most frequent first, and what they are."""
    found = table.filter(pl.col("share") >= LEAST_SHARE).sort(["count", "bytes"], descending=[True, False])
    what = pl.col("bytes").replace_strict(KNOWN_SIZES, default="", return_dtype=pl.String)
    return found.head(MOST_PEAKS).select("bytes", "count", "share", what=what)


def gaps(histograms: pl.DataFrame) -> pl.DataFrame:
    """Times between packets: ``from_ms, below_ms, count``, shares ``shorter`` and ``longer`` than that."""
    rows = histograms.filter(pl.col("what").cast(pl.String) == "interarrival_ns").sort("from")
    whole = pl.col("count").sum()
    return rows.select(
        from_ms=pl.col("from") / 1e6,
        below_ms=pl.col("below") / 1e6,
        count="count",
        shorter=pl.col("count").cum_sum() / whole,
        longer=(whole - pl.col("count").cum_sum()) / whole,
    )


def gap_spread(table: pl.DataFrame) -> tuple[float, float] | None:
    """Mean (ms) of the times between packets and their coefficient of variation (1 for Poisson arrivals)."""
    count = table["count"].to_numpy().astype(np.float64)
    if not count.sum():
        return None
    middle = (table["from_ms"] + table["below_ms"]).to_numpy() / 2
    mean = float(np.average(middle, weights=count))
    deviation = float(np.sqrt(np.average((middle - mean) ** 2, weights=count)))
    return (mean, deviation / mean) if mean else None


def airtime_over_time(frames: pl.LazyFrame, origin_ns: int, duration_s: float) -> pl.DataFrame:
    """Share of each interval during which captured frames were on the air: ``time_s, what, share``.

    ``what`` is data, retry (of data), control, management or noise. The interval is a second, or longer
    where there would be more than ``MOST_POINTS``. A frame counts where it began.
    """
    kind = pl.col("kind").cast(pl.String)
    what = (
        pl.when(pl.col("view").cast(pl.String) == "noise")
        .then(pl.lit("noise"))
        .when(kind.is_in(["ack", "block_ack", "block_ack_request", "rts", "cts", "ps_poll", "control"]))
        .then(pl.lit("control"))
        .when(~kind.is_in(["data", "qos_data", "null"]))
        .then(pl.lit("management"))
        .when(pl.col("retry"))
        .then(pl.lit("retry"))
        .otherwise(pl.lit("data"))
    )
    interval_ns = 1_000_000_000 * max(1, -(-int(duration_s) // MOST_POINTS))
    time = (pl.col("time_ns").cast(pl.Int64) - origin_ns) // interval_ns
    shares = (
        frames.filter(pl.col("airtime_ns").is_not_null())
        .group_by(time.alias("interval"), what.alias("what"))
        .agg(pl.col("airtime_ns").sum())
        .collect(engine="streaming")
    )
    return shares.select(
        time_s=(pl.col("interval") + 0.5) * interval_ns / 1e9,
        what="what",
        share=pl.col("airtime_ns") / interval_ns,
    ).sort("time_s", "what")
