"""The measures that rows of a scoreboard name: each a pure function of the records.

Model: two kinds. A *run measure* takes one run; a *sweep measure* takes all levels of one repetition. Both
take the parameters of their row and give one number, or None when the records do not answer. The scoreboard
takes the mean and interval over repetitions. Leaves out published values: those are data of a study.
"""

from __future__ import annotations

from airperf.analysis.measures import aborted, connections, fairness, flows, queues, rates, sweeps
from airperf.analysis.measures.base import Parameters, Rung, RunMeasure, SweepMeasure

__all__ = ["RUN_MEASURES", "SWEEP_MEASURES", "Parameters", "RunMeasure", "Rung", "SweepMeasure"]

RUN_MEASURES: dict[str, RunMeasure] = {
    f.__name__: f
    for f in (
        connections.packets_per_transaction,
        connections.transaction_time_ms,
        connections.connection_duration_ms,
        connections.connection_share,
        connections.closed_rps,
        connections.connection_skewness,
        connections.connection_longest_s,
        connections.transfer_mbps,
        rates.carried_rps,
        rates.goodput_mbps,
        rates.response_time_ms,
        rates.transaction_loss_share,
        queues.queue_fill_s,
        queues.queue_peak_share,
        queues.queue_mean_share,
        queues.queue_loss_share,
        queues.network_mbps,
        aborted.aborted_share,
        aborted.aborted_packets,
        aborted.aborted_kib,
        aborted.aborted_packet_share,
        aborted.aborted_octet_share,
        flows.flow_goodput_mbps,
        flows.streams_playable_share,
        flows.page_time_ms,
        flows.page_time_p95_ms,
        flows.page_time_s,
        flows.load_kib,
        flows.page_kib,
        flows.transfer_kbps,
        flows.pages_in_time_share,
        flows.stations_rps,
        fairness.jain,
        fairness.jain_of_losses,
        fairness.least_to_most,
        fairness.first_to_others,
    )
}

SWEEP_MEASURES: dict[str, SweepMeasure] = {
    f.__name__: f
    for f in (
        sweeps.knee_rps,
        sweeps.peak_rps,
        sweeps.peak_goodput_mbps,
        sweeps.plateau_rps,
        sweeps.overload_response_s,
        sweeps.queue_peak_share_over_rates,
        *sweeps.over(RUN_MEASURES),
    )
}
