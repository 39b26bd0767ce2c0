"""Connections under the column names of ``tcptrace --csv -l -r``, in its order, so that its scripts go on.

Reference: tcptrace 6.6.7; a2b is from the client to the server. Counts come from our definitions
(docs/reference/captures.md lists where the two differ). A column that a table of ours does not give is NA:
nothing is guessed. Leaves out tcptrace's comment lines.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from airperf.records.formats.text import csv

FIN, SYN, RST, PSH, ACK, URG = 1, 2, 4, 8, 16, 32

SINGLE = ["conn_#", "host_a", "host_b", "port_a", "port_b", "first_packet", "last_packet"]
PAIRS = (
    "total_packets resets_sent ack_pkts_sent pure_acks_sent sack_pkts_sent dsack_pkts_sent "
    "max_sack_blks/ack unique_bytes_sent actual_data_pkts actual_data_bytes rexmt_data_pkts "
    "rexmt_data_bytes zwnd_probe_pkts zwnd_probe_bytes outoforder_pkts pushed_data_pkts "
    "SYN/FIN_pkts_sent req_1323_ws/ts adv_wind_scale req_sack sacks_sent urgent_data_pkts "
    "urgent_data_bytes mss_requested max_segm_size min_segm_size avg_segm_size max_win_adv "
    "min_win_adv zero_win_adv avg_win_adv initial_window_bytes initial_window_pkts ttl_stream_length "
    "missed_data truncated_data truncated_packets data_xmit_time idletime_max hardware_dups "
    "throughput RTT_samples RTT_min RTT_max RTT_avg RTT_stdev RTT_from_3WHS RTT_full_sz_smpls "
    "RTT_full_sz_min RTT_full_sz_max RTT_full_sz_avg RTT_full_sz_stdev post-loss_acks ambiguous_acks "
    "RTT_min_(last) RTT_max_(last) RTT_avg_(last) RTT_sdv_(last) segs_cum_acked duplicate_acks "
    "triple_dupacks max_#_retrans min_retr_time max_retr_time avg_retr_time sdv_retr_time "
).split()
COLUMNS = SINGLE + [
    # tcptrace writes one of its names with a space.
    "RTT full_sz_stdev_a2b" if (name, side) == ("RTT_full_sz_stdev", "a2b") else f"{name}_{side}"
    for name in PAIRS
    for side in ("a2b", "b2a")
]
"""tcptrace's columns."""


def tcptrace(connections: pl.LazyFrame, segments: pl.LazyFrame) -> Iterator[str]:
    """The view as CSV, one line per connection."""
    known = segments.filter(pl.col("connection").is_not_null())
    view = connections.select(_of_connection())
    for up, side, other in ((True, "a2b", "b2a"), (False, "b2a", "a2b")):
        of_side = known.filter(pl.col("up") == up).group_by("connection")
        view = view.join(of_side.agg(_of_segments(side, other)), on="connection", how="left")
    have = view.collect_schema().names()
    missing = [pl.lit(None, pl.String).alias(name) for name in COLUMNS if name not in have]
    whole = view.sort("connection").with_columns(missing).select(COLUMNS)
    # Joined once: what follows reads it in pieces.
    return csv(whole.with_columns(pl.all().cast(pl.String).fill_null("NA")).collect().lazy())


def _of_connection() -> list[pl.Expr]:
    column = pl.col
    lasted_s = (column("last_ns") - column("opened_ns")) / 1e9
    columns = [
        column("connection"),
        (column("connection") + 1).alias("conn_#"),
        column("client").alias("host_a"),
        column("server").alias("host_b"),
        column("client_port").alias("port_a"),
        column("server_port").alias("port_b"),
        _clock("opened_ns").alias("first_packet"),
        _clock("last_ns").alias("last_packet"),
    ]
    for way, side in (("up", "a2b"), ("down", "b2a")):
        octets, sent = column(f"bytes_{way}"), column(f"sent_bytes_{way}")
        columns += [
            column(f"segments_{way}").alias(f"total_packets_{side}"),
            octets.alias(f"unique_bytes_sent_{side}"),
            column(f"data_segments_{way}").alias(f"actual_data_pkts_{side}"),
            sent.alias(f"actual_data_bytes_{side}"),
            column(f"retransmissions_{way}").alias(f"rexmt_data_pkts_{side}"),
            (sent - octets).alias(f"rexmt_data_bytes_{side}"),
            column(f"window_scale_{way}").alias(f"adv_wind_scale_{side}"),
            column(f"mss_{way}").alias(f"mss_requested_{side}"),
            column(f"missing_{way}").alias(f"missed_data_{side}"),
            pl.when(lasted_s > 0)
            .then((octets / lasted_s).round(0).cast(pl.Int64))
            .alias(f"throughput_{side}"),
        ]
    return columns


def _of_segments(side: str, other: str) -> list[pl.Expr]:
    flags, size = pl.col("flags"), pl.col("payload_bytes")
    bare = (size == 0) & _has(ACK) & (flags & (SYN | FIN | RST) == 0)
    data = size.filter(size > 0)
    # A segment that acknowledges carries the round trip of the other side's data.
    rtt = pl.col("rtt_ns") / 1e6
    counts = {
        "resets_sent": _has(RST).sum(),
        "ack_pkts_sent": _has(ACK).sum(),
        "pure_acks_sent": bare.sum(),
        "sack_pkts_sent": pl.col("sack_from").is_not_null().sum(),
        "zwnd_probe_pkts": pl.col("window_probe").sum(),
        "zwnd_probe_bytes": size.filter("window_probe").sum(),
        "outoforder_pkts": (pl.col("novelty") == "late").sum(),
        "pushed_data_pkts": (_has(PSH) & (size > 0)).sum(),
        "SYN/FIN_pkts_sent": pl.format("{}/{}", _has(SYN).sum(), _has(FIN).sum()),
        "urgent_data_pkts": _has(URG).sum(),
        "max_segm_size": data.max(),
        "min_segm_size": data.min(),
        "avg_segm_size": data.mean().floor().cast(pl.Int64),
        "max_win_adv": pl.col("window").max(),
        "zero_win_adv": pl.col("zero_window").sum(),
        "data_xmit_time": _decimal(
            (pl.col("time_ns").filter(size > 0).max() - pl.col("time_ns").filter(size > 0).min()) / 1e9, 3
        ),
        "idletime_max": _decimal(pl.col("time_ns").diff().max() / 1e6, 1),
    }
    times = {"min": rtt.min(), "max": rtt.max(), "avg": rtt.mean(), "stdev": rtt.std()}
    return [
        *(value.alias(f"{name}_{side}") for name, value in counts.items()),
        pl.col("duplicate_ack").sum().alias(f"duplicate_acks_{other}"),
        rtt.count().alias(f"RTT_samples_{other}"),
        *(_decimal(value, 1).alias(f"RTT_{name}_{other}") for name, value in times.items()),
    ]


def _has(flag: int) -> pl.Expr:
    return (pl.col("flags") & flag) != 0


def _clock(name: str) -> pl.Expr:
    micro = pl.col(name).cast(pl.Int64) // 1_000
    return pl.format("{}.{}", micro // 1_000_000, (micro % 1_000_000).cast(pl.String).str.zfill(6))


def _decimal(value: pl.Expr, digits: int) -> pl.Expr:
    return value.round(digits).cast(pl.String)
