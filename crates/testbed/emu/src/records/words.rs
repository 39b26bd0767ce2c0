//! The words that stand in the tables.
//!
//! Left out: the kinds of packets, which the flow tracker knows.

use airperf_link::FrameEvent;
use airperf_record::FrameRow;
use airperf_workload::ArrivalProcess;

/// The row of a frame.
pub(crate) fn frame_row(frame: &FrameEvent, packet: Option<u64>) -> FrameRow {
    FrameRow {
        start_ns: frame.start.as_ns(),
        end_ns: frame.end.as_ns(),
        station: frame.from.0,
        to: frame.to.station().map(|to| to.0),
        kind: frame.kind.word(),
        rate_bps: frame.rate.as_bps(),
        bytes: frame.bytes,
        sequence: frame.sequence,
        attempt: frame.attempt,
        outcome: frame.outcome.word(),
        sniffer: frame.sniffer.word(),
        packet,
    }
}

/// Millionths of connections per second where they come at equal times; `None` where they do not, and
/// nobody but the generator knows when they were due.
pub(super) const fn deterministic_rate_micro(workload: &airperf_workload::Config) -> Option<u64> {
    match workload.arrivals {
        ArrivalProcess::Deterministic => Some(workload.rate.as_micro()),
        ArrivalProcess::Poisson => None,
    }
}
