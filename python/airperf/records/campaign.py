"""The folder of a study: its points, their run directories, and what they are compared with.

Model: ``study.json``, written by ``experiment``; it holds everything a report needs, so a folder can be
read on another machine without the study's own files. Leaves out how the points came to be.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from airperf.errors import RecordError, VersionMismatch
from airperf.records.manifest import MANIFEST_LIMIT_BYTES, SCHEMA
from airperf.records.run import Run, open_run

INDEX = "study.json"
"""Name of the index in the folder of a study."""


@dataclass(frozen=True, slots=True)
class PointEntry:
    """One point of a study: one scenario with its factors, on one testbed, one repetition."""

    id: str
    experiment: str
    variant: str
    testbed: str
    factors: Mapping[str, float]
    repetition: int
    key: str
    run: str
    state: str
    why: str
    levels: Mapping[str, str] = field(default_factory=dict)
    """The level of each factor as it was written."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """An opened study folder."""

    folder: Path
    raw: Mapping[str, Any]
    points: tuple[PointEntry, ...]

    def select(self, variant: str, testbed: str, **factors: float) -> Iterator[PointEntry]:
        """The finished points of a variant on a testbed whose factors have the values given."""
        for point in self.points:
            if (
                point.state == "done"
                and point.variant == variant
                and point.testbed == testbed
                and all(point.factors.get(name) == value for name, value in factors.items())
            ):
                yield point

    def open(self, point: PointEntry) -> Run:
        """The run directory of a point."""
        folder = (self.folder / point.run).resolve()
        if not folder.is_relative_to(self.folder.resolve()):
            raise RecordError(f"{self.folder / INDEX}: point {point.id!r} lies outside the study folder")
        return open_run(folder)


def open_campaign(folder: Path | str) -> Campaign:
    """Opens the folder of a study; errors say what is missing or of another version."""
    folder = Path(folder)
    path = folder / INDEX
    try:
        if path.stat().st_size > MANIFEST_LIMIT_BYTES:
            raise RecordError(f"{path}: larger than {MANIFEST_LIMIT_BYTES >> 20} MiB, so not an index")
        raw = json.loads(path.read_text(encoding="utf-8"))
        if raw["schema"] != SCHEMA:
            raise VersionMismatch(f"{path}: schema version {raw['schema']!r}, this airperf reads {SCHEMA}")
        points = tuple(
            PointEntry(
                id=str(p["id"]),
                experiment=str(p["experiment"]),
                variant=str(p["variant"]),
                testbed=str(p["testbed"]),
                factors={str(name): float(value) for name, value in p["factors"].items()},
                repetition=int(p["repetition"]),
                key=str(p["key"]),
                run=str(p["run"]),
                state=str(p["state"]),
                why=str(p["why"]),
                levels={str(name): str(text) for name, text in p.get("levels", {}).items()},
            )
            for p in raw["points"]
        )
    except FileNotFoundError:
        raise RecordError(f"{folder}: no {INDEX}, so not the folder of a study") from None
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise RecordError(f"{path}: cannot be read: {error}") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise RecordError(f"{path}: not a complete index ({type(error).__name__}: {error})") from None
    return Campaign(folder, raw, points)
