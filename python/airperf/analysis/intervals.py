"""Means with their uncertainty, and distributions.

Model: two-sided Student-t interval of the mean over independent repetitions; empirical distribution
function; order statistics around a quantile; adjusted Fisher–Pearson coefficient of skewness. Leaves out
warm-up removal (``warmup.py``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over ``n`` repetitions and the limits of its interval; null limits when n < 2."""

    mean: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


def t_interval(values: Iterable[float | None], confidence: float = 0.95) -> Interval:
    """Mean and ``confidence`` interval of independent values; None and NaN are left out and lower ``n``."""
    kept = np.array([v for v in values if v is not None and math.isfinite(v)], dtype=np.float64)
    n = len(kept)
    if n == 0:
        return Interval(None, None, None, 0)
    mean = float(kept.mean())
    if n == 1:
        return Interval(mean, None, None, 1)
    half = float(stats.t.ppf(0.5 + confidence / 2, n - 1)) * float(kept.std(ddof=1)) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n)


def order_interval(values: Iterable[float | None], share: float = 0.5, confidence: float = 0.95) -> Interval:
    """A quantile of independent values and the order statistics that hold it with ``confidence`` at least.

    Model: the number of values below the quantile is binomial (David and Nagaraja 2003, §7.1); the
    narrowest pair of equal tails at most. No limits where ``n`` is too small for any pair: below 6 for the
    median at 95%.
    """
    kept = np.sort([v for v in values if v is not None and math.isfinite(v)])
    n = len(kept)
    if n == 0:
        return Interval(None, None, None, 0)
    middle = float(np.quantile(kept, share))
    tail = (1 - confidence) / 2
    low = int(stats.binom.ppf(tail, n, share)) - 1
    high = int(stats.binom.isf(tail, n, share))
    if low < 0 or high >= n:
        return Interval(middle, None, None, n)
    return Interval(middle, float(kept[low]), float(kept[high]), n)


def ecdf(values: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Sorted distinct values and the share of values at or below each."""
    data = np.asarray(values, dtype=np.float64)
    if data.size == 0:
        return np.empty(0), np.empty(0)
    distinct, counts = np.unique(data, return_counts=True)
    return distinct, np.cumsum(counts) / data.size


def band(share: npt.ArrayLike, n: int, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Limits around a whole empirical distribution of ``n`` values.

    Model: the inequality of Dvoretzky, Kiefer and Wolfowitz with the constant of Massart (1990).
    """
    values = np.asarray(share, dtype=np.float64)
    half = math.sqrt(math.log(2 / (1 - confidence)) / (2 * n)) if n else 1.0
    return np.clip(values - half, 0.0, 1.0), np.clip(values + half, 0.0, 1.0)


def skewness(values: npt.ArrayLike) -> float | None:
    """Adjusted Fisher–Pearson coefficient; None for fewer than three values or no spread."""
    data = np.asarray(values, dtype=np.float64)
    if data.size < 3 or float(np.ptp(data)) == 0.0:
        return None
    return float(stats.skew(data, bias=False))


def quantile(values: npt.ArrayLike, share: float) -> float | None:
    """The value below which ``share`` of the values lie (linear interpolation); None for no values."""
    data = np.asarray(values, dtype=np.float64)
    return float(np.quantile(data, share)) if data.size else None
