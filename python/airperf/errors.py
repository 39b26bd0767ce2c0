"""Every error that a user can meet, drawn as one tree; the exit code is part of the class.

Reference: docs/reference/exit-codes.md. Leaves out errors inside the models, which are enums in the crates
and reach Python as one of these.

    AirperfError                 1  a bug; carries a report id
    ├── InputError               2  what was asked for cannot be done; nothing started
    │   ├── ScenarioProblems     2  every problem of a scenario or study, with line and column
    │   ├── RecordError          2  a run directory that cannot be read
    │   │   ├── DamagedRecord    2  a checksum does not match
    │   │   └── VersionMismatch  2  written by another schema version
    │   └── FolderInUse          2  another campaign works in this folder
    ├── PartialResult            3  finished, but not everything is usable
    ├── RunFailed                1  a testbed started and could not finish
    │   └── NoSpace              3  the disk is full
    ├── EnvironmentLacks         4  this machine cannot do it; nothing started
    └── Interrupted            130  Ctrl-C; what is finished is kept
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class AirperfError(Exception):
    """Base of all errors; by itself it means a bug (exit 1)."""

    exit_code = 1


class InputError(AirperfError):
    """Usage or input error: nothing was started (exit 2)."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with an input file, as a reader needs it: where, what was seen, what to do."""

    message: str
    hint: str = ""
    line: int | None = None
    column: int | None = None
    key: str = ""
    seen: str = ""
    source: str = ""

    def text(self, name: str) -> str:
        """``name:line:column: message`` and, when there is one, the hint on a line of its own."""
        place = self.source or name
        if self.line is not None:
            place += f":{self.line}"
            if self.column is not None:
                place += f":{self.column}"
        lines = [f"{place}: {self.message}"]
        if self.hint:
            lines.append(f"    hint: {self.hint}")
        return "\n".join(lines)


class ScenarioProblems(InputError):
    """All problems of one input, reported together before anything starts."""

    def __init__(self, name: str, problems: Sequence[Problem]) -> None:
        self.name = name
        self.problems = tuple(problems)
        count = len(self.problems)
        tail = f"{count} problem{'' if count == 1 else 's'}; nothing was started"
        super().__init__("\n".join([*(problem.text(name) for problem in self.problems), tail]))


class RecordError(InputError):
    """A run directory or study folder that cannot be read."""


class DamagedRecord(RecordError):
    """A file of a run directory differs from what its manifest promises."""


class VersionMismatch(RecordError):
    """Written by a version of airperf whose tables mean something else."""


class FolderInUse(InputError):
    """Another process holds the lock of this results folder."""


class PartialResult(AirperfError):
    """Finished, partly usable; what is missing is listed (exit 3)."""

    exit_code = 3


class RunFailed(AirperfError):
    """A testbed started and could not finish (exit 1)."""


class NoSpace(RunFailed):
    """The disk is full: the point stopped, all earlier ones are kept (exit 3)."""

    exit_code = 3


class EnvironmentLacks(AirperfError):
    """This machine lacks something that the testbed needs; nothing was started (exit 4)."""

    exit_code = 4


class Interrupted(AirperfError):
    """Ctrl-C: what was finished is kept, the same command goes on from there (exit 130)."""

    exit_code = 130
