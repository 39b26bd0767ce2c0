"""The results of an experiment as one table: a row for each combination of levels and measure.

Model: over repetitions, Student-t intervals for means and order statistics for percentiles; a knee is the
mean over its searches. Columns: docs/reference/experiment.md. Leaves out drawing, and points that are not
usable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from airperf.analysis.intervals import Interval
from airperf.analysis.knee import Criterion, bracket, knee_interval, probes
from airperf.analysis.quantities import interval, quantity
from airperf.analysis.view import StudyView
from airperf.records import PointEntry

SWEEP, KNEE = "sweep", "knee"
"""The two parts of an experiment: its combinations, and the search for a knee in each."""

Levels = tuple[tuple[str, float, str], ...]
"""Factor, number and text of each level of a combination."""


@dataclass(frozen=True, slots=True)
class Result:
    """One measure of one combination."""

    part: str
    levels: Levels
    measure: str
    unit: str
    value: Interval
    kind: str
    """What the value is over repetitions: ``mean``, ``median`` or ``knee``."""
    note: str = ""


def results(view: StudyView) -> list[Result]:
    """Every result of an experiment's folder."""
    return [*_sweep(view), *_knees(view)]


def table(found: list[Result]) -> pl.DataFrame:
    """The results with a column for each factor (its number) and one more for its level as text."""
    factors = list(dict.fromkeys(name for result in found for name, _, _ in result.levels))
    columns: dict[str, list[Any]] = {"part": [result.part for result in found]}
    schema: dict[str, Any] = {"part": pl.String}
    for factor in factors:
        levels = [{name: (number, text) for name, number, text in result.levels} for result in found]
        columns[factor] = [level[factor][0] if factor in level else None for level in levels]
        columns[f"{factor}_level"] = [level[factor][1] if factor in level else None for level in levels]
        schema |= {factor: pl.Float64, f"{factor}_level": pl.String}
    for name, kind in (("measure", pl.String), ("unit", pl.String), ("kind", pl.String)):
        columns[name] = [getattr(result, name) for result in found]
        schema[name] = kind
    for name in ("mean", "low", "high", "half_width"):
        columns["value" if name == "mean" else name] = [getattr(result.value, name) for result in found]
        schema["value" if name == "mean" else name] = pl.Float64
    columns["n"] = [result.value.n for result in found]
    columns["note"] = [result.note for result in found]
    return pl.DataFrame(columns, schema=schema | {"n": pl.Int64, "note": pl.String})


def _cells(view: StudyView, part: str, without: str = "") -> Iterator[tuple[Levels, list[PointEntry]]]:
    """The points of a part by their levels, those of ``without`` left out of them."""
    cells: dict[Levels, list[PointEntry]] = {}
    for point in view.campaign.points:
        if point.variant == part:
            levels = tuple(
                (name, number, point.levels.get(name, f"{number:g}"))
                for name, number in point.factors.items()
                if name != without
            )
            cells.setdefault(levels, []).append(point)
    yield from cells.items()


def _sweep(view: StudyView) -> Iterator[Result]:
    measures: list[str] = list(view.campaign.raw["experiment"]["measures"])
    for levels, points in _cells(view, SWEEP):
        seen = [values for point in points if (values := _values(view, point, measures)) is not None]
        for name in measures:
            found = quantity(name)
            if found is not None:
                value = interval(name, [values[name] for values in seen])
                kind = "median" if found.percentile else "mean"
                note = "" if len(seen) == len(points) else f"{len(points) - len(seen)} runs are not usable"
                yield Result(SWEEP, levels, name, found.unit, value, kind, note)


def _knees(view: StudyView) -> Iterator[Result]:
    knee = view.campaign.raw["experiment"]["knee"]
    criterion = Criterion.parse(knee["criterion"]) if knee else None
    if criterion is None:
        return
    places = {float(number): place for place, number in enumerate(knee["levels"])}
    numbers = list(places)
    for levels, points in _cells(view, KNEE, knee["factor"]):
        holds: dict[int, dict[int, bool]] = {}
        for point in points:
            values = _values(view, point, criterion.measures)
            verdict = None if values is None else criterion.holds(values.get)
            if verdict is not None:
                holds.setdefault(point.repetition, {})[places[point.factors[knee["factor"]]]] = verdict
        pairs, low, high, unfinished = [], 0, 0, 0
        for seen in holds.values():
            before, after = bracket(len(numbers), seen)
            low, high = low + (before < 0), high + (after >= len(numbers))
            if before >= 0 and after < len(numbers):
                if probes(len(numbers), seen):
                    unfinished += 1
                else:
                    pairs.append((numbers[before], numbers[after]))
        notes = {"below the range": low, "above the range": high, "not finished": unfinished}
        note = ", ".join(f"{count} {what}" for what, count in notes.items() if count)
        yield Result(KNEE, levels, knee["factor"], "", knee_interval(pairs), "knee", note)


def _values(
    view: StudyView, point: PointEntry, measures: list[str] | tuple[str, ...]
) -> Mapping[str, float | None] | None:
    if point.state != "done":
        return None
    tables = view.tables(point)
    if tables is None or not tables.manifest.valid:
        return None
    found = {name: quantity(name) for name in measures}
    return {name: one.of(tables) for name, one in found.items() if one is not None}
