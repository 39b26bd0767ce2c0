"""A study as data: its experiments and variants, what was fitted, and what was published.

Model: docs/reference/study.md: ``study.toml`` and ``targets.toml``, and for each experiment that ``parts``
names also ``experiments/<id>.toml`` and ``targets/<id>.toml``. All problems of a file are reported together
with their lines (fault 38). Leaves out how measures are computed; rows only name them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from airperf.errors import InputError
from airperf.experiment.reading import Reader, text_of
from airperf.experiment.targets import check_rows
from airperf.experiment.variants import LEVELS, SWEEP_KEYS, Variant, read_variant
from airperf.files import sha256_text
from airperf.scenario import find_scenario, installed

SCHEMA = 1


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
    figures: tuple[Mapping[str, Any], ...]
    source: str
    sha256: str
    scenarios: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Text and file name of scenarios other than the main one, by the name that variants use."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """Title of each experiment."""
    findings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What the model explains and what it misses, for the report."""
    kind: str = "study"
    """``study``, or ``experiment`` for one that a user's file describes."""
    text: str = ""
    """An experiment's file as it was written: shards carry it to where they are merged."""
    measures: tuple[str, ...] = ()
    """What an experiment shows of every combination; a study's rows name their own."""
    warmup: str = "none"
    common: bool = True
    """Whether all combinations share their random streams."""

    def experiments(self) -> list[str]:
        """The experiments in their order."""
        return list(dict.fromkeys(variant.experiment for variant in self.variants))

    def scenario_of(self, variant: Variant) -> tuple[str, str]:
        """Text and name of the scenario that a variant varies."""
        return self.scenarios.get(variant.scenario, (self.scenario_text, self.scenario_name))


def load_study(name_or_path: str) -> Study:
    """Reads a study by installed name or by its folder."""
    folder = Path(name_or_path)
    if not (folder / "study.toml").is_file():
        folder = installed("studies") / Path(name_or_path).name
    if not (folder / "study.toml").is_file():
        known = sorted(path.parent.name for path in installed("studies").glob("*/study.toml"))
        raise InputError(f"{name_or_path}: no such study; installed studies: {', '.join(known) or 'none'}")
    head = Reader(f"{folder.name}/study.toml", text_of(folder / "study.toml"))
    data = head.data
    if data.get("schema") != SCHEMA:
        head.problem("schema", f"schema version {data.get('schema')!r}", f"this airperf reads {SCHEMA}")
    level = head.one_of(data.get("level", "analysis"), LEVELS, "level", "level")
    parts = [Path(str(part)).name for part in data.get("parts", ())]
    readers = [head, *(_part(folder, f"experiments/{part}.toml") for part in parts)]
    variants = [variant for reader in readers for variant in _variants(reader)]
    if not variants and not any(reader.problems for reader in readers):
        head.problem("", "the study has no experiment with a variant")
    for reader in readers:
        reader.finish()
    names = ("targets.toml", *(f"targets/{part}.toml" for part in parts))
    targets = [_part(folder, name) for name in names if (folder / name).is_file()]
    for reader in targets:
        check_rows(reader, variants)
        reader.finish()
    experiments = [item for reader in readers for item in reader.data.get("experiment", ())]
    try:
        scenario_text, scenario_name = _scenario(folder, str(data["scenario"]))
        others = {v.scenario: _scenario(folder, v.scenario) for v in variants if v.scenario}
        texts = [reader.text for reader in (*readers, *targets)] + [scenario_text]
        texts += [text for text, _ in others.values()]
        return Study(
            name=str(data["name"]),
            title=str(data["title"]),
            question=str(data.get("question", "")).strip(),
            folder=folder,
            scenario_name=scenario_name,
            scenario_text=scenario_text,
            seed=int(data.get("seed", 1)),
            level=level,
            variants=tuple(variants),
            fitted=tuple(data.get("fitted", ())),
            limits=tuple(str(item).strip() for item in data.get("limits", ())),
            targets=tuple(row for reader in targets for row in reader.data.get("row", ())),
            published=tuple(item for reader in targets for item in reader.data.get("published", ())),
            figures=tuple(
                {"experiment": str(e["id"]), **figure} for e in experiments for figure in e.get("figure", ())
            ),
            source=" ".join(
                dict.fromkeys(str(r.data["source"]).strip() for r in targets if "source" in r.data)
            ),
            sha256=sha256_text("\0".join(texts)),
            scenarios=others,
            titles={str(e["id"]): str(e.get("title", "")) for e in experiments},
            findings={str(k): [str(t).strip() for t in v] for k, v in data.get("findings", {}).items()},
        )
    except KeyError as error:
        raise InputError(f"{folder / 'study.toml'}: key {error} is missing") from None


def _part(folder: Path, name: str) -> Reader:
    return Reader(f"{folder.name}/{name}", text_of(folder / name))


def _scenario(folder: Path, name: str) -> tuple[str, str]:
    """Text and file name of a scenario: one in the study's folder wins over an installed one."""
    local = folder / name
    text, found = find_scenario(str(local) if local.is_file() else name)
    return text, Path(found).name


VARIANT_KEYS = SWEEP_KEYS | {
    *("name", "what", "testbeds", "key", "keys", "levels", "quick"),
    *("scenario", "level", "beside"),
}


def _variants(reader: Reader) -> list[Variant]:
    """All variants of all experiments of a file."""
    found = []
    for e, experiment in enumerate(reader.data.get("experiment", ())):
        for v, variant in enumerate(experiment.get("variant", ())):
            path = f"experiment.{e}.variant.{v}"
            reader.known(variant, VARIANT_KEYS - {"knee"}, path)
            defaults = {
                "experiment": experiment["id"],
                "repetitions": experiment.get("repetitions", 1),
                "scenario": experiment.get("scenario", ""),
                "level": experiment.get("level", ""),
            }
            try:
                found.append(read_variant(reader, variant, path, defaults))
            except KeyError as error:
                reader.problem(path, f"key {error} is missing")
            except (TypeError, ValueError) as error:
                reader.problem(path, str(error))
    return found
