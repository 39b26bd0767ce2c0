"""Means, intervals and distributions against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airperf.analysis.intervals import ecdf, quantile, skewness, t_interval


def test_t_interval_of_known_values() -> None:
    # n = 4, mean 5, s = sqrt(20/3); t(0.975, 3) = 3.182446 (tables of Student's t)
    interval = t_interval([2, 4, 6, 8])
    half = 3.182446 * math.sqrt(20 / 3) / 2
    assert interval.mean == 5
    assert interval.low == pytest.approx(5 - half, rel=1e-6)
    assert interval.high == pytest.approx(5 + half, rel=1e-6)
    assert interval.n == 4
    assert interval.half_width == pytest.approx(half, rel=1e-6)


def test_too_few_values_have_no_interval() -> None:
    assert t_interval([]).mean is None
    single = t_interval([3.0])
    assert (single.mean, single.low, single.high, single.n) == (3.0, None, None, 1)
    assert single.half_width is None


def test_missing_values_lower_n_and_are_not_zero() -> None:
    interval = t_interval([4.0, None, 6.0, float("nan")])
    assert interval.mean == 5.0
    assert interval.n == 2


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    # Oracle: 95% intervals over 5 normal values cover the mean in 93–97% of repetitions.
    rng = np.random.default_rng(1)
    hits = 0
    for sample in rng.normal(7.0, 2.0, size=(2000, 5)):
        interval = t_interval(sample)
        assert interval.low is not None
        assert interval.high is not None
        hits += interval.low <= 7.0 <= interval.high
    assert 0.93 < hits / 2000 < 0.97


def test_ecdf_steps_at_the_values() -> None:
    values, share = ecdf([3, 1, 1, 2])
    assert values.tolist() == [1, 2, 3]
    assert share.tolist() == [0.5, 0.75, 1.0]
    assert ecdf([])[0].size == 0


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50))
def test_ecdf_rises_to_one(data: list[float]) -> None:
    values, share = ecdf(data)
    assert (np.diff(values) > 0).all()
    assert (np.diff(share) > 0).all()
    assert share[-1] == pytest.approx(1.0)


def test_skewness_and_quantiles() -> None:
    assert skewness([1, 2, 3]) == pytest.approx(0.0)
    assert skewness([5, 5, 5]) is None
    assert skewness([1, 2]) is None
    # adjusted Fisher–Pearson of (0, 0, 0, 1): sqrt(12)/2 * g1 with g1 = 2/sqrt(3)
    assert skewness([0, 0, 0, 1]) == pytest.approx(math.sqrt(12) / 2 * 2 / math.sqrt(3))
    assert quantile([0, 10], 0.25) == 2.5
    assert quantile([], 0.5) is None
