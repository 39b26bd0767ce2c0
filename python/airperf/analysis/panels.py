"""Tables behind the figures of a study: what was measured at each level, with intervals over repetitions.

Model: 95% Student-t intervals over repetitions at the same level. Leaves out drawing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from airperf.analysis import series, summary
from airperf.analysis.intervals import ecdf, t_interval
from airperf.analysis.measures import RUN_MEASURES
from airperf.analysis.tables import ERRORS, Tables
from airperf.analysis.view import StudyView

Measure = Callable[[Tables], float | None]


def _phase(phase: str) -> Measure:
    return lambda tables: series.errors_per_s(tables)[phase]


def _measure(name: str, **parameters: object) -> Measure:
    return lambda tables: RUN_MEASURES[name](tables, parameters)


QUANTITIES: dict[str, Measure] = {
    "offered_rps": summary.offered_rps,
    "carried_rps": summary.carried_rps,
    "goodput_mbps": _measure("goodput_mbps"),
    "network_mbps": _measure("network_mbps"),
    "transfer_mbps": _measure("transfer_mbps"),
    "response_ms": _measure("response_time_ms"),
    "transaction_ms": _measure("transaction_time_ms"),
    "duration_ms": _measure("connection_duration_ms"),
    "errors_per_s": lambda tables: sum(series.errors_per_s(tables).values()),
    **{f"errors_{phase}_per_s": _phase(phase) for phase in ERRORS},
    "aborted_share": _measure("aborted_share"),
    "aborted_packet_share": _measure("aborted_packet_share"),
    "aborted_octet_share": _measure("aborted_octet_share"),
    "jain": _measure("jain"),
    "jain_of_losses": _measure("jain_of_losses"),
    "least_to_most": _measure("least_to_most"),
    "first_to_others": _measure("first_to_others"),
    "flow_goodput_mbps": _measure("flow_goodput_mbps"),
    "streams_playable_share": _measure("streams_playable_share"),
    "page_ms": _measure("page_time_ms"),
    "page_p95_ms": _measure("page_time_p95_ms"),
    "pages_in_time_share": _measure("pages_in_time_share"),
    "queue_server": _measure("queue_mean_share", station="server"),
    "queue_client": _measure("queue_mean_share", station="client"),
}
"""What can be shown against a factor."""

SCHEMA = {
    "level": pl.Float64,
    "quantity": pl.String,
    "mean": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
}


def by_level(view: StudyView, variant: str, testbed: str, quantities: Sequence[str]) -> pl.DataFrame:
    """One row per level of the variant's factor and quantity: ``level, quantity, mean, low, high, n``."""
    rows = []
    factor = view.factor(variant)
    for level in view.levels(variant, testbed, factor):
        runs = view.runs(variant, testbed, **{factor: level})
        for name in quantities:
            interval = t_interval(QUANTITIES[name](tables) for tables in runs)
            rows.append((level, name, interval.mean, interval.low, interval.high, interval.n))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def durations(tables: Tables) -> pl.DataFrame:
    """Start (s) and duration (ms) of every closed connection: ``start_s, duration_ms``."""
    return tables.closed.select("start_s", "duration_ms").sort("start_s")


def distribution(tables: Tables) -> pl.DataFrame:
    """Empirical distribution of connection durations: ``duration_ms, share`` of connections at or below."""
    values, share = ecdf(tables.duration_ms)
    return pl.DataFrame({"duration_ms": values, "share": share})


def queue_depths(tables: Tables) -> pl.DataFrame:
    """Mean occupancy of every transmit queue over time: ``time_s, station, packets``."""
    frames = []
    for station in tables.manifest.stations:
        times, depths = series.queue_depth(tables, station.id)
        frames.append(
            pl.DataFrame({"time_s": times, "station": [station.name] * len(times), "packets": depths})
        )
    return pl.concat(frames)


def airtime_shares(view: StudyView, variant: str, testbed: str) -> pl.DataFrame:
    """Mean share of the link's time by level and category: ``level, category, share``."""
    rows = []
    factor = view.factor(variant)
    for level in view.levels(variant, testbed, factor):
        runs = view.runs(variant, testbed, **{factor: level})
        budgets = [summary.airtime(tables.manifest) for tables in runs]
        for category in sorted({name for budget in budgets for name in budget}):
            shares = [budget.get(category, 0.0) / sum(budget.values()) for budget in budgets]
            rows.append((level, category, t_interval(shares).mean))
    return pl.DataFrame(
        rows, schema={"level": pl.Float64, "category": pl.String, "share": pl.Float64}, orient="row"
    )
