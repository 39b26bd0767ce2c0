//! The airtime budget: where every nanosecond of the run went.
//!
//! Spans are posted in order and back to back, so the categories sum to the elapsed time exactly. What
//! is under way at a reading is posted as far as it has got. Idle time before a transmission is split
//! from the winner's point of view: nobody had anything to send, then its interframe space, then its
//! host's gap, then backoff.

use airperf_units::{Duration, Time};

/// What the medium was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// IP packets of frames received at the first attempt.
    Data,
    /// Preamble, PLCP header, MAC header, LLC/SNAP and FCS of those frames.
    Headers,
    /// Acknowledgements.
    Ack,
    /// RTS and CTS.
    Control,
    /// SIFS, DIFS, EIFS and ACK timeouts.
    Ifs,
    /// Idle slots while somebody counts down.
    Backoff,
    /// Waiting for the next sender's host.
    HostGap,
    /// Frames that overlapped.
    Collision,
    /// Frames garbled by the channel.
    Garbled,
    /// Frames received at a later attempt than the first.
    Retry,
    /// Beacons and the wait for them.
    Beacon,
    /// Nobody had anything to send.
    Idle,
    /// The exchange or wait under way when the reading was taken.
    Unfinished,
}

/// Names as they stand in records, in the order of [`Category`].
const NAMES: [&str; 13] = [
    "data",
    "headers",
    "ack",
    "control",
    "ifs",
    "backoff",
    "host_gap",
    "collision",
    "garbled",
    "retry",
    "beacon",
    "idle",
    "unfinished",
];

/// The running budget.
#[derive(Clone, Debug, Default)]
pub(crate) struct Airtime {
    spent: [Duration; NAMES.len()],
    until: Time,
}

impl Airtime {
    /// Posts the span from the last posting to `until`; nothing when `until` is not later.
    #[inline]
    pub(crate) fn post(&mut self, category: Category, until: Time) {
        self.spent[category as usize] += until.saturating_since(self.until);
        self.until = self.until.max(until);
    }

    /// Posts `span` from the last posting on.
    #[inline]
    pub(crate) fn add(&mut self, category: Category, span: Duration) {
        self.spent[category as usize] += span;
        self.until += span;
    }

    /// Up to when everything is posted.
    pub(crate) fn until(&self) -> Time {
        self.until
    }

    /// The budget at `now`; the span not yet posted is `open`.
    pub(crate) fn read(&self, now: Time, open: Category) -> Vec<(&'static str, Duration)> {
        let mut spent = self.spent;
        spent[open as usize] += now.saturating_since(self.until);
        NAMES.iter().copied().zip(spent).collect()
    }
}
