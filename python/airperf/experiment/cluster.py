"""Points on a Dask cluster: processes of this machine, a scheduler that runs somewhere, or Slurm jobs.

Model: Dask only carries jobs to machines and files back. There each job is made by a supervised process
(``testbed.Pool``), so faults 3 and 4 are met as they are here; a lost machine's jobs go to others. Only the
campaign writes results: workers need no shared disk. A worker of another build makes nothing, nor does one
with another browser what a browser takes part in (fault 7).
Leaves out securing Dask's connections: whoever reaches a scheduler can run programs on it, so ours listens
on loopback; for others use Dask's own TLS configuration and ``tls://``.
"""

from __future__ import annotations

import errno
import os
import queue
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from airperf.errors import EnvironmentLacks, InputError
from airperf.testbed import Failed, Interrupts, Job, Outcome, Pool, browser_taking_part, engine_id

TICK_S = 0.2

Files = dict[str, bytes]


@cache
def _pool() -> Pool:
    """The one supervised process of this Dask worker; it ends with it."""
    return Pool(1).__enter__()


def remote(job: Job, engine: str) -> tuple[Outcome, Files]:
    """Makes a run on the machine that this is called on; what came of it, and the files of the run."""
    here = engine_id(job.testbed), browser_taking_part(job.testbed, bool(job.browser))
    for mine, wanted in zip(here, (engine, job.browser), strict=True):
        if mine != wanted:
            why = f"this worker has {mine or 'no browser'}, the experiment is run by {wanted}"
            return Failed(job, "environment", why), {}
    with tempfile.TemporaryDirectory(prefix="airperf-") as folder:
        run = Path(folder) / "run"
        (outcome,) = _pool().run([replace(job, out_dir=str(run))], Interrupts())
        files = {path.name: path.read_bytes() for path in sorted(run.iterdir())} if run.is_dir() else {}
    return replace(outcome, job=job), files


def keep(folder: Path, files: Files) -> None:
    """Writes the files of a run; they have their folder's name when all of them are there."""
    partial = folder.with_name(f"{folder.name}.partial-{os.getpid()}-0")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for name, content in files.items():
        (partial / name).write_bytes(content)
    partial.rename(folder)


class DaskExecutor:
    """Runs jobs on ``where``: ``local``, ``slurm``, or the address of a scheduler."""

    def __init__(self, where: str, workers: int) -> None:
        self.where, self.workers = where, workers
        self.halted = False
        self._cluster: Any = None
        self._client: Any = None

    def __enter__(self) -> Self:
        if self.where == "slurm" and shutil.which("sbatch") is None:
            raise EnvironmentLacks("--cluster slurm: sbatch is not on this machine")
        if self.where not in {"local", "slurm"} and not self.where.startswith(("tcp://", "tls://")):
            raise InputError(
                f"--cluster {self.where!r}: write local, slurm, tcp://HOST:PORT or tls://HOST:PORT"
            )
        try:
            import distributed  # noqa: PLC0415 - an extra
        except ImportError:
            raise EnvironmentLacks("--cluster needs Dask: install airperf[cluster]") from None
        self._cluster = self._start(distributed)
        try:
            self._client = distributed.Client(self._cluster or self.where, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise EnvironmentLacks(f"--cluster {self.where}: no scheduler answers there ({error})") from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def _start(self, distributed: Any) -> Any:
        if self.where == "local":
            return distributed.LocalCluster(
                n_workers=self.workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address=None,
                worker_dashboard_address=None,
            )
        if self.where == "slurm":
            try:
                from dask_jobqueue import SLURMCluster  # noqa: PLC0415 - an extra
            except ImportError:
                raise EnvironmentLacks(
                    "--cluster slurm needs dask-jobqueue: install airperf[cluster]"
                ) from None
            # Queue, memory and time of a job are the site's: they come from Dask's own jobqueue.yaml.
            try:
                cluster = SLURMCluster()
            except (TypeError, ValueError) as error:
                raise EnvironmentLacks(
                    f"--cluster slurm: Dask's jobqueue.yaml lacks something: {error}"
                ) from None
            cluster.scale(jobs=self.workers)
            return cluster
        return None

    def halt(self) -> None:
        """No further job is started; those at work finish."""
        self.halted = True

    def run(
        self,
        jobs: Sequence[Job],
        interrupts: Interrupts,
        finished: Callable[[Outcome], None],
        progress: object = None,
    ) -> list[Outcome]:
        """Does all jobs; one outcome for each, in their order. There is no progress within a job."""
        del progress
        ended: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        futures = [
            self._client.submit(remote, job, engine_id(job.testbed), key=job.folder.name, pure=False)
            for job in jobs
        ]
        for number, future in enumerate(futures):
            future.add_done_callback(lambda done, number=number: ended.put((number, done)))
        outcomes: dict[int, Outcome] = {}
        while len(outcomes) < len(jobs):
            if interrupts.count or self.halted:
                kind = "interrupted" if interrupts.count else "not_started"
                left = [number for number in range(len(jobs)) if number not in outcomes]
                self._client.cancel([futures[number] for number in left])
                outcomes |= {n: Failed(jobs[n], kind, kind.replace("_", " ")) for n in left}
                break
            try:
                number, future = ended.get(timeout=TICK_S)
            except queue.Empty:
                continue
            outcomes[number] = _take(jobs[number], future)
            finished(outcomes[number])
        return [outcomes[number] for number in range(len(jobs))]


def _take(job: Job, future: Any) -> Outcome:
    """The outcome of a job that ended, its files written."""
    if future.status != "finished":
        return Failed(job, "killed", f"its workers were lost: {future.exception()}")
    outcome: Outcome
    outcome, files = future.result()
    if files:
        try:
            keep(job.folder, files)
        except OSError as error:
            shutil.rmtree(job.folder, ignore_errors=True)
            kind = "no_space" if error.errno == errno.ENOSPC else "run"
            return Failed(job, kind, f"{job.folder}: {error.strerror or error}")
    return outcome
