"""A study's runs as analysis wants them: by variant, testbed and factor, each table read once.

Model: the index of a study folder. Leaves out writing: a view only reads. Damaged runs are left out and
listed, never averaged in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airperf.analysis.summary import airtime
from airperf.analysis.tables import Tables, load
from airperf.analysis.warmup import Warmup, without_warmup
from airperf.errors import RecordError
from airperf.records import Campaign, PointEntry

AIRTIME_GRAIN_S = 1e-6
"""What rounding of a budget in seconds may leave."""


class StudyView:
    """Reads the points of a campaign when they are asked for and keeps them."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self.warmup = Warmup.parse(str(campaign.raw.get("experiment", {}).get("warmup", "none"))) or Warmup(
            "none"
        )
        self.unusable: dict[str, str] = {}
        self.airtime_error_s = 0.0
        """Largest difference between a point's airtime budget and its elapsed time, over all points read."""
        self._tables: dict[str, Tables] = {}

    @property
    def targets(self) -> Sequence[Mapping[str, Any]]:
        """The published rows of the experiments that were asked for."""
        targets: Sequence[Mapping[str, Any]] = self.campaign.raw["targets"]
        return targets

    @property
    def variants(self) -> Sequence[Mapping[str, Any]]:
        """The variants of the experiments that were asked for."""
        variants: Sequence[Mapping[str, Any]] = self.campaign.raw.get("variants", ())
        return variants

    @property
    def experiments(self) -> Sequence[Mapping[str, Any]]:
        """``id`` and ``title`` of the experiments that were asked for."""
        experiments: Sequence[Mapping[str, Any]] = self.campaign.raw["experiments"]
        return experiments

    @property
    def figures(self) -> Sequence[Mapping[str, Any]]:
        """The figures and tables that those experiments ask for."""
        figures: Sequence[Mapping[str, Any]] = self.campaign.raw["figures"]
        return figures

    def factor(self, variant: str) -> str:
        """The factor that a variant varies."""
        found = (str(v["factor"]) for v in self.variants if v["name"] == variant)
        return next(found, "rate")

    def tables(self, point: PointEntry) -> Tables | None:
        """The tables of a point; None (and a line in ``unusable``) when they cannot be used."""
        if point.key in self._tables:
            return self._tables[point.key]
        try:
            tables = load(self.campaign.open(point))
        except RecordError as error:
            self.unusable[point.id] = str(error)
            return None
        if not self._balances(point, tables):
            return None
        if not tables.manifest.valid:
            self.unusable[point.id] = "invalid: " + "; ".join(tables.manifest.why_invalid)
        tables = self._tables[point.key] = without_warmup(tables, self.warmup)
        return tables

    def _balances(self, point: PointEntry, tables: Tables) -> bool:
        """Airtime must add up to the elapsed time, whatever happened."""
        error = abs(sum(airtime(tables.manifest).values()) - tables.manifest.elapsed_s)
        self.airtime_error_s = max(self.airtime_error_s, error)
        if error > AIRTIME_GRAIN_S:
            self.unusable[point.id] = f"airtime: categories and elapsed time differ by {error:g} s"
        return error <= AIRTIME_GRAIN_S

    def runs(self, variant: str, testbed: str, **factors: float) -> list[Tables]:
        """Valid runs at these factors, in order of repetition."""
        points = sorted(self.campaign.select(variant, testbed, **factors), key=lambda p: p.repetition)
        found = (self.tables(point) for point in points)
        return [tables for tables in found if tables is not None and tables.manifest.valid]

    def levels(self, variant: str, testbed: str, factor: str = "rate") -> list[float]:
        """The levels of a factor for which there are finished points, rising."""
        return sorted(
            {p.factors[factor] for p in self.campaign.select(variant, testbed) if factor in p.factors}
        )

    def ladders(
        self, variant: str, testbed: str, factor: str = "rate"
    ) -> dict[int, list[tuple[float, Tables]]]:
        """By repetition the valid runs over a factor, rising; only repetitions with every level."""
        levels = self.levels(variant, testbed, factor)
        ladders: dict[int, list[tuple[float, Tables]]] = {}
        for level in levels:
            for point in self.campaign.select(variant, testbed, **{factor: level}):
                tables = self.tables(point)
                if tables is not None and tables.manifest.valid:
                    ladders.setdefault(point.repetition, []).append((level, tables))
        return {r: ladder for r, ladder in sorted(ladders.items()) if len(ladder) == len(levels)}
