"""The study's retransmission table for runs of ours: clients × rates across, TCP and MAC apart.

Model: packets that were on the air, of runs at record level ``full``; *TCP* were sent before by TCP, *MAC*
are frames beyond the first of each packet. The capture of the same run gives the same table
(``airperf trace retransmissions``). Leaves out packets that a transmit queue refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from airperf.analysis.capture.retransmissions import table as by_client
from airperf.analysis.tables import Tables

KINDS = {"request": "get"}
"""Our names of packets where the table's are others."""


def counts(tables: Tables) -> pl.DataFrame:
    """One row per client and kind: ``client, kind, segments, tcp_retransmissions, mac_retransmissions``."""
    packets, connections = tables.more["packets"], tables.more["clients"]
    names = {station.id: station.name for station in tables.manifest.stations}
    return (
        packets.filter(pl.col("attempts") > 0)
        .join(connections, on="connection")
        .with_columns(
            client=pl.col("client").replace_strict(names, return_dtype=pl.String),
            kind=pl.col("kind").cast(pl.String).replace(KINDS),
        )
        .group_by("client", "kind")
        .agg(
            segments=pl.len().cast(pl.Int64),
            tcp_retransmissions=pl.col("retransmission").sum().cast(pl.Int64),
            mac_retransmissions=(pl.col("attempts").cast(pl.Int64) - 1).sum(),
        )
    )


def table(runs: Mapping[str, Tables]) -> tuple[list[str], list[dict[str, Any]]]:
    """Column titles (client at level) and rows (``kind`` and ``cells``, one for each column)."""
    columns: list[str] = []
    rows: dict[str, list[dict[str, int | None]]] = {}
    for level, run in runs.items():
        found = counts(run)
        clients = sorted(found["client"].unique().to_list())
        for row in by_client(found, clients):
            cells = rows.setdefault(row["kind"], [])
            cells += [{}] * (len(columns) - len(cells))
            cells += row["cells"][1:]
        columns += [f"{client}, {level}" for client in clients]
    width = len(columns)
    return columns, [
        {"kind": kind, "cells": cells + [{}] * (width - len(cells))} for kind, cells in rows.items()
    ]
