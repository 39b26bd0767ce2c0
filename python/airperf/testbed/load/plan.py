"""What to ask of a server, when, and from where: the plan that the engine carries out.

Reference: docs/reference/load.md, "The plan"; the Rust crate ``airperf-load`` reads the same JSON and refuses
what it does not know. Leaves out how it is carried out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from airperf.errors import InputError
from airperf.quantities import SECOND_NS
from airperf.testbed.load.target import Target

SCHEMA = 1
MAX_PIPELINE = 1024
SCHEDULE_BOUND_NS = 10_000_000
"""How late 1% of the connections may be opened: about one exchange of the study bai2006."""
PROCESSES = ("deterministic", "poisson", "self-similar", "on-off")
ONCE = "once"
"""One session of each client, at its beginning: people who come and stay."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """How connections (or sessions) become due.

    ``rate_micro`` None keeps a number of them busy instead, unless the process is ``ONCE``.
    """

    process: str = "deterministic"
    rate_micro: int | None = None
    hurst: float | None = None
    on_ns: int | None = None
    off_ns: int | None = None

    def __post_init__(self) -> None:
        wants = {"hurst": self.process == "self-similar", "on_ns": self.process == "on-off"}
        wants["off_ns"] = wants["on_ns"]
        names = {"hurst": "--hurst", "on_ns": "--on-time", "off_ns": "--off-time"}
        for key, wanted in wants.items():
            given = getattr(self, key) is not None
            if wanted and not given:
                raise InputError(f"{self.process} arrivals need {names[key]}")
            if given and not wanted:
                raise InputError(f"{names[key]} does not belong to {self.process} arrivals")
        if self.hurst is not None and not 0.5 <= self.hurst < 1:
            raise InputError(f"--hurst {self.hurst:g}: must be at least 0.5 and below 1")
        if self.on_ns is not None and self.on_ns <= 0:
            raise InputError("--on-time must be positive")
        if self.process == ONCE and self.rate_micro is not None:
            raise InputError("people who browse come once and stay: they have no --rate")

    @property
    def scheduled(self) -> bool:
        """Whether something becomes due at all, instead of a number that is kept busy."""
        return self.rate_micro is not None or self.process == ONCE

    def json(self) -> dict[str, Any]:
        """As the engine reads it."""
        keys = ("process", "rate_micro", "hurst", "on_ns", "off_ns")
        return {key: value for key in keys if (value := getattr(self, key)) is not None}


@dataclass(frozen=True, slots=True)
class Client:
    """Where connections come from: an address of this machine, a namespace, or just here; and its phase."""

    source: str | None = None
    netns: str | None = None
    offset_ns: int = 0

    def json(self) -> dict[str, Any]:
        """As the engine reads it."""
        return {"source": self.source, "netns": self.netns, "offset_ns": self.offset_ns}


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a session."""

    path: str
    method: str = "GET"
    body_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Burst:
    """A page: a first request, then the others at once; the next burst follows after the think time."""

    requests: tuple[Request, ...]
    think_ns: int = 0


Session = tuple[Burst, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """All of it. Times in ns; None where there is no limit, no Host header, or the system decides.

    Each client follows the whole of ``arrivals``, ``duration_ns`` and ``connections`` for itself. Several
    paths are asked in turn, or at random by ``weights``. Of bodies, only the length is sent as given.
    """

    target: Target
    authority: str | None
    arrivals: Arrivals
    paths: tuple[str, ...] = ("/",)
    weights: tuple[int, ...] | None = None
    method: str = "GET"
    clients: tuple[Client, ...] = (Client(),)
    duration_ns: int | None = None
    connections: int | None = None
    requests_per_connection: int = 1
    pipeline: int = 1
    whole_bursts: bool = False
    """Whether ``pipeline`` requests are asked again only when all of them are answered."""
    sessions: tuple[Session, ...] = ()
    users: Mapping[str, Any] | None = None
    """Sessions drawn at random, as a scenario says; the crate's ``Users``."""
    until_ns: int | None = None
    """From here on nothing begins, whatever a client's offset."""
    headers: tuple[tuple[str, str], ...] = ()
    http_version: str = "1.1"
    body_bytes: int = 0
    timeout_ns: int | None = 5 * SECOND_NS
    timeout_rule: str = "progress"
    close_with_reset: bool = False
    concurrency: int | None = None
    spin_ns: int | None = None
    start_at_ns: int | None = None
    warmup_ns: int = 0
    drain_ns: int = 5 * SECOND_NS
    seed: int = 1
    schedule_bound_ns: int = SCHEDULE_BOUND_NS
    send_buffer_bytes: int | None = None
    receive_buffer_bytes: int | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What the plan cannot take over from where it came from, for the user."""

    def __post_init__(self) -> None:
        if self.duration_ns is None and self.connections is None:
            raise InputError("say how long (--duration) or how many connections (--connections)")
        if not self.arrivals.scheduled and self.concurrency is None:
            raise InputError("say how often connections begin (--rate), or how many are busy (--concurrency)")
        if self.pipeline > MAX_PIPELINE:
            raise InputError(f"--pipeline {self.pipeline}: at most {MAX_PIPELINE}")
        if not self.arrivals.scheduled and self.arrivals.process != "deterministic":
            raise InputError(f"--arrivals {self.arrivals.process} needs --rate")

    @property
    def rate(self) -> float | None:
        """Connections (or sessions) begun per second and client."""
        return None if self.arrivals.rate_micro is None else self.arrivals.rate_micro / 1e6

    def at_rate(self, rate_micro: int) -> Plan:
        """The same plan at another rate."""
        return replace(self, arrivals=replace(self.arrivals, rate_micro=rate_micro))

    def json(self) -> dict[str, Any]:
        """The plan as the engine reads it."""
        return {
            "schema": SCHEMA,
            "target": {
                "address": self.target.address,
                "port": self.target.port,
                "host": self.authority,
                "paths": list(self.paths),
                "weights": self.weights and list(self.weights),
                "method": self.method,
            },
            "clients": [client.json() for client in self.clients],
            "arrivals": self.arrivals.json() if self.arrivals.scheduled else None,
            "duration_ns": self.duration_ns,
            "connections": self.connections,
            "requests_per_connection": self.requests_per_connection,
            "pipeline": self.pipeline,
            "whole_bursts": self.whole_bursts,
            "sessions": [_session(session) for session in self.sessions] or None,
            "users": self.users,
            "until_ns": self.until_ns,
            "request_headers": [list(pair) for pair in self.headers],
            "http_version": self.http_version,
            "body_bytes": self.body_bytes,
            "timeout_ns": self.timeout_ns,
            "timeout_rule": self.timeout_rule,
            "close_with_reset": self.close_with_reset,
            "concurrency_limit": self.concurrency,
            "spin_ns": self.spin_ns,
            "start_at_ns": self.start_at_ns,
            "warmup_ns": self.warmup_ns,
            "seed": self.seed,
            "drain_ns": self.drain_ns,
            "schedule_bound_ns": self.schedule_bound_ns,
            "send_buffer_bytes": self.send_buffer_bytes,
            "receive_buffer_bytes": self.receive_buffer_bytes,
            # In a closed namespace every address is the lab's; the engine knows nothing of routes.
            "allow": [self.target.address] if self.target.vouched or self._elsewhere() else [],
        }

    def _elsewhere(self) -> bool:
        return any(client.netns for client in self.clients)


def _session(session: Session) -> list[dict[str, Any]]:
    return [
        {
            "requests": [
                {"path": r.path, "method": r.method, "body_bytes": r.body_bytes, "think_ns": burst.think_ns}
                for r in burst.requests
            ]
        }
        for burst in session
    ]
