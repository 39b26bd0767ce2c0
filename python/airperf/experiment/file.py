"""An experiment that a user writes: one TOML file with a scenario, factors and a design.

Reference: docs/reference/experiment.md. Model: a study with one experiment and nothing published, so that
everything that makes studies makes it. All problems are told at once with their lines (fault 38). Leaves
out running it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from airperf.analysis.quantities import QUANTITIES, WITH_WORD, quantity
from airperf.analysis.warmup import Warmup
from airperf.errors import InputError
from airperf.experiment.reading import Reader, text_of
from airperf.experiment.study import SCHEMA, Study
from airperf.experiment.variants import (
    LEVELS,
    SWEEP_KEYS,
    Repetitions,
    Variant,
    read_knee,
    read_variant,
)
from airperf.files import sha256_text
from airperf.scenario import find_scenario
from airperf.testbed import TESTBEDS

KEYS = SWEEP_KEYS | {
    "schema",
    "name",
    "title",
    "question",
    "scenario",
    "testbed",
    "seed",
    "common_random_numbers",
    "measures",
    "warmup",
    "level",
    "limits",
}
MEASURES = ("offered_rps", "carried_rps", "response_ms", "response_p99_ms", "errors_per_s")
"""What is shown when the file names nothing."""
SWEEP, KNEE = "sweep", "knee"
"""Names of the two variants that an experiment may have."""


def load_experiment(path: Path) -> Study:
    """Reads an experiment file and its scenario: an installed one, or a path from the file's folder."""
    if not path.is_file():
        raise InputError(f"{path}: no such experiment file")
    text = text_of(path)
    reader = Reader(path.name, text)
    named = str(reader.data.get("scenario", ""))
    if not named:
        raise InputError(f"{path}: key 'scenario' is missing: the name of an installed one, or a path")
    local = path.parent / named
    scenario_text, scenario_name = find_scenario(str(local) if local.is_file() else named)
    return parse_experiment(text, path.name, scenario_text, Path(scenario_name).name)


def parse_experiment(text: str, name: str, scenario_text: str, scenario_name: str) -> Study:
    """The experiment of a text whose scenario is known."""
    reader = Reader(name, text)
    data = reader.data
    if data.get("schema") != SCHEMA:
        reader.problem("schema", f"schema version {data.get('schema')!r}", f"this airperf reads {SCHEMA}")
    reader.known(data, KEYS)
    measures = _measures(reader, data)
    warmup = Warmup.parse(str(data.get("warmup", "none")))
    if warmup is None:
        reader.problem(
            "warmup",
            f"{data['warmup']!r} is no warm-up",
            'allowed: "none", "mser-5", or a time such as "10s"',
        )
    if not isinstance(common := data.get("common_random_numbers", True), bool):
        reader.problem("common_random_numbers", f"{common!r} is neither true nor false")
    variants = _variants(reader)
    level = _level(reader, data, _above_summary(warmup, measures, variants))
    reader.finish()
    return Study(
        name=str(data.get("name", Path(name).stem)),
        title=str(data.get("title", data.get("name", Path(name).stem))).strip(),
        question=str(data.get("question", "")).strip(),
        folder=Path(),
        scenario_name=scenario_name,
        scenario_text=scenario_text,
        seed=reader.count(data.get("seed", 1), "seed", "seed", 0, 2**63 - 1),
        level=level,
        variants=tuple(variants),
        fitted=(),
        limits=tuple(str(item).strip() for item in data.get("limits", ())),
        targets=(),
        published=(),
        figures=(),
        source="",
        sha256=sha256_text(text + "\0" + scenario_text),
        kind="experiment",
        text=text,
        measures=measures,
        warmup=str(data.get("warmup", "none")),
        common=common,
    )


def _above_summary(warmup: Warmup | None, measures: tuple[str, ...], variants: Sequence[Variant]) -> str:
    """What a run at level ``summary`` lacks of what is asked for; empty if nothing."""
    if warmup is not None and warmup.kind != "none":
        return "times to leave a warm-up out of"
    named = [*measures]
    for variant in variants:
        named += [*variant.repetitions.of, *(variant.knee.criterion.measures if variant.knee else ())]
    found = ((name, quantity(name)) for name in named)
    return next((f"table for {name}" for name, one in found if one is not None and one.needs_tables), "")


def _level(reader: Reader, data: dict[str, Any], lacks: str) -> str:
    level = reader.one_of(data.get("level", "analysis" if lacks else "summary"), LEVELS, "level", "level")
    if lacks and level == "summary":
        reader.problem("level", f"a run at level summary has no {lacks}", 'write "analysis"')
    return level


def _measures(reader: Reader, data: dict[str, Any]) -> tuple[str, ...]:
    measures = tuple(str(item) for item in data.get("measures", MEASURES))
    for place, name in enumerate(measures):
        found = quantity(name)
        if found is None:
            known = [*QUANTITIES, *(f"{stem}.NAME" for stem in WITH_WORD)]
            reader.problem(f"measures.{place}", f"unknown measure {name!r}", f"known are {', '.join(known)}")
        elif found.whole_run and data.get("warmup", "none") != "none":
            reader.problem(
                f"measures.{place}",
                f"{name} is counted over the whole run",
                "leave out the warm-up or the measure",
            )
    return measures


def _variants(reader: Reader) -> list[Variant]:
    data = reader.data
    testbed = reader.one_of(data.get("testbed", "sim"), TESTBEDS, "testbed", "testbed")
    table = {**data, "name": SWEEP, "testbeds": [testbed]}
    for key in ("quick", "level", "scenario"):
        table.pop(key, None)
    try:
        sweep = read_variant(reader, table, "", {"experiment": "experiment", "repetitions": 5})
        knee = read_knee(reader, data["knee"], "knee") if "knee" in data else None
    except KeyError as error:
        reader.problem("", f"key {error} is missing")
        return []
    except (TypeError, ValueError, AttributeError) as error:
        reader.problem("", str(error))
        return []
    variants = [sweep] if sweep.factors or knee is None else []
    if knee is not None:
        variants.append(_along(sweep, knee))
    return variants


def _along(sweep: Variant, knee: Any) -> Variant:
    """The search for the knee in each combination of the other factors."""
    others = tuple(f for f in sweep.factors if not set(f.keys) & set(knee.factor.keys))
    count = sweep.repetitions.at_least
    return Variant(
        experiment=sweep.experiment,
        name=KNEE,
        what=f"where {knee.criterion.text()} begins",
        testbeds=sweep.testbeds,
        factors=others,
        design=sweep.design,
        repetitions=Repetitions(count, count),
        settings=sweep.settings,
        knee=knee,
    )
