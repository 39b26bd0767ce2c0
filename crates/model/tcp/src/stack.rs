//! What all endpoints of one host share: configuration and the phase of the host's clock tick.
//!
//! Kernel timers fire on ticks (jiffies); when a host was booted decides where its ticks lie, so two
//! hosts release retransmissions at different phases. Since 4.8 Linux keeps timers in a wheel
//! (`kernel/time/timer.c`): the longer the wait, the wider the slots, by steps of eight; a timer never fires early,
//! so it fires when its slot ends, after up to an eighth more than its wait. Left out: clock drift.

use crate::config::Config;
use airperf_units::{Duration, Time};

/// A host's TCP: its configuration and clock.
#[derive(Clone, Debug)]
pub struct Stack {
    config: Config,
    phase: Duration,
    /// Where the scans of the SYN queue lie.
    scan_phase: Duration,
    payload: u32,
    /// Waits up to this are exact to a jiffy.
    exact: Duration,
    /// How long after the last tick before its deadline a timer fires.
    late: Duration,
}

/// Jiffies from which a wait gets slots of the wheel's next level, less one: slots of a level, 64, less one
/// (`LVL_START`).
const LEVEL: u64 = 63;
/// How many times wider the slots of the next level are (`LVL_CLK_DIV`).
const WIDER: u64 = 8;

impl Stack {
    /// A host with ticks at `phase` past every multiple of the jiffy, and scans of the SYN queue past every multiple
    /// of theirs.
    pub fn new(config: Config, phase: Duration) -> Self {
        let scan_phase = Duration::from_ns(phase.as_ns() % config.synack_scan.as_ns().max(1));
        let phase = Duration::from_ns(phase.as_ns() % config.jiffy.as_ns());
        let (exact, late) = match config.timer_wheel {
            true => (config.jiffy * LEVEL, config.jiffy),
            false => (Duration::from_ns(u64::MAX), Duration::ZERO),
        };
        Self { payload: config.segment_payload_bytes(), phase, scan_phase, exact, late, config }
    }

    /// The configuration.
    #[inline]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Octets in a full segment.
    #[inline]
    pub fn segment_payload_bytes(&self) -> u32 {
        self.payload
    }

    /// When a timer set for `at` fires: on the last tick at or before it, or with a wheel on the first after it.
    #[inline]
    pub fn tick(&self, at: Time) -> Time {
        floor(at, self.config.jiffy, self.phase) + self.late
    }

    /// For when to set a timer that is to wait for `wait` from now.
    #[inline]
    pub(crate) fn expiry(&self, now: Time, wait: Duration) -> Time {
        if wait < self.exact { now + wait } else { self.end_of_slot(now, wait) }
    }

    /// The end of the wheel's slot for `now + wait`, less what [`Self::tick`] adds.
    #[cold]
    fn end_of_slot(&self, now: Time, wait: Duration) -> Time {
        let (mut slot, mut most) = (self.config.jiffy, self.exact);
        while wait >= most {
            (slot, most) = (slot * WIDER, most * WIDER);
        }
        let end = floor(now + wait, slot, self.phase) + slot;
        Time::ZERO + end.saturating_since(Time::ZERO + self.late)
    }

    /// The level of the wheel that a timer waits in; `None` without a wheel. Of timers that fire at the same instant
    /// those of the highest level come first, and of one level the last that was set (`expire_timers`).
    #[inline]
    pub fn wheel_level(&self, wait: Duration) -> Option<u8> {
        let levels = self.config.timer_wheel.then_some(self.exact);
        levels.map(|first| {
            std::iter::successors(Some(first), |&most| Some(most * WIDER))
                .take(7)
                .take_while(|&most| wait >= most)
                .count() as u8
        })
    }

    /// The first scan of the SYN queue at or after `at`.
    pub(crate) fn synack_scan(&self, at: Time) -> Time {
        let scan = self.config.synack_scan;
        if scan == Duration::ZERO {
            return at;
        }
        let before = floor(at, scan, self.scan_phase);
        if before == at { at } else { before + scan }
    }

    /// The timestamp clock.
    #[inline]
    pub(crate) fn timestamp(&self, now: Time) -> u32 {
        let since_boot = now + self.config.jiffy - self.phase;
        (since_boot.as_ns() / self.config.timestamp_tick.as_ns()) as u32
    }
}

#[inline]
fn floor(at: Time, step: Duration, phase: Duration) -> Time {
    let since = at.saturating_since(Time::ZERO + phase);
    Time::ZERO + phase + step * since.whole(step)
}
