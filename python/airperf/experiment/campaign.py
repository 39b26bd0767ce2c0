"""Running a study: the points it needs, those that are there already, and the index that a report reads.

Model: a point is named by what it depends on (resolved scenario, seed, repetition, testbed, engine), so an
edited study or another build makes new points and old ones stay (faults 1, 7, 8). All points of a
repetition share their random streams (common random numbers). Simulated points run on several workers,
emulated ones alone. Leaves out analysis and figures.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from airperf.errors import EnvironmentLacks, InputError, Interrupted, RecordError
from airperf.experiment.index import write_index
from airperf.experiment.lock import FolderLock
from airperf.experiment.planning import Options, lacking_text, plan
from airperf.experiment.points import Point
from airperf.experiment.study import Study
from airperf.records import open_run
from airperf.testbed import Failed, Interrupts, Job, Outcome, Pool, substituted

SPARE_BYTES = 64 << 20
"""Free space that a campaign leaves untouched."""


@dataclass
class Result:
    """What came of it; exit code 3 when ``partial`` lists anything."""

    folder: Path
    done: int = 0
    reused: int = 0
    partial: list[str] = field(default_factory=list)


class Listener:
    """Hears how a campaign goes on; the command line shows it, tests and scripts may not care."""

    def started(self, testbed: str, total: int, reused: int) -> None:
        """A testbed starts on ``total`` points, ``reused`` of which are there already."""

    def advanced(self, outcome: Outcome) -> None:
        """One point is finished."""

    def progress(self, _: Job, message: Mapping[str, Any]) -> None:
        """An emulated run reports where it is."""

    def notice(self, text: str) -> None:
        """Something the user should know."""


def run_study(study: Study, options: Options, interrupts: Interrupts, listener: Listener) -> Result:
    """Makes every point that is missing and writes the index; raises ``Interrupted`` when it was."""
    todo = plan(study, options)
    able = [testbed for testbed in options.testbeds if testbed not in todo.unable]
    if not able:
        raise EnvironmentLacks(lacking_text(todo.unable))
    result = Result(options.out)
    with FolderLock(options.out, listener.notice):
        for warning in todo.warnings:
            listener.notice(f"warning: {warning}")
        _sweep_partial(options.out)
        write_index(study, options, todo, {})
        failures: dict[str, str] = {}
        for testbed in able:
            missing = [point for point in todo.unique(testbed) if not _usable(options.out, point, listener)]
            total = len(todo.unique(testbed))
            listener.started(testbed, total, total - len(missing))
            result.reused += total - len(missing)
            _preflight(options.out, missing)
            outcomes = _run(study, options, missing, testbed, interrupts, listener)
            for point, outcome in zip(missing, outcomes, strict=True):
                if isinstance(outcome, Failed):
                    if outcome.kind not in {"interrupted", "not_started"}:
                        failures[point.key] = outcome.why
                        result.partial.append(f"{point.id}: {outcome.why}")
                else:
                    result.done += 1
                    if not outcome.valid:
                        result.partial.append(f"{point.id}: invalid: {'; '.join(outcome.why_invalid)}")
            if interrupts.count:
                break
            result.partial += [f"{testbed}: {line}" for line in substituted(testbed)]
        for testbed, needs in todo.unable.items():
            result.partial.append(f"{testbed}: {lacking_text({testbed: needs})}")
        write_index(study, options, todo, failures)
    if interrupts.count:
        raise Interrupted(
            f"interrupted; what is finished is kept in {options.out}: the same command goes on from there"
        )
    return result


def _run(
    study: Study,
    options: Options,
    points: Sequence[Point],
    testbed: str,
    interrupts: Interrupts,
    listener: Listener,
) -> list[Outcome]:
    pool = Pool(options.workers if testbed == "sim" else 1)

    def finished(outcome: Outcome) -> None:
        if isinstance(outcome, Failed) and outcome.kind == "no_space":
            pool.halt()  # later points would fail alike; what is there is kept
        listener.advanced(outcome)

    jobs = [
        Job(
            testbed=testbed,
            text=study.scenario_text,
            name=study.scenario_name,
            overrides=point.overrides,
            seed=point.seed,
            point=0,
            repetition=point.repetition,
            out_dir=str(options.out / point.run),
            level=study.level,
            budget_s=point.duration_s * (1 if testbed == "emu" else 10) + options.emu_budget_slack_s,
        )
        for point in points
    ]
    for job in jobs:
        job.folder.parent.mkdir(parents=True, exist_ok=True)
    return pool.run(jobs, interrupts, finished, listener.progress)


def _usable(out: Path, point: Point, listener: Listener) -> bool:
    """Whether the point is there and whole; what is not is put aside, never mixed in."""
    folder = out / point.run
    if not folder.exists():
        return False
    try:
        run = open_run(folder)
        run.verify()
    except RecordError as error:
        why = str(error)
    else:
        if run.manifest.valid:
            return True
        why = "invalid: " + "; ".join(run.manifest.why_invalid)
    aside = out / "quarantine" / point.run
    number = 1
    while aside.exists():
        number += 1
        aside = out / "quarantine" / f"{point.run}-{number}"
    aside.parent.mkdir(parents=True, exist_ok=True)
    folder.replace(aside)
    listener.notice(f"put aside to {aside} and made again: {why}")
    return False


def _sweep_partial(out: Path) -> None:
    """Removes half-written run directories of a campaign that was killed (fault 1); we hold the lock."""
    for partial in (out / "runs").glob("*/*.partial-*"):
        shutil.rmtree(partial, ignore_errors=True)


def _preflight(out: Path, points: Sequence[Point]) -> None:
    need = sum(point.disk_bytes for point in points)
    free = shutil.disk_usage(out).free
    if points and free < need + SPARE_BYTES:
        raise InputError(
            f"{out}: {len(points)} runs need about {need >> 20} MiB and {SPARE_BYTES >> 20} MiB spare, "
            f"the disk has {free >> 20} MiB free; nothing was started"
        )
