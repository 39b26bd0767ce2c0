"""Carrying out a plan: one call of the engine, with progress and Ctrl-C.

Model: the engine tells once a second how it goes, and looks for signals ten times a second; Ctrl-C ends the
load, and its result is of what was done until then. Leaves out keeping results: the engine writes the folder.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airperf import _core
from airperf.errors import EnvironmentLacks, InputError, Interrupted, NoSpace, RunFailed
from airperf.files import canonical_json
from airperf.testbed.interrupt import Interrupts
from airperf.testbed.load.plan import Plan

Listener = Callable[[Mapping[str, Any]], None]
"""Told once a second how it goes: the engine's ``Progress`` (docs/reference/load.md)."""

CARRIED = 0.98
"""Share of the exchanges wanted that must be completed in time for a rate to count as carried."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one run gave; ``values`` is the engine's JSON (docs/reference/load.md, "The result")."""

    values: Mapping[str, Any]

    @property
    def limited(self) -> bool:
        """Whether the generator, not the server, was the limit: no open loop was kept (fault 12)."""
        return bool(self.values["generator_limited"])

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it before its time."""
        return bool(self.values["interrupted"])

    @property
    def why(self) -> tuple[str, ...]:
        """What there is to say against it or about it, in words."""
        return tuple(map(str, (*self.values["why_invalid"], *self.values["why"])))

    @property
    def good(self) -> bool:
        """Whether it is what was asked for: valid (fault 9), not limited and not interrupted."""
        return bool(self.values["valid"]) and not self.limited and not self.interrupted

    @property
    def wanted(self) -> float | None:
        """Exchanges of the connections that became due; None in a closed loop."""
        if not self.values["open_loop"] or not self.values["offered_cps"]:
            return None
        each = float(self.values["offered_rps"]) / float(self.values["offered_cps"])
        return each * int(self.values["connections"]["due"])

    @property
    def carried(self) -> bool:
        """Whether the server completed what it was asked while it was asked."""
        return self.wanted is not None and int(self.values["completed_in_time"]) >= CARRIED * self.wanted

    def json(self) -> dict[str, Any]:
        """The result for ``--json``; the log of histograms is a file's."""
        return {key: value for key, value in self.values.items() if key != "hdr_log"}


def run_load(
    plan: Plan,
    out: Path | None = None,
    *,
    interrupts: Interrupts | None = None,
    listener: Listener | None = None,
) -> Result:
    """Carries out a plan.

    Args:
        plan: What to do.
        out: Folder for every exchange and the histograms; None keeps the summary only.
        interrupts: Where Ctrl-C is counted.
        listener: Told once a second how it goes.

    Raises:
        InputError: When the plan cannot be carried out; nothing was started.
        EnvironmentLacks: When this machine lacks descriptors, ports or rights; nothing was started.
        NoSpace: When the disk is full.
        Interrupted: When Ctrl-C came before anything was done.
        RunFailed: When it started and could not finish.
    """
    seen = interrupts or Interrupts()

    def progress(text: str) -> None:
        if listener:
            listener(json.loads(text))

    try:
        seen.raising = True
        answer = _core.run_load(canonical_json(plan.json()), None if out is None else str(out), progress)
    except KeyboardInterrupt:
        raise Interrupted("interrupted before there was a result") from None
    except _core.EnvironmentLacks as error:
        raise EnvironmentLacks(str(error)) from None
    except ValueError as error:
        raise InputError(str(error)) from None
    except FileExistsError as error:
        raise InputError(f"{out}: {error.strerror or error}") from None
    except OSError as error:
        raise (NoSpace if error.errno == errno.ENOSPC else RunFailed)(str(error)) from None
    except _core.CoreError as error:
        raise RunFailed(str(error)) from None
    finally:
        seen.raising = False
    return Result(json.loads(answer))
