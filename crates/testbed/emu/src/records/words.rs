//! The words that stand in the tables.
//!
//! Left out: the kinds of packets, which the flow tracker knows.

use airperf_link::FrameEvent;
use airperf_record::FrameRow;

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
