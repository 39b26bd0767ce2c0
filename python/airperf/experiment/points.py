"""The points of a study: each combination × repetition, checked, named by what it depends on.

Model: key = SHA-256 of schema, engine, testbed, resolved scenario, seed, point, repetition, record level, and
the version of a real browser where one takes part. With common random numbers all combinations are point 0,
so they share their streams; without, a combination's point is a number made of its scenario's identity, so
that adding a level moves nobody else's streams. Leaves out running them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from airperf.errors import Problem, ScenarioProblems
from airperf.experiment.factors import Choice, Combination, combinations, label, slug
from airperf.experiment.study import Study
from airperf.experiment.variants import Repetitions, Variant
from airperf.files import canonical_json, sha256_text
from airperf.records import SCHEMA
from airperf.scenario import Checked, Overrides, check
from airperf.testbed import browser_taking_part, engine_id


@dataclass(frozen=True, slots=True)
class Point:
    """One run that a study needs."""

    id: str
    experiment: str
    variant: str
    testbed: str
    scenario: tuple[str, str]
    """Text and name."""
    choices: Combination
    overrides: Overrides
    point: int
    repetition: int
    seed: int
    scenario_sha256: str
    duration_s: float
    disk_bytes: int
    level: str
    browser: str
    key: str
    run: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of levels of a variant, checked; its repetitions differ in their streams alone."""

    study: Study
    variant: Variant
    choices: Combination
    checked: Checked

    def along(self, choice: Choice) -> Cell:
        """The same with one more factor at a level."""
        settings = dict(self.checked.overrides) | dict(choice.settings)
        checked = check(*self.study.scenario_of(self.variant), tuple(settings.items()))
        return replace(self, choices=(*self.choices, choice), checked=checked)

    def point(self, testbed: str, repetition: int, seed: int) -> Point:
        """One repetition on one testbed."""
        study, checked = self.study, self.checked
        if testbed == "emu":  # repetitions of real programs differ anyway; those of the medium must too
            seed += repetition
        number = 0 if study.common else int(checked.sha256[:12], 16)
        level = self.variant.level or study.level
        identity = [
            SCHEMA,
            engine_id(testbed),
            testbed,
            checked.sha256,
            seed,
            number,
            repetition,
            level,
        ]
        browser = browser_taking_part(testbed, bool(checked.resolved.get("browser")))
        if browser:
            identity.append(browser)
        key = sha256_text(canonical_json(identity))[:16]
        levels = ",".join(f"{choice.factor}={label(choice)}" for choice in self.choices) or "base"
        return Point(
            id=f"{self.variant.experiment}/{self.variant.name}/{testbed}/{levels}/r{repetition}",
            experiment=self.variant.experiment,
            variant=self.variant.name,
            testbed=testbed,
            scenario=study.scenario_of(self.variant),
            choices=self.choices,
            overrides=checked.overrides,
            point=number,
            repetition=repetition,
            seed=seed,
            scenario_sha256=checked.sha256,
            duration_s=float(checked.estimate["run_seconds"]),
            disk_bytes=int(checked.estimate[f"{level}_bytes"]),
            level=level,
            browser=browser,
            key=key,
            run=f"runs/{testbed}/{slug(self.choices)}-r{repetition}-{key}",
        )


def expand(
    study: Study, only: Sequence[str], quick: bool, repetitions: int | None
) -> tuple[list[Cell], list[str]]:
    """All combinations and the warnings of their scenarios; raises with every problem of every level.

    ``repetitions`` replaces those of every variant.
    """
    cells: list[Cell] = []
    problems: list[Problem] = []
    warnings: dict[str, None] = {}
    for full in study.variants:
        if (only and full.experiment not in only) or (quick and not full.in_quick):
            continue
        variant = full.quick if quick and full.quick is not None else full
        if repetitions is not None:
            variant = replace(variant, repetitions=Repetitions(repetitions, repetitions))
        for combination in combinations(variant.design, variant.factors, study.seed):
            settings = dict(variant.settings)
            for choice in combination:
                settings |= dict(choice.settings)
            try:
                checked = check(*study.scenario_of(variant), tuple(settings.items()))
            except ScenarioProblems as error:
                problems += error.problems
                continue
            warnings |= dict.fromkeys(checked.warnings)
            cells.append(Cell(study, variant, combination, checked))
            problems += _problems_along(cells[-1])
    if problems:
        raise ScenarioProblems(study.scenario_name, list(dict.fromkeys(problems)))
    return cells, list(warnings)


def _problems_along(cell: Cell) -> list[Problem]:
    """What is wrong with the ends of the range in which a knee is looked for; they stand for all of it."""
    knee = cell.variant.knee
    found: list[Problem] = []
    for end in (knee.factor.choices[0], knee.factor.choices[-1]) if knee is not None else ():
        try:
            cell.along(end)
        except ScenarioProblems as error:
            found += error.problems
    return found
