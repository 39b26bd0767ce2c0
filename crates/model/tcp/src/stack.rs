//! What all endpoints of one host share: configuration and the phase of the host's clock tick.
//!
//! Kernel timers fire on ticks (jiffies); when a host was booted decides where its ticks lie, so two
//! hosts release retransmissions at different phases. Left out: clock drift.

use crate::config::Config;
use airperf_units::{Duration, Time};

/// A host's TCP: its configuration and clock.
#[derive(Clone, Debug)]
pub struct Stack {
    config: Config,
    phase: Duration,
    payload: u32,
}

impl Stack {
    /// A host with ticks at `phase` past every multiple of the jiffy.
    pub fn new(config: Config, phase: Duration) -> Self {
        let phase = Duration::from_ns(phase.as_ns() % config.jiffy.as_ns());
        Self { payload: config.segment_payload_bytes(), phase, config }
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

    /// The last tick at or before `at`: when a timer set for `at` fires.
    #[inline]
    pub fn tick(&self, at: Time) -> Time {
        floor(at, self.config.jiffy, self.phase)
    }

    /// The first scan of the SYN queue at or after `at`.
    pub(crate) fn synack_scan(&self, at: Time) -> Time {
        let scan = self.config.synack_scan;
        if scan == Duration::ZERO {
            return at;
        }
        let before = floor(at, scan, self.phase);
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
