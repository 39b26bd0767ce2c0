"""Proxies that make a slow link feel faster, in this process until it is told to stop.

Model: docs/models/proxy.md. Leaves out addresses that are not numbers: whoever calls has looked names up.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from airperf import _core
from airperf.testbed.interrupt import Interrupts
from airperf.testbed.redirect import Redirection
from airperf.testbed.trusting import trusted_authorities


@dataclass(frozen=True, slots=True)
class Optimiser:
    """A proxy; the switches from ``compress`` to ``repair`` are those of a client half.

    A proxy alone has the first two. ``half`` is None, ``client`` or ``server``; ``repair`` None for
    adaptive. ``networks``, ``hosts`` and ``instead`` say what may be reached beside the lab. ``intercept`` is
    where the certificate goes by which browsers trust what is answered in the place of https servers.
    """

    listen: str
    half: str | None = None
    peer: str | None = None
    transparent: bool = False
    connections: int = 6
    max_connections: int = 1_000
    compress: str | None = None
    cache: bool = False
    delta: bool = False
    push: bool = False
    dns: bool = False
    rate_bps: int | None = None
    rtt_ms: int | None = None
    adapt_tcp: bool = False
    datagrams: bool = False
    repair: int | None = None
    networks: list[tuple[str, int]] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    instead: list[tuple[str, int, str]] = field(default_factory=list)
    intercept: Path | None = None

    def options(self) -> dict[str, Any]:
        """What the engine is told."""
        options = asdict(self)
        rate, rtt = options.pop("rate_bps"), options.pop("rtt_ms")
        options["path"] = None if rate is None or rtt is None else {"rate_bps": rate, "rtt_ms": rtt}
        answers = self.transparent and self.dns
        options["names_at"] = self.listen.rpartition(":")[0] + ":0" if answers else None
        options["intercept"] = self.intercept is not None
        trusted = trusted_authorities()
        options["trusted"] = None if trusted is None else str(trusted)
        options["mark"] = Redirection.MARK if self.transparent else None
        return options


def run_optimiser(
    optimiser: Optimiser, duration_s: float | None, show: Callable[[Mapping[str, Any]], None]
) -> dict[str, Any]:
    """Serves until Ctrl-C, SIGTERM or ``duration_s``, telling ``show`` how it goes; what was done.

    A transparent proxy has connections redirected to it for as long as it serves.
    """
    end = None if duration_s is None else time.monotonic() + duration_s
    redirection = Redirection() if optimiser.transparent else None
    with redirection or nullcontext(), Interrupts() as interrupts:

        def tell(text: str) -> bool:
            now = json.loads(text)
            if optimiser.intercept is not None and not optimiser.intercept.exists():
                optimiser.intercept.write_text(now["authority"], encoding="utf-8")
            if redirection is not None:
                redirection.to(now["listen"], now["names_at"])
            show(now)
            return interrupts.count == 0 and (end is None or time.monotonic() < end)

        done: dict[str, Any] = json.loads(_core.run_optimiser(json.dumps(optimiser.options()), tell))
    del done["authority"]
    return done
