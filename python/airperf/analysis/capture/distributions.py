"""Distributions of a sample for figures and pages: thinned to what a page can show, with bands and quantiles.

Model: empirical distribution with the band of ``analysis.intervals``. Leaves out fits (``heavy_tail``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from airperf.analysis.intervals import Floats, band, ecdf

MOST_POINTS = 300
"""Points that a curve keeps of the body, and again of the tail."""


@dataclass(frozen=True, slots=True)
class Spread:
    """What one reads off a sample first; every number but ``n`` is None when it is empty."""

    n: int
    mean: float | None = None
    median: float | None = None
    p90: float | None = None
    p99: float | None = None
    most: float | None = None
    largest_share: float | None = None


def finite(values: npt.ArrayLike) -> Floats:
    """The values that are numbers; missing ones are left out."""
    data: Floats = np.asarray(values, dtype=np.float64)
    return data[np.isfinite(data)]


def numbers(column: pl.Series) -> Floats:
    """A column as numbers, nulls left out."""
    return finite(column.drop_nulls().to_numpy().astype(np.float64))


def spread(values: Floats) -> Spread:
    """Mean, quantiles, greatest value and its share of the sum."""
    if not values.size:
        return Spread(0)
    median, p90, p99 = (float(q) for q in np.quantile(values, (0.5, 0.9, 0.99)))
    most, whole = float(values.max()), float(values.sum())
    share = most / whole if whole > 0 else None
    return Spread(int(values.size), float(values.mean()), median, p90, p99, most, share)


def distribution(values: Floats) -> pl.DataFrame:
    """``value``, ``share`` at or below it with its 95% band ``low`` … ``high``, and share ``longer``.

    ``longer`` counts the value itself, so that the greatest can be drawn on a logarithmic scale.
    """
    distinct, share = ecdf(values)
    low, high = band(share, int(values.size))
    longer = 1 - np.concatenate([[0.0], share[:-1]]) if distinct.size else share
    kept = _kept(distinct.size)
    columns = {"value": distinct, "share": share, "low": low, "high": high, "longer": longer}
    return pl.DataFrame({name: column[kept] for name, column in columns.items()})


def _kept(size: int) -> npt.NDArray[np.intp]:
    """Indexes of the points that are drawn: evenly in the body, and every one at the very end of the tail."""
    if size <= 2 * MOST_POINTS:
        return np.arange(size)
    body = np.linspace(0, size - 1, MOST_POINTS).astype(np.intp)
    tail = size - np.geomspace(1, size, MOST_POINTS).astype(np.intp)
    return np.unique(np.concatenate([body, tail]))


def share_below(values: Floats, limit: float) -> float | None:
    """Share of the values below ``limit``."""
    return float((values < limit).mean()) if values.size else None
