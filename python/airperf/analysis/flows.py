"""Flows that are no Web: bulk transfers, datagrams and streams, and how many streams a network carries.

Model: the table ``flows`` (docs/reference/records.md). Goodput is payload that arrived before the flow's end
over the flow's time. A stream (the flows of one group that somebody plays) is playable when all its flows
are. Leaves out how runs are made: the search is given a function that answers for a number of streams.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl


def summary(flows: pl.DataFrame) -> dict[str, Any]:
    """``flows`` of the summary: every flow, goodput of all, how many streams were offered and playable."""
    each = [_flow(row) for row in flows.sort("flow").iter_rows(named=True)]
    result: dict[str, Any] = {"goodput_bps": sum(flow["goodput_bps"] for flow in each), "each": each}
    if (streams := playable(flows)).height:
        result["streams"] = {"offered": streams.height, "playable": int(streams["playable"].sum())}
    return result


def _flow(row: dict[str, Any]) -> dict[str, Any]:
    span_s = (row["end_ns"] - row["start_ns"]) / 1e9
    return {
        "flow": row["flow"],
        "group": row["group"],
        "kind": row["kind"],
        "station": row["station"],
        "to": row["to"],
        "goodput_bps": row["bytes_in_time"] * 8 / span_s if span_s > 0 else 0.0,
        "missing": missing_share(row),
        "delay_ms": _milliseconds(
            row, {"mean": "delay_mean_ns", "p50": "delay_p50_ns", "p99": "delay_p99_ns"}
        ),
        "delay_variation_ms": _milliseconds(
            row, {"mean": "delay_variation_mean_ns", "max": "delay_variation_max_ns"}
        ),
        "playable": row["playable"],
    }


def missing_share(row: dict[str, Any]) -> float | None:
    """Share of a flow's datagrams refused, lost or late, of those whose end is known; None for a transfer."""
    if row["datagrams"] is None:
        return None
    known = row["refused"] + row["lost"] + row["delivered"]
    if not row["delivered"]:
        return 1.0 if row["datagrams"] else 0.0
    return float(row["refused"] + row["lost"] + (row["late"] or 0)) / float(known)


def _milliseconds(row: dict[str, Any], columns: dict[str, str]) -> dict[str, float] | None:
    values = {name: row[column] for name, column in columns.items()}
    if any(value is None for value in values.values()):
        return None
    return {name: value / 1e6 for name, value in values.items()}


def playable(flows: pl.DataFrame) -> pl.DataFrame:
    """One row per stream, in order: its ``group`` and whether all its flows are ``playable``."""
    played = flows.filter(pl.col("playable").is_not_null())
    return played.group_by("group").agg(pl.col("playable").all()).sort("group")


def most_playable(all_play: Callable[[int], bool], most: int) -> int:
    """The largest number of streams, up to ``most``, of which ``all_play`` says that all can be played.

    It is taken that what carries n streams carries n - 1: the search doubles until some stream fails and then
    halves the interval, so it asks about 2 log2 of the answer times. 0 when even one fails.
    """
    good, bad = 0, 1
    while bad <= most and all_play(bad):
        good, bad = bad, bad * 2
    bad = min(bad, most + 1)
    while bad - good > 1:
        middle = (good + bad) // 2
        if all_play(middle):
            good = middle
        else:
            bad = middle
    return good
