"""Measures of transfers that their user gave up: how many, and what they cost the network.

Model: a connection is aborted when its user saw an error (``connections.error``). Packets are segments that
TCP offered, octets those of payload that arrived before the user gave up. Leaves out what arrived later.
"""

from __future__ import annotations

import polars as pl

from airperf.analysis.measures.base import Parameters
from airperf.analysis.tables import Tables

SEGMENTS = pl.col("segments_up").cast(pl.Int64) + pl.col("segments_down").cast(pl.Int64)


def _aborted(tables: Tables) -> pl.DataFrame:
    return tables.connections.filter(pl.col("error").is_not_null())


def aborted_share(tables: Tables, parameters: Parameters) -> float | None:
    """Share of connections whose user gave up, in ``phase`` or in any."""
    if not tables.connections.height:
        return None
    lost = _aborted(tables)
    if "phase" in parameters:
        lost = lost.filter(pl.col("error").cast(pl.String) == str(parameters["phase"]))
    return lost.height / tables.connections.height


def aborted_packets(tables: Tables, _: Parameters) -> float | None:
    """Mean packets of an aborted connection, both ways."""
    lost = _aborted(tables)
    return float(lost.select(SEGMENTS.sum()).item()) / lost.height if lost.height else None


def aborted_kib(tables: Tables, _: Parameters) -> float | None:
    """Mean payload that an aborted connection had brought to the client, in KiB."""
    lost = _aborted(tables)
    return float(lost["bytes_down"].cast(pl.Int64).sum()) / 1024 / lost.height if lost.height else None


def aborted_packet_share(tables: Tables, _: Parameters) -> float | None:
    """Share of all packets that belonged to aborted connections."""
    whole = int(tables.connections.select(SEGMENTS.sum()).item() or 0)
    return int(_aborted(tables).select(SEGMENTS.sum()).item() or 0) / whole if whole else None


def aborted_octet_share(tables: Tables, _: Parameters) -> float | None:
    """Share of all payload octets brought to clients that belonged to aborted connections."""
    whole = int(tables.connections["bytes_down"].cast(pl.Int64).sum())
    return int(_aborted(tables)["bytes_down"].cast(pl.Int64).sum()) / whole if whole else None
