"""Joining the folders that shards of one experiment made.

Model: the runs of all folders are gathered, then the experiment is run on them with nothing left to make,
so that the result is the same bytes as if one command had made it. Leaves out folders of different
experiments or engines, which are refused (fault 7), and runs that are damaged, which are said.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from airperf.errors import InputError, RecordError, VersionMismatch
from airperf.experiment.campaign import Listener, Result, run_study
from airperf.experiment.file import parse_experiment
from airperf.experiment.planning import Options
from airperf.experiment.study import Study
from airperf.records import open_campaign, open_run
from airperf.testbed import Interrupts, engine_id


def merge_shards(
    folders: Sequence[Path], out: Path, interrupts: Interrupts, listener: Listener
) -> tuple[Study, Result]:
    """Makes ``out`` from the folders of shards; points that none of them has are listed as missing."""
    indices = [(folder, open_campaign(folder).raw) for folder in folders]
    _alike(indices)
    raw = indices[0][1]
    described = raw["experiment"]
    study = parse_experiment(described["text"], "experiment", raw["scenario"], described["scenario_name"])
    for folder, _ in indices:
        if folder.resolve() != out.resolve():
            _gather(folder, out, listener)
    options = Options(
        out=out,
        testbeds=tuple(described["testbeds"]),
        repetitions=described["repetitions"],
        seed=described["seed"],
        command=str(raw["command"]),
        make=False,
    )
    return study, run_study(study, options, interrupts, listener)


def _alike(indices: Sequence[tuple[Path, Mapping[str, Any]]]) -> None:
    first, wanted = indices[0]
    for folder, raw in indices:
        if raw["kind"] != "experiment":
            raise InputError(f"{folder}: the folder of a {raw['kind']}, not of an experiment")
        described, expected = raw["experiment"], wanted["experiment"]
        same = all(described[key] == expected[key] for key in ("text", "seed", "repetitions", "testbeds"))
        if not same or raw["scenario"] != wanted["scenario"]:
            raise InputError(f"{folder}: not the same experiment, scenario and seed as {first}; not merged")
        for testbed, engine in raw["engines"].items():
            if engine != engine_id(testbed):
                raise VersionMismatch(
                    f"{folder}: made by {engine}, this is {engine_id(testbed)}; "
                    "merge with the airperf that made it"
                )


def _gather(folder: Path, out: Path, listener: Listener) -> None:
    """Copies every whole run of ``folder`` that ``out`` has not; a copy gets its name when it is whole."""
    for manifest in sorted((folder / "runs").glob("*/*/manifest.json")):
        run = manifest.parent
        target = out / "runs" / run.parent.name / run.name
        if ".partial-" in run.name or target.exists():
            continue
        try:
            open_run(run).verify()
        except RecordError as error:
            listener.notice(f"left out: {error}")
            continue
        partial = target.with_name(f"{target.name}.partial-merge")
        shutil.rmtree(partial, ignore_errors=True)
        partial.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(run, partial)
        partial.rename(target)
