"""Tails of what a capture measured and memory of its traffic, as tables of claims with their evidence.

Model: ``analysis.heavy_tail`` and ``analysis.hurst``. Leaves out samples too small: they get a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airperf.analysis.capture.distributions import finite
from airperf.analysis.heavy_tail import Tail, fit_tail
from airperf.analysis.hurst import Hurst, hurst
from airperf.analysis.intervals import Floats

INTERVALS_NS = (1_000_000_000, 100_000_000, 10_000_000)
"""Lengths of interval that Hurst exponents are estimated at."""

NO_MEMORY = 0.5
"""Hurst exponent of independent counts."""

ENOUGH = 1_024
"""Intervals that a series should have; a shorter interval is taken until it does."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Both estimates for one series of counts."""

    what: str
    interval_s: float
    estimates: tuple[Hurst, ...]

    @property
    def verdict(self) -> str:
        """One sentence: what may be claimed."""
        limits = [(e.low, e.high) for e in self.estimates if e.low is not None and e.high is not None]
        if len(limits) < len(self.estimates):
            return "no claim: " + "; ".join(f"{e.method}: {e.refused}" for e in self.estimates if e.refused)
        lows, highs = [low for low, _ in limits], [high for _, high in limits]
        if min(highs) >= 1:
            return "no claim: not stationary at these scales, the load itself changes"
        if max(lows) > min(highs):
            return "no claim: the two estimates disagree"
        if min(lows) > NO_MEMORY:
            return "long memory"
        if max(lows) <= NO_MEMORY <= min(highs):
            return "no memory seen"
        return "no claim: an interval holds 0.5"


def tails(samples: Mapping[str, Floats]) -> dict[str, Tail]:
    """A fit, or the reason for none, for each sample."""
    return {name: fit_tail(finite(values)) for name, values in samples.items()}


def interval_ns(duration_s: float) -> int:
    """The longest interval that cuts so long a capture into ``ENOUGH`` of them, or the shortest there is."""
    fitting = (length for length in INTERVALS_NS if duration_s * 1e9 >= ENOUGH * length)
    return next(fitting, INTERVALS_NS[-1])


def memory(what: str, interval_s: float, counts: Floats | None) -> Memory:
    """Hurst exponents of counts; None for a series with more intervals than can be looked at."""
    if counts is None:
        return Memory(what, interval_s, (Hurst("both", 0, refused="the time stamps leave gaps of days"),))
    # The first and the last interval are cut short by where the capture begins and ends.
    return Memory(what, interval_s, hurst(counts[1:-1]))
