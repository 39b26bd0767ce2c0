"""Recording what a command browses, through a proxy on loopback.

Model: docs/guide/record-a-site.md. The proxy is the crate ``host``'s, in a thread of this process. Leaves out
making a site of what was recorded (``sites``).
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from airperf import _core
from airperf.errors import InputError, Interrupted, RunFailed
from airperf.testbed.browser import Wanted
from airperf.testbed.interrupt import Interrupts
from airperf.testbed.serving import Serving
from airperf.testbed.trusting import spki, trusted_authorities, trusting

LAB = {"AIRPERF_CA": ("10.78.0.0", 16), "AIRPERF_OUTSIDE": ("100.64.0.0", 10)}
"""Networks of a lab, each known by the variable that it gives to commands in it."""
PROXIES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")


def record_command(folder: Path, command: Sequence[str], *, anywhere: bool) -> tuple[int, dict[str, Any]]:
    """Runs a command whose HTTP goes through the recorder: its status, and what the recorder told last."""
    with Recorder(folder, anywhere=anywhere) as recorder, Interrupts():  # a Ctrl-C is the command's own
        variables = recorder.environment(folder / "ca.pem")
        try:
            status = subprocess.run(command, env=variables, check=False).returncode
        except OSError as error:
            why = "no such command" if error.errno == errno.ENOENT else error.strerror
            raise InputError(f"{command[0]}: {why}") from None
    return status if status >= 0 else 128 - status, recorder.told


def record_page(folder: Path, wanted: Wanted, *, anywhere: bool) -> dict[str, Any]:
    """Loads a page once through the recorder; what the recorder told last."""
    with Recorder(folder, anywhere=anywhere) as recorder:
        wanted.proxy = recorder.told["listen"]
        wanted.spki = spki(recorder.told["key_hash"])
        (folder / "wanted.json").write_text(json.dumps(asdict(wanted)), encoding="utf-8")
        words = [sys.executable, "-m", "airperf.testbed.loads", str(folder / "wanted.json")]
        with Interrupts() as interrupts:
            status = subprocess.run(words, check=False).returncode
        if interrupts.count:
            raise Interrupted("the recording was interrupted; nothing was written")
    if (folder / "problem").exists():
        raise RunFailed((folder / "problem").read_text(encoding="utf-8"))
    if status:
        raise RunFailed(f"the browser's process ended with status {status}")
    return recorder.told


class Recorder:
    """The proxy, in a thread until it is left."""

    def __init__(self, folder: Path, *, anywhere: bool) -> None:
        allowed = [place for variable, place in LAB.items() if variable in os.environ]
        trusted = trusted_authorities()
        options = {
            "folder": str(folder),
            "allowed": allowed,
            "anywhere": anywhere,
            "trusted": None if trusted is None else str(trusted),
        }
        self._serving = Serving(lambda tell: _core.record_site(json.dumps(options), tell))

    @property
    def told(self) -> dict[str, Any]:
        """What it said last."""
        return self._serving.told or {}

    def __enter__(self) -> Self:
        if not self._serving.wait():
            raise RunFailed(f"the recorder could not start: {self._serving.problem}")
        return self

    def __exit__(self, *_: object) -> None:
        self._serving.stop()

    def environment(self, authority: Path) -> Mapping[str, str]:
        """The caller's variables with the proxy, and its authority where TLS libraries look for one."""
        authority.write_text(self.told["authority"], encoding="utf-8")
        place = f"http://{self.told['listen']}"
        return trusting(authority, self.told["key_hash"]) | dict.fromkeys(PROXIES, place)
