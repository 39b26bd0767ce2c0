"""Link traces: what is in a file before anything is run over it.

Reference: docs/models/trace-link.md. Leaves out the formats, which are in the crate ``link``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from airperf import _core
from airperf.errors import InputError, ScenarioProblems
from airperf.scenario.check import problems_from_json


def describe_trace(path: Path) -> dict[str, Any]:
    """What is in a trace, as ``airperf link show --json`` tells it.

    Raises ``InputError`` for a file that cannot be read or is no trace, with the line.
    """
    facts: dict[str, Any] = json.loads(_told(path, lambda: _core.describe_trace(path)))
    return {"file": str(path), **facts}


def export_trace(path: Path, until_ms: int) -> str:
    """A trace in Mahimahi's format, one time in milliseconds per line; of rates at most ``until_ms``.

    Raises ``InputError`` for a file that cannot be read, is no trace or carries less than half a packet.
    """
    return _told(path, lambda: _core.export_trace(path, until_ms))


def _told(path: Path, read: Callable[[], str]) -> str:
    try:
        return read()
    except _core.ScenarioError as error:
        raise ScenarioProblems(str(path), problems_from_json(str(error))) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
