"""The reverse proxy before one server, in this process until it is told to stop.

Model: docs/models/http.md, admission control; the same policy as the simulated server's. Leaves
out addresses that are not numbers: whoever calls has looked names up.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from airperf import _core
from airperf.testbed.interrupt import Interrupts


@dataclass(frozen=True, slots=True)
class Admission:
    """Admission control: ``policy`` is ``concurrent`` or ``adaptive``, ``refusal`` ``503`` or ``reset``."""

    policy: str
    limit: int
    target_ns: int
    wait_ns: int
    refusal: str


def run_proxy(
    listen: str,
    upstream: str,
    admission: Admission | None,
    max_connections: int,
    duration_s: float | None,
    show: Callable[[Mapping[str, Any]], None],
) -> dict[str, Any]:
    """Serves until Ctrl-C, SIGTERM or ``duration_s``, telling ``show`` how it goes; what was done."""
    options = {
        "listen": listen,
        "upstream": upstream,
        "admission": asdict(admission) if admission else None,
        "max_connections": max_connections,
        "backlog": None,
    }
    end = None if duration_s is None else time.monotonic() + duration_s
    with Interrupts() as interrupts:

        def tell(text: str) -> bool:
            show(json.loads(text))
            return interrupts.count == 0 and (end is None or time.monotonic() < end)

        served: dict[str, Any] = json.loads(_core.run_proxy(json.dumps(options), tell))
    return served
