//! A number that changes in steps, and again when it is over.
//!
//! Ours: lines `time,value` below a heading that names both. The last value lasts as long as the one before it, as in a
//! series sampled at even times; a lone value lasts for ever. Left out: values between the times (no interpolation).

use super::{TraceError, seen, wrong};
use airperf_units::Time;
use std::ops::RangeInclusive;

/// Longer than 31 days is a mistake, as for schedules.
const LATEST_S: f64 = 31.0 * 86_400.0;

/// Values by the time from which they are in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Series<V> {
    /// Each with when it begins, nanoseconds into the round.
    steps: Box<[(u64, V)]>,
    period_ns: u64,
}

impl<V: Copy> Series<V> {
    /// The same value for ever.
    pub fn constant(value: V) -> Self {
        Self { steps: [(0, value)].into(), period_ns: u64::MAX }
    }

    /// Reads lines `time,value` below the heading, which is not looked at; `allowed` in words is for messages.
    ///
    /// # Errors
    /// The first line that does not fit, or that there is none.
    pub fn parse(
        text: &str,
        heading: &str,
        (allowed, in_words): (RangeInclusive<f64>, &str),
        of: impl Fn(f64) -> V,
    ) -> Result<Self, TraceError> {
        let mut steps: Vec<(u64, V)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()).skip(1) {
            let words = line.split_once(',').map(|(time, value)| (number_of(time), number_of(value)));
            let Some((Some(time), Some(value))) = words else {
                return wrong(number, format!("{} is no line `{heading}`", seen(line)));
            };
            if !(0.0..=LATEST_S).contains(&time) || !allowed.contains(&value) {
                return wrong(number, format!("{} is out of range: 31 days and {in_words}", seen(line)));
            }
            let from_ns = (time * 1e9).round() as u64;
            match steps.last() {
                None if from_ns > 0 => {
                    return wrong(number, format!("begins at {time} s; the first time must be 0"));
                }
                Some(&(last, _)) if from_ns <= last => {
                    return wrong(number, format!("{time} s does not come after {} s", last as f64 / 1e9));
                }
                _ => steps.push((from_ns, of(value))),
            }
        }
        let period_ns = match steps[..] {
            [] => return wrong(0, "it has a heading and no line below it"),
            [_] => u64::MAX,
            [.., (before, _), (last, _)] => last + (last - before),
        };
        Ok(Self { steps: steps.into(), period_ns })
    }

    /// The steps of one round: when each begins, in nanoseconds, and its value.
    pub fn steps(&self) -> &[(u64, V)] {
        &self.steps
    }

    /// How long one round lasts in nanoseconds; `u64::MAX` for ever.
    pub const fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// The value in force from `at` on, and until when.
    pub fn at(&self, at: Time) -> (V, Time) {
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
