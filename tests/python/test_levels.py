"""Levels of factors: ranges and lists with units."""

from __future__ import annotations

import pytest

from airperf.errors import ScenarioProblems
from airperf.experiment.levels import parse_levels


def test_a_range_includes_both_ends() -> None:
    levels = parse_levels("10..160 step 10 /s")
    assert len(levels) == 16
    assert (levels[0].number, levels[0].text) == (10.0, "10/s")
    assert (levels[-1].number, levels[-1].text) == (160.0, "160/s")


def test_decimal_steps_do_not_drift() -> None:
    assert [level.text for level in parse_levels("0.1..0.5 step 0.1 ms")] == [
        "0.1ms",
        "0.2ms",
        "0.3ms",
        "0.4ms",
        "0.5ms",
    ]


def test_lists_keep_their_units_and_bare_numbers() -> None:
    assert [level.text for level in parse_levels(["1KiB", "64KiB"])] == ["1KiB", "64KiB"]
    assert [(level.number, level.text) for level in parse_levels([100, 400])] == [
        (100.0, "100"),
        (400.0, "400"),
    ]


@pytest.mark.parametrize(
    "source",
    [
        "10..5 step 1 /s",
        "1..10 step 0 /s",
        "1..10 step -1 /s",
        "0..1000000000 step 1",
        [],
        ["fast"],
        ["nan"],
    ],
)
def test_fault_38_impossible_sweeps_are_refused(source: str | list[str]) -> None:
    with pytest.raises(ScenarioProblems, match="1 problem; nothing was started"):
        parse_levels(source)
