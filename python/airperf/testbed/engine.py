"""The compiled engine: who it is, what this machine lets it do, re-running an emulated run.

Model: identity is the version plus a hash of the compiled module, so that results of two builds never meet
in one mean (fault 7). Leaves out running scenarios, which workers do.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from airperf import __version__, _core
from airperf.files import sha256_file

TESTBEDS = ("sim", "emu")
"""Testbeds that this version has."""


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that a testbed or tool needs from the machine; ``optional`` ones only add comfort."""

    name: str
    ok: bool
    why: str
    remedy: str
    testbeds: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """The need as ``airperf doctor --json`` prints it."""
        return {"name": self.name, "ok": self.ok, "why": self.why, "remedy": self.remedy}


SUBSTITUTES = {"apache2": "the built-in server", "httperf": "the generator of airperf load"}
"""Programs of the emulated testbed that it can do without, and what takes their place."""


@cache
def engine_id(testbed: str) -> str:
    """Identity of the engine for caching: version, build, and for ``emu`` the kernel whose TCP takes part."""
    file = _core.__file__
    build = sha256_file(Path(file))[:12] if file else "unknown"
    kernel = f" linux-{platform.release()}" if testbed == "emu" else ""
    return f"airperf-{__version__} build-{build}{kernel}"


def probe() -> list[Need]:
    """What ``airperf doctor`` lists."""
    return [
        Need(
            name=str(item["name"]),
            ok=bool(item["ok"]),
            why=str(item["why"]),
            remedy=str(item["remedy"]),
            testbeds=("emu",) if item.get("required") else (),
        )
        for item in json.loads(_core.probe())
    ]


def lacking(testbed: str, needs: list[Need] | None = None) -> list[Need]:
    """The unmet needs without which ``testbed`` cannot run here."""
    if testbed == "sim":
        return []
    return [
        need for need in (probe() if needs is None else needs) if testbed in need.testbeds and not need.ok
    ]


def substituted(testbed: str, needs: list[Need] | None = None) -> list[str]:
    """Programs that are not here and what takes their place: such a run is not what a study asks for."""
    if testbed == "sim":
        return []
    missing = {need.name for need in (probe() if needs is None else needs) if not need.ok}
    return [
        f"{name} is not installed; {other} is used" for name, other in SUBSTITUTES.items() if name in missing
    ]


def replay(folder: Path) -> Mapping[str, Any]:
    """Re-runs the arrivals of an emulated run in virtual time and compares the frame records."""
    answer: Mapping[str, Any] = json.loads(_core.replay(str(folder)))
    return answer


def clean(state_dir: Path) -> Mapping[str, Any]:
    """Removes what crashed emulated runs registered and left behind; nothing that is not registered."""
    answer: Mapping[str, Any] = json.loads(_core.clean(str(state_dir)))
    return answer
