"""Loading a page several times with a real browser, in the network that is here or beside a hosted site.

Leaves out the browser itself (``browser``) and the namespace (``room``).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from airperf.errors import Interrupted, RunFailed
from airperf.testbed.browser import Wanted, chromium
from airperf.testbed.host import Hosting, host_for
from airperf.testbed.interrupt import Interrupts


@dataclass(frozen=True, slots=True)
class Browsed:
    """One load as the browser told it."""

    events: list[dict[str, Any]]
    timing: dict[str, float]
    complete: bool
    screenshot: bytes
    frames: list[tuple[float, bytes]]
    """Seconds of the wall clock, and a JPEG."""


def browser_version() -> str:
    """The browser's own words; ``EnvironmentLacks`` where there is none."""
    done = subprocess.run([chromium(), "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "Chromium"


def browse(
    wanted: Wanted, site: Path | None, hosting: Hosting, done: Callable[[int], None]
) -> tuple[list[Browsed], dict[str, Any] | None]:
    """The loads in their order, and what was served of a hosted site.

    ``done`` hears how many loads there are, as they come. Raises ``RunFailed`` with the browser's reason, and
    ``Interrupted`` after Ctrl-C.
    """
    browser_version()
    with tempfile.TemporaryDirectory(prefix="airperf-browse-") as name:
        folder = Path(name)
        (folder / "wanted.json").write_text(json.dumps(asdict(wanted)), encoding="utf-8")
        words = [sys.executable, "-m", "airperf.testbed.loads", str(folder / "wanted.json")]
        told = None
        if site is None:
            with Interrupts() as interrupts, subprocess.Popen(words, env=os.environ) as process:
                while process.poll() is None:
                    try:
                        process.wait(0.2)
                    except subprocess.TimeoutExpired:
                        done(len(list(folder.glob("load-*.json"))))
                status = process.returncode
                if interrupts.count:
                    raise Interrupted("the page loads were interrupted; nothing was written")
        else:
            status, told = host_for(site, hosting, words)
        done(len(list(folder.glob("load-*.json"))))
        if (folder / "problem").exists():
            raise RunFailed((folder / "problem").read_text(encoding="utf-8"))
        if status:
            raise RunFailed(f"the browser's process ended with status {status}")
        return [_browsed(folder, number) for number in range(1, wanted.repetitions + 1)], told


def _browsed(folder: Path, number: int) -> Browsed:
    stem = folder / f"load-{number}"
    content = json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))
    frames = [
        (float(at), (folder / f"load-{number}-frame-{place}.jpg").read_bytes())
        for place, at in enumerate(content["frames"])
    ]
    return Browsed(
        events=content["events"],
        timing=content["timing"],
        complete=bool(content["complete"]),
        screenshot=stem.with_suffix(".png").read_bytes(),
        frames=frames,
    )
