"""Measures of connections on the air: packets, durations, throughput of one transfer.

Model: definitions of docs/reference/records.md. Leaves out what users saw, which is ``rates``.
"""

from __future__ import annotations

import polars as pl

from airperf.analysis.intervals import skewness
from airperf.analysis.measures.base import Parameters, mean
from airperf.analysis.tables import Tables


def packets_per_transaction(tables: Tables, parameters: Parameters) -> float | None:
    """Mean segments per connection with one exchange, of ``side`` ``client`` or ``server`` or both."""
    seen = tables.digest
    side = str(parameters.get("side", "both"))
    segments = (seen.single_segments_up if side != "server" else 0) + (
        seen.single_segments_down if side != "client" else 0
    )
    return segments / seen.single if seen.single else None


def transaction_time_ms(tables: Tables, _: Parameters) -> float | None:
    """Mean time from due to the last frame: the whole transaction with its FIN handshake."""
    return tables.digest.transaction.mean


def connection_duration_ms(tables: Tables, _: Parameters) -> float | None:
    """Mean duration of connections on the air."""
    return tables.digest.connection.mean


def connection_share(tables: Tables, parameters: Parameters) -> float | None:
    """Share of connections whose duration lies within ``from_ms`` … ``to_ms``."""
    values = tables.duration_ms
    inside = (values >= float(parameters["from_ms"])) & (values <= float(parameters["to_ms"]))
    return mean(inside)


def closed_rps(tables: Tables, _: Parameters) -> float | None:
    """Connections whose last frame, after both FINs, was on the air inside [0, T], per second."""
    closed = tables.connections.filter(
        (pl.col("class").cast(pl.String) == "syn_fin") & (pl.col("last_frame_ns") <= tables.end_ns)
    )
    return closed.height / tables.duration_s


def connection_skewness(tables: Tables, _: Parameters) -> float | None:
    """Skewness of connection durations."""
    return skewness(tables.duration_ms)


def connection_longest_s(tables: Tables, _: Parameters) -> float | None:
    """The longest connection on the air, in seconds."""
    longest = tables.digest.connection.most
    return None if longest is None else longest / 1e3


def transfer_mbps(tables: Tables, _: Parameters) -> float | None:
    """Mean over connections without error of the octets the client received, over the duration on the air."""
    done = tables.closed.filter(pl.col("error").is_null() & (pl.col("duration_ms") > 0))
    return mean(done.select(pl.col("bytes_down").cast(pl.Float64) * 8e-3 / pl.col("duration_ms")).to_series())
