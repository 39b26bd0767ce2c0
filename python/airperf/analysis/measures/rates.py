"""Measures of what users saw: exchanges completed, octets, response times, losses.

Model: *carried* counts what was completed while load was offered; *response time* is due to done. Leaves out
the air.
"""

from __future__ import annotations

from airperf.analysis import summary
from airperf.analysis.measures.base import Parameters
from airperf.analysis.tables import Tables


def carried_rps(tables: Tables, _: Parameters) -> float | None:
    """Exchanges completed inside [0, T], per second."""
    return summary.carried_rps(tables)


def goodput_mbps(tables: Tables, _: Parameters) -> float | None:
    """Octets of replies completed inside [0, T], in Mbit/s."""
    return summary.goodput_bps(tables) / 1e6


def response_time_ms(tables: Tables, _: Parameters) -> float | None:
    """Mean response time (done − due)."""
    return tables.digest.response.mean


def transaction_loss_share(tables: Tables, _: Parameters) -> float | None:
    """Share of the exchanges due inside [0, T) that were not completed inside [0, T]."""
    offered = summary.offered_rps(tables)
    return 1 - summary.carried_rps(tables) / offered if offered else None
