"""Measures of transmit queues and of the link's time.

Model: totals of the manifest and samples of ``queues``. Leaves out single packets.
"""

from __future__ import annotations

from airperf.analysis import series
from airperf.analysis.measures.base import Parameters
from airperf.analysis.tables import Tables


def _entry(tables: Tables, parameters: Parameters) -> dict[str, float]:
    """Totals of the queue of ``station``; ``clients`` means the sum or largest over all clients."""
    queues = tables.manifest.totals["queues"]
    wanted = str(parameters["station"])
    names = [s.name for s in tables.manifest.stations if s.role == "client"]
    if wanted != "clients":
        names = [tables.manifest.station(wanted).name]
    rows = [queues[name] for name in names]
    sums = {key: sum(float(row[key]) for row in rows) for key in ("offered", "dropped")}
    return sums | {"max": max(float(row["max"]) for row in rows)}


def queue_fill_s(tables: Tables, parameters: Parameters) -> float | None:
    """When the transmit queue of ``station`` first refused a packet; None if it never did."""
    return series.queue_fill_s(tables, tables.manifest.station(str(parameters["station"])).id)


def queue_peak_share(tables: Tables, parameters: Parameters) -> float | None:
    """Largest occupancy of the transmit queue of ``station``, as a share of its limit."""
    return _entry(tables, parameters)["max"] / float(tables.manifest.scenario["link"]["queue"])


def queue_loss_share(tables: Tables, parameters: Parameters) -> float | None:
    """Share of the packets offered to the transmit queue of ``station`` that it refused."""
    entry = _entry(tables, parameters)
    return entry["dropped"] / entry["offered"] if entry["offered"] else None


def queue_mean_share(tables: Tables, parameters: Parameters) -> float | None:
    """Mean occupancy of the transmit queue of ``station`` while load was offered, as a share of its limit."""
    times, depths = series.queue_depth(tables, tables.manifest.station(str(parameters["station"])).id)
    under_load = depths[times <= tables.duration_s]
    limit = float(tables.manifest.scenario["link"]["queue"])
    return float(under_load.mean()) / limit if under_load.size else None


def network_mbps(tables: Tables, _: Parameters) -> float | None:
    """Octets of IP packets that the link delivered over the elapsed time, in Mbit/s.

    The whole elapsed time counts, so only runs without draining tell the throughput under load.
    """
    packets = tables.manifest.totals.get("packets", {}).values()
    octets = [int(kind.get("delivered_bytes", 0)) for station in packets for kind in station.values()]
    return sum(octets) * 8e-6 / tables.manifest.elapsed_s if sum(octets) else None
