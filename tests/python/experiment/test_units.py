"""What is wanted next: repetitions until precise, and bisection for a knee, on values made up here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from airperf.analysis.knee import Criterion, bracket, knee_interval, probes
from airperf.analysis.quantities import interval
from airperf.experiment.units import Repeated, Search
from airperf.experiment.variants import Repetitions


class Point(SimpleNamespace):
    """A point with its repetition and level."""


class Cell:
    """A combination whose points are numbers."""

    def __init__(self, variant: Any, level: int = -1) -> None:
        self.variant, self.level = variant, level

    def point(self, _testbed: str, repetition: int, _seed: int) -> Point:
        """One repetition."""
        return Point(repetition=repetition, level=self.level)

    def along(self, choice: Any) -> Cell:
        """The same at a level."""
        return Cell(self.variant, choice)


def repeated(rule: Repetitions, measures: tuple[str, ...] = ("response_ms",)) -> Any:
    cell: Any = Cell(SimpleNamespace(repetitions=rule))
    return Repeated(cell, "sim", 1, measures)


def final(unit: Any, value: Callable[[Any], Mapping[str, float | None] | None]) -> list[Any]:
    """All points when every round's values are known in the next."""
    asked: list[Any] = []

    def known(point: Any) -> Mapping[str, float | None] | None:
        return value(point) if point in asked else None

    points: list[Any] = unit.wanted(known)
    while new := [point for point in points if point not in asked]:
        asked += new
        points = unit.wanted(known)
    return points


def noisy(spread: float) -> Callable[[Any], Mapping[str, float | None]]:
    values = np.random.default_rng(1).normal(100, spread, 1000)
    return lambda point: {"response_ms": float(values[point.repetition])}


def test_a_fixed_number_is_asked_for_at_once() -> None:
    assert len(repeated(Repetitions(5, 5)).wanted(lambda _: None)) == 5


def test_precise_results_stop_at_the_floor() -> None:
    assert len(final(repeated(Repetitions(4, 50, 0.05)), noisy(0.1))) == 4


def test_repetitions_go_on_until_the_half_width_is_there() -> None:
    unit = repeated(Repetitions(3, 200, 0.05))
    points = final(unit, noisy(20))
    found = interval("response_ms", [noisy(20)(point)["response_ms"] for point in points])
    assert 30 < len(points) < 200  # (1.96 × 20 / 5)² = 61
    assert found.half_width is not None
    assert found.mean is not None
    assert found.half_width <= 0.05 * found.mean
    fewer = interval("response_ms", [noisy(20)(point)["response_ms"] for point in points[:3]])
    assert fewer.half_width is not None
    assert fewer.half_width > 5, "the floor would not have been enough"


def test_the_cap_is_kept() -> None:
    assert len(final(repeated(Repetitions(3, 10, 0.001)), noisy(20))) == 10


def test_a_point_that_failed_ends_the_growth() -> None:
    def value(point: Any) -> Mapping[str, float | None] | None:
        return None if point.repetition == 1 else noisy(20)(point)

    assert len(final(repeated(Repetitions(3, 50, 0.01)), value)) == 3


@pytest.mark.parametrize("value", [None, 0.0])
def test_a_measure_without_values_and_one_of_zeros_hold_nothing_up(value: float | None) -> None:
    assert len(final(repeated(Repetitions(3, 50, 0.05)), lambda _: {"response_ms": value})) == 3


def test_percentiles_wait_for_order_statistics() -> None:
    unit = repeated(Repetitions(3, 50, 0.05), ("response_p99_ms",))
    assert len(final(unit, lambda _: {"response_p99_ms": 7.0})) == 6


def search(levels: int, criterion: str = "carried_rps < 0.98 offered_rps") -> Any:
    found = Criterion.parse(criterion)
    knee = SimpleNamespace(factor=SimpleNamespace(choices=tuple(range(levels))), criterion=found)
    cell: Any = Cell(SimpleNamespace(knee=knee))
    return Search(cell, "sim", 1, 0)


@pytest.mark.parametrize("step", [1, 2, 37, 98, 99])
def test_bisection_finds_a_step_exactly_in_few_points(step: int) -> None:
    def value(point: Any) -> Mapping[str, float | None]:
        return {"offered_rps": 100.0, "carried_rps": 90.0 if point.level >= step else 99.0}

    points = final(search(100), value)
    holds = {point.level: point.level >= step for point in points}
    assert bracket(100, holds) == (step - 1, step)
    assert len(points) <= 2 + 7
    assert probes(100, holds) == []


@pytest.mark.parametrize(("carried", "expected"), [(90.0, (-1, 0)), (99.0, (99, 100))])
def test_a_knee_beyond_the_range_is_told_after_its_ends(carried: float, expected: tuple[int, int]) -> None:
    points = final(search(100), lambda _: {"offered_rps": 100.0, "carried_rps": carried})
    assert sorted(point.level for point in points) == [0, 99]
    assert bracket(100, {point.level: carried < 98 for point in points}) == expected


def test_an_unusable_point_stops_the_search() -> None:
    points = final(
        search(100),
        lambda point: None if point.level == 49 else {"offered_rps": 1.0, "carried_rps": point.level < 50},
    )
    assert [point.level for point in points] == [0, 99, 49]


def test_a_level_that_holds_by_chance_does_not_move_the_bracket() -> None:
    assert bracket(9, {0: False, 8: True, 4: False, 6: True, 5: False, 2: True}) == (5, 6)


@pytest.mark.parametrize(
    ("text", "values", "holds"),
    [
        ("carried_rps < 0.98 offered_rps", {"carried_rps": 97.0, "offered_rps": 100.0}, True),
        ("carried_rps < 0.98 offered_rps", {"carried_rps": 98.0, "offered_rps": 100.0}, False),
        ("response_ms > 100", {"response_ms": 100.5}, True),
        ("queue_mean.client > 50", {"queue_mean.client": 4.0}, False),
        ("response_ms > 100", {"response_ms": None}, None),
    ],
)
def test_criteria(text: str, values: dict[str, float | None], holds: bool | None) -> None:
    criterion = Criterion.parse(text)
    assert criterion is not None
    assert criterion.holds(values.get) is holds
    assert criterion.text() == text


@pytest.mark.parametrize(
    "text", ["", "carried_rps", "carried_rps = 3", "carried_rps < x", "< 3", "a < 1 b c"]
)
def test_what_is_no_criterion(text: str) -> None:
    assert Criterion.parse(text) is None


def test_the_interval_of_a_knee_is_never_narrower_than_its_levels() -> None:
    same = knee_interval([(98.0, 100.0)] * 5)
    assert (same.mean, same.low, same.high) == (99.0, 98.0, 100.0)
    apart = knee_interval([(98.0, 100.0), (102.0, 104.0), (100.0, 102.0)])
    assert apart.mean == 101.0
    # t(0.975, 2) = 4.303, s = 2, n = 3, and half a level on each side
    assert apart.high == pytest.approx(101 + 4.30265 * 2 / 3**0.5 + 1)
    assert knee_interval([(98.0, 100.0)]).low is None
