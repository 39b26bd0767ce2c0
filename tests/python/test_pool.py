"""Workers under supervision: killed, hanging, interrupted (faults 3, 4, 5)."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from airperf.testbed import Done, Failed, Interrupts, Job, Pool

WORKER = """
import json, os, signal, sys, time, pathlib
answers = os.fdopen(os.dup(1), "wb", buffering=0)
for line in sys.stdin.buffer:
    job = json.loads(line)
    out = pathlib.Path(job["out_dir"])
    tries = out.with_name(out.name + ".tries")
    tries.write_text((tries.read_text() if tries.exists() else "") + "x")
    partial = out.with_name(f"{out.name}.partial-{os.getpid()}-0")
    partial.mkdir()
    what = job["name"]
    if what == "poison" or (what == "once" and len(tries.read_text()) == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "hang":
        time.sleep(60)
    if what == "exit":
        sys.exit(7)
    if what == "slow":
        time.sleep(0.5)
    if what == "patient":
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            partial.rmdir()
            out.with_name(out.name + ".clean").touch()
            error = {"kind": "interrupted", "why": "interrupted"}
            answers.write(json.dumps({"error": error}).encode() + b"\\n")
            continue
    partial.rename(out)
    answers.write(json.dumps({"progress": {"elapsed_s": 1}}).encode() + b"\\n")
    answers.write(json.dumps({"done": {"valid": True, "why_invalid": []}}).encode() + b"\\n")
"""


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    return [sys.executable, str(script)]


def job(tmp_path: Path, number: int, what: str = "good", budget_s: float = 30.0, testbed: str = "sim") -> Job:
    return Job(testbed, "", what, (), 1, 0, 0, str(tmp_path / f"run-{number}"), "analysis", budget_s)


def attempts(tmp_path: Path, number: int) -> int:
    return len((tmp_path / f"run-{number}.tries").read_text())


def test_outcomes_come_in_the_order_of_the_jobs(tmp_path: Path, command: list[str]) -> None:
    jobs = [job(tmp_path, 0, "slow"), *(job(tmp_path, n) for n in range(1, 6))]
    seen, progress = [], []
    with Interrupts() as interrupts:
        outcomes = Pool(2, command).run(
            jobs, interrupts, lambda o: seen.append(o.job), lambda j, message: progress.append((j, message))
        )
    assert [outcome.job for outcome in outcomes] == jobs
    assert all(isinstance(outcome, Done) for outcome in outcomes)
    assert sorted(j.out_dir for j in seen) == [j.out_dir for j in jobs]
    assert seen[-1] is not jobs[0] or len(seen) == 6
    assert len(progress) == 6


def test_fault_03_a_killed_worker_is_tried_again_with_the_same_job(
    tmp_path: Path, command: list[str]
) -> None:
    with Interrupts() as interrupts:
        (outcome,) = Pool(1, command).run([job(tmp_path, 0, "once")], interrupts)
    assert isinstance(outcome, Done)
    assert attempts(tmp_path, 0) == 2


def test_fault_03_a_poison_point_cannot_loop_and_others_go_on(tmp_path: Path, command: list[str]) -> None:
    jobs = [job(tmp_path, 0, "poison"), job(tmp_path, 1), job(tmp_path, 2, "exit"), job(tmp_path, 3)]
    with Interrupts() as interrupts:
        outcomes = Pool(2, command).run(jobs, interrupts)
    assert isinstance(outcomes[0], Failed)
    assert (outcomes[0].kind, outcomes[0].attempts) == ("killed", 3)
    assert "SIGKILL" in outcomes[0].why
    assert isinstance(outcomes[2], Failed)
    assert "status 7" in outcomes[2].why
    assert attempts(tmp_path, 0) == 3
    assert isinstance(outcomes[1], Done)
    assert isinstance(outcomes[3], Done)
    assert not list(tmp_path.glob("*.partial-*")), "half-written directories of dead workers are removed"


def test_fault_03_a_job_that_waited_in_a_killed_worker_costs_no_attempt(
    tmp_path: Path, command: list[str]
) -> None:
    jobs = [job(tmp_path, 0, "poison"), job(tmp_path, 1), job(tmp_path, 2)]
    with Interrupts() as interrupts:
        outcomes = Pool(1, command).run(jobs, interrupts)
    assert isinstance(outcomes[0], Failed)
    assert [attempts(tmp_path, number) for number in range(3)] == [3, 1, 1]


def test_workers_that_are_kept_serve_the_next_jobs(tmp_path: Path, command: list[str]) -> None:
    with Interrupts() as interrupts, Pool(2, command) as pool:
        pool.run([job(tmp_path, n) for n in range(4)], interrupts)
        first = {worker.process.pid for worker in pool.idle}
        pool.run([job(tmp_path, n) for n in range(4, 8)], interrupts)
        assert {worker.process.pid for worker in pool.idle} == first
        assert len(first) == 2
        workers = [worker.process for worker in pool.idle]
    assert all(process.poll() is not None for process in workers)


def test_fault_04_a_hanging_worker_is_killed_when_its_time_is_up(tmp_path: Path, command: list[str]) -> None:
    began = time.monotonic()
    with Interrupts() as interrupts:
        outcomes = Pool(2, command).run([job(tmp_path, 0, "hang", 0.4), job(tmp_path, 1)], interrupts)
    assert isinstance(outcomes[0], Failed)
    assert outcomes[0].kind == "timeout"
    assert "0.4 s" in outcomes[0].why
    assert isinstance(outcomes[1], Done)
    assert time.monotonic() - began < 20
    assert not list(tmp_path.glob("*.partial-*"))


def test_fault_05_one_interrupt_lets_simulated_points_finish(tmp_path: Path, command: list[str]) -> None:
    jobs = [job(tmp_path, n, "slow") for n in range(6)]
    with Interrupts() as interrupts:

        def first_done(_: object) -> None:
            interrupts.count = 1

        outcomes = Pool(2, command).run(jobs, interrupts, first_done)
    kinds = [outcome.kind if isinstance(outcome, Failed) else "done" for outcome in outcomes]
    assert kinds[:2] == ["done", "done"]
    # The two workers may have had their next points in their pipes already.
    assert kinds[4:] == ["interrupted"] * 2


def test_fault_05_one_interrupt_ends_an_emulated_run_cleanly(tmp_path: Path, command: list[str]) -> None:
    with Interrupts() as interrupts:
        pool = Pool(1, command)

        class Soon(Interrupts):
            """Interrupted as soon as the run has begun."""

            @property
            def count(self) -> int:
                return int(any(tmp_path.glob("*.partial-*")))

            @count.setter
            def count(self, _: int) -> None: ...

        (outcome,) = pool.run([job(tmp_path, 0, "patient", testbed="emu")], Soon())
        assert interrupts.count == 0, "the signal went to the worker, not to us"
    assert isinstance(outcome, Failed)
    assert outcome.kind == "interrupted"
    assert (tmp_path / "run-0.clean").exists(), "the run ended by itself"


def test_fault_05_two_interrupts_end_at_once(tmp_path: Path, command: list[str]) -> None:
    began = time.monotonic()
    with Interrupts() as interrupts:
        interrupts.count = 0

        class Twice(Interrupts):
            @property
            def count(self) -> int:
                return 2 if time.monotonic() - began > 0.5 else 0

            @count.setter
            def count(self, _: int) -> None: ...

        (outcome,) = Pool(1, command).run([job(tmp_path, 0, "hang")], Twice())
    assert isinstance(outcome, Failed)
    assert outcome.kind == "interrupted"
    assert time.monotonic() - began < 10
    assert not list(tmp_path.glob("*.partial-*"))


def test_no_worker_outlives_the_pool(tmp_path: Path, command: list[str]) -> None:
    with Interrupts() as interrupts:
        Pool(2, command).run([job(tmp_path, n, "slow") for n in range(2)], interrupts)
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    names = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children if Path(f"/proc/{pid}").exists()]
    assert not [name for name in names if b"worker.py" in name]
