"""A study as data: its experiments and variants, what was fitted, and what was published.

Model: ``studies/<name>/study.toml`` and ``targets.toml``. All problems are reported together with their lines
(fault 38). Leaves out how measures are computed; rows only name them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airperf.errors import InputError
from airperf.experiment.reading import Reader, text_of
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
    figures: Mapping[str, Any]
    source: str
    sha256: str
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


def load_study(name_or_path: str) -> Study:
    """Reads a study by installed name or by its folder."""
    folder = Path(name_or_path)
    if not (folder / "study.toml").is_file():
        folder = installed("studies") / Path(name_or_path).name
    if not (folder / "study.toml").is_file():
        known = sorted(path.parent.name for path in installed("studies").glob("*/study.toml"))
        raise InputError(f"{name_or_path}: no such study; installed studies: {', '.join(known) or 'none'}")
    text = text_of(folder / "study.toml")
    targets_text = text_of(folder / "targets.toml") if (folder / "targets.toml").is_file() else ""
    reader = Reader(f"{folder.name}/study.toml", text)
    targets = Reader(f"{folder.name}/targets.toml", targets_text)
    data, published = reader.data, targets.data
    if data.get("schema") != SCHEMA:
        reader.problem("schema", f"schema version {data.get('schema')!r}", f"this airperf reads {SCHEMA}")
    variants = _variants(reader)
    level = reader.one_of(data.get("level", "analysis"), LEVELS, "level", "level")
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
            level=level,
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


VARIANT_KEYS = SWEEP_KEYS | {"name", "what", "testbeds", "key", "keys", "levels", "quick"}


def _variants(reader: Reader) -> list[Variant]:
    """All variants of all experiments."""
    found = []
    for e, experiment in enumerate(reader.data.get("experiment", ())):
        for v, variant in enumerate(experiment.get("variant", ())):
            path = f"experiment.{e}.variant.{v}"
            reader.known(variant, VARIANT_KEYS - {"knee"}, path)
            defaults = {"experiment": experiment["id"], "repetitions": experiment.get("repetitions", 1)}
            try:
                found.append(read_variant(reader, variant, path, defaults))
            except KeyError as error:
                reader.problem(path, f"key {error} is missing")
            except (TypeError, ValueError) as error:
                reader.problem(path, str(error))
    if not found and not reader.problems:
        reader.problem("", "the study has no experiment with a variant")
    return found
