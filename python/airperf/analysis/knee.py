"""Where a measure gives way: bisection along rising levels.

Model: a criterion such as ``carried_rps < 0.98 offered_rps`` that does not hold at the lowest level and
holds at the highest; bisection keeps a pair of levels between which it begins to hold. Where it comes and
goes, bisection finds one of the places. Leaves out running levels, which is the engine's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from airperf.analysis.intervals import Interval, t_interval

_CRITERION = re.compile(
    r"(?P<left>[a-z]\S*) (?P<sign>[<>]) (?P<factor>\d+(?:\.\d+)?)(?: (?P<right>[a-z]\S*))?", re.ASCII
)

Known = Callable[[str], float | None]
"""The value of a measure; None where there is none."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """``left < factor × right`` or ``left > …``; without ``right`` the factor is the limit itself."""

    left: str
    sign: str
    factor: float
    right: str = ""

    @classmethod
    def parse(cls, text: str) -> Criterion | None:
        """The criterion that ``text`` writes; None if it writes none."""
        match = _CRITERION.fullmatch(" ".join(text.split()))
        if match is None:
            return None
        return cls(match["left"], match["sign"], float(match["factor"]), match["right"] or "")

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures it names."""
        return (self.left, self.right) if self.right else (self.left,)

    def text(self) -> str:
        """The criterion as it is written."""
        return f"{self.left} {self.sign} {self.factor:g} {self.right}".rstrip()

    def holds(self, value: Known) -> bool | None:
        """Whether it holds where measures have these values; None where one has none."""
        left, right = value(self.left), value(self.right) if self.right else 1.0
        if left is None or right is None:
            return None
        limit = self.factor * right
        return left < limit if self.sign == "<" else left > limit


def probes(levels: int, holds: Mapping[int, bool]) -> list[int]:
    """The levels, by number, to look at next: both ends, then the middle of what is left; none at the end."""
    ends = [place for place in (0, levels - 1) if place not in holds]
    if ends:
        return ends
    low, high = bracket(levels, holds)
    return [] if low < 0 or high >= levels or high - low <= 1 else [(low + high) // 2]


def bracket(levels: int, holds: Mapping[int, bool]) -> tuple[int, int]:
    """The last level before and the first at which it holds, so far; −1 or ``levels`` for one beyond an end.

    Follows the path of the bisection, so that a level at which it holds by chance does not move the bracket.
    """
    if holds.get(0, False):
        return -1, 0
    if not holds.get(levels - 1, True):
        return levels - 1, levels
    low, high = 0, levels - 1
    while high - low > 1:
        middle = (low + high) // 2
        if middle not in holds:
            break
        low, high = (low, middle) if holds[middle] else (middle, high)
    return low, high


def knee_interval(brackets: list[tuple[float, float]], confidence: float = 0.95) -> Interval:
    """The mean knee over repetitions from the pair of levels around each, and its interval.

    Model: Student-t over the middles, wider on both sides by half the mean distance of a pair: what lies
    between two levels was not looked at.
    """
    middles = t_interval(((low + high) / 2 for low, high in brackets), confidence)
    if middles.low is None or middles.high is None:
        return middles
    half = sum(high - low for low, high in brackets) / len(brackets) / 2
    return Interval(middles.mean, middles.low - half, middles.high + half, middles.n)
