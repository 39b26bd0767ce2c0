"""The summary of one run that ``airperf run --json`` prints.

Model: contracts of docs/reference/cli.md. Goodput counts the octets of responses (headers and bodies) of
exchanges completed inside [0, T], as the bai2006 study did. Leaves out intervals: one run is one sample.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from airperf.analysis import flows
from airperf.analysis.digest import Spread
from airperf.analysis.intervals import quantile
from airperf.analysis.tables import PAGE_OUTCOMES, Tables
from airperf.records import Manifest


def spread(values: Spread) -> dict[str, float | None]:
    """Mean, median and 99th percentile; all None for no values."""
    return {"mean": values.mean, "p50": values.p50, "p99": values.p99}


def offered_rps(tables: Tables) -> float:
    """Exchanges that were due inside [0, T), per second."""
    return tables.digest.offered / tables.duration_s


def carried_rps(tables: Tables) -> float:
    """Exchanges completed inside [0, T], per second."""
    return tables.digest.carried / tables.duration_s


def goodput_bps(tables: Tables) -> float:
    """Response octets of exchanges completed inside [0, T], in bit/s."""
    return tables.digest.carried_bytes * 8 / tables.duration_s


def pages(tables: Tables) -> dict[str, Any]:
    """Load times of complete pages, and how many pages ended how; nothing for a run without pages."""
    if tables.pages is None or tables.page_ms is None:
        return {}
    times = tables.page_ms
    counts = dict.fromkeys(PAGE_OUTCOMES, 0)
    for name, count in tables.pages["outcome"].cast(pl.String).value_counts().iter_rows():
        counts[str(name)] = int(count)
    load = {"mean": float(times.mean()) if times.size else None}
    load |= {f"p{percent}": quantile(times, percent / 100) for percent in (50, 95, 99)}
    return {"page_ms": load, "pages": counts}


def queues(manifest: Manifest) -> dict[str, dict[str, float]]:
    """Mean and largest occupancy of each transmit queue and the packets it refused."""
    return {
        str(station): {
            "mean": float(entry["mean"]),
            "max": int(entry["max"]),
            "drops": int(entry["dropped"]),
        }
        for station, entry in manifest.totals["queues"].items()
    }


def airtime(manifest: Manifest) -> dict[str, float]:
    """Seconds of the link's time by what they were used for; the categories add up to the elapsed time."""
    return {str(category): float(seconds) for category, seconds in manifest.totals["airtime"].items()}


def summary(tables: Tables) -> dict[str, Any]:
    """Everything of the contract's ``summary``."""
    result: dict[str, Any] = {
        "offered_rps": offered_rps(tables),
        "carried_rps": carried_rps(tables),
        "goodput_bps": goodput_bps(tables),
        "response_ms": spread(tables.digest.response),
        "connection_ms": spread(tables.digest.connection),
        "errors": dict(tables.digest.errors),
        **pages(tables),
        "queues": queues(tables.manifest),
        "airtime": airtime(tables.manifest),
    }
    if tables.flows is not None:
        result["flows"] = flows.summary(tables.flows)
    if tables.manifest.lag is not None:
        result["lag_us"] = lag_us(tables.manifest)
    return result


def generator_limited(manifest: Manifest) -> bool:
    """Whether the client could not offer the rate it was asked for, or met its own limits (faults 11, 12)."""
    counts = manifest.totals.get("counts", {})
    return any(int(counts.get(name, 0)) > 0 for name in ("generator_limited", "client_limited"))


def lag_us(manifest: Manifest) -> dict[str, float] | None:
    """Lateness of the emulator's deliveries in microseconds; None where the clock is virtual."""
    lag = manifest.lag
    if lag is None:
        return None
    return {name: float(lag[f"{name}_us"]) for name in ("p50", "p99", "max")}
