"""Columns of the tables in the units that people read, and the few selections that every measure shares.

Model: definitions of docs/reference/records.md. Response time = done − due of completed exchanges;
connection duration = first to last frame on the air of connections that were opened and closed; both for
what was due inside [0, T]. Leaves out anything that needs frames or packets: it works at record level
``analysis``; at level ``summary`` there is the digest and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from airperf.analysis import digest as digests
from airperf.analysis.digest import ERRORS, Digest
from airperf.analysis.intervals import Floats
from airperf.errors import RecordError
from airperf.records import Manifest, Run

__all__ = ["CLOSED", "COLUMNS", "ERRORS", "Tables", "load"]

PAGE_OUTCOMES = ("complete", "incomplete", "given_up", "unfinished")
"""How a page can end."""

CLOSED = ("syn_fin", "syn_rst")
"""Classes of connections that were opened and closed on the air."""


@dataclass(frozen=True)
class Tables:
    """The tables of one run as a study needs them, with the end of the load; or its digest alone."""

    manifest: Manifest
    frames: Mapping[str, pl.DataFrame]
    """The tables by name, each read when it is looked at; none at level ``summary``."""
    summed: Digest | None = None
    """What the run summed itself, if it did (simulated runs)."""
    warmup_ns: int = 0
    """What is due before is left out (``analysis.warmup``)."""
    run: Run | None = None
    """Where they come from, for what is too large to be read every time."""

    @property
    def connections(self) -> pl.DataFrame:
        """One row per connection."""
        return self._table("connections")

    @property
    def exchanges(self) -> pl.DataFrame:
        """One row per exchange."""
        return self._table("exchanges")

    @property
    def queues(self) -> pl.DataFrame:
        """Transmit queues over time."""
        return self._table("queues")

    @property
    def flows(self) -> pl.DataFrame | None:
        """Flows that are no Web; None when the scenario has none."""
        return self.frames.get("flows")

    @property
    def pages(self) -> pl.DataFrame | None:
        """Pages; None when nobody fetches any."""
        return self.frames.get("pages")

    def _table(self, name: str) -> pl.DataFrame:
        try:
            return self.frames[name]
        except KeyError:
            raise RecordError(
                f"a run of {self.manifest.name} at level {self.manifest.level!r} has no table {name!r}: "
                'record it at level "analysis"'
            ) from None

    @cached_property
    def digest(self) -> Digest:
        """The run in a few numbers, at every level."""
        return self.summed or digests.from_tables(self)

    @property
    def duration_s(self) -> float:
        """T: how long load was offered, less the warm-up that is left out."""
        return self.manifest.duration_s - self.warmup_ns / 1e9

    @property
    def end_ns(self) -> int:
        """T in nanoseconds."""
        return round(self.manifest.duration_s * 1e9)

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

    @cached_property
    def page_ms(self) -> Floats | None:
        """Load time, done − due, of every page that was due inside [0, T] and complete, whenever it was."""
        if self.pages is None:
            return None
        due, done = pl.col("due_ns").cast(pl.Int64), pl.col("done_ns").cast(pl.Int64)
        complete = self.pages.filter(pl.col("done_ns").is_not_null() & (due <= self.end_ns))
        return complete.select(((done - due) / 1e6).alias("ms"))["ms"].to_numpy().astype(np.float64)

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
        "error",
        "exchanges",
        "bytes_down",
        "segments_up",
        "segments_down",
    ),
    "exchanges": ("client", "due_ns", "done_ns", "response_bytes", "error"),
    "queues": ("time_ns", "station", "mean", "dropped"),
    "flows": ("*",),
    "pages": ("client", "due_ns", "done_ns", "response_bytes", "outcome"),
}
"""What the measures use: a study keeps hundreds of runs in memory. ``flows``, ``pages``: not in every run."""


class _Lazy(Mapping[str, pl.DataFrame]):
    """The tables of a run directory, each read once, when it is first looked at."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.seen: dict[str, pl.DataFrame] = {}

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in self.seen:
            if not self.run.has(name):
                raise KeyError(name)
            self.seen[name] = self.run.scan(name).select(COLUMNS[name]).collect()
        return self.seen[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name in COLUMNS if self.run.has(name))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def load(run: Run) -> Tables:
    """A run that was verified: its digest, and the columns of its tables that the measures use."""
    run.verify()
    summed = digests.from_file(run) if digests.FILE in run.manifest.files else None
    return Tables(run.manifest, _Lazy(run), summed, run=run)
