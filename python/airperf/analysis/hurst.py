"""How strongly a series of counts depends on its past: the Hurst exponent by two estimators with intervals.

Model: local Whittle (Robinson, "Gaussian semiparametric estimation of long range dependence", Annals of
Statistics 23, 1995) and wavelet regression (Abry and Veitch, "Wavelet analysis of long-range-dependent
traffic", IEEE Transactions on Information Theory 44, 1998, with the library PyWavelets). Both assume a
stationary series: 0.5 is no memory, near 1 strong memory. Leaves out tests of stationarity; look at the
series first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pywt
from scipy import optimize, special, stats

from airperf.analysis.intervals import Floats

LEAST_LENGTH = 128
# Share of the frequencies used, as an exponent of the length: what lies above is short memory (Robinson §4).
WHITTLE_EXPONENT = 0.65
WAVELET = "db3"
# Octaves below this hold short memory, those with fewer coefficients than the other hold too little.
FIRST_OCTAVE = 3
LEAST_COEFFICIENTS = 8
LEAST_OCTAVES = 3
# Probability of a misfit this large by chance: the first line above the one is taken, none below the other.
GOOD_FIT = 0.05
POOR_FIT = 0.001
Z95 = 1.959964


@dataclass(frozen=True, slots=True)
class Hurst:
    """An estimate and its 95% interval; ``refused`` says why there is none."""

    method: str
    n: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    refused: str | None = None


def hurst(counts: npt.ArrayLike) -> tuple[Hurst, Hurst]:
    """Both estimates of a series of counts per interval, equally long intervals, none missing."""
    data: Floats = np.asarray(counts, dtype=np.float64)
    return local_whittle(data), wavelet(data)


def local_whittle(data: Floats) -> Hurst:
    """Local Whittle estimate; its standard error is 1 / (2 sqrt(m)) with m frequencies."""
    name, n = "local Whittle", int(data.size)
    if reason := _unfit(data):
        return Hurst(name, n, refused=reason)
    m = int(n**WHITTLE_EXPONENT)
    frequencies = 2 * np.pi * np.arange(1, m + 1) / n
    power = np.abs(np.fft.rfft(data - data.mean())[1 : m + 1]) ** 2
    mean_log = float(np.log(frequencies).mean())

    def objective(h: float) -> float:
        scaled = float((frequencies ** (2 * h - 1) * power).mean())
        return math.log(scaled) - (2 * h - 1) * mean_log

    best = optimize.minimize_scalar(objective, bounds=(0.01, 1.49), method="bounded")
    value, half = float(best.x), Z95 / (2 * math.sqrt(m))
    return Hurst(name, n, value, value - half, value + half)


def wavelet(data: Floats) -> Hurst:
    """Weighted regression of the log of the detail's energy on the octave (Abry and Veitch, §IV)."""
    name, n = "wavelet (Abry-Veitch)", int(data.size)
    if reason := _unfit(data):
        return Hurst(name, n, refused=reason)
    octaves, energies, weights = [], [], []
    approximation = data - data.mean()
    length = pywt.Wavelet(WAVELET).dec_len
    for octave in range(1, 64):
        if approximation.size < 2 * length:
            break
        approximation, detail = pywt.dwt(approximation, WAVELET, mode="periodization")
        count = detail.size - length
        if octave >= FIRST_OCTAVE and count >= LEAST_COEFFICIENTS:
            # Coefficients that the ends of the series made are left out; the log of a mean of squares is
            # biased by g and has variance zeta(2, count/2) / ln(2)^2 (Veitch and Abry 1999, equation 6).
            inner = detail[length // 2 : length // 2 + count]
            bias = special.digamma(count / 2) / math.log(2) - math.log2(count / 2)
            octaves.append(octave)
            energies.append(math.log2(float((inner**2).mean())) - bias)
            weights.append(math.log(2) ** 2 / float(special.zeta(2, count / 2)))
    if len(octaves) < LEAST_OCTAVES:
        return Hurst(name, n, refused=f"too short: fewer than {LEAST_OCTAVES} usable octaves")
    x, y, w = (np.array(values) for values in (octaves, energies, weights))
    # Short memory bends the line at its low end: octaves are dropped there until a line fits (Veitch, Abry,
    # Taqqu, "On the automatic selection of the onset of scaling", Fractals 11, 2003).
    fits = []
    for first in range(len(x) - LEAST_OCTAVES + 1):
        slope, variance, misfit = _line(x[first:], y[first:], w[first:])
        fits.append((float(stats.chi2.sf(misfit, len(x) - first - 2)), slope, variance))
    chance, slope, variance = next((fit for fit in fits if fit[0] > GOOD_FIT), max(fits))
    if chance < POOR_FIT:
        return Hurst(name, n, refused="no range of octaves lies on a line: not self-similar at these scales")
    value, half = (slope + 1) / 2, Z95 * math.sqrt(variance) / 2
    return Hurst(name, n, value, value - half, value + half)


def _line(x: Floats, y: Floats, w: Floats) -> tuple[float, float, float]:
    """Weighted least squares: slope, its variance, and the weighted sum of squares left over."""
    centre = float((w * x).sum() / w.sum())
    spread = float((w * (x - centre) ** 2).sum())
    slope = float((w * (x - centre) * y).sum()) / spread
    level = float((w * y).sum() / w.sum())
    return slope, 1 / spread, float((w * (y - level - slope * (x - centre)) ** 2).sum())


def _unfit(data: Floats) -> str | None:
    if data.size < LEAST_LENGTH:
        return f"too short: {data.size} intervals, at least {LEAST_LENGTH} are needed"
    if not np.isfinite(data).all():
        return "holds values that are no numbers"
    if float(np.ptp(data)) == 0.0:
        return "does not vary"
    return None
