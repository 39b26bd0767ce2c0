"""Warm-up removal and order statistics, against closed forms and published tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from airperf.analysis import summary
from airperf.analysis.intervals import order_interval
from airperf.analysis.tables import load
from airperf.analysis.warmup import Warmup, mser5, without_warmup
from airperf.records import open_run

MS, S = 1_000_000, 1_000_000_000


def test_mser5_cuts_a_transient_and_leaves_a_steady_series_alone() -> None:
    stream = np.random.default_rng(1)
    cuts, spared = [], []
    for _ in range(50):
        steady = stream.normal(10, 1, 1000)
        spared.append(mser5(steady))
        rising = steady.copy()
        rising[:100] += 20 * np.exp(-np.arange(100) / 20)  # below the noise after 100
        cuts.append(mser5(rising))
    assert 40 <= np.median(cuts) <= 130
    assert np.median(spared) <= 50


def test_mser5_removes_most_of_the_bias() -> None:
    stream = np.random.default_rng(2)
    raw, kept = [], []
    for _ in range(200):
        values = stream.normal(10, 1, 1000)
        values[:100] += 30
        raw.append(values.mean() - 10)
        kept.append(values[mser5(values) :].mean() - 10)
    assert np.mean(raw) == pytest.approx(3.0, abs=0.05)
    assert abs(np.mean(kept)) < 0.02


def test_mser5_by_hand() -> None:
    # Batch means 100, 0, 0, … (12 batches): leaving the first out makes the standard error 0.
    assert mser5(np.repeat([100.0, *[0.0] * 11], 5)) == 5
    assert mser5(np.repeat([100.0, 0.0], 5)) == 0, "too few batches to judge"


def test_what_was_due_before_the_cut_is_left_out_with_its_time(
    make_run: Callable[..., Path], tmp_path: Path
) -> None:
    slow = [(i * S // 10, i * S // 10 + 900 * MS, None) for i in range(20)]
    fast = [(i * S // 10, i * S // 10 + 5 * MS, None) for i in range(20, 100)]
    tables = load(open_run(make_run(tmp_path / "run", [*slow, *fast])))
    assert tables.digest.response.mean == pytest.approx((20 * 900 + 80 * 5) / 100)
    cut = without_warmup(tables, Warmup("mser-5"))
    assert cut.warmup_ns == 2 * S
    assert cut.digest.response.mean == pytest.approx(5)
    assert summary.carried_rps(cut) == pytest.approx(10)
    assert summary.offered_rps(cut) == pytest.approx(10)
    fixed = without_warmup(tables, Warmup("fixed", 1.0))
    assert fixed.digest.offered == 90
    assert fixed.duration_s == pytest.approx(9.0)
    assert without_warmup(tables, Warmup("none")) is tables


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none", Warmup("none")),
        ("mser-5", Warmup("mser-5")),
        ("10s", Warmup("fixed", 10.0)),
        ("250 ms", Warmup("fixed", 0.25)),
        ("mser", None),
        ("10", None),
        ("-1s", None),
    ],
)
def test_what_is_a_warmup(text: str, expected: Warmup | None) -> None:
    assert Warmup.parse(text) == expected


# Ranks of the 95% interval of a median, from the binomial with p = 1/2 (Conover, Practical Nonparametric
# Statistics).
@pytest.mark.parametrize(
    ("n", "low", "high"),
    [(6, 1, 6), (8, 1, 8), (10, 2, 9), (15, 4, 12), (20, 6, 15), (25, 8, 18), (30, 10, 21)],
)
def test_order_statistics_of_the_median_are_those_of_the_tables(n: int, low: int, high: int) -> None:
    found = order_interval([float(rank) for rank in range(n, 0, -1)])
    assert (found.low, found.high, found.n) == (low, high, n)
    assert found.mean == pytest.approx((n + 1) / 2)


def test_order_statistics_need_six_values() -> None:
    assert order_interval([1.0, 2.0, 3.0, 4.0, 5.0]).low is None
    assert order_interval([None, float("nan")]).mean is None


def test_order_statistics_hold_the_median_of_a_skewed_distribution() -> None:
    stream = np.random.default_rng(3)
    held = 0
    for _ in range(2000):
        found = order_interval(stream.exponential(1.0, 12).tolist())
        assert found.low is not None
        assert found.high is not None
        held += found.low <= np.log(2) <= found.high
    assert held / 2000 == pytest.approx(0.9614, abs=0.015)  # P(3 ≤ B ≤ 9), B binomial (12, 1/2)
