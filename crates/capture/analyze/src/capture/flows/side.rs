//! What is kept of each side of a connection, and what is told of a segment.

use std::num::NonZeroU8;

use super::sent::Sent;
use crate::connection::Place;
use crate::http::Maybe;

/// One side of a connection.
#[derive(Debug, Default)]
pub(crate) struct Side {
    /// Last acknowledgement (as a distance) and window.
    pub(super) last_ack: Maybe,
    pub(super) window: u16,
    pub(crate) mss: Option<u16>,
    /// One more than the window scale option of its SYN.
    pub(super) scale: Option<NonZeroU8>,
    pub(crate) sack: bool,
    pub(crate) data_segments: u32,
    pub(crate) sent_bytes: u64,
    pub(crate) ip_bytes: u64,
    pub(crate) most_in_flight: u64,
    /// When its last payload was delivered.
    pub(super) last_data_ns: u64,
    /// Frame of its last packet, and its identification.
    pub(crate) last_frame: u64,
    pub(super) last_identification: Option<u16>,
    pub(crate) sent: Sent,
}

/// What is odd about one side, of which most connections have nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Oddities {
    /// Distance of an octet sent into a closed window.
    pub(super) probe: Maybe,
    /// When a gap in what it sent was first seen to be acknowledged.
    pub(super) gap_since: Maybe,
    pub(crate) mac_retries: u32,
    /// Full + dup SYN + dup FIN.
    pub(crate) retransmissions: u32,
    /// Repeats, for the history.
    pub(super) again: u32,
    pub(super) zero_windows: u32,
}

/// Counts of one connection, and what is odd about its sides.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) up: Oddities,
    pub(crate) down: Oddities,
    pub(crate) full: u32,
    pub(crate) part: u32,
    pub(crate) late: u32,
    pub(crate) dup_syn: u32,
    pub(crate) dup_fin: u32,
    pub(crate) spurious: u32,
    pub(crate) inconsistent: u32,
    pub(crate) duplicate_acks: u32,
    pub(crate) zero_windows: u32,
    pub(crate) window_probes: u32,
    pub(crate) keep_alives: u32,
    pub(crate) resets: u32,
    pub(crate) duplicates: u32,
}

/// Samples of round-trip times, ns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundTrips {
    pub(crate) samples: u32,
    pub(crate) least: u64,
    pub(crate) most: u64,
    pub(crate) sum: u64,
}

impl Tally {
    pub(super) fn side(&mut self, up: bool) -> &mut Oddities {
        if up { &mut self.up } else { &mut self.down }
    }
}

impl RoundTrips {
    pub(super) fn add(&mut self, ns: u64) {
        self.least = if self.samples == 0 { ns } else { self.least.min(ns) };
        self.most = self.most.max(ns);
        self.sum = self.sum.saturating_add(ns);
        self.samples = self.samples.saturating_add(1);
    }
}

/// What one segment turned out to be; the columns of `segments`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verdict {
    pub(crate) place: Place,
    pub(crate) spurious: bool,
    pub(crate) duplicate_ack: bool,
    pub(crate) zero_window: bool,
    pub(crate) window_probe: bool,
    pub(crate) keep_alive: bool,
    /// First SACK block, relative.
    pub(crate) sack: Option<(u64, u64)>,
    pub(crate) rtt_ns: Option<u64>,
    pub(crate) in_flight: Option<u64>,
}
