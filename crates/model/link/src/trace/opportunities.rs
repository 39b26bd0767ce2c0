//! A schedule of delivery opportunities, as Mahimahi reads and repeats it.
//!
//! Reference: Mahimahi's `traces/README` and the behaviour of its `mm-link`: times never decrease; after the last the
//! schedule begins again, its origin moved by the last time, so a first time of 0 falls together with the last.
//! Left out: Mahimahi's `--once`, under which the link is dead when the schedule is over.

use super::{RateSeries, TraceError, seen, wrong};
use airperf_units::Time;

const NS_PER_MS: u64 = 1_000_000;

/// Longer than 31 days is a mistake; what is said of every second of a trace must fit memory.
const LATEST_MS: u64 = 31 * 86_400_000;

/// The times of a schedule's opportunities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opportunities {
    at_ms: Box<[u64]>,
}

/// A place in the endless repetition of a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    origin_ms: u64,
    index: usize,
}

impl Opportunities {
    /// Reads one time in milliseconds per line.
    pub(super) fn parse(text: &str) -> Result<Self, TraceError> {
        let mut at_ms: Vec<u64> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let word = line.trim();
            if word.is_empty() {
                return wrong(number, "is empty; every line is a time in milliseconds");
            }
            let digits = word.bytes().all(|byte| byte.is_ascii_digit());
            let Some(ms) = word.parse().ok().filter(|_| digits) else {
                return wrong(number, format!("{} is no time in whole milliseconds", seen(word)));
            };
            if ms > LATEST_MS {
                return wrong(number, format!("{ms} ms is more than any trace lasts"));
            }
            if let Some(&last) = at_ms.last()
                && ms < last
            {
                return wrong(number, format!("{ms} ms comes after {last} ms; times must not decrease"));
            }
            at_ms.push(ms);
        }
        match at_ms.last() {
            None => wrong(0, "it has no line; a trace has one opportunity at least"),
            Some(0) => wrong(0, "every opportunity is at 0 ms; a trace must last for some time"),
            Some(_) => Ok(Self { at_ms: at_ms.into() }),
        }
    }

    /// The schedule that carries what a series of rates does: an opportunity in the millisecond in which the next 1500
    /// bytes are complete. It lasts one round of the series, at most until `until_ms`; as Mahimahi repeats a schedule
    /// from its last opportunity, that one is at the end, and what is left of a packet there makes one or is lost.
    ///
    /// # Errors
    /// A round shorter than a millisecond, one without an end, or one that carries less than half a packet.
    pub fn of_rates(rates: &RateSeries, until_ms: u64) -> Result<Self, TraceError> {
        let end_ms = (rates.period_ns() / NS_PER_MS).min(until_ms);
        if end_ms == 0 || end_ms > LATEST_MS {
            return wrong(0, format!("a schedule lasts from 1 ms to 31 days, this one {end_ms} ms"));
        }
        let mut at_ms = Vec::new();
        // Bits times nanoseconds per second, so that nothing is rounded.
        const PACKET: u128 = 1500 * 8 * 1_000_000_000;
        let mut credit = 0;
        for ms in 1..=end_ms {
            let (mut from, end) = ((ms - 1) * NS_PER_MS, ms * NS_PER_MS);
            while from < end {
                let (rate, until) = rates.at(Time::from_ns(from));
                let until = until.as_ns().min(end);
                credit += u128::from(rate.as_bps()) * u128::from(until - from);
                from = until;
            }
            at_ms.extend(std::iter::repeat_n(ms, (credit / PACKET) as usize));
            credit %= PACKET;
        }
        if at_ms.last() != Some(&end_ms) {
            if 2 * credit >= PACKET {
                at_ms.push(end_ms);
            } else if let Some(last) = at_ms.last_mut() {
                *last = end_ms;
            } else {
                return wrong(0, "it carries less than half a packet of 1500 bytes");
            }
        }
        Ok(Self { at_ms: at_ms.into() })
    }

    /// The schedule as Mahimahi reads it.
    pub fn to_text(&self) -> String {
        self.at_ms.iter().fold(String::new(), |mut text, ms| {
            text.push_str(&ms.to_string());
            text.push('\n');
            text
        })
    }

    /// The times of one round, in milliseconds, never decreasing; never empty.
    pub fn at_ms(&self) -> &[u64] {
        &self.at_ms
    }

    /// How long one round lasts: until its last opportunity.
    pub fn period_ms(&self) -> u64 {
        self.at_ms[self.at_ms.len() - 1]
    }

    /// The time of the opportunity under a cursor.
    pub(crate) fn time_ms(&self, cursor: Cursor) -> u64 {
        cursor.origin_ms + self.at_ms[cursor.index]
    }

    /// The cursor behind the opportunity under this one.
    pub(crate) fn after(&self, cursor: Cursor) -> Cursor {
        if cursor.index + 1 < self.at_ms.len() {
            return Cursor { index: cursor.index + 1, ..cursor };
        }
        Cursor { origin_ms: cursor.origin_ms + self.period_ms(), index: 0 }
    }

    /// The first opportunity after `now_ms` whole milliseconds.
    pub(crate) fn first_after(&self, now_ms: u64) -> Cursor {
        let period = self.period_ms();
        let origin_ms = now_ms / period * period;
        // The last time is the period, which what is left of `now_ms` never reaches: there is always one.
        let index = self.at_ms.partition_point(|&at| at <= now_ms - origin_ms);
        Cursor { origin_ms, index }
    }
}
