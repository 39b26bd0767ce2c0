//! When packets leave a pipe: exact serialisation at a rate, or at the opportunities of a schedule.
//!
//! A rate that does not divide a packet's bits leaves a part of a nanosecond over; it is kept for the packet that
//! follows without a pause, so that a busy pipe carries its rate exactly. An opportunity is shared by the packets that
//! waited for it, and what none of them takes is lost, as in Mahimahi.

use super::config::{Capacity, OpportunitySize};
use crate::trace::{Cursor, Opportunities, RateSeries};
use airperf_units::{Rate, Time};

const NS_PER_MS: u64 = 1_000_000;
const NS_PER_S: u128 = 1_000_000_000;

/// One sending of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sending {
    /// Its first octet leaves.
    pub(super) start: Time,
    /// Its last octet has left.
    pub(super) end: Time,
    /// At which rate it began.
    pub(super) rate: Rate,
}

/// The sending end of a pipe.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    capacity: Capacity,
    /// Of the last nanosecond or opportunity used: bits times 10^9 that a rate had left over.
    left: u128,
    /// The same in octets, of an opportunity.
    left_bytes: u32,
    cursor: Cursor,
}

impl Sender {
    pub(super) fn new(capacity: Capacity) -> Self {
        Self { capacity, left: 0, left_bytes: 0, cursor: Cursor::default() }
    }

    /// The rate that nothing exceeds for long.
    pub(super) fn rate(&self) -> Rate {
        self.capacity.rate()
    }

    /// Sends a packet of `bytes` that is first in line at `now`; `follows` when it waited while another was sent
    /// until `now`.
    pub(super) fn send(&mut self, now: Time, bytes: u32, follows: bool) -> Sending {
        match &self.capacity {
            Capacity::Rates(series) => {
                at_rates(series, now, bytes, if follows { self.left } else { 0 }, &mut self.left)
            }
            Capacity::Opportunities { schedule, size } => {
                if !follows {
                    self.left_bytes = 0;
                    self.cursor = schedule.first_after(now.as_ns() / NS_PER_MS);
                }
                let rate = self.capacity.rate();
                let (start, end) =
                    at_opportunities(schedule, *size, now, bytes, &mut self.cursor, &mut self.left_bytes);
                Sending { start, end, rate }
            }
        }
    }
}

fn at_rates(series: &RateSeries, now: Time, bytes: u32, credit: u128, left: &mut u128) -> Sending {
    let mut needed = (u128::from(bytes) * 8 * NS_PER_S).saturating_sub(credit);
    let (mut at, mut begun) = (now, None);
    loop {
        let (rate, until) = series.at(at);
        let bps = u128::from(rate.as_bps());
        if bps > 0 {
            let (start, first) = *begun.get_or_insert((at, rate));
            let ns = needed.div_ceil(bps);
            if ns <= u128::from((until - at).as_ns()) {
                *left = ns * bps - needed;
                return Sending { start, end: at + airperf_units::Duration::from_ns(ns as u64), rate: first };
            }
            needed -= u128::from((until - at).as_ns()) * bps;
        }
        at = until;
    }
}

fn at_opportunities(
    schedule: &Opportunities,
    size: OpportunitySize,
    now: Time,
    bytes: u32,
    cursor: &mut Cursor,
    left: &mut u32,
) -> (Time, Time) {
    let mut needed = bytes + size.overhead();
    let mut at = now;
    let mut start = (*left > 0).then_some(now);
    loop {
        let used = needed.min(*left);
        *left -= used;
        needed -= used;
        if needed == 0 {
            return (start.unwrap_or(at), at);
        }
        at = Time::from_ns(schedule.time_ms(*cursor) * NS_PER_MS);
        *cursor = schedule.after(*cursor);
        *left = size.bytes();
        start.get_or_insert(at);
    }
}
