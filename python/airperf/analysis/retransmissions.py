"""The study's retransmission table for runs of ours: clients × rates across, TCP and MAC apart.

Model: what a sniffer sees: the capture of a run at record level ``full``, counted as any capture is
(docs/reference/captures.md). Leaves out packets that a transmit queue refused, and what the sniffer missed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from airperf.analysis.capture.retransmissions import table as by_client
from airperf.analysis.tables import Tables
from airperf.errors import RecordError
from airperf.records.capture import open_capture

CAPTURE = "air.pcapng"


def has_capture(tables: Tables) -> bool:
    """Whether the run recorded what the table needs."""
    return tables.run is not None and CAPTURE in tables.manifest.files


def captured(tables: Tables) -> pl.DataFrame:
    """What the capture of a run shows: ``client, kind`` and the counts of ``capture.retransmissions``."""
    if tables.run is None:
        raise RecordError(f"the run of {tables.manifest.name} has no {CAPTURE}: record it at level full")
    tables.run.verify(CAPTURE)
    return open_capture([tables.run.folder / CAPTURE]).table("retransmissions")


def table(runs: Mapping[str, Tables]) -> tuple[list[str], list[dict[str, Any]]]:
    """Column titles (client at level) and rows (``kind`` and ``cells``, one for each column)."""
    columns: list[str] = []
    rows: dict[str, list[dict[str, int | None]]] = {}
    for level, run in runs.items():
        counts = captured(run)
        clients = sorted(counts["client"].cast(pl.String).unique().to_list(), key=_address)
        for row in by_client(counts, clients):
            cells = rows.setdefault(row["kind"], [])
            cells += [{}] * (len(columns) - len(cells))
            cells += row["cells"][1:]
        names = [station.name for station in run.manifest.stations if station.role == "client"]
        titles = names if len(names) == len(clients) else clients  # addresses rise with the stations
        columns += [f"{name}, {level}" for name in titles]
    width = len(columns)
    return columns, [
        {"kind": kind, "cells": cells + [{}] * (width - len(cells))} for kind, cells in rows.items()
    ]


def _address(text: str) -> tuple[int, str]:
    """Addresses in the order of their numbers."""
    return (len(text), text)
