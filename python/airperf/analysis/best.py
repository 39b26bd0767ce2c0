"""Which level of one factor is best at each level of another.

Model: the level with the highest mean of a run measure; another is as good when the 95% Student-t interval of
the difference to it, paired over repetitions, which share their random streams, holds 0. Leaves out more than
two factors, and corrections for looking at many levels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airperf.analysis.intervals import t_interval
from airperf.analysis.measures import RUN_MEASURES
from airperf.analysis.view import StudyView


def best(view: StudyView, item: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for each level of the first factor of ``variant``.

    ``level``, the ``best`` level of the factor ``over``, its ``value`` of measure ``of`` with its interval,
    and the levels that are ``as_good``.
    """
    variant, over, measure = str(item["variant"]), str(item["over"]), RUN_MEASURES[str(item["of"])]
    factor = view.factor(variant)
    rows = []
    for level in view.levels(variant, "sim", factor):
        values = {}
        for choice in view.levels(variant, "sim", over):
            runs = view.runs(variant, "sim", **{factor: level, over: choice})
            found = {run.manifest.repetition: measure(run, item) for run in runs}
            if known := {number: value for number, value in found.items() if value is not None}:
                values[choice] = known
        if values:
            rows.append({"level": level, **_best(values)})
    return rows


def _best(values: Mapping[float, Mapping[int, float]]) -> dict[str, Any]:
    top = max(values, key=lambda choice: sum(values[choice].values()) / len(values[choice]))
    as_good = [choice for choice, found in values.items() if choice != top and _same(values[top], found)]
    return {"best": top, "value": t_interval(values[top].values()), "as_good": as_good}


def _same(one: Mapping[int, float], other: Mapping[int, float]) -> bool:
    difference = t_interval([one[number] - other[number] for number in one if number in other])
    return difference.low is None or difference.low <= 0
