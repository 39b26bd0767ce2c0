//! A radio channel over time, read from text: what a drive or a walk recorded, or made up.
//!
//! Lines `time,value` below the heading `time_s,block_error` (the share of radio blocks lost, whatever their scheme) or
//! `time_s,ci_db` (carrier over interference, from which with the scheme it follows); each in force until the next, the
//! last as long as the one before it, then the series begins again. Left out: files, and channels that differ by
//! direction.

use crate::config::BlockError;
use crate::scheme::Scheme;
use airperf_link::trace::{Series, TraceError};
use airperf_units::Time;

/// Shares of blocks lost, or C/I in dB, by the time from which they are in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    series: Series<f64>,
    is_error: bool,
}

impl Channel {
    /// The headings that say what is in a series: shares of blocks lost, or C/I.
    pub const HEADINGS: [&'static str; 2] = ["time_s,block_error", "time_s,ci_db"];

    /// Reads a series of either kind.
    ///
    /// # Errors
    /// The first line that does not fit, or that the heading is neither.
    ///
    /// ```
    /// use airperf_wwan::Channel;
    /// let tunnel = Channel::parse("time_s,ci_db\n0,14\n20,2\n25,14\n").expect("a channel");
    /// assert_eq!(tunnel.steps().len(), 3);
    /// assert_eq!(Channel::parse("time_s,block_error\n0,1.5\n").unwrap_err().line, 2);
    /// ```
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let first = text.lines().next().map_or("", str::trim_end);
        let [error, ci] = Self::HEADINGS;
        let is_error = first == error;
        let allowed = match first {
            _ if is_error => (0.0..=1.0, "a share from 0 to 1"),
            _ if first == ci => (-50.0..=50.0, "-50 to 50 dB"),
            _ => {
                let message = format!("the heading is neither `{error}` nor `{ci}`");
                return Err(TraceError { line: 1, message });
            }
        };
        let series = Series::parse(text, first, allowed, |value| value)?;
        if is_error && series.steps().iter().all(|(_, share)| *share == 1.0) {
            return Err(TraceError { line: 0, message: "every block is lost; some must arrive".to_owned() });
        }
        Ok(Self { series, is_error })
    }

    /// The steps of one round: when each begins, in nanoseconds, and its value.
    pub fn steps(&self) -> &[(u64, f64)] {
        self.series.steps()
    }

    /// The probability that a block of a scheme, sent at `now`, is lost.
    pub(crate) fn block_error(&self, now: Time, scheme: &Scheme) -> f64 {
        let (value, _) = self.series.at(now);
        if self.is_error { value } else { BlockError::at(scheme, value) }
    }
}
