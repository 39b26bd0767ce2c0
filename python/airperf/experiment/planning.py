"""What a study will do: checked completely, with nothing started.

Model: fault 38; testbeds that cannot run here are named with what they lack (fault 39). Leaves out doing it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airperf.errors import InputError
from airperf.experiment.points import Point, expand
from airperf.experiment.study import Study
from airperf.scenario import check
from airperf.testbed import TESTBEDS, Need, lacking


@dataclass(frozen=True, slots=True)
class Options:
    """What the user chose."""

    out: Path
    testbeds: tuple[str, ...]
    only: tuple[str, ...] = ()
    quick: bool = False
    repetitions: int | None = None
    workers: int = 2
    seed: int | None = None
    command: str = "airperf study"
    """The command that makes the same results, without its testbeds."""
    emu_budget_slack_s: float = 90.0


@dataclass(frozen=True, slots=True)
class Plan:
    """Points to make, each once, and testbeds that cannot run here."""

    points: tuple[Point, ...]
    others: tuple[Point, ...]
    """Points of testbeds that were not asked for: where they are there already, the report shows them."""
    unable: Mapping[str, Sequence[Need]]
    warnings: tuple[str, ...]
    fitted: tuple[Mapping[str, Any], ...]
    """The study's fitted parameters with the values of its scenario."""

    def unique(self, testbed: str) -> list[Point]:
        """The points of a testbed without repeats (two variants may share a point)."""
        return list({point.run: point for point in self.points if point.testbed == testbed}.values())


def plan(study: Study, options: Options) -> Plan:
    """Checks everything and lists the points; nothing is started."""
    unknown = [name for name in options.only if name not in study.experiments()]
    if unknown:
        raise InputError(
            f"study {study.name} has no experiment {', '.join(unknown)}; "
            f"it has {', '.join(study.experiments())}"
        )
    unable = {testbed: needs for testbed in options.testbeds if (needs := lacking(testbed))}
    every, warnings = expand(study, TESTBEDS, options.only, options.quick, options.repetitions, options.seed)
    points = tuple(point for point in every if point.testbed in options.testbeds)
    others = tuple(point for point in every if point.testbed not in options.testbeds)
    if not points:
        raise InputError(f"study {study.name} has no points for testbeds {', '.join(options.testbeds)}")
    resolved = check(study.scenario_text, study.scenario_name).resolved
    values = tuple(fitted(item, resolved) for item in study.fitted)
    return Plan(points, others, unable, tuple(warnings), values)


def lacking_text(unable: Mapping[str, Sequence[Need]]) -> str:
    """What is missing for which testbed and what to do about it."""
    return "\n".join(
        f"testbed {testbed} cannot run here: {need.name}: {need.why}"
        + (f" ({need.remedy})" if need.remedy else "")
        for testbed, needs in unable.items()
        for need in needs
    )


def fitted(item: Mapping[str, Any], resolved: Mapping[str, Any]) -> dict[str, Any]:
    """A fitted parameter with the values of its keys in the scenario, so that they cannot drift apart."""
    values = []
    for key in item["keys"]:
        value: Any = resolved
        for part in str(key).split("."):
            value = value[0] if isinstance(value, list) else value
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is None:
            raise InputError(f"fitted key {key!r} is not in the scenario")
        values.append(f"{key} = {value}")
    return {**item, "values": values}
