//! The radio channel of one mobile: how likely a block is lost, and when nothing goes at all.
//!
//! Fading changes between two states after exponential times, outages come after exponential times and last as their
//! distribution says; both go on whether or not anything is sent. Both directions of a mobile share them. Left out:
//! fading within a block, interference between mobiles.

use crate::config::{BlockError, Config, Stalls};
use crate::scheme::Scheme;
use airperf_units::{Duration, Stream, StreamKey, Time};

/// One mobile's channel; times asked about must not decrease.
#[derive(Clone, Debug)]
pub(crate) struct Radio {
    error: BlockError,
    is_bad: bool,
    changes: Time,
    fades: Stream,
    stalls: Option<Stalls>,
    stall_begins: Time,
    stall_ends: Time,
    outages: Stream,
}

impl Radio {
    pub(crate) fn new(config: &Config, key: &StreamKey, mobile: u64) -> Self {
        let mut radio = Self {
            error: config.block_error.clone(),
            is_bad: false,
            changes: Time::MAX,
            fades: key.indexed("wwan.fading", mobile),
            stalls: config.stalls.clone(),
            stall_begins: Time::MAX,
            stall_ends: Time::MAX,
            outages: key.indexed("wwan.stalls", mobile),
        };
        if let BlockError::CarrierToInterference { fading: Some(fading), .. } = config.block_error {
            radio.changes = Time::ZERO + radio.fades.exponential(fading.good);
        }
        radio.next_stall(Time::ZERO);
        radio
    }

    fn next_stall(&mut self, after: Time) {
        if let Some(stalls) = &self.stalls {
            self.stall_begins = after + self.outages.exponential(stalls.every);
            self.stall_ends = self.stall_begins + Duration::from_ns(stalls.lasts.sample(&mut self.outages));
        }
    }

    /// When the outage that `now` falls into ends, if it falls into one.
    pub(crate) fn stalled_until(&mut self, now: Time) -> Option<Time> {
        while self.stall_ends <= now {
            self.next_stall(self.stall_ends);
        }
        (self.stall_begins <= now).then_some(self.stall_ends)
    }

    /// The probability that a block of this scheme, sent at `now`, is lost.
    pub(crate) fn block_error(&mut self, now: Time, scheme: &Scheme) -> f64 {
        match self.error {
            BlockError::Fixed(p) => p,
            BlockError::Series(ref channel) => channel.block_error(now, scheme),
            BlockError::CarrierToInterference { db, fading: None } => BlockError::at(scheme, db),
            BlockError::CarrierToInterference { db, fading: Some(fading) } => {
                while self.changes <= now {
                    self.is_bad = !self.is_bad;
                    let mean = if self.is_bad { fading.bad } else { fading.good };
                    self.changes += self.fades.exponential(mean);
                }
                BlockError::at(scheme, if self.is_bad { fading.db } else { db })
            }
        }
    }
}
