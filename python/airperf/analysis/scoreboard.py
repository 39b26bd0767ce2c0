"""The scoreboard: published | ours (interval, n) | within?

Model: a row names its measure, its variant and its kind of comparison. *near*: |ours − published| ≤
tolerance × published. *between*: low ≤ ours ≤ high, for a range that was published. *above*, *below*: one-
sided claims such as "> 2 s". ``within`` is None where nothing was published or nothing was measured. The
verdict is on the mean; the interval stands beside it. Leaves out any adjusting of our value to the
published one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airperf.analysis import gains
from airperf.analysis.intervals import Interval, t_interval
from airperf.analysis.measures import RUN_MEASURES, SWEEP_MEASURES, Rung
from airperf.analysis.view import StudyView

PAIRED = {"gain": gains.ratio, "points": gains.points}
"""The measures that compare variants, paired over repetitions."""

COMPARISONS = ("near", "between", "above", "below")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the scoreboard; ``json`` gives the shape of the contract."""

    target: Mapping[str, Any]
    ours: Interval
    within: bool | None

    def json(self) -> dict[str, Any]:
        """The row as ``airperf study --json`` prints it."""
        return {
            "id": self.target["id"],
            "what": self.target["what"],
            "unit": self.target["unit"],
            "published": self.target.get("published"),
            "published_text": self.target.get("published_text", ""),
            "compare": self.target.get("compare"),
            "tolerance": self.target.get("tolerance"),
            "ours": self.ours.mean,
            "low": self.ours.low,
            "high": self.ours.high,
            "n": self.ours.n,
            "within": self.within,
            "note": self.target.get("note", ""),
        }


def verdict(target: Mapping[str, Any], ours: float | None) -> bool | None:
    """Whether ``ours`` agrees with what was published, by the row's kind of comparison."""
    compare = target.get("compare")
    if ours is None or compare is None:
        return None
    if compare == "between":
        low, high = (float(limit) for limit in target["range"])
        return low <= ours <= high
    published = float(target["published"])
    if compare == "near":
        return abs(ours - published) <= float(target["tolerance"]) * abs(published)
    if compare == "above":
        return ours > published
    if compare == "below":
        return ours < published
    raise ValueError(f"unknown comparison {compare!r}; known are {', '.join(COMPARISONS)}")


def measure(view: StudyView, target: Mapping[str, Any]) -> Interval:
    """Our value of a row: the mean over repetitions with its 95% interval."""
    name = str(target["measure"])
    variant, testbed = str(target["variant"]), str(target.get("testbed", "sim"))
    if name in RUN_MEASURES:
        factors = {str(key): float(value) for key, value in target.get("at", {}).items()}
        runs = view.runs(variant, testbed, **factors)
        return t_interval(RUN_MEASURES[name](tables, target) for tables in runs)
    if name in SWEEP_MEASURES:
        factor = str(target.get("factor", view.factor(variant)))
        ladders = [
            [Rung(level, tables) for level, tables in ladder]
            for ladder in view.ladders(variant, testbed, factor).values()
        ]
        return t_interval(SWEEP_MEASURES[name](ladder, target) for ladder in ladders)
    if name in PAIRED:
        return PAIRED[name](view, target)
    raise ValueError(f"row {target['id']}: unknown measure {name!r}")


def scoreboard(view: StudyView) -> list[Row]:
    """Every row of the study's targets, measured and compared."""
    rows = []
    for target in view.targets:
        ours = measure(view, target)
        rows.append(Row(target, ours, verdict(target, ours.mean)))
    return rows
