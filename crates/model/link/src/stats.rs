//! The meter on a transmit queue: occupancy over time and counters, exact and without allocation.

use airperf_units::Time;

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
