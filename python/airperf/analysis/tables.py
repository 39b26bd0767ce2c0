"""Columns of the tables in the units that people read, and the few selections that every measure shares.

Model: definitions of docs/reference/records.md. Response time = done − due of completed exchanges;
connection duration = first to last frame on the air of connections that were opened and closed; both for
what was due inside [0, T]. Leaves out anything that needs frames or packets: it works at record level
``analysis``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from airperf.analysis.intervals import Floats
from airperf.records import Manifest, Run

ERRORS = ("connect", "send", "reply", "receive", "reset")
"""Phases in which the user of an exchange can see an error."""

CLOSED = ("syn_fin", "syn_rst")
"""Classes of connections that were opened and closed on the air."""


@dataclass(frozen=True)
class Tables:
    """The tables of one run as a study needs them, with the end of the load."""

    manifest: Manifest
    connections: pl.DataFrame
    exchanges: pl.DataFrame
    queues: pl.DataFrame

    @property
    def duration_s(self) -> float:
        """T: how long load was offered."""
        return self.manifest.duration_s

    @property
    def end_ns(self) -> int:
        """T in nanoseconds."""
        return round(self.duration_s * 1e9)

    @property
    def completed(self) -> pl.DataFrame:
        """Exchanges completed inside [0, T] (models statement 37: what drains later does not count)."""
        return self.exchanges.filter(pl.col("error").is_null() & (pl.col("done_ns") <= self.end_ns))

    @cached_property
    def response_ms(self) -> Floats:
        """Done − due of every exchange that was due inside [0, T] and completed, whenever it did."""
        times = self.exchanges.filter(
            pl.col("error").is_null() & pl.col("done_ns").is_not_null() & (pl.col("due_ns") <= self.end_ns)
        ).select(((pl.col("done_ns").cast(pl.Int64) - pl.col("due_ns").cast(pl.Int64)) / 1e6).alias("ms"))
        return times["ms"].to_numpy().astype(np.float64)

    @property
    def closed(self) -> pl.DataFrame:
        """Connections opened and closed on the air, with ``start_s``, ``duration_ms`` and ``transaction_ms``.

        ``transaction_ms`` runs from the instant the connection was due to its last frame on the air.
        """
        first = pl.col("first_frame_ns").cast(pl.Int64)
        last = pl.col("last_frame_ns").cast(pl.Int64)
        due = pl.col("due_ns").cast(pl.Int64)
        return self.connections.filter(
            pl.col("class").cast(pl.String).is_in(CLOSED)
            & pl.col("first_frame_ns").is_not_null()
            & pl.col("last_frame_ns").is_not_null()
        ).with_columns(
            start_s=first / 1e9,
            duration_ms=(last - first) / 1e6,
            transaction_ms=(last - due) / 1e6,
        )

    @cached_property
    def duration_ms(self) -> Floats:
        """On-air durations of the closed connections."""
        return self.closed["duration_ms"].to_numpy().astype(np.float64)


COLUMNS = {
    "connections": (
        "due_ns",
        "first_frame_ns",
        "last_frame_ns",
        "class",
        "exchanges",
        "segments_up",
        "segments_down",
    ),
    "exchanges": ("due_ns", "done_ns", "response_bytes", "error"),
    "queues": ("time_ns", "station", "mean", "dropped"),
}
"""What the measures use: a study keeps hundreds of runs in memory."""


def load(run: Run) -> Tables:
    """Reads the columns that the measures use."""
    tables = {name: run.scan(name).select(columns).collect() for name, columns in COLUMNS.items()}
    return Tables(run.manifest, tables["connections"], tables["exchanges"], tables["queues"])
