"""What decides which points are wanted next: a combination with its repetitions, or a search for a knee.

Model: a unit looks only at values of its own points and asks for the next ones in a fixed order, so the
points are the same for any number of workers, shards, and interruptions. The number of repetitions grows
towards what the half-width so far calls for, at most doubling; stopping when an interval is narrow makes
its coverage a little less than 95%.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from airperf.analysis.knee import probes
from airperf.analysis.quantities import interval
from airperf.experiment.points import Cell, Point

Values = Mapping[str, float | None]
Known = Callable[[Point], Values | None]
"""The values of a point; None while it is not there, or not usable."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """One combination, repeated a number of times or until its intervals are narrow."""

    cell: Cell
    testbed: str
    seed: int
    measures: tuple[str, ...]

    def wanted(self, known: Known) -> list[Point]:
        """All points so far and those wanted next."""
        rule = self.cell.variant.repetitions
        count = rule.at_least
        while True:
            points = [self.cell.point(self.testbed, number, self.seed) for number in range(count)]
            if rule.share is None or count >= rule.at_most:
                return points
            seen = [values for point in points if (values := known(point)) is not None]
            if len(seen) < count:
                return points
            more = max(_needed(name, seen, rule.share) for name in rule.of or self.measures)
            if more <= count:
                return points
            count = min(rule.at_most, 2 * count, more)


def _needed(measure: str, seen: Sequence[Values], share: float) -> int:
    """How many repetitions the half-width so far calls for; as many as there are when it is narrow enough."""
    have = len(seen)
    found = interval(measure, [values[measure] for values in seen])
    if found.mean is None:
        return have  # nothing to be precise about
    if found.half_width is None or (found.mean == 0 and found.half_width > 0):
        return have + 1
    if found.half_width <= share * abs(found.mean):
        return have
    return max(have + 1, math.ceil(have * (found.half_width / (share * abs(found.mean))) ** 2))


@dataclass(slots=True)
class Search:
    """The search for a knee in one combination and one repetition: its own streams, its own bisection."""

    cell: Cell
    testbed: str
    seed: int
    repetition: int
    _cells: dict[int, Cell] = field(default_factory=dict)

    def wanted(self, known: Known) -> list[Point]:
        """All points so far and those wanted next."""
        knee = self.cell.variant.knee
        assert knee is not None  # noqa: S101 - the planner makes searches of variants that have one
        holds: dict[int, bool] = {}
        points: list[Point] = []
        while places := probes(len(knee.factor.choices), holds):
            new = {place: self._at(place) for place in places}
            points += new.values()
            for place, point in new.items():
                values = known(point)
                verdict = None if values is None else knee.criterion.holds(values.get)
                if verdict is None:
                    return points
                holds[place] = verdict
        return points

    def _at(self, place: int) -> Point:
        if place not in self._cells:
            knee = self.cell.variant.knee
            assert knee is not None  # noqa: S101 - as above
            self._cells[place] = self.cell.along(knee.factor.choices[place])
        return self._cells[place].point(self.testbed, self.repetition, self.seed)


Unit = Repeated | Search


def units(cells: Sequence[Cell], testbed: str, seed: int | None) -> list[Unit]:
    """The units of a testbed in their order."""
    found: list[Unit] = []
    for cell in cells:
        if testbed not in cell.variant.testbeds:
            continue
        chosen = cell.study.seed if seed is None else seed
        if cell.variant.knee is None:
            found.append(Repeated(cell, testbed, chosen, cell.study.measures or ("carried_rps",)))
        else:
            found += [Search(cell, testbed, chosen, n) for n in range(cell.variant.repetitions.at_least)]
    return found
