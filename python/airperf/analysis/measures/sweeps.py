"""Measures over all levels of one repetition: knees, peaks, plateaus, extremes, ratios.

Model: a run measure may be named by a row (``of``), so that a peak of anything is one function. Leaves out
interpolation: a knee is one of the levels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from airperf.analysis import summary
from airperf.analysis.measures.base import Parameters, Rung, RunMeasure, SweepMeasure, mean
from airperf.analysis.measures.queues import queue_peak_share
from airperf.analysis.measures.rates import response_time_ms


def knee_rps(ladder: Sequence[Rung], parameters: Parameters) -> float | None:
    """Largest level up to which every level is carried to at least ``share`` (0.98) of what was offered.

    With ``offered_per_level`` that many exchanges/s for each unit of the level were offered: needed where
    clients ask again only after a reply, so that what was due shrinks with what was carried.
    """
    share = float(parameters.get("share", 0.98))
    per_level = parameters.get("offered_per_level")
    best: float | None = None
    for rung in sorted(ladder, key=lambda rung: rung.level):
        offered = summary.offered_rps(rung.tables) if per_level is None else float(per_level) * rung.level
        if summary.carried_rps(rung.tables) < share * offered:
            break
        best = rung.level
    return best


def peak_rps(ladder: Sequence[Rung], _: Parameters) -> float | None:
    """Largest carried rate over the sweep."""
    return max((summary.carried_rps(rung.tables) for rung in ladder), default=None)


def peak_goodput_mbps(ladder: Sequence[Rung], _: Parameters) -> float | None:
    """Largest goodput over the sweep, in Mbit/s."""
    return max((summary.goodput_bps(rung.tables) / 1e6 for rung in ladder), default=None)


def plateau_rps(ladder: Sequence[Rung], parameters: Parameters) -> float | None:
    """Mean carried rate over the levels from ``from_rate`` up."""
    start = float(parameters["from_rate"])
    return mean([summary.carried_rps(rung.tables) for rung in ladder if rung.level >= start])


def overload_response_s(ladder: Sequence[Rung], parameters: Parameters) -> float | None:
    """Mean response time beyond the knee of the same repetition, in seconds."""
    knee = knee_rps(ladder, parameters)
    if knee is None:
        return None
    means = [response_time_ms(rung.tables, parameters) for rung in ladder if rung.level > knee]
    return mean([mean / 1e3 for mean in means if mean is not None])


def queue_peak_share_over_rates(ladder: Sequence[Rung], parameters: Parameters) -> float | None:
    """Largest occupancy of the transmit queue of ``station`` at any rate, as a share of its limit."""
    shares = [queue_peak_share(rung.tables, parameters) for rung in ladder]
    return max((share for share in shares if share is not None), default=None)


def over(measures: Mapping[str, RunMeasure]) -> list[SweepMeasure]:
    """The sweep measures that a row gives the name of a run measure in ``of``."""

    def values(ladder: Sequence[Rung], parameters: Parameters) -> list[float]:
        found = (measures[str(parameters["of"])](rung.tables, parameters) for rung in ladder)
        return [value for value in found if value is not None]

    def lowest(ladder: Sequence[Rung], parameters: Parameters) -> float | None:
        """Smallest value at any level."""
        return min(values(ladder, parameters), default=None)

    def highest(ladder: Sequence[Rung], parameters: Parameters) -> float | None:
        """Largest value at any level."""
        return max(values(ladder, parameters), default=None)

    def average(ladder: Sequence[Rung], parameters: Parameters) -> float | None:
        """Mean over the levels from ``from_level`` to ``to_level``, both included, or over all."""
        low = float(parameters.get("from_level", "-inf"))
        high = float(parameters.get("to_level", "inf"))
        return mean(values([rung for rung in ladder if low <= rung.level <= high], parameters))

    def ratio(ladder: Sequence[Rung], parameters: Parameters) -> float | None:
        """The value at the highest level, or that of ``level``, divided by that at the lowest."""
        ordered = sorted(ladder, key=lambda rung: rung.level)
        if len(ordered) < 2:
            return None
        ends = [ordered[0], ordered[-1]]
        if "level" in parameters:
            ends[1:] = [rung for rung in ordered if rung.level == float(parameters["level"])][:1]
        found = [measures[str(parameters["of"])](rung.tables, parameters) for rung in ends]
        low, high = (*found, None)[:2]
        return high / low if low and high is not None else None

    def most(ladder: Sequence[Rung], parameters: Parameters) -> float | None:
        """Largest level up to which the value is at least ``share`` at every level; 0 for none."""
        best = 0.0
        for rung in sorted(ladder, key=lambda rung: rung.level):
            value = measures[str(parameters["of"])](rung.tables, parameters)
            if value is None:
                return None
            if value < float(parameters["share"]):
                break
            best = rung.level
        return best

    return [lowest, highest, average, ratio, most]
