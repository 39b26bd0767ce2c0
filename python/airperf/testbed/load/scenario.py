"""The workload of a scenario for a live server: the same description that drives ``sim`` and ``emu``.

Model: docs/reference/load.md, "From a scenario"; the sessions are those of the crate ``airperf-workload``,
drawn with the scenario's seed. A scenario's clients differ by their start alone, or they cannot be one
generator. Leaves out everything of a scenario but its clients, duration, drain and seed: the link, TCP and
the server are now the real ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airperf import _core
from airperf.errors import InputError
from airperf.quantities import duration_ns, rate_micro
from airperf.scenario import Checked, check
from airperf.testbed.load.plan import ONCE, Arrivals

SIZE = "{size}"
"""What stands in a URL for the size of the scenario's objects, in octets."""

_THEIRS = ("station", "start")
_OF_THE_LINK = (
    *("host_gap", "host_gap_spread", "link_rate", "queue", "power", "count"),
    *("frame_error", "fade_error", "fade_start", "fade_end"),
)
_TAKEN = (
    *("arrivals", "rate", "hurst", "on_time", "off_time"),
    *("requests_per_connection", "size", "timeout", "timeout_rule"),
    *("pages", "embedded", "embedded_size", "cached", "parse_time", "think_time", "upload"),
    *("pipeline", "connections", "patience", "kind"),
)
_NOT_TAKEN = ("request_size", "abort")
_PLAINEST = """
schema = 1
name = "plainest"
duration = "1s"
link = { kind = "wifi" }
client = [{ rate = "1/s", size = "1B" }]
"""
"""A scenario whose client says no more than it must: what its other keys say is nothing special."""


@dataclass(frozen=True, slots=True)
class Workload:
    """What a scenario says about its clients, as far as a live generator can do it."""

    arrivals: Arrivals
    requests_per_connection: int
    pipeline: int
    users: Mapping[str, Any] | None
    timeout_ns: int | None
    timeout_rule: str
    size_bytes: int | None
    offsets_ns: tuple[int, ...]
    duration_ns: int
    until_ns: int
    drain_ns: int
    seed: int
    notes: tuple[str, ...]


def from_scenario(checked: Checked, seed: int | None = None) -> Workload:
    """The workload of a checked scenario; random starts are drawn from ``seed`` or else the scenario's."""
    resolved = checked.resolved
    clients: list[Mapping[str, Any]] = list(resolved["client"])
    first = clients[0]
    own = {key: value for key, value in first.items() if key not in (*_THEIRS, *_OF_THE_LINK)}
    for client in clients[1:]:
        differing = [key for key, value in own.items() if client.get(key) != value]
        if differing:
            raise InputError(
                f"{checked.name}: {first['station']} and {client['station']} differ in "
                f"{', '.join(differing)}; one generator plays clients that differ in their start only"
            )
    plain = check(_PLAINEST, "plainest").resolved["client"][0]
    unknown = [key for key in own if key not in (*_TAKEN, *_NOT_TAKEN) and own[key] != plain.get(key)]
    if unknown:
        seen = f"client.{unknown[0]} = {own[unknown[0]]!r}"
        raise InputError(f"{checked.name}: {seen} is not something that airperf load can do")
    chosen = int(resolved["seed"]) if seed is None else seed
    try:
        live = json.loads(_core.live_workload(checked.text, checked.name, chosen))
    except ValueError as error:
        raise InputError(f"{checked.name}: {error}") from None
    browses = first["kind"] == "browse"
    return Workload(
        arrivals=Arrivals(
            process=ONCE if browses else str(first["arrivals"]),
            rate_micro=None if browses else rate_micro(str(first["rate"])),
            hurst=float(first["hurst"]) if _said(first.get("hurst")) else None,
            on_ns=_time(first.get("on_time")),
            off_ns=_time(first.get("off_time")),
        ),
        requests_per_connection=int(live["requests_per_connection"]),
        pipeline=int(live["pipeline"]),
        users=live["users"],
        timeout_ns=_time(first["timeout"]),
        timeout_rule="progress" if first["timeout_rule"] == "progress" else "httperf",
        size_bytes=live["size_bytes"],
        offsets_ns=tuple(live["offsets_ns"]),
        duration_ns=duration_ns(str(resolved["duration"])),
        until_ns=int(live["until_ns"]),
        drain_ns=duration_ns(str(resolved["drain"])),
        seed=chosen,
        notes=(
            f"requests are as long as they are, not client.request_size = {first['request_size']}",
            f"who gives up resets the connection, whatever client.abort = {first['abort']!r} says",
        ),
    )


def _said(value: Any) -> bool:
    return value not in (None, "none", "never", False, [], {})


def _time(value: Any) -> int | None:
    return duration_ns(str(value)) if _said(value) else None
