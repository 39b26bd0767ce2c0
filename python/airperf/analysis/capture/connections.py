"""TCP connections of a capture in the units that people read, and who had them.

Model: docs/reference/captures.md. A duration counts only where both ends of the connection were captured
(classes ``syn_fin`` and ``syn_rst``); of the others it would be a lower bound. Leaves out single segments.
"""

from __future__ import annotations

import polars as pl

WHOLE = ("syn_fin", "syn_rst")
"""Classes of connections whose beginning and end were captured."""

COLUMNS = (
    *("connection", "client", "client_port", "server", "server_port", "opened_ns", "last_ns", "last_data_ns"),
    *("class", "application", "exchanges", "bytes_up", "bytes_down", "segments_up", "segments_down"),
    *("retransmissions_up", "retransmissions_down", "late", "mac_retries_up", "mac_retries_down", "resets"),
    *("zero_windows", "rtt_mean_ns", "rtt_samples", "think_ns", "handshake_ns"),
)
"""What is read of the table: a capture has millions of connections."""

MOST_SPANS = 20_000
"""Connections that the figure of activity draws."""


def prepare(connections: pl.LazyFrame, origin_ns: int) -> pl.DataFrame:
    """The columns used here, with ``start_s, duration_s, bytes, segments, retransmissions, mac_retries``.

    ``throughput_bps`` is the server's octets over the whole duration. ``busy_bps`` takes off think time and
    the wait for the end: from opening to the last octet of payload, without the time between a response and
    the next request. Both are null where the client got nothing.
    """
    opened, last = pl.col("opened_ns").cast(pl.Int64), pl.col("last_ns").cast(pl.Int64)
    busy = pl.col("last_data_ns").cast(pl.Int64) - opened - pl.col("think_ns").cast(pl.Int64)
    down = pl.col("bytes_down").cast(pl.Float64) * 8e9
    retries = [pl.col(name).cast(pl.Int64) for name in ("mac_retries_up", "mac_retries_down")]
    seen = retries[0].is_not_null() | retries[1].is_not_null()
    table = connections.select(COLUMNS).with_columns(
        pl.col("class", "application", "client", "server").cast(pl.String),
        start_s=(opened - origin_ns) / 1e9,
        duration_s=(last - opened) / 1e9,
        bytes=pl.col("bytes_up").cast(pl.Int64) + pl.col("bytes_down").cast(pl.Int64),
        segments=pl.col("segments_up").cast(pl.Int64) + pl.col("segments_down").cast(pl.Int64),
        retransmissions=(
            pl.col("retransmissions_up").cast(pl.Int64) + pl.col("retransmissions_down").cast(pl.Int64)
        ),
        mac_retries=pl.when(seen).then(retries[0].fill_null(0) + retries[1].fill_null(0)),
        throughput_bps=pl.when((last > opened) & (down > 0)).then(down / (last - opened)),
        busy_bps=pl.when((busy > 0) & (down > 0)).then(down / busy),
    )
    return table.sort("start_s", "connection").collect()


def whole(table: pl.DataFrame) -> pl.DataFrame:
    """The connections whose beginning and end were captured."""
    return table.filter(pl.col("class").is_in(WHOLE))


def by_client(table: pl.DataFrame) -> pl.DataFrame:
    """One row per client, the one with the most bytes first."""
    return (
        table.group_by("client")
        .agg(
            connections=pl.len(),
            servers=pl.col("server").n_unique(),
            requests=pl.col("exchanges").sum(),
            bytes_up=pl.col("bytes_up").sum(),
            bytes_down=pl.col("bytes_down").sum(),
            segments=pl.col("segments").sum(),
            retransmissions=pl.col("retransmissions").sum(),
            mac_retries=pl.when(pl.col("mac_retries").is_not_null().any()).then(pl.col("mac_retries").sum()),
            first_s=pl.col("start_s").min(),
            last_s=(pl.col("start_s") + pl.col("duration_s")).max(),
            rtt_ms=(pl.col("rtt_mean_ns").cast(pl.Float64) * pl.col("rtt_samples")).sum()
            / pl.col("rtt_samples").filter(pl.col("rtt_mean_ns").is_not_null()).sum()
            / 1e6,
        )
        .with_columns(
            pl.when(pl.col("rtt_ms").is_finite()).then("rtt_ms"),
            share=_share(pl.col("bytes_up") + pl.col("bytes_down")),
        )
        .sort(["bytes_down", "bytes_up", "client"], descending=[True, True, False])
    )


def _share(value: pl.Expr) -> pl.Expr:
    return pl.when(value.sum() > 0).then(value / value.sum())


def spans(table: pl.DataFrame, clients: list[str]) -> pl.DataFrame:
    """When each connection of these clients was open: ``client, class, start_s, duration_s``.

    Of more than ``MOST_SPANS`` the longest are kept.
    """
    rows = table.filter(pl.col("client").is_in(clients))
    if rows.height > MOST_SPANS:
        rows = rows.top_k(MOST_SPANS, by="duration_s")
    return rows.select("client", "class", "start_s", "duration_s").sort("start_s")
