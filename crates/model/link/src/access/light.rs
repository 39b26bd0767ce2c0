//! When CellReplay lets a packet go: after its base delay, with the opportunities behind the first packet of a train while
//! there are any, and else by way of the heavy schedule's queue.
//!
//! Reference: `get_pkt_release_time_from_trace` and `read_packet` of CellReplay's `cellular_queue.cc`, its timer
//! `long-to-short` at its default of 0. Ours: the trace begins with the run, not with the first packet; the base delay is
//! interpolated in whole numbers. Left out: the offset by packet size.

use super::config::OpportunitySize;
use crate::trace::LightTrace;
use std::sync::Arc;

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Release {
    /// When it leaves the delay.
    pub(super) at_ms: u64,
    /// Whether it is delivered then, if nothing waits for the heavy schedule.
    pub(super) light: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Light {
    trace: Arc<LightTrace>,
    size: OpportunitySize,
    origin_ms: u64,
    train: usize,
    /// The present train: its base delay, when its first packet came, and the opportunity in use.
    base_ms: Option<u64>,
    begun_ms: u64,
    index: usize,
    left_bytes: u32,
    /// As the trains have it, and as the order has it.
    released_ms: u64,
    last_ms: u64,
}

impl Light {
    pub(super) fn new(trace: Arc<LightTrace>, size: OpportunitySize) -> Self {
        Self {
            trace,
            size,
            origin_ms: 0,
            train: 0,
            base_ms: None,
            begun_ms: 0,
            index: 0,
            left_bytes: 0,
            released_ms: 0,
            last_ms: 0,
        }
    }

    /// What happens to a packet of `ip_bytes` that comes in millisecond `now_ms`.
    pub(super) fn release(&mut self, now_ms: u64, ip_bytes: u32) -> Release {
        let bytes = ip_bytes + self.size.overhead();
        let mut release = match self.base_ms {
            Some(base_ms) if now_ms + base_ms <= self.released_ms => self.follow(now_ms, base_ms, bytes),
            _ => self.begin(now_ms, bytes),
        };
        self.released_ms = release.at_ms;
        if release.at_ms < self.last_ms {
            release = Release { at_ms: self.last_ms, light: false };
        }
        self.last_ms = release.at_ms;
        release
    }

    /// The first packet of a train.
    fn begin(&mut self, now_ms: u64, bytes: u32) -> Release {
        let trains = self.trace.trains();
        while trains[self.train + 1].at_ms <= now_ms - self.origin_ms {
            self.train += 1;
            if self.train == trains.len() - 1 {
                self.origin_ms += trains[self.train].at_ms;
                self.train = 0;
            }
        }
        let (one, next) = (&trains[self.train], &trains[self.train + 1]);
        let (into, span) = (now_ms - self.origin_ms - one.at_ms, next.at_ms - one.at_ms);
        let base_ms = (one.delay_ms * (span - into) + next.delay_ms * into) / span;
        (self.base_ms, self.begun_ms, self.index) = (Some(base_ms), now_ms, 0);
        self.left_bytes = self.size.bytes() - bytes;
        Release { at_ms: now_ms + base_ms, light: true }
    }

    /// One that comes while the train is not yet through.
    fn follow(&mut self, now_ms: u64, base_ms: u64, bytes: u32) -> Release {
        let after_ms = &self.trace.trains()[self.train].after_ms;
        let elapsed = now_ms - self.begun_ms;
        while after_ms.get(self.index).is_some_and(|after| elapsed > *after) {
            self.index += 1;
            self.left_bytes = self.size.bytes();
        }
        if self.left_bytes < bytes {
            self.index += 1;
            self.left_bytes = self.size.bytes();
        }
        self.left_bytes -= bytes;
        match after_ms.get(self.index) {
            Some(after) => Release { at_ms: now_ms + base_ms + after - elapsed, light: true },
            None => Release { at_ms: now_ms + base_ms.max(after_ms[after_ms.len() - 1]), light: false },
        }
    }
}
