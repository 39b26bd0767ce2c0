"""The measures that an experiment can name: each a function of one run, with its unit.

Model: docs/reference/experiment.md. Some take a word after a dot: ``queue_mean.client``,
``airtime.backoff``. Leaves out measures over several levels, which are rows of a study (``measures``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from airperf.analysis import summary
from airperf.analysis.intervals import Interval, order_interval, t_interval
from airperf.analysis.measures import fairness, flows
from airperf.analysis.measures.base import Parameters
from airperf.analysis.measures.connections import packets_per_transaction
from airperf.analysis.measures.rates import transaction_loss_share
from airperf.analysis.tables import ERRORS, Tables
from airperf.errors import RecordError


@dataclass(frozen=True, slots=True)
class Quantity:
    """One measure: its name, what it is, its unit, and the function that takes it from a run."""

    name: str
    what: str
    unit: str
    of: Callable[[Tables], float | None]
    percentile: bool = False
    """Percentiles have order statistics for intervals: they are seldom symmetric over repetitions."""
    whole_run: bool = False
    """Counted by the testbed over the whole run, so that no warm-up can be left out."""
    needs_tables: bool = False
    """Not among the sums of a run at level ``summary``."""


def _spread(quantity: str, part: str) -> Callable[[Tables], float | None]:
    return lambda tables: getattr(getattr(tables.digest, quantity), part)


def _of(measure: Callable[[Tables, Parameters], float | None]) -> Callable[[Tables], float | None]:
    return lambda tables: measure(tables, {})


def _errors(phase: str) -> Callable[[Tables], float | None]:
    return lambda tables: tables.digest.errors[phase] / tables.duration_s


def _spreads(quantity: str, stem: str, what: str) -> list[Quantity]:
    return [
        Quantity(f"{stem}_ms", f"{what}, mean", "ms", _spread(quantity, "mean")),
        Quantity(f"{stem}_p50_ms", f"{what}, median", "ms", _spread(quantity, "p50"), percentile=True),
        Quantity(
            f"{stem}_p95_ms", f"{what}, 95th percentile", "ms", _spread(quantity, "p95"), percentile=True
        ),
        Quantity(
            f"{stem}_p99_ms", f"{what}, 99th percentile", "ms", _spread(quantity, "p99"), percentile=True
        ),
    ]


_PLAIN = (
    Quantity("offered_rps", "exchanges due", "1/s", summary.offered_rps),
    Quantity("carried_rps", "exchanges completed while load was offered", "1/s", summary.carried_rps),
    Quantity("goodput_mbps", "octets of their responses", "Mbit/s", lambda t: summary.goodput_bps(t) / 1e6),
    *_spreads("response", "response", "response time, due to done"),
    *_spreads("connection", "connection", "connection on the air, first to last frame"),
    *_spreads("transaction", "transaction", "due to the last frame of its connection"),
    Quantity(
        "loss_share",
        "exchanges due that were not completed",
        "share",
        _of(transaction_loss_share),
    ),
    Quantity(
        "errors_per_s", "exchanges that failed", "1/s", lambda t: sum(t.digest.errors.values()) / t.duration_s
    ),
    *(Quantity(f"errors_{p}_per_s", f"exchanges that failed: {p}", "1/s", _errors(p)) for p in ERRORS),
    Quantity(
        "packets_per_transaction",
        "segments of a connection with one exchange",
        "packets",
        _of(packets_per_transaction),
    ),
    Quantity("jain", "Jain's index of what each client completed", "share", _of(fairness.jain)),
    Quantity("least_to_most", "client that completed fewest ÷ most", "share", _of(fairness.least_to_most)),
    Quantity("first_to_others", "first client ÷ mean of the others", "ratio", _of(fairness.first_to_others)),
    Quantity(
        "jain_of_losses",
        "Jain's index of the packets that each client's transmit queue refused",
        "share",
        _of(fairness.jain_of_losses),
        whole_run=True,
    ),
    Quantity(
        "page_ms", "page, due to its last octet, mean", "ms", _of(flows.page_time_ms), needs_tables=True
    ),
    Quantity(
        "page_p95_ms",
        "page, due to its last octet, 95th percentile",
        "ms",
        _of(flows.page_time_p95_ms),
        percentile=True,
        needs_tables=True,
    ),
    Quantity(
        "pages_in_time_share",
        "pages complete within 10 s",
        "share",
        _of(flows.pages_in_time_share),
        needs_tables=True,
    ),
    Quantity(
        "flow_goodput_mbps",
        "payload of bulk transfers and streams that arrived before their ends",
        "Mbit/s",
        _of(flows.flow_goodput_mbps),
        whole_run=True,
        needs_tables=True,
    ),
    Quantity(
        "streams_playable_share",
        "streams whose audio and video can be played",
        "share",
        _of(flows.streams_playable_share),
        whole_run=True,
        needs_tables=True,
    ),
)

QUANTITIES = {quantity.name: quantity for quantity in _PLAIN}
"""Measures without a word after a dot."""


def _queue(part: str) -> Callable[[Tables, str], float | None]:
    def value(tables: Tables, station: str) -> float | None:
        entry = tables.manifest.totals["queues"][tables.manifest.station(station).name]
        return float(entry[part])

    return value


def _airtime(tables: Tables, category: str) -> float | None:
    budget = summary.airtime(tables.manifest)
    if category not in budget:
        raise RecordError(f"no airtime category {category!r}; this link has {', '.join(sorted(budget))}")
    return budget[category] / sum(budget.values())


WITH_WORD: dict[str, tuple[str, str, Callable[[Tables, str], float | None]]] = {
    "queue_mean": ("mean occupancy of the transmit queue of a station", "packets", _queue("mean")),
    "queue_max": ("largest occupancy of the transmit queue of a station", "packets", _queue("max")),
    "queue_drops": ("packets that the transmit queue of a station refused", "packets", _queue("dropped")),
    "airtime": ("share of the link's time in one category", "share", _airtime),
}
"""Measures with a station or a category of airtime after a dot."""


def quantity(name: str) -> Quantity | None:
    """The measure of that name; None if there is none."""
    if name in QUANTITIES:
        return QUANTITIES[name]
    stem, _, word = name.partition(".")
    if stem not in WITH_WORD or not word:
        return None
    what, unit, function = WITH_WORD[stem]
    return Quantity(name, f"{what}: {word}", unit, lambda tables: function(tables, word), whole_run=True)


def interval(name: str, values: Iterable[float | None]) -> Interval:
    """The value of a measure over repetitions with its 95% interval.

    Means: Student-t around the mean. Percentiles: the median over repetitions between order statistics.
    """
    found = quantity(name)
    return order_interval(values) if found is not None and found.percentile else t_interval(values)
