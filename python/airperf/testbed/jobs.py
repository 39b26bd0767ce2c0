"""What a worker is asked to do and what came of it; both travel as one line of JSON.

Leaves out results: a run's result is its run directory.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Job:
    """One run: a scenario on a testbed into a new run directory."""

    testbed: str
    text: str
    name: str
    overrides: tuple[tuple[str, str], ...]
    seed: int
    point: int
    repetition: int
    out_dir: str
    level: str
    budget_s: float
    """Wall-clock seconds after which the worker is killed."""
    deferred: bool = False
    """Whether whoever asked will put the run on the disk, with many others at once (simulated runs)."""
    browser: str = ""
    """Version of the real browser that takes part; empty without one."""

    def line(self) -> bytes:
        """The job as the line that a worker reads."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @property
    def folder(self) -> Path:
        """The run directory to be made."""
        return Path(self.out_dir)


@dataclass(frozen=True, slots=True)
class Done:
    """A run directory was written; an emulated run may still be invalid and says why."""

    job: Job
    valid: bool
    why_invalid: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """No run directory was written."""

    job: Job
    kind: str
    """``input``, ``environment``, ``no_space``, ``run`` or ``internal`` as the worker says; ``killed`` or
    ``timeout``; ``interrupted`` or ``not_started``."""
    why: str
    attempts: int = 1


Outcome = Done | Failed
