"""The points of a study: each variant × level × repetition, checked, named by what it depends on.

Model: key = SHA-256 of schema, engine, testbed, resolved scenario, seed, repetition and record level.
Leaves out running them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from airperf.errors import Problem, ScenarioProblems
from airperf.experiment.levels import Level
from airperf.experiment.study import Study, Variant
from airperf.files import canonical_json, sha256_text
from airperf.records import SCHEMA
from airperf.scenario import Checked, check
from airperf.testbed import engine_id


@dataclass(frozen=True, slots=True)
class Point:
    """One run that a study needs."""

    id: str
    experiment: str
    variant: str
    testbed: str
    factor: str
    number: float
    overrides: tuple[tuple[str, str], ...]
    repetition: int
    seed: int
    scenario_sha256: str
    duration_s: float
    disk_bytes: int
    key: str
    run: str


def expand(
    study: Study,
    testbeds: Sequence[str],
    only: Sequence[str],
    quick: bool,
    repetitions: int | None,
    seed: int | None,
) -> tuple[list[Point], list[str]]:
    """All points and the warnings of their scenarios; raises with every problem of every level."""
    points: list[Point] = []
    problems: list[Problem] = []
    warnings: dict[str, None] = {}
    for variant in study.variants:
        if only and variant.experiment not in only:
            continue
        wanted = [testbed for testbed in variant.testbeds if testbed in testbeds]
        if not wanted:
            continue
        levels: Sequence[Level] = variant.quick.get("levels", variant.levels) if quick else variant.levels
        count = repetitions or (
            int(variant.quick.get("repetitions", variant.repetitions)) if quick else variant.repetitions
        )
        for level in levels:
            overrides = _overrides(variant, level, quick)
            try:
                checked = check(study.scenario_text, study.scenario_name, overrides)
            except ScenarioProblems as error:
                problems += error.problems
                continue
            warnings |= dict.fromkeys(checked.warnings)
            points += [
                _point(
                    study, variant, level, checked, testbed, repetition, study.seed if seed is None else seed
                )
                for testbed in wanted
                for repetition in range(count)
            ]
    if problems:
        raise ScenarioProblems(study.scenario_name, list(dict.fromkeys(problems)))
    folders: dict[str, str] = {}
    for point in points:  # variants that meet in a point share its run
        folders.setdefault(point.key, point.run)
    return [replace(point, run=folders[point.key]) for point in points], list(warnings)


def _overrides(variant: Variant, level: Level, quick: bool) -> tuple[tuple[str, str], ...]:
    settings = dict(variant.settings)
    if quick:
        settings |= {str(key): str(value) for key, value in variant.quick.get("set", {}).items()}
    return (*settings.items(), (variant.key, level.text))


def _point(
    study: Study, variant: Variant, level: Level, checked: Checked, testbed: str, repetition: int, seed: int
) -> Point:
    if testbed == "emu":  # repetitions of real programs differ anyway; those of the medium must too
        seed += repetition
    key = sha256_text(
        canonical_json([SCHEMA, engine_id(testbed), testbed, checked.sha256, seed, repetition, study.level])
    )[:16]
    number = f"{level.number:g}"
    return Point(
        id=f"{variant.experiment}/{variant.name}/{testbed}/{variant.factor}={number}/r{repetition}",
        experiment=variant.experiment,
        variant=variant.name,
        testbed=testbed,
        factor=variant.factor,
        number=level.number,
        overrides=checked.overrides,
        repetition=repetition,
        seed=seed,
        scenario_sha256=checked.sha256,
        duration_s=float(checked.estimate["run_seconds"]),
        disk_bytes=int(checked.estimate[f"{study.level}_bytes"]),
        key=key,
        run=f"runs/{testbed}/{variant.factor}-{number}-r{repetition}-{key}",
    )
