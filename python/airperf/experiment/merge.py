"""Joining the folders that shards of one experiment made.

Model: the experiment is run again, but every point is copied from the folders in place of being made, so
that the result is the same bytes as if one command had made it. Folders of different experiments or engines
are refused (fault 7), damaged runs are put aside. Leaves out making what no folder has: it is listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from airperf.errors import InputError, VersionMismatch
from airperf.experiment.campaign import Listener, Result, run_study
from airperf.experiment.file import parse_experiment
from airperf.experiment.planning import Options
from airperf.experiment.study import Study
from airperf.records import open_campaign
from airperf.testbed import Interrupts, engine_id


def merge_shards(
    folders: Sequence[Path], out: Path, interrupts: Interrupts, listener: Listener
) -> tuple[Study, Result]:
    """Makes ``out`` from the folders of shards; points that none of them has are listed as missing."""
    indices = [(folder, open_campaign(folder).raw) for folder in folders]
    _alike(indices)
    raw = indices[0][1]
    described = raw["experiment"]
    name = described["scenario_name"]
    study = parse_experiment(described["text"], "experiment", raw["scenarios"][name], name)
    sources = {
        manifest.parent.name.rpartition("-")[2]: manifest.parent
        for folder, _ in indices
        for manifest in sorted((folder / "runs").glob("*/*/manifest.json"))
        if ".partial-" not in manifest.parent.name
    }
    options = Options(
        out=out,
        testbeds=tuple(described["testbeds"]),
        repetitions=described["repetitions"],
        seed=described["seed"],
        command=str(raw["command"]),
        sources=sources,
    )
    return study, run_study(study, options, interrupts, listener)


def _alike(indices: Sequence[tuple[Path, Mapping[str, Any]]]) -> None:
    first, wanted = indices[0]
    for folder, raw in indices:
        if raw["kind"] != "experiment":
            raise InputError(f"{folder}: the folder of a {raw['kind']}, not of an experiment")
        described, expected = raw["experiment"], wanted["experiment"]
        same = all(described[key] == expected[key] for key in ("text", "seed", "repetitions", "testbeds"))
        if not same or raw["scenarios"] != wanted["scenarios"]:
            raise InputError(f"{folder}: not the same experiment, scenario and seed as {first}; not merged")
        for testbed, engine in raw["engines"].items():
            if engine != engine_id(testbed):
                raise VersionMismatch(
                    f"{folder}: made by {engine}, this is {engine_id(testbed)}; "
                    "merge with the airperf that made it"
                )
