"""The values of points that are there: what decides whether more are wanted.

Model: the named measures of ``analysis.quantities``, each point read once. Leaves out points that are
invalid or whose records cannot be read: they have no values.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from airperf.analysis.quantities import quantity
from airperf.analysis.tables import load
from airperf.analysis.warmup import Warmup, without_warmup
from airperf.errors import RecordError
from airperf.experiment.points import Point
from airperf.experiment.study import Study
from airperf.records import open_run


class PointValues:
    """Values of the points of one folder."""

    def __init__(self, folder: Path, study: Study) -> None:
        self.folder = folder
        self.warmup = Warmup.parse(study.warmup) or Warmup("none")
        named = [*(study.measures or ("carried_rps",))]
        for variant in study.variants:
            named += [*variant.repetitions.of, *(variant.knee.criterion.measures if variant.knee else ())]
        self.measures = tuple(dict.fromkeys(named))
        self._seen: dict[str, Mapping[str, float | None] | None] = {}

    def of(self, point: Point, run: str) -> Mapping[str, float | None] | None:
        """The values of a point whose run directory is ``run``; None where it has none."""
        if point.key not in self._seen:
            self._seen[point.key] = self._read(run)
        return self._seen[point.key]

    def _read(self, run: str) -> Mapping[str, float | None] | None:
        try:
            tables = load(open_run(self.folder / run))
            if not tables.manifest.valid:
                return None
            tables = without_warmup(tables, self.warmup)
            found = {name: quantity(name) for name in self.measures}
            return {name: one.of(tables) for name, one in found.items() if one is not None}
        except RecordError:
            return None
