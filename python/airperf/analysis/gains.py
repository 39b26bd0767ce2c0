"""What a remedy gains: a measure with it, relative to the same repetition without.

Model: paired over repetitions, which share their random streams; 95% Student-t interval of the mean ratio.
Leaves out choosing between remedies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airperf.analysis.intervals import Interval, t_interval
from airperf.analysis.measures import RUN_MEASURES
from airperf.analysis.tables import Tables
from airperf.analysis.view import StudyView


@dataclass(frozen=True, slots=True)
class Gain:
    """A remedy at one level: the values without and with it, and their ratio."""

    label: str
    without: Interval
    having: Interval
    ratio: Interval


def ratio(view: StudyView, parameters: Mapping[str, Any]) -> Interval:
    """Ratio of measure ``of``: variant ``variant`` at ``at`` to variant ``to`` at ``to_at`` (or ``at``)."""
    return _gain(view, parameters, "").ratio


def points(view: StudyView, parameters: Mapping[str, Any]) -> Interval:
    """What ``variant`` saves of measure ``of`` beyond variant ``beyond``, in percent of variant ``to``'s."""
    having, beyond, without = (
        _values(view, str(parameters[one]), parameters["at"], parameters)
        for one in ("variant", "beyond", "to")
    )
    triples = [(having[r], beyond[r], without[r]) for r in having if r in beyond and r in without]
    return t_interval(
        100 * (b - a) / c if a is not None and b is not None and c else None for a, b, c in triples
    )


def gains(view: StudyView, item: Mapping[str, Any]) -> list[Gain]:
    """The gains of all ``series`` of a figure for which there are runs."""
    found = [_gain(view, {**item, **one}, str(one["label"])) for one in item["series"]]
    return [gain for gain in found if gain.ratio.mean is not None]


def _gain(view: StudyView, parameters: Mapping[str, Any], label: str) -> Gain:
    at = parameters["at"]
    having = _values(view, str(parameters["variant"]), at, parameters)
    without = _values(view, str(parameters["to"]), parameters.get("to_at", at), parameters)
    pairs = [(having[r], without[r]) for r in having if r in without]
    ratios = [a / b if a is not None and b else None for a, b in pairs]
    return Gain(label, t_interval(without.values()), t_interval(having.values()), t_interval(ratios))


def _values(
    view: StudyView, variant: str, at: Mapping[str, Any], parameters: Mapping[str, Any]
) -> dict[tuple[int, int], float | None]:
    measure = RUN_MEASURES[str(parameters["of"])]
    factors = {str(key): float(value) for key, value in at.items()}
    runs: Sequence[Tables] = view.runs(variant, str(parameters.get("testbed", "sim")), **factors)
    # Emulated repetitions have each a seed of their own, simulated ones share theirs.
    return {(run.manifest.seed, run.manifest.repetition): measure(run, parameters) for run in runs}
