"""Reading an input file of an experiment: TOML with every problem told at once, each with its line.

Model: fault 38. Leaves out what the keys mean (``variants.py``, ``study.py``, ``file.py``).
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from airperf.errors import InputError, Problem, ScenarioProblems
from airperf.experiment.levels import Level, parse_levels
from airperf.scenario import positions


def text_of(path: Path) -> str:
    """The text of a file in UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None


def nearest(word: str, allowed: Collection[str]) -> str:
    """What to do about a word that is none of those allowed: the one meant, or all of them."""
    near = difflib.get_close_matches(word, allowed, 1)
    return f"did you mean {near[0]}?" if near else f"known here: {', '.join(sorted(allowed))}"


class Reader:
    """Reads one TOML file and collects what is wrong with it, with positions."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.problems: list[Problem] = []
        self.places = positions(text, name)
        self.data: dict[str, Any] = tomllib.loads(text)

    def problem(self, path: str, message: str, hint: str = "") -> None:
        """Notes a problem at the value of ``path``, or at the nearest table above it."""
        here = path
        while here and here not in self.places:
            here = here.rpartition(".")[0]
        line, column = self.places.get(here, (None, None))
        self.problems.append(Problem(message, hint, line, column, key=path))

    def finish(self) -> None:
        """Raises what was collected."""
        if self.problems:
            raise ScenarioProblems(self.name, self.problems)

    def known(self, table: Mapping[str, Any], allowed: Collection[str], path: str = "") -> None:
        """Notes every key of ``table`` that nobody reads, with the nearest one that is read."""
        for key in table:
            if key not in allowed:
                self.problem(f"{path}.{key}".lstrip("."), f"unknown key {key!r}", nearest(key, allowed))

    def one_of(self, value: Any, allowed: Sequence[str], path: str, what: str) -> str:
        """A word out of a list; notes a problem and takes the first if it is none of them."""
        if value in allowed:
            return str(value)
        self.problem(path, f"unknown {what} {value!r}", f"known are {', '.join(allowed)}")
        return allowed[0]

    def levels(self, source: Any, path: str) -> list[Level]:
        """Levels of a range or list; what is wrong with them is noted at ``path``."""
        try:
            return parse_levels(source)
        except ScenarioProblems as error:
            for found in error.problems:
                self.problem(path, found.message, found.hint)
        except TypeError as error:
            self.problem(path, f"these are no levels: {error}", 'write "10..160 step 10 /s" or a list')
        return []

    def count(self, value: Any, path: str, what: str, least: int = 1, most: int = 10_000) -> int:
        """A whole number within limits."""
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.problem(path, f"{what} is {value!r}", f"allowed: whole numbers from {least} to {most}")
            return least
        return value
