"""How a run went over time: rates by second, queues, and when a queue was full.

Model: tables of one run. Leaves out smoothing: a figure shows what was counted.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from airperf.analysis.intervals import Floats
from airperf.analysis.tables import Tables


def completions_per_s(tables: Tables) -> Floats:
    """Exchanges completed in each second of [0, T]."""
    seconds = int(np.ceil(tables.duration_s))
    done = tables.completed["done_ns"].to_numpy().astype(np.float64) / 1e9
    counts, _ = np.histogram(done, bins=np.arange(seconds + 1))
    return counts.astype(np.float64)


def errors_per_s(tables: Tables) -> dict[str, float]:
    """Mean errors per second of offered load, by phase."""
    return {name: count / tables.duration_s for name, count in tables.digest.errors.items()}


def queue_depth(tables: Tables, station: int) -> tuple[Floats, Floats]:
    """Times (s) and mean occupancy (packets) of one transmit queue over each sampling interval."""
    rows = tables.queues.filter(pl.col("station") == station).sort("time_ns")
    return (
        rows["time_ns"].to_numpy().astype(np.float64) / 1e9,
        rows["mean"].to_numpy().astype(np.float64),
    )


def queue_fill_s(tables: Tables, station: int) -> float | None:
    """When the queue first refused a packet (end of the sampling interval, s); None if it never did."""
    full = tables.queues.filter((pl.col("station") == station) & (pl.col("dropped") > 0))["time_ns"]
    return None if full.is_empty() else float(full.min()) / 1e9  # type: ignore[arg-type]
