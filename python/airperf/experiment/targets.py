"""The rows of a study's scoreboard: that what they name is there, told with its line before anything runs.

Model: docs/reference/study.md, fault 38. Leaves out measuring and comparing (``analysis.scoreboard``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from airperf.analysis.measures import RUN_MEASURES, SWEEP_MEASURES
from airperf.analysis.scoreboard import COMPARISONS, PAIRED
from airperf.experiment.reading import Reader, nearest
from airperf.experiment.variants import Variant

ALWAYS = ("id", "what", "unit", "measure", "variant")
NEEDED = {
    "near": ("published", "tolerance"),
    "between": ("range",),
    "above": ("published",),
    "below": ("published",),
    "gain": ("of", "to", "at"),
    "points": ("of", "to", "beyond", "at"),
}
"""What a comparison and a measure of several variants read of their row."""


def check_rows(reader: Reader, variants: Sequence[Variant]) -> None:
    """Notes what the rows of one file lack, and names in them that nothing has."""
    names = {variant.name for variant in variants}
    known: dict[str, Collection[str]] = {
        "measure": RUN_MEASURES.keys() | SWEEP_MEASURES.keys() | PAIRED.keys(),
        "of": RUN_MEASURES.keys(),
        "compare": COMPARISONS,
        "variant": names,
        "to": names,
        "beyond": names,
    }
    for place, row in enumerate(reader.data.get("row", ())):
        path = f"row.{place}"
        chosen = (str(row.get("compare")), str(row.get("measure")))
        needed = [*ALWAYS, *(key for one in chosen for key in NEEDED.get(one, ()))]
        for key in (key for key in needed if key not in row):
            reader.problem(path, f"key {key!r} is missing", f"row {row.get('id', place + 1)} needs it")
        for key, allowed in known.items():
            if key in row and row[key] not in allowed:
                reader.problem(
                    f"{path}.{key}", f"unknown {key} {row[key]!r}", nearest(str(row[key]), allowed)
                )
