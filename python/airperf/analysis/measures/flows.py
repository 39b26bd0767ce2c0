"""Measures of what is no single exchange: bulk transfers, streams, pages, and stations over a part of a run.

Model: tables ``flows`` and ``pages`` (docs/reference/records.md), which only some scenarios have. Goodput of
a flow is payload that arrived before its end over its time. Leaves out packets.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from airperf.analysis.measures.base import Parameters, mean
from airperf.analysis.tables import Tables

PAGE_LIMIT_S = 10.0
"""A page that takes longer has lost its reader's attention (Nielsen 1993, §5.5)."""


def flow_goodput_mbps(tables: Tables, _: Parameters) -> float | None:
    """Payload of all flows that arrived before their ends, in Mbit/s of their time."""
    flows = tables.flows
    if flows is None or flows.is_empty():
        return None
    span_ns = pl.col("end_ns").cast(pl.Float64) - pl.col("start_ns").cast(pl.Float64)
    return float(flows.select((pl.col("bytes_in_time").cast(pl.Float64) * 8e3 / span_ns).sum()).item())


def streams_playable_share(tables: Tables, parameters: Parameters) -> float | None:
    """Share of the streams whose audio and video can be played, of all or those to ``stations``…."""
    flows = tables.flows
    played = None if flows is None else flows.drop_nulls("playable")
    if played is not None and "stations" in parameters:
        prefix = str(parameters["stations"])
        played = played.filter(
            pl.col("to").is_in([s.id for s in tables.manifest.stations if s.name.startswith(prefix)])
        )
    if played is None or played.is_empty():
        return None
    return mean(played.group_by("group").agg(pl.col("playable").all())["playable"].cast(pl.Float64))


def page_time_ms(tables: Tables, _: Parameters) -> float | None:
    """Mean time from wanting a page to its last object's last octet, of complete pages due inside [0, T]."""
    times = tables.page_ms
    return None if times is None else mean(times)


def page_time_p95_ms(tables: Tables, _: Parameters) -> float | None:
    """95th percentile of the same."""
    times = tables.page_ms
    return None if times is None or not times.size else float(np.quantile(times, 0.95))


def page_time_s(tables: Tables, parameters: Parameters) -> float | None:
    """The mean in seconds."""
    mean_ms = page_time_ms(tables, parameters)
    return None if mean_ms is None else mean_ms / 1e3


def page_kib(tables: Tables, _: Parameters) -> float | None:
    """Octets of responses of a complete page, headers included, mean in KiB."""
    if tables.pages is None:
        return None
    complete = tables.pages.filter(pl.col("done_ns").is_not_null())
    octets = mean(complete["response_bytes"].cast(pl.Float64))
    return None if octets is None else octets / 1024


def load_kib(tables: Tables, _: Parameters) -> float | None:
    """Octets of packets that the link delivered from the server for each page, mean in KiB."""
    manifest = tables.manifest
    if tables.pages is None or tables.pages.is_empty():
        return None
    servers = [station.name for station in manifest.stations if station.role == "server"]
    kinds = [kind for name in servers for kind in manifest.totals["packets"].get(name, {}).values()]
    return sum(int(kind["delivered_bytes"]) for kind in kinds) / 1024 / tables.pages.height


def transfer_kbps(tables: Tables, _: Parameters) -> float | None:
    """Rate of bulk transfers, from the first octet offered to the link to the last delivered."""
    if tables.run is None or not tables.run.has("packets"):
        return None
    data = (
        tables.run.scan("packets")
        .filter((pl.col("payload_bytes") > 0) & pl.col("connection").is_not_null())
        .group_by("connection")
        .agg(
            pl.col("time_ns").min().alias("from"),
            pl.col("done_ns").filter(pl.col("fate") == "delivered").max().alias("to"),
            (pl.col("seq") + pl.col("payload_bytes")).max().alias("end"),
        )
        .select((pl.col("end") - 1) * 8e6 / (pl.col("to") - pl.col("from")))
        .collect()
    )
    return mean(data.to_series())


def pages_in_time_share(tables: Tables, _: Parameters) -> float | None:
    """Share of the pages due inside [0, T] that were complete within 10 s."""
    pages = _due_pages(tables)
    if pages is None or pages.is_empty():
        return None
    times = tables.page_ms
    return 0.0 if times is None else float((times <= PAGE_LIMIT_S * 1e3).sum()) / pages.height


def _due_pages(tables: Tables) -> pl.DataFrame | None:
    pages = tables.pages
    return None if pages is None else pages.filter(pl.col("due_ns") <= tables.end_ns)


def stations_rps(tables: Tables, parameters: Parameters) -> float | None:
    """Exchanges that clients named ``stations``… completed per second between ``from_s`` and ``to_s``."""
    prefix = str(parameters["stations"])
    low, high = float(parameters["from_s"]), float(parameters["to_s"])
    wanted = [s.id for s in tables.manifest.stations if s.role == "client" and s.name.startswith(prefix)]
    done = tables.completed.filter(
        pl.col("client").is_in(wanted) & pl.col("done_ns").is_between(int(low * 1e9), int(high * 1e9))
    )
    return done.height / (high - low)
