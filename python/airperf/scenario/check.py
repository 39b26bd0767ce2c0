"""Checking a scenario: everything wrong with it at once, or what it means with every default filled in.

Reference: docs/reference/scenario.md. Leaves out the rules themselves, which are in the crate ``scenario``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airperf import _core
from airperf.errors import Problem, ScenarioProblems
from airperf.scenario.library import path_of

Overrides = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """A scenario that was checked with its overrides; ``sha256`` is the identity of its resolved form."""

    name: str
    text: str
    overrides: Overrides
    resolved: Mapping[str, Any]
    sha256: str
    warnings: tuple[str, ...]
    estimate: Mapping[str, Any]


def check(text: str, name: str, overrides: Sequence[tuple[str, str]] = ()) -> Checked:
    """Checks a scenario; raises ``ScenarioProblems`` with all of its problems."""
    pairs = tuple((str(key), str(value)) for key, value in overrides)
    try:
        answer = json.loads(_core.check_scenario(text, path_of(name), list(pairs)))
    except _core.ScenarioError as error:
        raise ScenarioProblems(name, problems_from_json(str(error))) from None
    return Checked(
        name=name,
        text=text,
        overrides=pairs,
        resolved=answer["resolved"],
        sha256=answer["sha256"],
        warnings=tuple(_warning(item) for item in answer["warnings"]),
        estimate=answer["estimate"],
    )


def expand_sweep(text: str) -> list[str]:
    """The values of a list or range such as ``10..160 step 10 /s``, each as an override's value."""
    try:
        return _core.expand_sweep(text)
    except _core.ScenarioError as error:
        raise ScenarioProblems("sweep", problems_from_json(str(error))) from None


def positions(text: str, name: str) -> dict[str, tuple[int, int]]:
    """Line and column, from 1, of every value of a TOML text by its dotted path (list elements from 0)."""
    try:
        found = json.loads(_core.locate(text, name))
    except _core.ScenarioError as error:
        raise ScenarioProblems(name, problems_from_json(str(error))) from None
    return {str(path): (int(line), int(column)) for path, (line, column) in found.items()}


def problems_from_json(text: str) -> list[Problem]:
    """The problems that the core reports as a JSON list."""
    return [
        Problem(
            message=str(item["message"]),
            hint=str(item.get("hint") or ""),
            line=item.get("line"),
            column=item.get("column"),
            key=str(item.get("key") or ""),
            seen=str(item.get("seen") or ""),
            source=str(item.get("source") or ""),
        )
        for item in json.loads(text)
    ]


def parse_overrides(items: Sequence[str]) -> Overrides:
    """``KEY=VALUE`` texts as pairs; those without ``=`` or key are reported together."""
    problems = [
        Problem(f"{item!r} is not KEY=VALUE", hint='for example client.rate="40/s"', seen=item)
        for item in items
        if not item.partition("=")[0].strip() or "=" not in item
    ]
    if problems:
        raise ScenarioProblems("--set", problems)
    return tuple((key.strip(), value.strip()) for key, _, value in (item.partition("=") for item in items))


def _warning(item: Any) -> str:
    return str(item["message"]) if isinstance(item, dict) else str(item)
