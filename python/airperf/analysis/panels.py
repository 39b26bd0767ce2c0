"""Tables behind the figures of a study: what was measured at each level, with intervals over repetitions.

Model: 95% Student-t intervals over repetitions at the same level. Leaves out drawing.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from airperf.analysis import series, summary
from airperf.analysis.intervals import ecdf, t_interval
from airperf.analysis.measures import transaction_time_ms
from airperf.analysis.tables import ERRORS, Tables
from airperf.analysis.view import StudyView

Measure = Callable[[Tables], float | None]


def _mean_response_ms(tables: Tables) -> float | None:
    return tables.digest.response.mean


def _mean_connection_ms(tables: Tables) -> float | None:
    return tables.digest.connection.mean


def _phase(phase: str) -> Measure:
    return lambda tables: series.errors_per_s(tables)[phase]


QUANTITIES: dict[str, Measure] = {
    "offered_rps": summary.offered_rps,
    "carried_rps": summary.carried_rps,
    "goodput_mbps": lambda tables: summary.goodput_bps(tables) / 1e6,
    "response_ms": _mean_response_ms,
    "transaction_ms": lambda tables: transaction_time_ms(tables, {}),
    "errors_per_s": lambda tables: sum(series.errors_per_s(tables).values()),
    **{f"errors_{phase}_per_s": _phase(phase) for phase in ERRORS},
}


def by_rate(view: StudyView, variant: str, testbed: str) -> pl.DataFrame:
    """One row per rate and quantity: ``rate, quantity, mean, low, high, n``."""
    rows = []
    for rate in view.levels(variant, testbed):
        runs = view.runs(variant, testbed, rate=rate)
        for name, function in QUANTITIES.items():
            interval = t_interval(function(tables) for tables in runs)
            rows.append((rate, name, interval.mean, interval.low, interval.high, interval.n))
    schema = {
        "rate": pl.Float64,
        "quantity": pl.String,
        "mean": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "n": pl.Int64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


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
    """Mean share of the link's time by rate and category: ``rate, category, share``."""
    rows = []
    for rate in view.levels(variant, testbed):
        runs = view.runs(variant, testbed, rate=rate)
        budgets = [summary.airtime(tables.manifest) for tables in runs]
        for category in sorted({name for budget in budgets for name in budget}):
            shares = [budget.get(category, 0.0) / sum(budget.values()) for budget in budgets]
            rows.append((rate, category, t_interval(shares).mean))
    return pl.DataFrame(
        rows, schema={"rate": pl.Float64, "category": pl.String, "share": pl.Float64}, orient="row"
    )


def emulated_against_simulated(view: StudyView, emu: str = "emu", sim: str = "kernel-tcp") -> pl.DataFrame:
    """Transactions/s of the emulated runs beside the simulation with the kernel's TCP parameters.

    Columns: ``rate``; ``emu`` and ``sim``, each with ``_low``, ``_high`` and ``_n``; ``difference``,
    ``limit``, ``within``; ``emu_connection_ms`` and ``sim_connection_ms``, means on the air;
    ``lag_p50_us``, ``lag_p99_us``, ``lag_max_us``; ``offered`` as achieved; ``limited`` runs, whose generator
    could not offer the rate, and ``invalid`` ones. The limit is 5% below saturation of the simulation (98%
    carried) and 10% beyond.
    """
    rows = []
    for rate in view.levels(emu, "emu"):
        emulated = view.runs(emu, "emu", rate=rate)
        simulated = view.runs(sim, "sim", rate=rate)
        ours = t_interval(summary.carried_rps(tables) for tables in emulated)
        reference = t_interval(summary.carried_rps(tables) for tables in simulated)
        difference = ours.mean / reference.mean - 1 if ours.mean is not None and reference.mean else None
        limit = None if reference.mean is None else 0.05 if reference.mean >= 0.98 * rate else 0.10
        points = list(view.campaign.select(emu, "emu", rate=rate))
        lags = [
            lag for t in map(view.tables, points) if t is not None and (lag := summary.lag_us(t.manifest))
        ]
        rows.append(
            {
                "rate": rate,
                "emu": ours.mean,
                "emu_low": ours.low,
                "emu_high": ours.high,
                "emu_n": ours.n,
                "sim": reference.mean,
                "sim_low": reference.low,
                "sim_high": reference.high,
                "sim_n": reference.n,
                "difference": difference,
                "limit": limit,
                "within": None if difference is None or limit is None else abs(difference) <= limit,
                "lag_p50_us": max((lag["p50"] for lag in lags), default=None),
                "lag_p99_us": max((lag["p99"] for lag in lags), default=None),
                "lag_max_us": max((lag["max"] for lag in lags), default=None),
                "emu_connection_ms": t_interval(_mean_connection_ms(tables) for tables in emulated).mean,
                "sim_connection_ms": t_interval(_mean_connection_ms(tables) for tables in simulated).mean,
                "offered": t_interval(summary.offered_rps(tables) for tables in emulated).mean,
                "limited": sum(summary.generator_limited(tables.manifest) for tables in emulated),
                "invalid": len(points) - ours.n,
            }
        )
    return pl.DataFrame(rows)
