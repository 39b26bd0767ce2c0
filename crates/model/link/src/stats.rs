//! The meters of a link: occupancy and counters of a transmit queue, and the time in use; exact, without allocation.

use airperf_units::{Duration, Time};

/// A reading of a [`QueueMeter`]; all values are cumulative from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Packets waiting now (the frame being sent by the interface is not among them).
    pub depth: u32,
    /// Largest depth so far.
    pub max: u32,
    /// Packets offered.
    pub offered: u64,
    /// Packets refused.
    pub dropped: u64,
    /// Packets whose sending ended, in delivery or in loss.
    pub departed: u64,
    /// Packets given up after the last attempt.
    pub lost: u64,
    /// Integral of depth over time, in packet-nanoseconds: differences give mean depths.
    pub area: u64,
}

/// Keeps a [`QueueStats`] up to date.
#[derive(Clone, Debug, Default)]
pub struct QueueMeter {
    stats: QueueStats,
    since: Time,
}

impl QueueMeter {
    /// Records that the depth is `depth` from `now` on.
    #[inline]
    pub fn set_depth(&mut self, now: Time, depth: u32) {
        self.stats.area += u64::from(self.stats.depth) * (now - self.since).as_ns();
        self.since = now;
        self.stats.depth = depth;
        self.stats.max = self.stats.max.max(depth);
    }

    /// Counts an offered packet.
    #[inline]
    pub fn offered(&mut self) {
        self.stats.offered += 1;
    }

    /// Counts a refused packet.
    #[inline]
    pub fn dropped(&mut self) {
        self.stats.dropped += 1;
    }

    /// Counts a packet whose sending ended; `lost` when it was given up.
    #[inline]
    pub fn departed(&mut self, lost: bool) {
        self.stats.departed += 1;
        self.stats.lost += u64::from(lost);
    }

    /// The reading at `now`.
    pub fn read(&self, now: Time) -> QueueStats {
        let mut stats = self.stats;
        stats.area += u64::from(stats.depth) * now.saturating_since(self.since).as_ns();
        stats
    }
}

/// How long a link with several directions or pipes was in use, and how long it was not.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// How many are in use.
    active: u32,
    since: Time,
    busy: Duration,
    idle: Duration,
}

impl Usage {
    /// One more or one less is in use from `now` on.
    pub(crate) fn count(&mut self, now: Time, more: bool) {
        let span = now - self.since;
        if self.active > 0 {
            self.busy += span;
        } else {
            self.idle += span;
        }
        self.since = now;
        self.active = if more { self.active + 1 } else { self.active - 1 };
    }

    /// `data` while any was in use, `idle` while none was, until `present`.
    pub(crate) fn airtime(&self, present: Time) -> Vec<(&'static str, Duration)> {
        let open = present.saturating_since(self.since);
        let (busy, idle) = if self.active > 0 { (open, Duration::ZERO) } else { (Duration::ZERO, open) };
        vec![("data", self.busy + busy), ("idle", self.idle + idle)]
    }
}
