"""The program that loads a scenario's page over its link, beside the hosts of the page, and records it.

``python -m airperf.testbed.visiting FILE`` runs in the namespace of a hosted site; FILE is what ``visits``
has ordered, and its answer comes beside it. Leaves out hosting (``room``), the browser (``loads``) and the
rows of tables (``visited``).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airperf import _core
from airperf.errors import EnvironmentLacks, RunFailed
from airperf.testbed.shell import Passing
from airperf.testbed.visited import visited
from airperf.testbed.worker import problem_of

ANSWER = "answer.json"
INTERRUPTED = (130, 143)
"""Exit statuses of a browser's process that SIGINT or SIGTERM ended."""


def main() -> int:
    """Makes the run; the answer has its manifest, or what became of it instead, as a worker says it."""
    path = Path(sys.argv[1])
    order: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    try:
        answer = {"manifest": json.loads(_run(path.parent, order))}
    except BaseException as error:  # noqa: BLE001 - who waits outside must hear of it
        answer = problem_of(error)
    (path.parent / ANSWER).write_text(json.dumps(answer), encoding="utf-8")
    return 0


def _run(folder: Path, order: Mapping[str, Any]) -> str:
    def seen(status: int) -> str:
        if (folder / "problem").exists():
            raise EnvironmentLacks((folder / "problem").read_text(encoding="utf-8"))
        if status in INTERRUPTED:
            raise KeyboardInterrupt
        if status:
            raise RunFailed(f"the browser's process ended with status {status}")
        return json.dumps(visited(folder, order))

    with Passing() as passing:
        return _core.run_visits(
            order["text"],
            order["path"],
            [(str(key), str(value)) for key, value in order["overrides"]],
            order["seed"],
            order["out_dir"],
            order["level"],
            order["command"],
            seen,
            lambda _: not passing.wanted,
        )


if __name__ == "__main__":
    sys.exit(main())
