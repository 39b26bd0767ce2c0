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
from airperf.experiment.units import Unit, units
from airperf.scenario import check
from airperf.testbed import TESTBEDS, Need, lacking


@dataclass(frozen=True, slots=True)
class Shard:
    """The ``number``-th of ``of`` parts of an experiment, from 1."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """``2/4`` as a shard."""
        number, _, of = text.partition("/")
        if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise InputError(f"--shard {text!r}: write 1/4 for the first of four parts, say")
        return cls(int(number), int(of))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


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
    shard: Shard | None = None
    sources: Mapping[str, Path] | None = None
    """Run directories by key: what is missing is copied from there, and nothing is made (``merge.py``)."""
    cluster: str = ""
    """Where to run simulated points: empty for this machine, else as ``experiment.cluster`` says."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What decides on the points to make, by testbed, and testbeds that cannot run here."""

    units: Mapping[str, Sequence[Unit]]
    unable: Mapping[str, Sequence[Need]]
    warnings: tuple[str, ...]
    fitted: tuple[Mapping[str, Any], ...]
    """The study's fitted parameters with the values of its scenario."""

    def first(self, testbed: str) -> list[Point]:
        """The points that are wanted while none is there; of some designs there will be more."""
        return [point for unit in self.units[testbed] for point in unit.wanted(lambda _: None)]

    def unique(self, testbed: str) -> list[Point]:
        """The first points of a testbed without repeats (two variants may share a point)."""
        return list({point.key: point for point in self.first(testbed)}.values())


def plan(study: Study, options: Options) -> Plan:
    """Checks everything and lists the points; nothing is started."""
    unknown = [name for name in options.only if name not in study.experiments()]
    if unknown:
        raise InputError(
            f"study {study.name} has no experiment {', '.join(unknown)}; "
            f"it has {', '.join(study.experiments())}"
        )
    unable = {testbed: needs for testbed in options.testbeds if (needs := lacking(testbed))}
    cells, warnings = expand(study, options.only, options.quick, options.repetitions)
    every = {testbed: units(cells, testbed, options.seed) for testbed in TESTBEDS}
    if options.shard is not None:
        every = {name: some[options.shard.number - 1 :: options.shard.of] for name, some in every.items()}
    if not any(every[testbed] for testbed in options.testbeds):
        raise InputError(
            f"{study.kind} {study.name} has no points for testbeds {', '.join(options.testbeds)}"
        )
    resolved = check(study.scenario_text, study.scenario_name).resolved
    values = tuple(fitted(item, resolved) for item in study.fitted)
    return Plan(every, unable, tuple(warnings), values)


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
