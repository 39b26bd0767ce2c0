"""Emulated points beside their simulation.

Model: real programs over the medium in real time against a simulation with the same kernel's parameters; a
variant of a study names its counterpart (``beside``). Leaves out the year 2003, whose kernel is not here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from airperf.analysis import summary
from airperf.analysis.intervals import t_interval
from airperf.analysis.measures import RUN_MEASURES
from airperf.analysis.measures.connections import connection_duration_ms
from airperf.analysis.view import StudyView


def emulated_against_simulated(view: StudyView) -> pl.DataFrame:
    """Transactions/s of every emulated variant beside the simulated one that it names.

    Columns: ``variant``, ``factor``, ``level``; ``emu`` and ``sim``, each with ``_low``, ``_high``, ``_n``;
    ``difference``, ``limit``, ``within``; ``emu_connection_ms`` and ``sim_connection_ms``, means on the air;
    ``lag_p50_us``, ``lag_p99_us``, ``lag_max_us``; ``offered`` as achieved; ``limited`` runs, whose generator
    could not offer the rate, and ``invalid`` ones. The limit is 5% below saturation of the simulation (98%
    carried) and 10% beyond.
    """
    pairs = [(v["name"], v["beside"], v["factor"]) for v in view.variants if v.get("beside")]
    rows = [row for emu, sim, factor in pairs for row in _pair(view, emu, sim, factor)]
    return pl.DataFrame(rows)


def _pair(view: StudyView, emu: str, sim: str, factor: str) -> Iterator[dict[str, Any]]:
    for level in view.levels(emu, "emu", factor):
        emulated = view.runs(emu, "emu", **{factor: level})
        simulated = view.runs(sim, "sim", **{factor: level})
        ours = t_interval(summary.carried_rps(tables) for tables in emulated)
        reference = t_interval(summary.carried_rps(tables) for tables in simulated)
        offered = t_interval(summary.offered_rps(tables) for tables in simulated).mean or 0.0
        difference = ours.mean / reference.mean - 1 if ours.mean is not None and reference.mean else None
        limit = None if reference.mean is None else 0.05 if reference.mean >= 0.98 * offered else 0.10
        points = list(view.campaign.select(emu, "emu", **{factor: level}))
        lags = [
            lag for t in map(view.tables, points) if t is not None and (lag := summary.lag_us(t.manifest))
        ]
        durations = [
            t_interval(connection_duration_ms(tables, {}) for tables in runs).mean
            for runs in (emulated, simulated)
        ]
        yield {
            "variant": emu,
            "factor": factor,
            "level": level,
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
            "emu_connection_ms": durations[0],
            "sim_connection_ms": durations[1],
            "offered": t_interval(summary.offered_rps(tables) for tables in emulated).mean,
            "limited": sum(summary.generator_limited(tables.manifest) for tables in emulated),
            "invalid": len(points) - ours.n,
        }


def agreement(view: StudyView, item: Mapping[str, Any]) -> tuple[list[str], list[dict[str, Any]]]:
    """A table: for each of ``series`` and each level measure ``of``, emulated and simulated.

    A cell has ``emu`` and ``sim``, intervals over repetitions; ``difference``, the share by which ``emu`` is
    more; ``within`` the item's ``limit``, None where either is missing; and ``invalid`` emulated runs.
    """
    columns = [str(level["label"]) for level in item["levels"]]
    rows: list[dict[str, Any]] = [
        {"label": str(one["label"]), "cells": [_agree(view, item, one, level) for level in item["levels"]]}
        for one in item["series"]
    ]
    return columns, [row for row in rows if any(cell["emu"].n for cell in row["cells"])]


def _agree(
    view: StudyView, item: Mapping[str, Any], one: Mapping[str, Any], level: Mapping[str, Any]
) -> dict[str, Any]:
    measure, at = RUN_MEASURES[str(item["of"])], {str(item["factor"]): float(level["at"])}
    emu, sim = (
        t_interval(measure(run, one) for run in view.runs(str(one[key]), testbed, **at))
        for key, testbed in (("variant", "emu"), ("beside", "sim"))
    )
    difference = emu.mean / sim.mean - 1 if emu.mean is not None and sim.mean else None
    points = list(view.campaign.select(str(one["variant"]), "emu", **at))
    return {
        "emu": emu,
        "sim": sim,
        "difference": difference,
        "within": None if difference is None else abs(difference) <= float(item["limit"]),
        "invalid": len(points) - emu.n,
    }


def agreements(view: StudyView) -> list[dict[str, Any]]:
    """Every cell of the study's tables of kind ``agreement``, for the terminal and ``--json``."""
    found = []
    for item in view.figures:
        if item["kind"] != "agreement":
            continue
        columns, rows = agreement(view, item)
        for row in rows:
            for column, cell in zip(columns, row["cells"], strict=True):
                told = {"difference": cell["difference"], "within": cell["within"]}
                for part in ("emu", "sim"):
                    value = cell[part]
                    told |= {part: value.mean, f"{part}_low": value.low, f"{part}_high": value.high}
                    told[f"{part}_n"] = value.n
                if cell["emu"].n:
                    found.append({"table": item["name"], "row": row["label"], "level": column, **told})
    return found
