"""The knee of a live server: the highest rate that is still carried, by bisection of runs made on the way.

Model: carrying is monotone in the rate; where it is not, the answer is one of the places where it changes.
Of rates from a list the knee lies between two neighbours; of any rate, it is searched by doubling and then
halving in proportion, until the interval is narrower than asked. Leaves out measuring, and noise: near the
knee one run may say either, and only repetitions show that. Loads no table library, unlike the analysis of
runs: a generator is to stay small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Carries = Callable[[int], bool]
"""Whether a rate, in millionths per second, is carried."""

MAX_DOUBLINGS = 24


@dataclass(frozen=True, slots=True)
class Knee:
    """Between which rates it lies: ``low`` is carried, ``high`` is not; None where that was not found."""

    low: int | None
    high: int | None


def among(rates: Sequence[int], carries: Carries) -> Knee:
    """The knee among rising rates, looking at about log2 of them."""
    low, high = -1, len(rates)
    while high - low > 1:
        middle = (low + high) // 2
        if carries(rates[middle]):
            low = middle
        else:
            high = middle
    return Knee(rates[low] if low >= 0 else None, rates[high] if high < len(rates) else None)


def near(start: int, width: float, carries: Carries, most: int) -> Knee:
    """The knee wherever it is, from ``start`` on, until high/low is at most 1 + ``width``."""
    low = high = None
    rate = start
    for _ in range(MAX_DOUBLINGS):
        if carries(rate):
            low = rate
            if high is not None or rate >= most:
                break
            rate = min(2 * rate, most)
        else:
            high = rate
            if low is not None or rate <= 1:
                break
            rate //= 2
    while low is not None and high is not None and high > low * (1 + width) and high - low > 1:
        middle = min(max(round(math.sqrt(low * high)), low + 1), high - 1)
        if carries(middle):
            low = middle
        else:
            high = middle
    return Knee(low, high)
