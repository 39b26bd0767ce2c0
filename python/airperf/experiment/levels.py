"""Levels of a factor: ``"10..160 step 10 /s"`` or a list of values with units.

Model: every level is a text that a scenario accepts, with its number beside it for axes. Leaves out parsing,
which is the crate ``scenario``'s, and checking the unit, which the scenario's own check does for each level.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from airperf.errors import Problem, ScenarioProblems
from airperf.scenario import expand_sweep

NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
"""The number at the beginning of a level's text."""


@dataclass(frozen=True, slots=True)
class Level:
    """One level: its number, for axes, and the text to put into the scenario."""

    number: float
    text: str


def parse_levels(source: str | Sequence[str | int | float]) -> list[Level]:
    """All levels in order; ``ScenarioProblems`` says what was seen and what is allowed."""
    texts = expand_sweep(source if isinstance(source, str) else json.dumps(list(source)))
    levels = []
    for text in texts:
        match = NUMBER.match(text)
        if match is None:
            problem = Problem(f"{text!r} has no number, which a factor of a study needs", seen=text)
            raise ScenarioProblems("sweep", [problem])
        levels.append(Level(float(match[0]), text))
    return levels
