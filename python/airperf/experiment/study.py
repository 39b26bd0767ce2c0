"""A study as data: its experiments and variants, what was fitted, and what was published.

Model: ``studies/<name>/study.toml`` and ``targets.toml``. All problems are reported together with their lines
(fault 38). Leaves out how measures are computed; rows only name them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airperf.errors import InputError, Problem, ScenarioProblems
from airperf.experiment.levels import Level, parse_levels
from airperf.files import sha256_text
from airperf.scenario import find_scenario, installed, positions
from airperf.testbed import TESTBEDS

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Variant:
    """One sweep of one factor on some testbeds; ``quick`` replaces some of its settings."""

    experiment: str
    name: str
    what: str
    testbeds: tuple[str, ...]
    factor: str
    key: str
    levels: tuple[Level, ...]
    repetitions: int
    settings: tuple[tuple[str, str], ...]
    quick: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Study:
    """A study that was read from its folder."""

    name: str
    title: str
    question: str
    folder: Path
    scenario_name: str
    scenario_text: str
    seed: int
    level: str
    variants: tuple[Variant, ...]
    fitted: tuple[Mapping[str, Any], ...]
    limits: tuple[str, ...]
    targets: tuple[Mapping[str, Any], ...]
    published: tuple[Mapping[str, Any], ...]
    figures: Mapping[str, Any]
    source: str
    sha256: str

    def experiments(self) -> list[str]:
        """The experiments in their order."""
        return list(dict.fromkeys(variant.experiment for variant in self.variants))


def load_study(name_or_path: str) -> Study:
    """Reads a study by installed name or by its folder."""
    folder = Path(name_or_path)
    if not (folder / "study.toml").is_file():
        folder = installed("studies") / Path(name_or_path).name
    if not (folder / "study.toml").is_file():
        known = sorted(path.parent.name for path in installed("studies").glob("*/study.toml"))
        raise InputError(f"{name_or_path}: no such study; installed studies: {', '.join(known) or 'none'}")
    text = _text(folder / "study.toml")
    targets_text = _text(folder / "targets.toml") if (folder / "targets.toml").is_file() else ""
    reader = _Reader(f"{folder.name}/study.toml", text)
    targets = _Reader(f"{folder.name}/targets.toml", targets_text)
    data, published = reader.data, targets.data
    if data.get("schema") != SCHEMA:
        reader.problem("schema", f"schema version {data.get('schema')!r}", f"this airperf reads {SCHEMA}")
    variants = reader.variants()
    reader.finish()
    try:
        scenario = str(data["scenario"])
        local = folder / scenario
        scenario_text, scenario_name = find_scenario(str(local) if local.is_file() else scenario)
        return Study(
            name=str(data["name"]),
            title=str(data["title"]),
            question=str(data.get("question", "")).strip(),
            folder=folder,
            scenario_name=Path(scenario_name).name,
            scenario_text=scenario_text,
            seed=int(data.get("seed", 1)),
            level=str(data.get("level", "analysis")),
            variants=tuple(variants),
            fitted=tuple(data.get("fitted", ())),
            limits=tuple(str(item).strip() for item in data.get("limits", ())),
            targets=tuple(published.get("row", ())),
            published=tuple(published.get("published", ())),
            figures=dict(data.get("figures", {})),
            source=str(published.get("source", "")).strip(),
            sha256=sha256_text(text + "\0" + targets_text + "\0" + scenario_text),
        )
    except KeyError as error:
        raise InputError(f"{folder / 'study.toml'}: key {error} is missing") from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None


class _Reader:
    """Reads one TOML file and collects what is wrong with it, with positions."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.problems: list[Problem] = []
        self.places = positions(text, name)
        self.data: dict[str, Any] = tomllib.loads(text)

    def problem(self, path: str, message: str, hint: str = "") -> None:
        """Notes a problem at the value of ``path``, or at the nearest table above it."""
        here = path
        while here and here not in self.places:
            here = here.rpartition(".")[0]
        line, column = self.places.get(here, (None, None))
        self.problems.append(Problem(message, hint, line, column, key=path))

    def finish(self) -> None:
        """Raises what was collected."""
        if self.problems:
            raise ScenarioProblems(self.name, self.problems)

    def variants(self) -> list[Variant]:
        """All variants of all experiments."""
        found = []
        for e, experiment in enumerate(self.data.get("experiment", ())):
            for v, variant in enumerate(experiment.get("variant", ())):
                path = f"experiment.{e}.variant.{v}"
                try:
                    found.append(self._variant(experiment, variant, path))
                except KeyError as error:
                    self.problem(path, f"key {error} is missing")
                except (TypeError, ValueError) as error:
                    self.problem(path, str(error))
        if not found and not self.problems:
            self.problem("", "the study has no experiment with a variant")
        return found

    def _variant(self, experiment: dict[str, Any], variant: dict[str, Any], path: str) -> Variant:
        testbeds = tuple(str(testbed) for testbed in variant["testbeds"])
        for testbed in testbeds:
            if testbed not in TESTBEDS:
                known = ", ".join(TESTBEDS)
                self.problem(f"{path}.testbeds", f"unknown testbed {testbed!r}", f"known are {known}")
        quick = dict(variant.get("quick", {}))
        if "levels" in quick:
            quick["levels"] = self._levels(quick["levels"], f"{path}.quick.levels")
        repetitions = int(variant.get("repetitions", experiment.get("repetitions", 1)))
        if repetitions < 1:
            self.problem(f"{path}.repetitions", f"repetitions is {repetitions}", "at least 1")
        return Variant(
            experiment=str(experiment["id"]),
            name=str(variant["name"]),
            what=str(variant.get("what", "")).strip(),
            testbeds=testbeds,
            factor=str(variant["factor"]),
            key=str(variant["key"]),
            levels=tuple(self._levels(variant["levels"], f"{path}.levels")),
            repetitions=repetitions,
            settings=tuple((str(key), str(value)) for key, value in variant.get("set", {}).items()),
            quick=quick,
        )

    def _levels(self, source: Any, path: str) -> list[Level]:
        try:
            return parse_levels(source)
        except ScenarioProblems as error:
            for found in error.problems:
                self.problem(path, found.message, found.hint)
            return []
