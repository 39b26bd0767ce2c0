"""The process in which runs happen: ``python -m airperf.testbed.worker PARENT``.

Reads one job per line, answers one line per event: ``{"progress": …}``, then ``{"done": …}`` or
``{"error": …}``. Model: the run is all inside the compiled module with the interpreter lock released (house
rule 5); the process dies with its parent, and with it every namespace and program of an emulated run.
Leaves out retries and time budgets, which are the supervisor's.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from airperf import _core
from airperf.errors import EnvironmentLacks, InputError, Interrupted, RunFailed, ScenarioProblems
from airperf.scenario.library import path_of
from airperf.testbed.part import command

PR_SET_PDEATHSIG = 1
Common = tuple[str, str, list[tuple[str, str]], int]
"""Text, path, overrides and seed of a job's scenario."""


def die_with(parent: int) -> None:
    """Asks the kernel to kill this process when its parent dies; ends at once when it already has."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def perform(job: dict[str, Any], progress: Callable[[str], None]) -> dict[str, Any]:
    """Does one job and gives the answer to send."""
    overrides = [(str(key), str(value)) for key, value in job["overrides"]]
    common: Common = (job["text"], path_of(job["name"]), overrides, job["seed"])
    try:
        if job["testbed"] == "sim":
            manifest = _core.run_sim(
                *common, job["point"], job["repetition"], job["out_dir"], job["level"], job["deferred"]
            )
        else:
            manifest = _emulated(job, common, progress)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the supervisor must hear of any bug
        return problem_of(error)
    seen = json.loads(manifest)
    return {"done": {"valid": seen["valid"], "why_invalid": seen["why_invalid"]}}


def _emulated(job: dict[str, Any], common: Common, progress: Callable[[str], None]) -> str:
    # Here, because pages and browsers take longer to load than most runs need.
    from airperf.testbed import visits  # noqa: PLC0415

    if visits.has_browser(job):
        return visits.perform_visits(job, progress)
    text, path, overrides, seed = common
    own_parts = command(_core)
    return _core.run_emu(text, path, overrides, seed, job["out_dir"], job["level"], own_parts, progress)


def problem_of(error: BaseException) -> dict[str, Any]:
    """What became of a run that raised this, as a worker answers."""
    match error:
        case KeyboardInterrupt() | Interrupted():
            return _error("interrupted", "interrupted")
        case _core.ScenarioError() | ScenarioProblems() | InputError():
            return _error("input", str(error))
        case _core.EnvironmentLacks() | EnvironmentLacks():
            return _error("environment", str(error))
        case OSError():
            return _error("no_space" if error.errno == errno.ENOSPC else "run", str(error))
        case _core.CoreError() | RunFailed():
            return _error("no_space" if "No space left" in str(error) else "run", str(error))
        case _:
            return _error("internal", f"{type(error).__name__}: {error}")


def _error(kind: str, why: str) -> dict[str, Any]:
    return {"error": {"kind": kind, "why": why}}


def main() -> None:
    """Serves jobs until its input ends."""
    die_with(int(sys.argv[1]))
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # nothing that a library prints may get between the answers

    def say(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message).encode() + b"\n")

    def progress(text: str) -> None:
        say({"progress": json.loads(text)})

    for line in sys.stdin.buffer:
        try:
            answer = perform(json.loads(line), progress)
        except KeyboardInterrupt:
            answer = _error("interrupted", "interrupted")
        say(answer)


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):
        sys.exit(0)
