"""Who runs the points: one interface, and the choice between its adapters.

Model: an executor takes jobs and gives one outcome for each, in their order; the run directories are the
same whoever made them. Adapters: processes of this machine (``testbed.Pool``), a Dask cluster
(``cluster.py``). Shards are no executor: they are parts of a plan (``planning.Shard``), joined by
``merge.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol, Self

from airperf.experiment.planning import Options
from airperf.testbed import Interrupts, Job, Outcome, Pool
from airperf.testbed.pool import Finished, Progress


class Executor(AbstractContextManager["Executor"], Protocol):
    """Runs jobs while it is entered."""

    def __enter__(self) -> Self: ...

    def run(
        self, jobs: Sequence[Job], interrupts: Interrupts, finished: Finished, progress: Progress
    ) -> list[Outcome]:
        """Does all jobs; one outcome for each, in their order."""

    def halt(self) -> None:
        """No further job is started; those at work finish."""


def executor_for(testbed: str, options: Options) -> Executor:
    """The executor for a testbed: real time has this machine to itself, one run at a time."""
    if testbed != "sim":
        return Pool(1)
    if not options.cluster:
        return Pool(options.workers)
    from airperf.experiment.cluster import DaskExecutor  # noqa: PLC0415 - Dask is an extra

    return DaskExecutor(options.cluster, options.workers)
