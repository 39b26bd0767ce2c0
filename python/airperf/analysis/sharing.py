"""How clients share over time and over phases.

Model: exchanges completed in bins of time, by client; Jain's index over phase offsets with intervals over
repetitions. Leaves out clients that offer different loads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from airperf.analysis.intervals import Interval, t_interval
from airperf.analysis.measures import RUN_MEASURES
from airperf.analysis.tables import Tables
from airperf.analysis.view import StudyView

BIN_S = 5.0
"""Width of a bin: at 30 completions/s the noise of counting is then below a tenth."""


def shares_over_time(tables: Tables, bin_s: float = BIN_S) -> pl.DataFrame:
    """Exchanges completed per second by each client: ``time_s`` (middle of the bin), ``client``, ``rps``."""
    edges = np.arange(0.0, tables.duration_s + bin_s / 2, bin_s)
    frames = []
    for station in tables.manifest.stations:
        if station.role != "client":
            continue
        done = tables.completed.filter(pl.col("client") == station.id)["done_ns"]
        counts, _ = np.histogram(done.to_numpy().astype(np.float64) / 1e9, bins=edges)
        middles = (edges[:-1] + edges[1:]) / 2
        frames.append(
            pl.DataFrame({"time_s": middles, "client": [station.name] * len(counts), "rps": counts / bin_s})
        )
    return pl.concat(frames)


def over_phases(view: StudyView, variants: list[str]) -> list[dict[str, Any]]:
    """One row for each level of the variants' factor: ``level`` and, by variant, Jain's index and its likes.

    ``cells`` has for each variant the intervals of ``jain``, ``first_to_others`` and ``jain_of_losses``.
    """
    levels = sorted({level for v in variants for level in view.levels(v, "sim", view.factor(v))})
    return [{"level": level, "cells": [_cell(view, v, level) for v in variants]} for level in levels]


def _cell(view: StudyView, variant: str, level: float) -> dict[str, Interval]:
    runs = view.runs(variant, "sim", **{view.factor(variant): level})
    names = ("jain", "first_to_others", "jain_of_losses")
    return {name: t_interval(RUN_MEASURES[name](tables, {}) for tables in runs) for name in names}
