//! What happens to a packet on its way: lost, delayed, delivered twice.
//!
//! Every cause draws from a stream of its own, so that switching one on leaves the others as they were.

use super::config::{Direction, Loss};
use airperf_units::{Distribution, Duration, Stream, StreamKey, Time};

/// The way behind a pipe's sending end.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    loss: Loss,
    is_bad: bool,
    delay: Distribution,
    reorder: bool,
    duplicate: f64,
    /// When the last packet arrives.
    last: Time,
    losses: Stream,
    delays: Stream,
    copies: Stream,
}

impl Channel {
    /// The way of the pipe of this number.
    pub(super) fn new(direction: &Direction, key: &StreamKey, pipe: u64) -> Self {
        Self {
            loss: direction.loss,
            is_bad: false,
            delay: direction.delay.clone(),
            reorder: direction.reorder,
            duplicate: direction.duplicate,
            last: Time::ZERO,
            losses: key.indexed("access.loss", pipe),
            delays: key.indexed("access.delay", pipe),
            copies: key.indexed("access.duplicate", pipe),
        }
    }

    /// Whether the next packet is lost.
    pub(super) fn loses(&mut self) -> bool {
        let (share, change) =
            if self.is_bad { (self.loss.bad, self.loss.to_good) } else { (self.loss.good, self.loss.to_bad) };
        let lost = self.losses.chance(share);
        self.is_bad ^= self.losses.chance(change);
        lost
    }

    /// When a packet sent at `now` arrives, and when its copy does, if it has one.
    pub(super) fn arrivals(&mut self, now: Time) -> (Time, Option<Time>) {
        let first = self.arrival(now);
        let copy = self.copies.chance(self.duplicate).then(|| self.arrival(now));
        (first, copy)
    }

    fn arrival(&mut self, now: Time) -> Time {
        let own = now + Duration::from_ns(self.delay.sample(&mut self.delays));
        let at = if self.reorder { own } else { own.max(self.last) };
        self.last = self.last.max(at);
        at
    }
}
