"""Results of an experiment as curves: what stands on which axis, by design.

Model: *factorial*: the first factor on the axis, a curve for each combination of the others. *one-factor*:
a panel for each factor, the others at their base. Designs that draw: a panel for each factor with all
combinations as points. Leaves out drawing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airperf.analysis.intervals import Interval
from airperf.analysis.results import Result

MOST_CURVES = 8
"""More curves in a panel cannot be told apart; what is left out is said."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Values along an axis; ``joined`` by a line where neighbours differ in that number alone."""

    label: str
    x: tuple[float, ...]
    texts: tuple[str, ...]
    values: tuple[Interval, ...]
    joined: bool


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes: the factor along it and its curves."""

    factor: str
    curves: tuple[Curve, ...]
    left_out: int = 0
    title: str = ""


def panels(found: Sequence[Result], factors: Sequence[Mapping[str, Any]], design: str) -> list[Panel]:
    """The panels of one measure."""
    names = [str(factor["name"]) for factor in factors]
    if not names:
        return []
    if design == "factorial":
        return [_panel(found, names[0], names[1:], joined=True)]
    if design == "one-factor":
        base = {str(factor["name"]): str(factor["base"]) for factor in factors}
        return [
            _panel([r for r in found if _at_base(r, base, name)], name, [], joined=True) for name in names
        ]
    return [_panel(found, name, [], joined=False) for name in names]


def _at_base(result: Result, base: Mapping[str, str], free: str) -> bool:
    return all(text == base[name] for name, _, text in result.levels if name != free)


def _panel(found: Sequence[Result], along: str, others: Sequence[str], *, joined: bool) -> Panel:
    curves: dict[str, list[tuple[float, str, Interval]]] = {}
    for result in found:
        levels = {name: (number, text) for name, number, text in result.levels}
        label = ", ".join(f"{name} {levels[name][1]}" for name in others if name in levels)
        curves.setdefault(label, []).append((*levels[along], result.value))
    drawn = [_curve(label, points, joined=joined) for label, points in curves.items()]
    return Panel(along, tuple(drawn[:MOST_CURVES]), max(0, len(drawn) - MOST_CURVES))


def _curve(label: str, points: list[tuple[float, str, Interval]], *, joined: bool) -> Curve:
    points = sorted(points, key=lambda point: point[0])
    numbers = all(text.startswith(f"{number:g}") for number, text, _ in points)
    return Curve(
        label,
        tuple(number for number, _, _ in points),
        tuple(text for _, text, _ in points),
        tuple(value for _, _, value in points),
        joined and numbers,
    )
