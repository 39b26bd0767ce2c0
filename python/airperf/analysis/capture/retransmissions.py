"""The study's retransmission table: types of segments by clients, TCP and MAC apart.

Model: docs/reference/captures.md. Leaves out why a segment was sent again (``recovery``).
"""

from __future__ import annotations

from typing import Any

import polars as pl

KINDS = {
    "syn": "SYN",
    "syn_ack": "SYN-ACK",
    "get": "GET (client's data)",
    "data": "DATA (server's data)",
    "fin": "FIN",
    "fin_ack": "FIN-ACK",
    "ack": "ACK",
    "rst": "RST",
    "other": "other",
}
"""Rows of the table as people call them."""

COUNTS = ("segments", "tcp_retransmissions", "mac_retransmissions")


def table(rows: pl.DataFrame, clients: list[str]) -> list[dict[str, Any]]:
    """One row per type: ``kind`` and ``cells``, of all clients first and then of each of ``clients``.

    A cell has the three counts; MAC retransmissions are None where nothing of 802.11 was captured.
    """
    rows = rows.with_columns(pl.col("client", "kind").cast(pl.String))
    found = []
    for kind, name in KINDS.items():
        of_kind = rows.filter(pl.col("kind") == kind)
        if of_kind.is_empty():
            continue
        cells = [_cell(of_kind)]
        cells += [_cell(of_kind.filter(pl.col("client") == client)) for client in clients]
        found.append({"kind": name, "cells": cells})
    if found:
        cells = [_cell(rows), *(_cell(rows.filter(pl.col("client") == client)) for client in clients)]
        found.append({"kind": "all", "cells": cells})
    return found


def _cell(rows: pl.DataFrame) -> dict[str, int | None]:
    return {
        name: None if rows[name].null_count() == rows.height else int(rows[name].sum()) for name in COUNTS
    }
