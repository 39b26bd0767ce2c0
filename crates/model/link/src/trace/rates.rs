//! A rate that changes in steps, and again when it is over.
//!
//! Ours: there is no common format for it. The last rate lasts as long as the one before it, as in a series sampled at
//! even times; a lone rate lasts for ever. Left out: rates between the times (no interpolation).

use super::{RATES_HEADING, TraceError, seen, wrong};
use airperf_units::{Rate, Time};

/// More than a terabit per second is a mistake.
const MOST_BPS: f64 = 1e12;
/// Longer than 31 days is a mistake, as for the other form.
const LATEST_S: f64 = 31.0 * 86_400.0;

/// Rates by the time from which they are in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateSeries {
    /// Each with when it begins, nanoseconds into the round.
    steps: Box<[(u64, Rate)]>,
    period_ns: u64,
}

impl RateSeries {
    /// The same rate for ever.
    ///
    /// # Panics
    /// If it is 0, when nothing would ever be sent.
    pub fn constant(rate: Rate) -> Self {
        assert!(rate.as_bps() > 0, "a link that carries nothing is no link");
        Self { steps: [(0, rate)].into(), period_ns: u64::MAX }
    }

    /// Reads lines `time,rate` below the heading.
    pub(super) fn parse(text: &str) -> Result<Self, TraceError> {
        let mut steps: Vec<(u64, Rate)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()).skip(1) {
            let words = line.split_once(',').map(|(time, rate)| (number_of(time), number_of(rate)));
            let Some((Some(time), Some(rate))) = words else {
                return wrong(number, format!("{} is no line `{RATES_HEADING}`", seen(line)));
            };
            if !(0.0..=LATEST_S).contains(&time) || !(0.0..=MOST_BPS).contains(&rate) {
                return wrong(
                    number,
                    format!("{} is out of range: 31 days and 1 Tbit/s at most", seen(line)),
                );
            }
            let from_ns = (time * 1e9).round() as u64;
            match steps.last() {
                None if from_ns > 0 => {
                    return wrong(number, format!("begins at {time} s; the first time must be 0"));
                }
                Some(&(last, _)) if from_ns <= last => {
                    return wrong(number, format!("{time} s does not come after {} s", last as f64 / 1e9));
                }
                _ => steps.push((from_ns, Rate::bps(rate.round() as u64))),
            }
        }
        let period_ns = match steps[..] {
            [] => return wrong(0, "it has a heading and no rates"),
            [_] => u64::MAX,
            [.., (before, _), (last, _)] => last + (last - before),
        };
        if steps.iter().all(|(_, rate)| rate.as_bps() == 0) {
            return wrong(0, "every rate is 0; a trace must carry something");
        }
        Ok(Self { steps: steps.into(), period_ns })
    }

    /// The steps of one round: when each begins, in nanoseconds, and its rate.
    pub fn steps(&self) -> &[(u64, Rate)] {
        &self.steps
    }

    /// How long one round lasts in nanoseconds; `u64::MAX` for ever.
    pub const fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// The greatest rate.
    pub fn greatest(&self) -> Rate {
        self.steps.iter().map(|(_, rate)| *rate).max().unwrap_or(Rate::bps(0))
    }

    /// The rate in force from `at` on, and until when.
    pub(crate) fn at(&self, at: Time) -> (Rate, Time) {
        let into = at.as_ns() % self.period_ns;
        let origin = at.as_ns() - into;
        let next = self.steps.partition_point(|&(from, _)| from <= into);
        let until = self.steps.get(next).map_or(self.period_ns, |&(from, _)| from);
        (self.steps[next - 1].1, Time::from_ns(origin.saturating_add(until)))
    }
}

fn number_of(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}
