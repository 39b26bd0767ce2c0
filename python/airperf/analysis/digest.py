"""What a run came to in a few numbers: counts of exchanges, errors, and the spread of its times.

Model: definitions of docs/reference/records.md. Read from ``summary.json``, which simulated runs have, or
computed from the tables; both give the same numbers
(tests/python/experiment/test_digest.py). Leaves out anything over time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from airperf.analysis.intervals import Floats, quantile
from airperf.errors import RecordError
from airperf.records import Run

if TYPE_CHECKING:
    from airperf.analysis.tables import Tables

FILE = "summary.json"
SCHEMA = 1

ERRORS = ("connect", "send", "reply", "receive", "reset")
"""Phases in which the user of an exchange can see an error."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Number, mean, extremes and quantiles of some times, in ms; None for no values."""

    n: int
    mean: float | None
    least: float | None
    most: float | None
    p50: float | None
    p95: float | None
    p99: float | None


@dataclass(frozen=True, slots=True)
class Digest:
    """A run in a few numbers."""

    offered: int
    """Exchanges due inside [0, T)."""
    carried: int
    """Exchanges completed inside [0, T]."""
    carried_bytes: int
    """Octets of their responses."""
    errors: Mapping[str, int]
    """Exchanges that ended in an error, by the phase in which their user saw it."""
    response: Spread
    """Done − due of completed exchanges."""
    connection: Spread
    """First to last frame on the air of connections that were opened and closed."""
    transaction: Spread
    """Due to last frame of the same connections."""
    single: int
    """Connections, opened and closed, that carried one exchange."""
    single_segments_up: int
    single_segments_down: int
    carried_by: Mapping[int, int]
    """``carried`` by the client's station."""


def spread(values: Floats) -> Spread:
    """The spread of times in ms; the median and percentiles with linear interpolation."""
    if values.size == 0:
        return Spread(0, None, None, None, None, None, None)
    return Spread(
        int(values.size),
        float(values.mean()),
        float(values.min()),
        float(values.max()),
        *(quantile(values, share) for share in (0.5, 0.95, 0.99)),
    )


def from_tables(tables: Tables) -> Digest:
    """The digest of a run whose tables are there."""
    seen = tables.exchanges.filter(pl.col("error").is_not_null())["error"].cast(pl.String)
    counts = dict(seen.value_counts().iter_rows())
    completed, closed = tables.completed, tables.closed
    single = closed.filter(pl.col("exchanges") == 1)
    by = completed["client"].value_counts().iter_rows() if "client" in completed.columns else ()
    return Digest(
        offered=tables.exchanges.filter(pl.col("due_ns") < tables.end_ns).height,
        carried=completed.height,
        carried_bytes=int(completed["response_bytes"].sum()),
        errors={phase: int(counts.get(phase, 0)) for phase in ERRORS},
        response=spread(tables.response_ms),
        connection=spread(tables.duration_ms),
        transaction=spread(closed["transaction_ms"].drop_nulls().to_numpy().astype(np.float64)),
        single=single.height,
        single_segments_up=int(single["segments_up"].cast(pl.Int64).sum()),
        single_segments_down=int(single["segments_down"].cast(pl.Int64).sum()),
        carried_by={int(client): int(count) for client, count in sorted(by)},
    )


def from_file(run: Run) -> Digest:
    """The digest that a simulated run wrote itself; its checksum is verified."""
    run.verify(FILE)
    path = run.folder / FILE
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if raw["schema"] != SCHEMA:
            raise RecordError(f"{path}: schema version {raw['schema']!r}, this airperf reads {SCHEMA}")
        return Digest(
            offered=int(raw["offered"]),
            carried=int(raw["carried"]),
            carried_bytes=int(raw["carried_bytes"]),
            errors={phase: int(raw["errors"][phase]) for phase in ERRORS},
            response=_spread(raw["response_ms"]),
            connection=_spread(raw["connection_ms"]),
            transaction=_spread(raw["transaction_ms"]),
            single=int(raw["single"]["connections"]),
            single_segments_up=int(raw["single"]["segments_up"]),
            single_segments_down=int(raw["single"]["segments_down"]),
            carried_by={int(client): int(count) for client, count in raw["carried_by"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordError(f"{path}: not a complete summary ({type(error).__name__}: {error})") from None


def _spread(raw: Mapping[str, Any]) -> Spread:
    names = ("mean", "least", "most", "p50", "p95", "p99")
    return Spread(int(raw["n"]), *(None if raw[name] is None else float(raw[name]) for name in names))
