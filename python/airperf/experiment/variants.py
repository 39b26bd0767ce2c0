"""One sweep as a file describes it: factors, design, repetitions, knee search.

Model: the same vocabulary in a study's ``[[experiment.variant]]`` and in an experiment file
(docs/reference/experiment.md). Leaves out checking levels against the scenario, which ``points.py`` has
done for each combination.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from airperf.analysis.knee import Criterion
from airperf.analysis.quantities import quantity
from airperf.experiment.factors import DESIGNS, DRAWN, Choice, Design, Factor
from airperf.experiment.levels import NUMBER
from airperf.experiment.reading import Reader
from airperf.scenario import Overrides
from airperf.testbed import TESTBEDS

MOST_REPETITIONS = 1000
UNTIL = re.compile(r"half_width(?: of (?P<of>\S+))? < (?P<percent>\d+(?:\.\d+)?)\s*%")
LEVELS = ("summary", "analysis", "full")
"""What a run keeps: sums, tables, or every frame and packet too."""
CRITERION = "carried_rps < 0.98 offered_rps"

SWEEP_KEYS = frozenset({"design", "points", "factor", "repetitions", "set", "knee", "level"})
"""Keys that describe a sweep, in a study's variant as in an experiment file."""


@dataclass(frozen=True, slots=True)
class Repetitions:
    """How often each combination is repeated: a number, or until an interval is narrow enough."""

    at_least: int = 1
    at_most: int = 1
    share: float | None = None
    """The half-width wanted, as a share of the mean; None for a fixed number."""
    of: tuple[str, ...] = ()
    """The measures whose half-widths count; empty for all that the experiment shows."""


@dataclass(frozen=True, slots=True)
class Knee:
    """A search along one factor for the level from which on ``criterion`` holds."""

    factor: Factor
    criterion: Criterion


@dataclass(frozen=True, slots=True)
class Variant:
    """One sweep on some testbeds; ``quick`` is its short form, where it has one."""

    experiment: str
    name: str
    what: str
    testbeds: tuple[str, ...]
    factors: tuple[Factor, ...]
    design: Design
    repetitions: Repetitions
    settings: Overrides
    level: str = ""
    """What its runs keep; empty for what the study keeps."""
    knee: Knee | None = None
    quick: Variant | None = None
    in_quick: bool = True
    """Whether a quick run has it."""
    scenario: str = ""
    """Name of its scenario among the study's others; empty for the main one."""
    beside: str = ""
    """The simulated variant that an emulated one is compared with."""

    @property
    def factor(self) -> str:
        """The name of the first factor, that of the axis."""
        return self.factors[0].name if self.factors else self.knee.factor.name if self.knee else ""

    @property
    def key(self) -> str:
        """The first key that the first factor sets."""
        return self.factors[0].keys[0] if self.factors and self.factors[0].keys else ""


def read_variant(reader: Reader, table: Mapping[str, Any], path: str, defaults: Mapping[str, Any]) -> Variant:
    """The sweep that ``table`` at ``path`` describes; ``defaults`` are those of what it stands in."""
    testbeds = tuple(str(testbed) for testbed in table["testbeds"])
    for testbed in testbeds:
        if testbed not in TESTBEDS:
            reader.problem(
                f"{path}.testbeds", f"unknown testbed {testbed!r}", f"known are {', '.join(TESTBEDS)}"
            )
    factors = tuple(_factors(reader, table, path))
    settings = tuple(pairs(table.get("set", {})))
    full = Variant(
        experiment=str(defaults["experiment"]),
        name=str(table["name"]),
        what=str(table.get("what", "")).strip(),
        testbeds=testbeds,
        factors=factors,
        design=_design(reader, table, path),
        repetitions=_repetitions(
            reader, table.get("repetitions", defaults["repetitions"]), f"{path}.repetitions"
        ),
        settings=settings,
        level=_level(reader, table, path) or str(defaults.get("level", "")),
        scenario=str(table.get("scenario", defaults.get("scenario", ""))),
        beside=str(table.get("beside", "")),
    )
    quick = table.get("quick")
    if quick is False:
        return replace(full, in_quick=False)
    return full if quick is None else replace(full, quick=_quick(reader, full, quick, f"{path}.quick"))


def _level(reader: Reader, table: Mapping[str, Any], path: str) -> str:
    """The record level that a table names; empty for none."""
    if "level" not in table:
        return ""
    return reader.one_of(table["level"], LEVELS, f"{path}.level".lstrip("."), "level")


def read_knee(reader: Reader, table: Mapping[str, Any], path: str) -> Knee | None:
    """The ``[knee]`` table: ``key`` (or ``keys``), ``range`` and ``criterion``."""
    reader.known(table, {"name", "key", "keys", "range", "criterion"}, path)
    if "range" not in table:
        reader.problem(path, "key 'range' is missing", 'for example range = "10..200 step 1 /s"')
        return None
    name = str(table.get("key", "knee")).rpartition(".")[2]
    factor = _factor(reader, {"name": name, **table, "levels": table["range"]}, path, levels="range")
    text = str(table.get("criterion", CRITERION))
    criterion = Criterion.parse(text)
    if criterion is None:
        reader.problem(f"{path}.criterion", f"{text!r} is no criterion", f'write "{CRITERION}", say')
    elif unknown := [name for name in criterion.measures if quantity(name) is None]:
        reader.problem(
            f"{path}.criterion", f"unknown measure {unknown[0]!r}", "docs/reference/experiment.md lists them"
        )
    numbers = [choice.number for choice in factor.choices] if factor else []
    if len(numbers) < 3 or numbers != sorted(numbers):
        reader.problem(f"{path}.range", "a knee is looked for among at least three rising levels")
    return Knee(factor, criterion) if factor and criterion and len(numbers) > 2 else None


def pairs(table: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Settings as texts: what stands in TOML as a number or a flag is written as a scenario would."""
    return [
        (str(key), str(value).lower() if isinstance(value, bool) else str(value))
        for key, value in table.items()
    ]


def _factors(reader: Reader, table: Mapping[str, Any], path: str) -> list[Factor]:
    given = table.get("factor", [])
    if isinstance(given, str):  # one factor, written in the variant itself
        given, places = (
            [{"name": given, **{k: table[k] for k in ("key", "keys", "levels") if k in table}}],
            [path],
        )
    else:
        places = [f"{path}.factor.{place}".lstrip(".") for place in range(len(given))]
        for one, place in zip(given, places, strict=True):
            reader.known(one, {"name", "key", "keys", "levels", "base"}, place)
    found = [_factor(reader, one, place) for one, place in zip(given, places, strict=True)]
    factors = [factor for factor in found if factor is not None]
    names = [factor.name for factor in factors]
    for name in {name for name in names if names.count(name) > 1}:
        reader.problem(f"{path}.factor".lstrip("."), f"two factors are called {name!r}")
    return factors


def _factor(reader: Reader, table: Mapping[str, Any], path: str, levels: str = "levels") -> Factor | None:
    name = str(table["name"])
    keys = [str(key) for key in table.get("keys", [table["key"]] if "key" in table else [])]
    source = table["levels"]
    if isinstance(source, list) and all(isinstance(item, str) and not NUMBER.match(item) for item in source):
        source = [{"name": item, "set": dict.fromkeys(keys, item)} for item in source]  # words are names
    named = isinstance(source, list) and any(isinstance(item, dict) for item in source)
    if not keys and not named:
        raise KeyError("key")
    place = f"{path}.{levels}".lstrip(".")
    choices = (
        _named_choices(reader, name, source, place)
        if named
        else [
            Choice(name, level.number, level.text, tuple((key, level.text) for key in keys))
            for level in reader.levels(source, place)
        ]
    )
    if not choices:
        return None
    texts = [choice.text for choice in choices]
    base = str(table.get("base", texts[0]))
    if base not in texts:
        reader.problem(
            f"{path}.base".lstrip("."), f"base {base!r} is no level of {name}", f"levels: {', '.join(texts)}"
        )
        base = texts[0]
    return Factor(name, tuple(keys), tuple(choices), texts.index(base))


def _named_choices(reader: Reader, name: str, source: list[Any], path: str) -> list[Choice]:
    """Levels that set several keys each: ``{ name = "wired", set = { … } }``, numbered in their order."""
    found: list[Choice] = []
    for place, item in enumerate(source):
        if not isinstance(item, dict) or not isinstance(item.get("set"), dict) or "name" not in item:
            reader.problem(
                f"{path}.{place}", "a level here needs a name and a set", '{ name = "a", set = { … } }'
            )
            continue
        reader.known(item, {"name", "number", "set"}, f"{path}.{place}")
        found.append(
            Choice(name, float(item.get("number", place)), str(item["name"]), tuple(pairs(item["set"])))
        )
    return found


def _design(reader: Reader, table: Mapping[str, Any], path: str) -> Design:
    kind = reader.one_of(table.get("design", "factorial"), DESIGNS, f"{path}.design".lstrip("."), "design")
    place = f"{path}.points".lstrip(".")
    if kind in DRAWN:
        place = place if "points" in table else f"{path}.design".lstrip(".")
        return Design(kind, reader.count(table.get("points"), place, f"points of a {kind} design"))
    if "points" in table:
        reader.problem(place, f"a {kind} design has the points of its levels", "leave points out")
    return Design(kind)


def _repetitions(reader: Reader, value: Any, path: str) -> Repetitions:
    path = path.lstrip(".")
    if not isinstance(value, dict):
        count = reader.count(value, path, "repetitions", 1, MOST_REPETITIONS)
        return Repetitions(count, count)
    reader.known(value, {"until", "at_least", "at_most"}, path)
    at_least = reader.count(value.get("at_least", 3), f"{path}.at_least", "at_least", 2, MOST_REPETITIONS)
    at_most = reader.count(value.get("at_most", 30), f"{path}.at_most", "at_most", at_least, MOST_REPETITIONS)
    match = UNTIL.fullmatch(str(value.get("until", "")))
    if match is None or float(match["percent"]) == 0:
        reader.problem(
            f"{path}.until", f"{value.get('until')!r} is no precision", 'write "half_width < 5%", say'
        )
        return Repetitions(at_least, at_most)
    of = (str(match["of"]),) if match["of"] else ()
    if of and quantity(of[0]) is None:
        reader.problem(
            f"{path}.until", f"unknown measure {of[0]!r}", "docs/reference/experiment.md lists them"
        )
    return Repetitions(at_least, at_most, float(match["percent"]) / 100, of)


def _quick(reader: Reader, full: Variant, quick: Mapping[str, Any], path: str) -> Variant:
    """The variant with what its ``quick`` table replaces."""
    reader.known(quick, {"levels", "repetitions", "set", "points"}, path)
    factors = full.factors
    if "levels" in quick:
        given = quick["levels"] if isinstance(quick["levels"], dict) else {full.factor: quick["levels"]}
        replaced = []
        for factor in factors:
            if factor.name not in given:
                replaced.append(factor)
                continue
            raw = {"name": factor.name, "keys": list(factor.keys), "levels": given[factor.name]}
            replaced.append(_factor(reader, raw, path) or factor)
        factors = tuple(replaced)
    repetitions = full.repetitions
    if "repetitions" in quick:
        repetitions = _repetitions(reader, quick["repetitions"], f"{path}.repetitions")
    settings = tuple((dict(full.settings) | dict(pairs(quick.get("set", {})))).items())
    design = replace(full.design, points=int(quick.get("points", full.design.points)))
    return replace(full, factors=factors, repetitions=repetitions, settings=settings, design=design)
