"""Tails and Hurst exponents against samples whose answer is known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from airperf.analysis.heavy_tail import fit_tail
from airperf.analysis.hurst import Hurst, hurst
from airperf.analysis.intervals import band, ecdf

Floats = npt.NDArray[np.float64]


def fractional_noise(h: float, n: int, rng: np.random.Generator) -> Floats:
    """Fractional Gaussian noise by Davies and Harte's circulant embedding: exact, O(n log n)."""
    k = np.arange(n + 1, dtype=np.float64)
    covariance = 0.5 * (np.abs(k + 1) ** (2 * h) - 2 * k ** (2 * h) + np.abs(k - 1) ** (2 * h))
    circle = np.concatenate([covariance, covariance[-2:0:-1]])
    eigenvalues = np.fft.fft(circle).real
    assert (eigenvalues > -1e-9).all()
    size = circle.size
    noise = rng.standard_normal(size) + 1j * rng.standard_normal(size)
    return np.fft.fft(np.sqrt(np.maximum(eigenvalues, 0) / size) * noise).real[:n]


@pytest.mark.parametrize("h", [0.5, 0.65, 0.8, 0.9])
def test_hurst_is_found_in_noise_of_known_exponent(h: float) -> None:
    rng = np.random.default_rng(20040401)
    runs = [hurst(fractional_noise(h, 2048, rng)) for _ in range(200)]
    for method in range(2):
        found = [run[method] for run in runs]
        values = np.array([f.value for f in found], dtype=np.float64)
        assert abs(values.mean() - h) < 0.02, found[0].method
        covered = np.mean([f.low is not None and f.high is not None and f.low <= h <= f.high for f in found])
        assert 0.88 <= covered <= 0.995, found[0].method


def test_hurst_of_white_noise_with_short_memory_is_near_a_half() -> None:
    rng = np.random.default_rng(7)
    white = rng.standard_normal(16_384)
    values = np.convolve(white, [1.0, 0.6, 0.3], mode="valid")
    for estimate in hurst(values):
        assert estimate.value == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize(
    ("data", "why"),
    [([1.0] * 500, "does not vary"), (list(range(20)), "too short"), ([float("nan")] * 200, "no numbers")],
)
def test_hurst_refuses_what_it_cannot_estimate(data: list[float], why: str) -> None:
    for estimate in hurst(data):
        assert estimate == Hurst(estimate.method, len(data), refused=estimate.refused)
        assert estimate.refused is not None
        assert why in estimate.refused


def test_a_pareto_tail_is_found_and_its_rivals_are_not_preferred() -> None:
    rng = np.random.default_rng(11)
    tails = [fit_tail((rng.pareto(1.5, 500) + 1) * 10) for _ in range(30)]
    exponents = np.array([t.exponent for t in tails], dtype=np.float64)
    assert abs(exponents.mean() - 2.5) < 0.05
    covered = np.mean([t.low is not None and t.high is not None and t.low <= 2.5 <= t.high for t in tails])
    assert covered >= 0.85
    assert np.mean([t.verdict.startswith("heavy") for t in tails]) >= 0.85


def test_an_exponential_sample_is_not_called_heavy() -> None:
    rng = np.random.default_rng(12)
    for _ in range(10):
        assert not fit_tail(rng.exponential(5.0, 500)).verdict.startswith("heavy")


def test_a_lognormal_body_is_told_from_a_power_law() -> None:
    rng = np.random.default_rng(13)
    tail = fit_tail(rng.lognormal(0.0, 0.5, 2_000))
    lognormal = next(r for r in tail.rivals if r.name == "lognormal")
    assert "not shown" in tail.verdict or lognormal.better is not False


def test_small_samples_are_refused_with_their_size() -> None:
    assert fit_tail([1.0, 2.0, 3.0]).verdict == "too few values for a tail: 3, at least 50 are needed"
    assert "different values" in fit_tail([1.0, 2.0] * 100).verdict


def test_the_band_of_an_ecdf_holds_the_truth() -> None:
    rng = np.random.default_rng(14)
    inside = 0
    for _ in range(400):
        x, share = ecdf(rng.random(200))
        low, high = band(share, 200)
        inside += bool(((low <= x) & (x <= high)).all())
    assert inside >= 0.95 * 400 - 3 * np.sqrt(400 * 0.95 * 0.05)
