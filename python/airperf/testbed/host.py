"""Hosting a recorded site: in a network namespace of its own for a command, or on loopback.

Model: docs/guide/host-a-site.md. The namespace has no way out. It is made with unshare(1): as root, or in a
user namespace where this machine allows one. Leaves out what happens inside (``room``).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from airperf import _core
from airperf.errors import EnvironmentLacks, InputError
from airperf.testbed.engine import Need
from airperf.testbed.interrupt import Interrupts


@dataclass(frozen=True, slots=True)
class Hosting:
    """How a site is hosted: see the options of ``airperf host``."""

    strict: bool = False
    think: bool = True
    http2: bool = True
    rewritten_at: str | None = None
    sysctls: tuple[tuple[str, str], ...] = (("ipv4/tcp_congestion_control", "reno"),)
    """Files under /proc/sys/net of the namespace, and what is written there before anything is served.

    Servers send alike on every machine, and as in emulated runs: NewReno may be chosen in any namespace.
    """

    def options(self) -> dict[str, Any]:
        """What the engine is told."""
        told = asdict(self)
        del told["sysctls"]
        return told


def host_for(
    site: Path, hosting: Hosting, command: Sequence[str], look: Callable[[], None] | None = None
) -> tuple[int, dict[str, Any]]:
    """Runs a command in a namespace with the site and nothing else: its exit status, and what was served.

    ``look`` is called some times a second while it runs. Raises ``EnvironmentLacks`` where this machine makes
    no namespaces.
    """
    lacks_namespaces()
    with tempfile.TemporaryDirectory(prefix="airperf-host-") as name:
        folder = Path(name)
        wanted = {
            "folder": str(folder),
            "site": str(site.resolve()),
            "options": hosting.options(),
            "sysctls": hosting.sysctls,
            "command": list(command),
        }
        (folder / "wanted.json").write_text(json.dumps(wanted), encoding="utf-8")
        inside = [sys.executable, "-m", "airperf.testbed.room", str(folder / "wanted.json")]
        with Interrupts():  # a Ctrl-C is the command's own
            status = watched([*_unshare(), "--", *inside], look or (lambda: None))
        if (folder / "failed").exists():
            raise InputError((folder / "failed").read_text(encoding="utf-8"))
        if not (folder / "told.json").exists():
            raise EnvironmentLacks(
                f"the namespace could not be set up (exit status {status}); see airperf doctor"
            )
        told: dict[str, Any] = json.loads((folder / "told.json").read_text(encoding="utf-8"))
        return status, told


def watched(words: Sequence[str], look: Callable[[], None]) -> int:
    """Runs a program to its end, looking around five times a second; its status as a shell tells it."""
    with subprocess.Popen(words) as process:
        while process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
            look()
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def host_on_loopback(
    site: Path, hosting: Hosting, duration_s: float | None, show: Callable[[Mapping[str, Any]], None]
) -> dict[str, Any]:
    """Hosts a site with rewritten addresses until Ctrl-C, SIGTERM or ``duration_s``; what was served."""
    end = None if duration_s is None else time.monotonic() + duration_s
    with Interrupts() as interrupts:

        def tell(text: str) -> bool:
            show(json.loads(text))
            return interrupts.count == 0 and (end is None or time.monotonic() < end)

        try:
            told: dict[str, Any] = json.loads(_core.host_site(str(site), json.dumps(hosting.options()), tell))
        except (OSError, ValueError) as error:
            raise InputError(str(error)) from None
    return told


def _unshare() -> list[str]:
    own = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *own, "--net", "--mount"]


def host_need() -> Need:
    """What ``airperf host`` needs of this machine."""
    missing = [name for name in ("unshare", "mount") if shutil.which(name) is None]
    if missing:
        why, ok = f"{' and '.join(missing)} not installed", False
        remedy = "apt-get install util-linux mount"
    else:
        tried = subprocess.run([*_unshare(), "--", "true"], capture_output=True, text=True, check=False)
        ok, why = tried.returncode == 0, tried.stderr.strip() or "unshare makes them"
        remedy = "run as root, or allow unprivileged user namespaces; airperf host --rewrite needs none"
    return Need("host: network namespaces", ok=ok, why=why, remedy=remedy)


def lacks_namespaces() -> None:
    """Raises ``EnvironmentLacks`` where a network namespace cannot be made, with what to do."""
    namespaces = host_need()
    if not namespaces.ok:
        raise EnvironmentLacks(
            f"no network namespace can be made here ({namespaces.why}): {namespaces.remedy}"
        )
