"""Running a study: the points it needs, those that are there already, and the index that a report reads.

Model: a point is named by what it depends on (resolved scenario, seed, repetition, testbed, engine), so an
edited study or another build makes new points and old ones stay (faults 1, 7, 8). Simulated points run on
several workers, emulated ones alone. Runs of a campaign are put on the disk all at once at its end: those
that a loss of power leaves damaged are found by their checksums and made again. Leaves out analysis and
figures.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from airperf.errors import EnvironmentLacks, InputError, Interrupted, RecordError
from airperf.experiment.executor import Executor, executor_for
from airperf.experiment.index import promised_manifests, write_index
from airperf.experiment.lock import FolderLock
from airperf.experiment.planning import Options, Plan, lacking_text, plan
from airperf.experiment.points import Point
from airperf.experiment.study import Study
from airperf.experiment.values import PointValues
from airperf.files import sha256_file, sync_volume
from airperf.records import open_run
from airperf.testbed import TESTBEDS, Done, Failed, Interrupts, Job, Outcome, substituted

SPARE_BYTES = 64 << 20
"""Free space that a campaign leaves untouched."""
AGAIN = 2
"""How often an emulated run that came out invalid is made again: mostly the machine was too busy."""


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
        campaign = _Campaign(study, options, todo, result, interrupts, listener)
        write_index(study, options, todo, campaign.points(), {}, campaign.manifests)
        for testbed in able:
            campaign.make(testbed)
            if interrupts.count:
                break
            result.partial += [f"{testbed}: {line}" for line in substituted(testbed)]
        for testbed, needs in todo.unable.items():
            result.partial.append(f"{testbed}: {lacking_text({testbed: needs})}")
        sync_volume(options.out)
        write_index(study, options, todo, campaign.points(), campaign.failures, campaign.manifests)
    if interrupts.count:
        raise Interrupted(
            f"interrupted; what is finished is kept in {options.out}: the same command goes on from there"
        )
    return result


class _Campaign:
    """Rounds of points: those that units want, until they want no more."""

    def __init__(
        self,
        study: Study,
        options: Options,
        todo: Plan,
        result: Result,
        interrupts: Interrupts,
        listener: Listener,
    ) -> None:
        self.study, self.options, self.todo, self.result = study, options, todo, result
        self.interrupts, self.listener = interrupts, listener
        self.failures: dict[str, str] = {}
        self.manifests = promised_manifests(options.out)
        """By run directory the SHA-256 of its manifest: everything else of a run is promised by that."""
        self._values = PointValues(options.out, study)
        self._runs: dict[str, str] = {}
        """By key the run directory; variants that meet in a point share its run."""
        self._asked: set[str] = set()
        self._halted = False

    def points(self) -> list[Point]:
        """Every point wanted so far, of all testbeds, in the order of the units."""
        return [point for testbed in TESTBEDS for point in self._wanted(testbed)]

    def make(self, testbed: str) -> None:
        """Makes what is missing of a testbed, round by round."""
        with executor_for(testbed, self.options) as executor:
            while new := self._new(testbed):
                self._round(testbed, new, executor)
                self._asked |= {point.key for point in new}
                if self.interrupts.count or self._halted:
                    break

    def _wanted(self, testbed: str) -> list[Point]:
        found = [point for unit in self.todo.units[testbed] for point in unit.wanted(self._known)]
        return [replace(point, run=self._runs.setdefault(point.key, point.run)) for point in found]

    def _known(self, point: Point) -> Mapping[str, float | None] | None:
        # Of points that are there from an earlier campaign only those of earlier rounds are known, so that
        # rounds are the same when it is resumed.
        return self._values.of(point, self._runs[point.key]) if point.key in self._asked else None

    def _new(self, testbed: str) -> list[Point]:
        wanted = {point.key: point for point in self._wanted(testbed)}
        return [point for key, point in wanted.items() if key not in self._asked]

    def _round(self, testbed: str, points: Sequence[Point], executor: Executor) -> None:
        out, listener, result = self.options.out, self.listener, self.result
        missing = [point for point in points if not self._usable(point)]
        listener.started(testbed, len(points), len(points) - len(missing))
        result.reused += len(points) - len(missing)
        if self.options.sources is not None:
            missing = [point for point in missing if not self._copied(point, self.options.sources)]
            for point in missing:
                self.failures[point.key] = "none of the folders has it"
                result.partial.append(f"{point.id}: none of the folders has it")
            return
        _preflight(out, missing)
        for point, outcome in zip(missing, self._valid(missing, executor), strict=True):
            if isinstance(outcome, Failed):
                if outcome.kind not in {"interrupted", "not_started"}:
                    self.failures[point.key] = outcome.why
                    result.partial.append(f"{point.id}: {outcome.why}")
            else:
                result.done += 1
                self.manifests[point.run] = sha256_file(out / point.run / "manifest.json")
                if not outcome.valid:
                    result.partial.append(f"{point.id}: invalid: {'; '.join(outcome.why_invalid)}")

    def _valid(self, points: Sequence[Point], executor: Executor) -> list[Outcome]:
        """The outcomes of all points; emulated runs that the machine was too busy for are made again."""
        outcomes = self._run(points, executor)
        for _ in range(AGAIN):
            invalid = [i for i, seen in enumerate(outcomes) if isinstance(seen, Done) and not seen.valid]
            if not invalid or self.interrupts.count or self._halted:
                break
            for i in invalid:
                self._put_aside(points[i], "invalid: " + "; ".join(cast(Done, outcomes[i]).why_invalid))
            for i, outcome in zip(invalid, self._run([points[i] for i in invalid], executor), strict=True):
                outcomes[i] = outcome
        return outcomes

    def _run(self, points: Sequence[Point], executor: Executor) -> list[Outcome]:
        def finished(outcome: Outcome) -> None:
            if isinstance(outcome, Failed) and outcome.kind == "no_space":
                self._halted = True
                executor.halt()  # later points would fail alike; what is there is kept
            self.listener.advanced(outcome)

        jobs = [self._job(point) for point in points]
        for folder in {job.folder.parent for job in jobs}:
            folder.mkdir(parents=True, exist_ok=True)
        return executor.run(jobs, self.interrupts, finished, self.listener.progress) if jobs else []

    def _usable(self, point: Point) -> bool:
        """Whether the point is there and whole; what is not is put aside, never mixed in."""
        folder = self.options.out / point.run
        if not folder.exists():
            return False
        try:
            run = open_run(folder)
            run.verify()
        except RecordError as error:
            why = str(error)
        else:
            seen, found = run.manifest, sha256_file(folder / "manifest.json")
            # Of an emulated run the seed says which repetition it is.
            repetition = point.repetition if point.testbed == "sim" else 0
            if (seen.scenario_sha256, seen.seed, seen.repetition) != (
                point.scenario_sha256,
                point.seed,
                repetition,
            ) or self.manifests.get(point.run, found) != found:
                why = f"{folder / 'manifest.json'}: damaged or changed: not the manifest of this run"
            elif seen.valid:
                self.manifests[point.run] = found
                return True
            else:
                why = "invalid: " + "; ".join(seen.why_invalid)
        self._put_aside(point, why)
        return False

    def _put_aside(self, point: Point, why: str) -> None:
        folder = self.options.out / point.run
        self.manifests.pop(point.run, None)
        aside = self.options.out / "quarantine" / point.run
        number = 1
        while aside.exists():
            number += 1
            aside = self.options.out / "quarantine" / f"{point.run}-{number}"
        aside.parent.mkdir(parents=True, exist_ok=True)
        folder.replace(aside)
        self.listener.notice(f"put aside to {aside} and made again: {why}")

    def _copied(self, point: Point, sources: Mapping[str, Path]) -> bool:
        """Whether one of the sources had the point; it is then here, whole."""
        if point.key not in sources:
            return False
        target = self.options.out / point.run
        partial = target.with_name(f"{target.name}.partial-{os.getpid()}-0")
        shutil.rmtree(partial, ignore_errors=True)
        partial.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(sources[point.key], partial)
        partial.rename(target)
        self.result.reused += 1
        return self._usable(point)

    def _job(self, point: Point) -> Job:
        return Job(
            testbed=point.testbed,
            text=point.scenario[0],
            name=point.scenario[1],
            overrides=point.overrides,
            seed=point.seed,
            point=point.point,
            repetition=point.repetition,
            out_dir=str(self.options.out / point.run),
            level=point.level,
            deferred=True,
            browser=point.browser,
            budget_s=point.duration_s * (1 if point.testbed == "emu" else 10)
            + self.options.emu_budget_slack_s,
        )


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
