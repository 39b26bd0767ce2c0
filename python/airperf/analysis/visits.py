"""Loads of pages by modelled browsers: what happened on which connection, and what remedies leave of it.

Model: tables ``objects``, ``pages`` and ``connections`` (docs/reference/records.md); intervals over
repetitions. Leaves out loads by real browsers (``browsing``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from airperf.analysis.intervals import Interval, t_interval
from airperf.analysis.measures import RUN_MEASURES
from airperf.analysis.tables import Tables
from airperf.analysis.view import StudyView

SPANS = {"row": pl.Int64, "what": pl.String, "start_s": pl.Float64, "end_s": pl.Float64}
"""A timeline: what was done from when to when, and on which of the load's connections, from 0; times since
the load began. ``what`` is ``name`` (row null), ``handshake``, ``waiting``, ``receiving`` or ``pushed``."""


@dataclass(frozen=True, slots=True)
class Layers:
    """A page's load time without anything, and with one layer more at a time."""

    label: str
    seconds: tuple[Interval, ...]


def timeline(tables: Tables, load: int = 0) -> pl.DataFrame:
    """Everything that a load did, as ``SPANS``; empty when the run has no such load."""
    run = tables.run
    if run is None or not run.has("objects"):
        return pl.DataFrame(schema=SPANS)
    objects = run.scan("objects").filter(pl.col("load") == load).collect()
    began = objects["found_ns"].min()
    if not isinstance(began, int):
        return pl.DataFrame(schema=SPANS)
    numbers = objects["connection"].drop_nulls().unique().sort().to_list()
    opened = run.scan("connections").filter(pl.col("connection").is_in(numbers)).collect().sort("opened_ns")
    rows = {number: row for row, number in enumerate(opened["connection"])}

    def since(ns: int | None) -> float | None:
        return None if ns is None else (ns - began) / 1e9

    spans: list[tuple[int | None, str, float | None, float | None]] = [
        (rows[one["connection"]], "handshake", since(one["opened_ns"]), since(one["established_ns"]))
        for one in opened.iter_rows(named=True)
    ]
    for one in objects.sort("object").iter_rows(named=True):
        row = rows.get(one["connection"])
        first, done = since(one["first_byte_ns"]), since(one["done_ns"])
        if one["looked_up_ns"] is not None:
            at = since(one["looked_up_ns"])
            spans.append((None, "name", at, at))
        if one["source"] == "pushed":
            spans.append((row, "pushed", first, done))
        else:
            spans.append((row, "waiting", since(one["sent_ns"]), first))
            spans.append((row, "receiving", first, done))
    whole = [span for span in spans if span[2] is not None and span[3] is not None]
    return pl.DataFrame(whole, schema=SPANS, orient="row")


def layers(view: StudyView, item: Mapping[str, Any]) -> list[Layers]:
    """For every level of a figure that has runs, the load times of its ``series`` in their order."""
    found = []
    for level in item["levels"]:
        seconds = tuple(_time_s(view, item, one, level) for one in item["series"])
        if all(one.mean is not None for one in seconds):
            found.append(Layers(str(level["label"]), seconds))
    return found


def savings(view: StudyView, item: Mapping[str, Any]) -> tuple[list[str], list[dict[str, Any]]]:
    """A table: for each of ``series`` and each level seconds and KiB, and how much less than the first's."""
    columns = [str(level["label"]) for level in item["levels"]]
    octets = str(item.get("octets", "page_kib"))
    rows: list[dict[str, Any]] = []
    for one in item["series"]:
        cells = []
        for place, level in enumerate(item["levels"]):
            seconds, kib = _time_s(view, item, one, level), _values(view, item, one, level, octets)
            first = rows[0]["cells"][place] if rows else {"seconds": seconds, "kib": kib}
            cells.append(
                {
                    "seconds": seconds,
                    "kib": kib,
                    "seconds_less": _less(seconds, first["seconds"]),
                    "kib_less": _less(kib, first["kib"]),
                }
            )
        if any(cell["seconds_less"] is not None for cell in cells):
            rows.append({"label": one["label"], "cells": cells})
    return columns, rows


def _time_s(
    view: StudyView, item: Mapping[str, Any], one: Mapping[str, Any], level: Mapping[str, Any]
) -> Interval:
    return _values(view, item, one, level, "page_time_s")


def _values(
    view: StudyView, item: Mapping[str, Any], one: Mapping[str, Any], level: Mapping[str, Any], measure: str
) -> Interval:
    runs: Sequence[Tables] = view.runs(
        str(one["variant"]), str(one.get("testbed", "sim")), **{str(item["factor"]): float(level["at"])}
    )
    return t_interval(RUN_MEASURES[measure](run, one) for run in runs)


def _less(value: Interval, first: Interval) -> float | None:
    """How much less than the first, a share."""
    return None if value.mean is None or not first.mean else 1 - value.mean / first.mean
