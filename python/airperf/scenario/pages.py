"""Page files: what a page consists of, by its statistics or object by object.

Reference: docs/reference/scenario.md. Leaves out the form, which is in the crate ``scenario``, and what
objects say.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from airperf import _core
from airperf.errors import ScenarioProblems
from airperf.scenario.check import problems_from_json


@dataclass(frozen=True, slots=True)
class PageObject:
    """An object of a page; sizes in octets."""

    host: int
    bytes: int
    packed_bytes: int
    found_in: int | None
    found_at: int
    think_ns: int


@dataclass(frozen=True, slots=True)
class PagePlan:
    """A page: its hosts, each with whether it speaks TLS, and its objects, the page itself first."""

    name: str
    seed: int | None
    """Of the contents; None for a page that lists its objects."""
    hosts: tuple[tuple[str, bool], ...]
    objects: tuple[PageObject, ...]


def page_plan(text: str, name: str) -> PagePlan:
    """What a page file says; ``ScenarioProblems`` with every problem of it."""
    try:
        told = json.loads(_core.describe_page(text, name))
    except _core.ScenarioError as error:
        raise ScenarioProblems(name, problems_from_json(str(error))) from None
    return PagePlan(
        name=told["name"],
        seed=told["seed"],
        hosts=tuple((host["name"], host["tls"]) for host in told["hosts"]),
        objects=tuple(PageObject(**one) for one in told["objects"]),
    )
