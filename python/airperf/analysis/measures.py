"""The measures that rows of a scoreboard name: each a pure function of the records.

Model: two kinds. A *run measure* takes one run; a *sweep measure* takes all rates of one repetition. Both
take the parameters of their row and give one number, or None when the records do not answer. The scoreboard
takes the mean and interval over repetitions. Leaves out published values: those are data of a study.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from airperf.analysis import series, summary
from airperf.analysis.intervals import skewness
from airperf.analysis.tables import Tables

Parameters = Mapping[str, Any]
RunMeasure = Callable[[Tables, Parameters], float | None]


@dataclass(frozen=True, slots=True)
class Rung:
    """One offered rate of a sweep in one repetition."""

    rate: float
    tables: Tables


SweepMeasure = Callable[[Sequence[Rung], Parameters], float | None]


def _mean(values: Any) -> float | None:
    data = np.asarray(values, dtype=np.float64)
    return float(data.mean()) if data.size else None


# Run measures


def packets_per_transaction(tables: Tables, parameters: Parameters) -> float | None:
    """Mean segments per connection with one exchange, of ``side`` ``client`` or ``server`` or both."""
    seen = tables.digest
    side = str(parameters.get("side", "both"))
    segments = (seen.single_segments_up if side != "server" else 0) + (
        seen.single_segments_down if side != "client" else 0
    )
    return segments / seen.single if seen.single else None


def transaction_time_ms(tables: Tables, _: Parameters) -> float | None:
    """Mean time from due to the last frame: the whole transaction with its FIN handshake."""
    return tables.digest.transaction.mean


def response_time_ms(tables: Tables, _: Parameters) -> float | None:
    """Mean response time (done − due)."""
    return tables.digest.response.mean


def connection_duration_ms(tables: Tables, _: Parameters) -> float | None:
    """Mean duration of connections on the air."""
    return tables.digest.connection.mean


def connection_share(tables: Tables, parameters: Parameters) -> float | None:
    """Share of connections whose duration lies within ``from_ms`` … ``to_ms``."""
    values = tables.duration_ms
    inside = (values >= float(parameters["from_ms"])) & (values <= float(parameters["to_ms"]))
    return _mean(inside)


def connection_skewness(tables: Tables, _: Parameters) -> float | None:
    """Skewness of connection durations."""
    return skewness(tables.duration_ms)


def connection_longest_s(tables: Tables, _: Parameters) -> float | None:
    """The longest connection on the air, in seconds."""
    longest = tables.digest.connection.most
    return None if longest is None else longest / 1e3


def queue_fill_s(tables: Tables, parameters: Parameters) -> float | None:
    """When the transmit queue of ``station`` first refused a packet; None if it never did."""
    return series.queue_fill_s(tables, tables.manifest.station(str(parameters["station"])).id)


def queue_peak_share(tables: Tables, parameters: Parameters) -> float | None:
    """Largest occupancy of the transmit queue of ``station``, as a share of its limit."""
    station = tables.manifest.station(str(parameters["station"]))
    peak = float(tables.manifest.totals["queues"][station.name]["max"])
    return peak / float(tables.manifest.scenario["link"]["queue"])


def queue_loss_share(tables: Tables, parameters: Parameters) -> float | None:
    """Share of the packets offered to the transmit queue of ``station`` that it refused."""
    entry = tables.manifest.totals["queues"][tables.manifest.station(str(parameters["station"])).name]
    offered = float(entry["offered"])
    return float(entry["dropped"]) / offered if offered else None


def transaction_loss_share(tables: Tables, _: Parameters) -> float | None:
    """Share of the exchanges due inside [0, T) that were not completed inside [0, T]."""
    offered = summary.offered_rps(tables)
    return 1 - summary.carried_rps(tables) / offered if offered else None


# Sweep measures


def knee_rps(ladder: Sequence[Rung], parameters: Parameters) -> float | None:
    """Largest offered rate up to which every rate is carried to at least ``share`` (0.98)."""
    share = float(parameters.get("share", 0.98))
    best: float | None = None
    for rung in sorted(ladder, key=lambda rung: rung.rate):
        if summary.carried_rps(rung.tables) < share * summary.offered_rps(rung.tables):
            break
        best = rung.rate
    return best


def peak_rps(ladder: Sequence[Rung], _: Parameters) -> float | None:
    """Largest carried rate over the sweep."""
    return max((summary.carried_rps(rung.tables) for rung in ladder), default=None)


def peak_goodput_mbps(ladder: Sequence[Rung], _: Parameters) -> float | None:
    """Largest goodput over the sweep, in Mbit/s."""
    return max((summary.goodput_bps(rung.tables) / 1e6 for rung in ladder), default=None)


def plateau_rps(ladder: Sequence[Rung], parameters: Parameters) -> float | None:
    """Mean carried rate over the rates from ``from_rate`` up."""
    start = float(parameters["from_rate"])
    return _mean([summary.carried_rps(rung.tables) for rung in ladder if rung.rate >= start])


def overload_response_s(ladder: Sequence[Rung], parameters: Parameters) -> float | None:
    """Mean response time beyond the knee of the same repetition, in seconds."""
    knee = knee_rps(ladder, parameters)
    if knee is None:
        return None
    means = [response_time_ms(rung.tables, parameters) for rung in ladder if rung.rate > knee]
    return _mean([mean / 1e3 for mean in means if mean is not None])


def queue_peak_share_over_rates(ladder: Sequence[Rung], parameters: Parameters) -> float | None:
    """Largest occupancy of the transmit queue of ``station`` at any rate, as a share of its limit."""
    shares = [queue_peak_share(rung.tables, parameters) for rung in ladder]
    return max((share for share in shares if share is not None), default=None)


def ratio(ladder: Sequence[Rung], parameters: Parameters) -> float | None:
    """The run measure ``of`` at the highest level of the factor, divided by that at the lowest."""
    ordered = sorted(ladder, key=lambda rung: rung.rate)
    if len(ordered) < 2:
        return None
    measure = RUN_MEASURES[str(parameters["of"])]
    low = measure(ordered[0].tables, parameters)
    high = measure(ordered[-1].tables, parameters)
    return high / low if low and high is not None else None


RUN_MEASURES: dict[str, RunMeasure] = {
    f.__name__: f
    for f in (
        packets_per_transaction,
        transaction_time_ms,
        response_time_ms,
        connection_duration_ms,
        connection_share,
        connection_skewness,
        connection_longest_s,
        queue_fill_s,
        queue_peak_share,
        queue_loss_share,
        transaction_loss_share,
    )
}

SWEEP_MEASURES: dict[str, SweepMeasure] = {
    f.__name__: f
    for f in (
        knee_rps,
        peak_rps,
        peak_goodput_mbps,
        plateau_rps,
        overload_response_s,
        queue_peak_share_over_rates,
        ratio,
    )
}
