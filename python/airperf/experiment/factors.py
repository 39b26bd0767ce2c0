"""Factors, their levels, and the combinations of levels that a design asks for.

Model: a factor sets one key or several. Designs: *one-factor* (one factor at a time, the others at their
base), *factorial* (every combination), *random* (independent draws of levels), *latin-hypercube*
(stratified draws, ``scipy.stats.qmc``; McKay, Beckman and Conover 1979). Leaves out responses fitted to a
design.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc

from airperf.experiment.levels import NUMBER
from airperf.scenario import Overrides

DESIGNS = ("one-factor", "factorial", "random", "latin-hypercube")
DRAWN = ("random", "latin-hypercube")
"""Designs that need a number of points."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One level of one factor: its number for axes, its text for people, and what it sets."""

    factor: str
    number: float
    text: str
    settings: Overrides


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor; ``base`` is the level at which it stays while another one is varied."""

    name: str
    keys: tuple[str, ...]
    choices: tuple[Choice, ...]
    base: int = 0


@dataclass(frozen=True, slots=True)
class Design:
    """How levels of several factors are combined; ``points`` only for designs that draw."""

    kind: str = "factorial"
    points: int = 0


Combination = tuple[Choice, ...]


def combinations(design: Design, factors: Sequence[Factor], seed: int) -> list[Combination]:
    """The combinations of a design in their order, none of them twice."""
    if design.kind == "factorial":
        found = list(itertools.product(*(factor.choices for factor in factors)))
    elif design.kind == "one-factor":
        base = tuple(factor.choices[factor.base] for factor in factors)
        found = [
            (*base[:place], choice, *base[place + 1 :])
            for place, factor in enumerate(factors)
            for choice in factor.choices
        ] or [base]
    else:
        found = [
            tuple(
                factor.choices[int(share * len(factor.choices))]
                for factor, share in zip(factors, row, strict=True)
            )
            for row in _draws(design, len(factors), seed)
        ]
    return list(dict.fromkeys(found))


def _draws(design: Design, factors: int, seed: int) -> list[list[float]]:
    """Shares in [0, 1) of each factor's levels, one row for each point."""
    stream = np.random.default_rng([seed, DESIGNS.index(design.kind)])
    if design.kind == "random":
        rows = stream.random((design.points, factors))
    else:
        rows = qmc.LatinHypercube(factors, rng=stream).random(design.points)
    drawn: list[list[float]] = rows.tolist()
    return drawn


def slug(choices: Sequence[Choice]) -> str:
    """Levels as a part of a folder's name: only letters, digits and ``._+-``, not too long."""
    words = [f"{choice.factor}-{label(choice)}" for choice in choices]
    return re.sub(r"[^A-Za-z0-9._+-]+", "_", "-".join(words))[:96] or "base"


def label(choice: Choice) -> str:
    """The level in a few characters: its number where its text begins with it, else its text."""
    match = NUMBER.match(choice.text)
    return f"{choice.number:g}" if match and float(match[0]) == choice.number else choice.text
