"""One campaign at a time in a results folder.

Model: fault 6: a lock file with process id and start time; a second campaign refuses, a lock whose process
is gone is taken over with a notice. Leaves out locks over network file systems.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from airperf.errors import FolderInUse
from airperf.files import canonical_json, write_atomic

LOCK = "campaign.lock"


def start_ticks(pid: int) -> int | None:
    """When process ``pid`` started, in clock ticks since boot; None when there is none or it is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])  # proc(5): state is field 3, starttime 22


class FolderLock:
    """Holds the lock of a folder while entered."""

    def __init__(self, folder: Path, notice: Callable[[str], None]) -> None:
        self.path = folder / LOCK
        self.notice = notice

    def __enter__(self) -> Self:
        content = canonical_json({"pid": os.getpid(), "start_ticks": start_ticks(os.getpid())})
        mine = self.path.with_name(f"{LOCK}.{os.getpid()}")
        write_atomic(mine, content)
        try:
            for _ in range(3):
                try:
                    os.link(mine, self.path)  # atomic: whoever sees the lock sees who holds it
                except FileExistsError:
                    self._judge()
                else:
                    return self
        finally:
            mine.unlink(missing_ok=True)
        raise FolderInUse(f"{self.path}: the lock is changing hands; try again")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.path.unlink(missing_ok=True)

    def _judge(self) -> None:
        try:
            held = json.loads(self.path.read_text())
            pid, ticks = int(held["pid"]), held["start_ticks"]
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError):
            pid, ticks = 0, None  # not a lock that we wrote
        if pid and ticks is not None and start_ticks(pid) == ticks:
            raise FolderInUse(
                f"{self.path.parent}: process {pid} is at work in this folder; "
                "wait for it, or give another folder with --out"
            )
        self.notice(f"{self.path.parent}: took over the lock of process {pid or '?'}, which is gone")
        self.path.unlink(missing_ok=True)
