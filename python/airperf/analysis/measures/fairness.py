"""Measures of how evenly clients share: Jain's index and the extremes.

Model: Jain, Chiu and Hawe (1984): J = (Σx)² / (n Σx²) of the exchanges that each client completed inside
[0, T]; 1 when all are equal, 1/n when one has everything. Leaves out clients that offer different loads.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from airperf.analysis.intervals import Floats
from airperf.analysis.measures.base import Parameters
from airperf.analysis.tables import Tables


def carried_by_client(tables: Tables) -> dict[str, float]:
    """Exchanges completed inside [0, T] per second by each client station."""
    counts = tables.digest.carried_by
    clients = [station for station in tables.manifest.stations if station.role == "client"]
    return {station.name: counts.get(station.id, 0) / tables.duration_s for station in clients}


def jain_index(values: Floats) -> float | None:
    """Jain's index; None where nobody has anything."""
    square = float((values**2).sum())
    return float(values.sum()) ** 2 / (len(values) * square) if square else None


def jain(tables: Tables, _: Parameters) -> float | None:
    """Jain's index of the exchanges that each client completed."""
    return jain_index(np.array(list(carried_by_client(tables).values())))


def jain_of_losses(tables: Tables, _: Parameters) -> float | None:
    """Jain's index of the packets that the transmit queue of each client refused."""
    queues = tables.manifest.totals["queues"]
    clients = [station.name for station in tables.manifest.stations if station.role == "client"]
    return jain_index(np.array([float(queues[name]["dropped"]) for name in clients]))


def least_to_most(tables: Tables, _: Parameters) -> float | None:
    """Exchanges of the client that completed fewest, relative to the one that completed most."""
    values = carried_by_client(tables).values()
    most = max(values, default=0.0)
    return min(values) / most if most else None


def first_to_others(tables: Tables, _: Parameters) -> float | None:
    """Exchanges of the first client, relative to the mean of the others: who of those in step is ahead."""
    values = list(carried_by_client(tables).values())
    others = sum(values[1:])
    return values[0] * (len(values) - 1) / others if others else None


def loss_by_client(tables: Tables) -> dict[str, int]:
    """Exchanges of each client that ended in an error."""
    found = tables.exchanges.filter(pl.col("error").is_not_null())["client"].value_counts()
    counts = {int(client): int(count) for client, count in found.iter_rows()}
    return {s.name: counts.get(s.id, 0) for s in tables.manifest.stations if s.role == "client"}
