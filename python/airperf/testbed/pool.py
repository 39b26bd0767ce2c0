"""Worker processes under supervision: each has one job at a time, a time budget and a group of its own.

Model: faults 3, 4 and 5. A worker that is killed or hangs costs its own job one attempt and nobody else
anything; a job gets three attempts with the same seed. Runs are independent and named by their job, so any
number of workers gives the same bytes. Leaves out order: outcomes arrive as they come and are returned in
the order of the jobs.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, cast

from airperf.testbed.interrupt import Interrupts
from airperf.testbed.jobs import Done, Failed, Job, Outcome

ATTEMPTS = 3
TICK_S = 0.1
CLEAN_END_S = 15.0
"""How long an interrupted worker may take to end its run cleanly."""

Progress = Callable[[Job, Mapping[str, Any]], None]
Finished = Callable[[Outcome], None]


def _unheard(*_: object) -> None:
    """Nobody listens."""


@dataclass
class _Task:
    index: int
    job: Job
    attempts: int = 0


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    task: _Task | None = None
    started: float = 0.0
    buffer: bytearray = field(default_factory=bytearray)

    @property
    def answers(self) -> IO[bytes]:
        return cast("IO[bytes]", self.process.stdout)

    def give(self, task: _Task) -> None:
        task.attempts += 1
        self.task, self.started = task, time.monotonic()
        self.buffer.clear()
        with contextlib.suppress(BrokenPipeError):  # its end is noticed when reading
            orders = cast("IO[bytes]", self.process.stdin)
            orders.write(task.job.line())
            orders.flush()

    def signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


class Pool:
    """Up to ``workers`` processes; ``command`` is replaced by tests that need a worker with a fault."""

    def __init__(self, workers: int, command: Sequence[str] | None = None) -> None:
        self.workers = max(1, workers)
        self.halted = False
        self._command = list(command or (sys.executable, "-m", "airperf.testbed.worker"))

    def halt(self) -> None:
        """No further job is started; those at work finish."""
        self.halted = True

    def run(
        self,
        jobs: Sequence[Job],
        interrupts: Interrupts,
        finished: Finished = _unheard,
        progress: Progress = _unheard,
    ) -> list[Outcome]:
        """Does all jobs; one outcome for each, in their order."""
        return _Supervision(self, jobs, interrupts, finished, progress).run()

    def spawn(self) -> subprocess.Popen[bytes]:
        """Starts a worker in a session of its own: a Ctrl-C of the terminal does not reach it."""
        return subprocess.Popen(
            [*self._command, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )


class _Supervision:
    def __init__(
        self, pool: Pool, jobs: Sequence[Job], interrupts: Interrupts, finished: Finished, progress: Progress
    ) -> None:
        self.pool, self.interrupts = pool, interrupts
        self.finished, self.progress = finished, progress
        self.waiting = deque(_Task(index, job) for index, job in enumerate(jobs))
        self.outcomes: list[Outcome | None] = [None] * len(jobs)
        self.workers: list[_Worker] = []
        self.selector = selectors.DefaultSelector()
        self.stop_at: float | None = None

    def run(self) -> list[Outcome]:
        try:
            while any(outcome is None for outcome in self.outcomes):
                self._obey_interrupts()
                self._hand_out()
                for key, _ in self.selector.select(TICK_S):
                    self._hear(key.data)
                self._watch_budgets()
        finally:
            self._end_all()
        return [outcome for outcome in self.outcomes if outcome is not None]

    def _hand_out(self) -> None:
        idle = [worker for worker in self.workers if worker.task is None]
        while self.waiting and (idle or len(self.workers) < self.pool.workers):
            (idle.pop() if idle else self._start()).give(self.waiting.popleft())

    def _start(self) -> _Worker:
        worker = _Worker(self.pool.spawn())
        self.selector.register(worker.answers, selectors.EVENT_READ, worker)
        self.workers.append(worker)
        return worker

    def _hear(self, worker: _Worker) -> None:
        data = os.read(worker.answers.fileno(), 1 << 16)
        if not data:
            self._died(worker)
            return
        worker.buffer += data
        while worker.task and b"\n" in worker.buffer:
            line, _, rest = worker.buffer.partition(b"\n")
            worker.buffer[:] = rest
            self._answer(worker, worker.task, json.loads(line))

    def _answer(self, worker: _Worker, task: _Task, message: dict[str, Any]) -> None:
        if "progress" in message:
            self.progress(task.job, message["progress"])
            return
        worker.task = None
        if "done" in message:
            done = message["done"]
            self._settle(task, Done(task.job, bool(done["valid"]), tuple(map(str, done["why_invalid"]))))
        else:
            error = message["error"]
            _sweep(task.job, worker.process.pid)
            self._settle(task, Failed(task.job, str(error["kind"]), str(error["why"]), task.attempts))

    def _died(self, worker: _Worker, kind: str = "killed", why: str = "") -> None:
        self.selector.unregister(worker.answers)
        self.workers.remove(worker)
        worker.signal(signal.SIGKILL)  # what is left of its group
        code = worker.process.wait()
        _close(worker)
        task = worker.task
        if task is None:
            return
        _sweep(task.job, worker.process.pid)
        why = why or (
            f"worker ended by {signal.Signals(-code).name}" if code < 0 else f"worker ended, status {code}"
        )
        if self.stop_at is not None:
            self._settle(task, Failed(task.job, "interrupted", "interrupted", task.attempts))
        elif task.attempts < ATTEMPTS:
            self.waiting.append(task)
        else:
            self._settle(task, Failed(task.job, kind, f"{why}, {task.attempts} times", task.attempts))

    def _watch_budgets(self) -> None:
        now = time.monotonic()
        for worker in list(self.workers):
            task = worker.task
            if task is None:
                continue
            if now - worker.started > task.job.budget_s:
                self._died(worker, "timeout", f"no result after {task.job.budget_s:g} s")
            elif self.stop_at is not None and now > self.stop_at:
                self._died(worker)

    def _obey_interrupts(self) -> None:
        if self.interrupts.count == 0 and not self.pool.halted:
            return
        kind = "interrupted" if self.interrupts.count else "not_started"
        while self.waiting:
            task = self.waiting.popleft()
            self._settle(task, Failed(task.job, kind, kind.replace("_", " "), task.attempts))
        if self.interrupts.count == 0:
            return
        if self.stop_at is None:
            self.stop_at = time.monotonic() + CLEAN_END_S
            for worker in self.workers:
                if worker.task and worker.task.job.testbed != "sim":  # a simulated point is soon done anyway
                    worker.signal(signal.SIGINT)
        if self.interrupts.count > 1:
            self.stop_at = 0.0

    def _settle(self, task: _Task, outcome: Outcome) -> None:
        if self.outcomes[task.index] is None:
            self.outcomes[task.index] = outcome
            self.finished(outcome)

    def _end_all(self) -> None:
        for worker in self.workers:
            if worker.task is not None:
                worker.signal(signal.SIGKILL)
            _close(worker)
        for worker in self.workers:
            try:
                worker.process.wait(5)
            except subprocess.TimeoutExpired:
                worker.signal(signal.SIGKILL)
                worker.process.wait()
            if worker.task is not None:
                _sweep(worker.task.job, worker.process.pid)
        self.selector.close()


def _close(worker: _Worker) -> None:
    for pipe in (worker.process.stdin, worker.process.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def _sweep(job: Job, pid: int) -> None:
    """Removes the half-written directory that a dead worker left beside the run directory."""
    for left in job.folder.parent.glob(f"{glob.escape(job.folder.name)}.partial-{pid}-*"):
        shutil.rmtree(left, ignore_errors=True)
