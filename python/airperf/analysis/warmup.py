"""Leaving out the warm-up of a run.

Model: MSER-5 (White 1997; Franklin and White 2008): of the means of five exchanges each, in the order in
which they were due, the first d are left out so that the standard error of what remains, s²/(n − d), is
least; d is looked for in the first half, beyond which the run is too short to tell. Leaves out what the
testbed counted over the whole run: queues and airtime.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from airperf.analysis.intervals import Floats
from airperf.analysis.tables import Tables

BATCH = 5
LEAST_BATCHES = 10
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min)")
_UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0}


@dataclass(frozen=True, slots=True)
class Warmup:
    """``none``, ``mser-5``, or ``fixed`` with its length."""

    kind: str
    seconds: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Warmup | None:
        """The warm-up that ``text`` writes; None if it writes none."""
        if text in {"none", "mser-5"}:
            return cls(text)
        match = _SECONDS.fullmatch(text)
        return cls("fixed", float(match[1]) * _UNITS[match[2]]) if match else None


def mser5(values: Floats) -> int:
    """How many of the first values to leave out; 0 where there are too few to judge."""
    batches = len(values) // BATCH
    if batches < LEAST_BATCHES:
        return 0
    means = values[: batches * BATCH].reshape(batches, BATCH).mean(axis=1)
    left = np.arange(batches, 0, -1)
    total = np.cumsum(means[::-1])[::-1]
    squares = np.cumsum(means[::-1] ** 2)[::-1]
    error = np.maximum(squares / left - (total / left) ** 2, 0.0) / left
    return int(np.argmin(error[: batches // 2 + 1])) * BATCH


def without_warmup(tables: Tables, warmup: Warmup) -> Tables:
    """The run from the end of its warm-up on: what was due before is left out, and so is its time."""
    if warmup.kind == "none":
        return tables
    if warmup.kind == "fixed":
        cut = min(round(warmup.seconds * 1e9), tables.end_ns - 1)
    else:
        seen = tables.exchanges.filter(
            pl.col("error").is_null() & pl.col("done_ns").is_not_null() & (pl.col("due_ns") <= tables.end_ns)
        ).sort("due_ns", "done_ns")
        due = seen["due_ns"].to_numpy().astype(np.float64)
        first = mser5(seen["done_ns"].to_numpy().astype(np.float64) - due)
        cut = int(due[first]) if first else 0
    if cut == 0:
        return tables
    late = pl.col("due_ns") >= cut
    frames = {
        name: frame.filter(late) if "due_ns" in frame.columns else frame
        for name, frame in tables.frames.items()
    }
    return replace(tables, frames=frames, summed=None, warmup_ns=cut)
