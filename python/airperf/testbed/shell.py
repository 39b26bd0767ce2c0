"""Running a command whose only network is a chain of emulated links.

Model: docs/guide/shell.md. The work is the crate ``airperf-emu``'s, in this process, without the interpreter
lock. Leaves out what the links are.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Self

from airperf import _core
from airperf.errors import EnvironmentLacks, InputError, RunFailed
from airperf.scenario import Checked
from airperf.scenario.library import path_of
from airperf.testbed.part import command as own_parts


def run_shell(layers: Sequence[Checked], seed: int | None, command: Sequence[str]) -> dict[str, Any]:
    """Runs a command over layers, the outermost first; what was measured of them, and its ``status``.

    Ctrl-C is the command's; SIGTERM and SIGHUP, and a SIGINT that no terminal sent, are passed on to it as
    SIGTERM. Raises ``EnvironmentLacks`` where namespaces or devices cannot be made, ``InputError`` for a
    command that cannot be executed.
    """
    words = [(one.text, path_of(one.name), list(one.overrides), seed) for one in layers]
    with Passing() as passing:
        try:
            report: dict[str, Any] = json.loads(
                _core.run_shell(words, list(command), own_parts(_core), lambda _: not passing.wanted)
            )
        except _core.EnvironmentLacks as error:
            raise EnvironmentLacks(str(error)) from None
        except (FileNotFoundError, PermissionError) as error:
            raise InputError(f"{command[0]}: {error.strerror}") from None
        except ValueError as error:
            raise InputError(str(error)) from None
        except OSError as error:
            raise RunFailed(str(error)) from None
    return report


class Passing:
    """While entered, signals that are meant for the command are noted in ``wanted``; others do nothing."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self.wanted = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in self.SIGNALS:
            self._before[number] = signal.signal(number, self._seen)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _seen(self, number: int, _frame: FrameType | None) -> None:
        # A terminal sends its Ctrl-C to the command as well.
        self.wanted |= number != signal.SIGINT or not _in_foreground()


def _in_foreground() -> bool:
    """Whether a terminal's Ctrl-C reaches this process."""
    try:
        return os.tcgetpgrp(sys.__stdin__.fileno() if sys.__stdin__ else 0) == os.getpgrp()
    except (OSError, ValueError):
        return False


def shell_words(
    nets: Sequence[str], overrides: Sequence[tuple[str, str]], seed: int | None, report: Path
) -> list[str]:
    """The command line that runs what follows over these links and leaves its JSON object in a file."""
    words = [sys.executable, "-m", "airperf", "shell", "--quiet", "--out", str(report)]
    words += [] if seed is None else ["--seed", str(seed)]
    for net in nets:
        words += ["--net", net]
    for key, value in overrides:
        words += ["--set", f"{key}={value}"]
    return [*words, "--"]


def complaints(report: Mapping[str, Any]) -> list[str]:
    """Why what was measured over the layers should not be trusted; empty when it may be."""
    each = [f"{one['name']}: {why}" for one in report["layers"] for why in one["why_invalid"]]
    return [*report["clocks"], *each]
