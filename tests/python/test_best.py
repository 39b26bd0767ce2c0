"""The best level of one factor at each level of another, and which others are as good."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from airperf.analysis import best
from airperf.analysis.measures import RUN_MEASURES

Values = dict[tuple[float, float], list[float | None]]


def view(values: Values) -> Any:
    """Runs whose value is that of their error, repair and repetition."""

    def levels(_variant: str, _testbed: str, factor: str) -> list[float]:
        return sorted({key[0 if factor == "error" else 1] for key in values})

    def runs(_variant: str, _testbed: str, error: float, repair: float) -> list[Any]:
        found = enumerate(values.get((error, repair), []))
        return [SimpleNamespace(value=v, manifest=SimpleNamespace(repetition=n)) for n, v in found]

    return SimpleNamespace(factor=lambda _variant: "error", levels=levels, runs=runs)


def test_the_best_level_has_the_highest_mean_and_ties_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RUN_MEASURES, "of", lambda run, _: run.value)
    values: Values = {
        (0.0, 0.0): [10.0, 12.0, 11.0],
        (0.0, 1.0): [9.0, 11.0, 10.0],  # always one less: worse, though the intervals overlap
        (0.0, 2.0): [11.5, 9.0, 11.5],  # now more, now less: as good
        (0.1, 0.0): [1.0, 1.1, 1.2],
        (0.1, 1.0): [5.0, 5.1, 5.2],
        (0.1, 2.0): [None, None],
    }
    first, second = best.best(view(values), {"variant": "v", "over": "repair", "of": "of"})
    assert (first["level"], first["best"], first["as_good"]) == (0.0, 0.0, [2.0])
    assert (first["value"].mean, first["value"].n) == (11.0, 3)
    assert (second["level"], second["best"], second["as_good"]) == (0.1, 1.0, [])
