"""``study.json``: everything a report needs to know about a study's folder.

Model: the same bytes for the same study, whatever the number of workers; earlier forms of an edited study are
listed by their hashes (fault 8). Leaves out reading it, which is ``records.campaign``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from airperf import __version__
from airperf.experiment.planning import Options, Plan, lacking_text
from airperf.experiment.points import Point
from airperf.experiment.study import Study
from airperf.files import pretty_json, write_atomic
from airperf.records import SCHEMA
from airperf.records.campaign import INDEX
from airperf.testbed import TESTBEDS, engine_id


def write_index(
    study: Study,
    options: Options,
    todo: Plan,
    points: Sequence[Point],
    failures: Mapping[str, str],
    manifests: Mapping[str, str],
) -> None:
    """Writes ``study.json`` with these points: the same bytes for the same study, whoever worked on it."""
    path = options.out / INDEX
    entries = []
    for point in points:
        there = (options.out / point.run / "manifest.json").is_file()
        if not there and point.testbed not in options.testbeds:
            continue
        entries.append(
            {
                "id": point.id,
                "experiment": point.experiment,
                "variant": point.variant,
                "testbed": point.testbed,
                "factors": {choice.factor: choice.number for choice in point.choices},
                "levels": {choice.factor: choice.text for choice in point.choices},
                "overrides": [list(pair) for pair in point.overrides],
                "repetition": point.repetition,
                "seed": point.seed,
                "scenario_sha256": point.scenario_sha256,
                "key": point.key,
                "run": point.run,
                "manifest_sha256": manifests.get(point.run, "") if there else "",
                "state": "done" if there else "failed" if point.key in failures else "pending",
                "why": "" if there else failures.get(point.key, ""),
            }
        )
    testbeds = [t for t in TESTBEDS if any(entry["testbed"] == t for entry in entries)]
    asked = [point for point in points if point.testbed in options.testbeds]
    experiments = list(dict.fromkeys(point.experiment for point in asked))
    targets = [row for row in study.targets if str(row["id"]).split(".")[0] in experiments]
    index = {
        "schema": SCHEMA,
        "kind": study.kind,
        "name": study.name,
        "title": study.title,
        "question": study.question,
        "source": study.source,
        "command": _command(study, options.command, testbeds),
        "airperf": __version__,
        "engines": {testbed: engine_id(testbed) for testbed in testbeds},
        "quick": options.quick,
        "study_sha256": study.sha256,
        "earlier_sha256": _earlier(path, study.sha256),
        "unable": {testbed: lacking_text({testbed: needs}) for testbed, needs in todo.unable.items()},
        "fitted": [dict(item) for item in todo.fitted],
        "limits": list(study.limits),
        "variants": [
            {
                "experiment": v.experiment,
                "name": v.name,
                "what": v.what,
                "factor": v.factor,
                "key": v.key,
                "scenario": study.scenario_of(v)[1],
                "testbeds": list(v.testbeds),
                "beside": v.beside,
            }
            for v in study.variants
            if v.experiment in experiments
        ],
        "targets": [dict(row) for row in targets],
        "published": [dict(item) for item in study.published],
        "experiments": [{"id": name, "title": study.titles.get(name, "")} for name in experiments],
        "figures": [dict(figure) for figure in study.figures if figure["experiment"] in experiments],
        "findings": {name: list(texts) for name, texts in study.findings.items()},
        "scenarios": {
            name: text
            for text, name in (study.scenario_of(v) for v in study.variants if v.experiment in experiments)
        },
        "points": entries,
    }
    if study.kind == "experiment":
        index["experiment"] = _experiment(study, options)
    write_atomic(path, pretty_json(index))


def _experiment(study: Study, options: Options) -> dict[str, Any]:
    """What a table of results and a merge need beside the points."""
    knees = [variant.knee for variant in study.variants if variant.knee is not None]
    return {
        "text": study.text,
        "scenario_name": study.scenario_name,
        "testbeds": list(options.testbeds),
        "seed": options.seed,
        "repetitions": options.repetitions,
        "shard": str(options.shard or ""),
        "measures": list(study.measures),
        "warmup": study.warmup,
        "factors": [
            {
                "variant": variant.name,
                "name": factor.name,
                "keys": list(factor.keys),
                "base": factor.choices[factor.base].text,
                "levels": [choice.text for choice in factor.choices],
            }
            for variant in study.variants
            for factor in variant.factors
        ],
        "designs": {variant.name: variant.design.kind for variant in study.variants},
        "knee": {
            "factor": knees[0].factor.name,
            "keys": list(knees[0].factor.keys),
            "criterion": knees[0].criterion.text(),
            "levels": [choice.number for choice in knees[0].factor.choices],
        }
        if knees
        else None,
    }


def promised_manifests(out: Path) -> dict[str, str]:
    """By run directory the SHA-256 of its manifest, as an earlier index of the folder has it."""
    try:
        points = json.loads((out / INDEX).read_text(encoding="utf-8"))["points"]
        found = {str(point["run"]): str(point["manifest_sha256"]) for point in points}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {run: promised for run, promised in found.items() if promised}


def _command(study: Study, words: str, testbeds: Sequence[str]) -> str:
    """The command that makes all runs of the folder, also when several commands made them."""
    if study.kind == "experiment" or set(testbeds) == set(TESTBEDS):
        return words
    return " ".join([words, *(f"--testbed {testbed}" for testbed in testbeds)])


def _earlier(path: Path, sha256: str) -> list[str]:
    """Hashes of earlier forms of the study in this folder (fault 8)."""
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
        seen = [*before["earlier_sha256"], before["study_sha256"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [item for item in dict.fromkeys(map(str, seen)) if item != sha256]
