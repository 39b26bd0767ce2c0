//! A rate that changes in steps, and again when it is over.
//!
//! Left out: how steps are read and repeated; see [`super::series`].

use super::{RATES_HEADING, Series, TraceError, wrong};
use airperf_units::{Rate, Time};

/// More than a terabit per second is a mistake.
const MOST_BPS: f64 = 1e12;

/// Rates by the time from which they are in force.
#[derive(Clone, Debug, PartialEq)]
pub struct RateSeries(Series<Rate>);

impl RateSeries {
    /// The same rate for ever.
    ///
    /// # Panics
    /// If it is 0, when nothing would ever be sent.
    pub fn constant(rate: Rate) -> Self {
        assert!(rate.as_bps() > 0, "a link that carries nothing is no link");
        Self(Series::constant(rate))
    }

    /// Reads lines `time,rate` below the heading.
    pub(super) fn parse(text: &str) -> Result<Self, TraceError> {
        let allowed = (0.0..=MOST_BPS, "1 Tbit/s at most");
        let series = Series::parse(text, RATES_HEADING, allowed, |rate: f64| Rate::bps(rate.round() as u64))?;
        if series.steps().iter().all(|(_, rate)| rate.as_bps() == 0) {
            return wrong(0, "every rate is 0; a trace must carry something");
        }
        Ok(Self(series))
    }

    /// The steps of one round: when each begins, in nanoseconds, and its rate.
    pub fn steps(&self) -> &[(u64, Rate)] {
        self.0.steps()
    }

    /// How long one round lasts in nanoseconds; `u64::MAX` for ever.
    pub const fn period_ns(&self) -> u64 {
        self.0.period_ns()
    }

    /// The greatest rate.
    pub fn greatest(&self) -> Rate {
        self.steps().iter().map(|(_, rate)| *rate).max().unwrap_or(Rate::bps(0))
    }

    /// The rate in force from `at` on, and until when.
    pub(crate) fn at(&self, at: Time) -> (Rate, Time) {
        self.0.at(at)
    }
}
