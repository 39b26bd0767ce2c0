"""Worker processes under supervision: each has one job at a time, a time budget and a group of its own.

Model: faults 3, 4 and 5. A worker that is killed or hangs costs the job it was at one attempt and nobody
else anything; a job gets three attempts with the same seed. The next simulated job waits in the worker's
pipe, so that no worker waits for the supervisor. Runs are independent and named by their job, so any number
of workers gives the same bytes. Leaves out order: outcomes arrive as they come and are returned in the
order of the jobs.
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
from types import TracebackType
from typing import IO, Any, Self, cast

from airperf.testbed.interrupt import Interrupts
from airperf.testbed.jobs import Done, Failed, Job, Outcome

ATTEMPTS = 3
AHEAD = 2
"""Simulated jobs that a worker holds: the one it is at, and the next."""
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
    tasks: deque[_Task] = field(default_factory=deque)
    """The one it is at, then those that wait in its pipe."""
    dropped: list[_Task] = field(default_factory=list)
    """Taken back from it; it may begin them all the same before it is ended."""
    started: float = 0.0
    buffer: bytearray = field(default_factory=bytearray)

    @property
    def task(self) -> _Task | None:
        return self.tasks[0] if self.tasks else None

    @property
    def answers(self) -> IO[bytes]:
        return cast("IO[bytes]", self.process.stdout)

    def room(self, job: Job) -> bool:
        limit = AHEAD if job.testbed == "sim" else 1
        return len(self.tasks) < limit and not self.dropped

    def give(self, task: _Task) -> None:
        self.tasks.append(task)
        if len(self.tasks) == 1:
            self._begin()
        with contextlib.suppress(BrokenPipeError):  # its end is noticed when reading
            orders = cast("IO[bytes]", self.process.stdin)
            orders.write(task.job.line())
            orders.flush()

    def done(self) -> _Task:
        task = self.tasks.popleft()
        if self.tasks:
            self._begin()
        return task

    def _begin(self) -> None:
        self.tasks[0].attempts += 1
        self.started = time.monotonic()

    def signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


class Pool:
    """Up to ``workers`` processes; ``command`` is replaced by tests that need a worker with a fault.

    While the pool is entered, its workers stay for the next ``run``; else each ``run`` ends those it started.
    """

    def __init__(self, workers: int, command: Sequence[str] | None = None) -> None:
        self.workers = max(1, workers)
        self.halted = False
        self.idle: list[_Worker] = []
        self._kept = False
        self._command = list(command or (sys.executable, "-m", "airperf.testbed.worker"))

    def __enter__(self) -> Self:
        self._kept = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kept = False
        self.end_idle()

    def end_idle(self) -> None:
        """Ends workers that have nothing to do, unless they are kept for the next jobs."""
        if not self._kept:
            _end(self.idle)
            self.idle = []

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
        self.workers, pool.idle = pool.idle, []
        self.selector = selectors.DefaultSelector()
        for worker in self.workers:
            self.selector.register(worker.answers, selectors.EVENT_READ, worker)
        self.stop_at: float | None = None

    def run(self) -> list[Outcome]:
        try:
            while any(outcome is None for outcome in self.outcomes):
                self._obey_interrupts()
                self._hand_out()
                for key, _ in self.selector.select(TICK_S):
                    self._hear(key.data)
                    self._obey_interrupts()  # before the next worker's answer lets it begin another job
                self._watch_budgets()
        finally:
            self._end_all()
        return [outcome for outcome in self.outcomes if outcome is not None]

    def _hand_out(self) -> None:
        while self.waiting:
            free = [worker for worker in self.workers if worker.room(self.waiting[0].job)]
            least = min(free, key=lambda worker: len(worker.tasks), default=None)
            if (least is None or least.tasks) and len(self.workers) < self.pool.workers:
                least = self._start()
            if least is None:
                return
            least.give(self.waiting.popleft())

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
            self._answer(worker, json.loads(line))

    def _answer(self, worker: _Worker, message: dict[str, Any]) -> None:
        if "progress" in message:
            self.progress(worker.tasks[0].job, message["progress"])
            return
        task = worker.done()
        if "done" in message:
            done = message["done"]
            self._settle(task, Done(task.job, bool(done["valid"]), tuple(map(str, done["why_invalid"]))))
        else:
            error = message["error"]
            _sweep(task.job, worker.process.pid)
            self._settle(task, Failed(task.job, str(error["kind"]), str(error["why"]), task.attempts))
        if worker.dropped and not worker.tasks:
            self._died(worker)

    def _died(self, worker: _Worker, kind: str = "killed", why: str = "") -> None:
        self.selector.unregister(worker.answers)
        self.workers.remove(worker)
        worker.signal(signal.SIGKILL)  # what is left of its group
        code = worker.process.wait()
        _close(worker)
        for task in (*worker.tasks, *worker.dropped):
            _sweep(task.job, worker.process.pid)
        if not worker.tasks:
            return
        task, *later = worker.tasks
        self.waiting.extendleft(reversed(later))  # they had not begun: no attempt of theirs
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
        for worker in self.workers:
            while len(worker.tasks) > 1:
                worker.dropped.append(worker.tasks.pop())
                self.waiting.append(worker.dropped[-1])
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
        self.selector.close()
        self.pool.idle = [worker for worker in self.workers if not worker.tasks and not worker.dropped]
        _end([worker for worker in self.workers if worker.tasks or worker.dropped])
        self.pool.end_idle()


def _end(workers: Sequence[_Worker]) -> None:
    """Ends workers: at once those at work, by the end of their input those that are not."""
    for worker in workers:
        if worker.tasks or worker.dropped:
            worker.signal(signal.SIGKILL)
        _close(worker)
    for worker in workers:
        try:
            worker.process.wait(5)
        except subprocess.TimeoutExpired:
            worker.signal(signal.SIGKILL)
            worker.process.wait()
        for task in (*worker.tasks, *worker.dropped):
            _sweep(task.job, worker.process.pid)


def _close(worker: _Worker) -> None:
    for pipe in (worker.process.stdin, worker.process.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def _sweep(job: Job, pid: int) -> None:
    """Removes the half-written directory that a dead worker left beside the run directory."""
    for left in job.folder.parent.glob(f"{glob.escape(job.folder.name)}.partial-{pid}-*"):
        shutil.rmtree(left, ignore_errors=True)
