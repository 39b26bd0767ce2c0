"""Whether the tail of a sample is heavy: a power law fitted, and its rivals tested against it.

Model: Clauset, Shalizi, Newman, "Power-law distributions in empirical data", SIAM Review 51 (2009): the
least value of the tail by the Kolmogorov-Smirnov distance, the exponent by maximum likelihood (equations
3.1 and 3.9), rivals by Vuong's likelihood-ratio test with the library ``powerlaw``. The search is ours
since the library's takes a minute and stops at an exponent of 3. Leaves out the bootstrap of the least
value itself, so the interval of the exponent is that of the tail as chosen, and counts: values are taken as
continuous.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import powerlaw

from airperf.analysis.intervals import Floats

RIVALS = ("exponential", "lognormal", "truncated_power_law")
LEAST_SAMPLE = 50
LEAST_TAIL = 25
LEAST_DIFFERENT = 10
# The search for the tail's least value compares each value of the sample with each.
MOST_SEARCHED = 5_000
# Rivals are fitted by numerical search within these exponents.
EXPONENTS = (0.0, 50.0)
SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class Rival:
    """Another distribution against the power law on the same tail.

    ``ratio`` is Vuong's normalised log-likelihood ratio: positive where the power law fits better. ``p`` is
    the probability of a ratio this far from 0 when both fit equally well.
    """

    name: str
    ratio: float
    p: float

    @property
    def better(self) -> bool | None:
        """Whether the rival fits better; None when the sample cannot tell."""
        return None if self.p > SIGNIFICANT else self.ratio < 0


@dataclass(frozen=True, slots=True)
class Tail:
    """A power law P(X > x) ~ x^(1 - exponent) fitted to the values from ``least`` on.

    ``low`` and ``high`` are the 95% interval of the exponent. ``n`` values in the sample, ``n_tail`` of them
    in the tail. ``refused`` says why there is no fit; then every number but ``n`` is None.
    """

    n: int
    n_tail: int | None = None
    least: float | None = None
    exponent: float | None = None
    low: float | None = None
    high: float | None = None
    distance: float | None = None
    rivals: tuple[Rival, ...] = ()
    refused: str | None = None

    @property
    def verdict(self) -> str:
        """One sentence: what may be claimed."""
        if self.refused is not None:
            return self.refused
        if any(r.name == "exponential" and r.better is not False for r in self.rivals):
            return "not shown to be heavier than exponential"
        preferred = [r.name.replace("_", " ") for r in self.rivals if r.better]
        if preferred:
            return f"heavier than exponential; {' and '.join(preferred)} fits better than a power law"
        undecided = [r.name.replace("_", " ") for r in self.rivals if r.better is None]
        if undecided:
            return f"heavy; a power law fits, {' and '.join(undecided)} not told apart from it"
        return "heavy; a power law fits best of those tried"


def fit_tail(values: npt.ArrayLike) -> Tail:
    """Fits the tail of positive values. What is not positive is left out.

    Above ``MOST_SEARCHED`` values the tail is looked for among the greatest of them only.
    """
    data: Floats = np.asarray(values, dtype=np.float64)
    data = data[np.isfinite(data) & (data > 0)]
    n = int(data.size)
    if n < LEAST_SAMPLE:
        return Tail(n, refused=f"too few values for a tail: {n}, at least {LEAST_SAMPLE} are needed")
    if np.unique(data).size < LEAST_DIFFERENT:
        return Tail(n, refused=f"fewer than {LEAST_DIFFERENT} different values: no tail to speak of")
    searched = np.sort(data)[-MOST_SEARCHED:]
    found = _search(searched)
    if found is None:
        return Tail(n, refused=f"the greatest {LEAST_TAIL} values hardly differ: no tail to speak of")
    begin, exponent, distance = found
    tail = searched[begin:]
    # Maximum likelihood: (exponent - 1) / sqrt(n) is the standard error (Clauset et al., equation 3.2).
    half = 1.96 * (exponent - 1) / math.sqrt(tail.size)
    return Tail(
        n=n,
        n_tail=int(tail.size),
        least=float(tail[0]),
        exponent=exponent,
        low=exponent - half,
        high=exponent + half,
        distance=distance,
        rivals=tuple(_rivals(tail)),
    )


def _search(data: Floats) -> tuple[int, float, float] | None:
    """Where the tail of sorted values begins, its exponent, and its distance from a power law."""
    logs = np.log(data)
    best: tuple[int, float, float] | None = None
    for begin in np.unique(data, return_index=True)[1]:
        size = data.size - begin
        above = logs[begin:] - logs[begin]
        mean = float(above.mean())
        if size < LEAST_TAIL or mean <= 0:
            break
        fitted = 1 - np.exp(-above / mean)
        steps = np.arange(size + 1) / size
        distance = float(max((steps[1:] - fitted).max(), (fitted - steps[:-1]).max()))
        if best is None or distance < best[2]:
            best = (int(begin), 1 + 1 / mean, distance)
    return best


def _rivals(tail: Floats) -> list[Rival]:
    found = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # The library warns of every value that its searches try and reject.
        warnings.simplefilter("ignore")
        ranges = {"alpha": list(EXPONENTS)}
        fit = powerlaw.Fit(tail, xmin=tail[0], discrete=False, parameter_ranges=ranges, verbose=False)
        for name in RIVALS:
            nested = name == "truncated_power_law"
            ratio, p = fit.distribution_compare("power_law", name, nested=nested, normalized_ratio=True)
            if math.isfinite(ratio) and math.isfinite(p):
                found.append(Rival(name, float(ratio), float(p)))
    return found
