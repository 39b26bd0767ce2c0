"""Loading a page several times with a real browser, in the network that is here or beside a site, over links.

Leaves out the browser itself (``browser``), the namespace (``room``) and the links (``shell``).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from airperf.errors import EnvironmentLacks, Interrupted, RunFailed
from airperf.testbed.browser import Wanted, chromium
from airperf.testbed.host import Hosting, host_for, watched
from airperf.testbed.interrupt import Interrupts
from airperf.testbed.shell import shell_words

INTERRUPTED = 130


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


@cache
def browser_taking_part(testbed: str, browses: bool) -> str:
    """Version of the real browser in a run, empty without one: two versions never meet in one mean."""
    if testbed != "emu" or not browses:
        return ""
    try:
        return browser_version()
    except EnvironmentLacks:  # said when the run is to start
        return ""


@dataclass(frozen=True, slots=True)
class Over:
    """The links between the browser and the site, the outermost first; see ``airperf shell``."""

    nets: tuple[str, ...] = ()
    overrides: tuple[tuple[str, str], ...] = ()
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What was served of a hosted site, and what the links said of themselves; None where there were none."""

    site: dict[str, Any] | None
    link: dict[str, Any] | None


def browse(
    wanted: Wanted, site: Path | None, hosting: Hosting, over: Over, done: Callable[[int], None]
) -> tuple[list[Browsed], Told]:
    """The loads in their order, and what was told beside them.

    ``done`` hears how many loads there are, as they come. Raises ``RunFailed`` with the browser's reason,
    ``EnvironmentLacks`` where links cannot be made, and ``Interrupted`` after Ctrl-C.
    """
    browser_version()
    with tempfile.TemporaryDirectory(prefix="airperf-browse-") as name:
        folder = Path(name)
        (folder / "wanted.json").write_text(json.dumps(asdict(wanted)), encoding="utf-8")
        words = [sys.executable, "-m", "airperf.testbed.loads", str(folder / "wanted.json")]
        report = folder / "shell.json"
        if over.nets:
            words = [*shell_words(over.nets, over.overrides, over.seed, report), *words]

        def look() -> None:
            done(len(list(folder.glob("load-*.json"))))

        with Interrupts() as interrupts:
            if site is None:
                told, status = None, watched(words, look)
            else:
                status, told = host_for(site, hosting, words, look)
            if interrupts.count or status == INTERRUPTED:
                raise Interrupted("the page loads were interrupted; nothing was written")
        look()
        if (folder / "problem").exists():
            raise RunFailed((folder / "problem").read_text(encoding="utf-8"))
        if status == EnvironmentLacks.exit_code and over.nets:
            raise EnvironmentLacks("no link can be made here; what is missing is said above")
        if status:
            raise RunFailed(f"the browser's process ended with status {status}")
        link = json.loads(report.read_text(encoding="utf-8")) if over.nets else None
        loads = [_browsed(folder, number) for number in range(1, wanted.repetitions + 1)]
        return loads, Told(told, link)


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
