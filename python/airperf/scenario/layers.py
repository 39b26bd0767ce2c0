"""What a link can be called where only a link is wanted: a short name, a scenario, a trace.

Reference: docs/guide/shell.md. Of a scenario the link is used, with its seed and its limit of lateness.
Leaves out what the links are; that is in the scenarios.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from airperf.errors import InputError
from airperf.scenario.check import Checked, Overrides, check
from airperf.scenario.library import find_scenario, installed
from airperf.scenario.traces import describe_trace

EDGE = (("link.down.scheme", "MCS-6"), ("link.up.scheme", "MCS-6"))

SHORT: dict[str, tuple[str, Overrides]] = {
    "gprs": ("gprs-transfer", ()),
    "gprs-fading": ("gprs-fading", ()),
    "edge": ("gprs-transfer", EDGE),
    "slow-4g": ("slow-4g", ()),
    "lte": ("lte-trace", ()),
    "wifi": ("bai2006-e1", ()),
    "ethernet": ("wired-10mbit", ()),
}
"""Short names, each with the installed scenario whose link it is and what of that is changed."""

OF_A_TRACE = """schema = 1
name = {name}
duration = "1s"
[link]
kind = "trace"
[link.down]
trace = {down}
[link.up]
trace = {up}
[[client]]
rate = "1/s"
size = "1B"
[emu]
# The grain of a trace.
lag_p99_limit = "1ms"
"""


def layer(name: str, overrides: Sequence[tuple[str, str]] = ()) -> Checked:
    """The scenario whose link ``name`` means, checked.

    A file wins over a name: ``*.toml`` is a scenario, any other file a trace. Raises ``InputError``, or
    ``ScenarioProblems`` with what is wrong inside.
    """
    path = Path(name)
    if path.is_file() and path.suffix != ".toml":
        return check(_of_trace(path), name, overrides)
    if not path.is_file() and name in SHORT:
        scenario, changed = SHORT[name]
        text, called = find_scenario(scenario)
        return check(text, called, (*changed, *overrides))
    if path.is_file() or (installed("scenarios") / f"{name}.toml").is_file():
        text, called = find_scenario(name)
        return check(text, called, overrides)
    known = ", ".join(SHORT)
    raise InputError(f"{name}: no link; write a scenario or trace file, the name of a scenario, or {known}")


def _of_trace(path: Path) -> str:
    """A scenario whose link follows a trace: ``X.down`` with ``X.up`` beside it, or one file both ways."""
    describe_trace(path)
    other = path.with_suffix(".up")
    up = other if path.suffix == ".down" and other.is_file() else path
    name = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in path.stem)[:40]

    def quoted(text: str) -> str:
        return json.dumps(text, ensure_ascii=False)

    return OF_A_TRACE.format(
        name=quoted(name or "trace"), down=quoted(str(path.resolve())), up=quoted(str(up.resolve()))
    )
