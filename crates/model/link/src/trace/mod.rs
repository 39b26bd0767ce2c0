//! Link traces: how much a link could carry when, read from text.
//!
//! Two forms. A *schedule of delivery opportunities*, as Mahimahi has it (Netravali et al., "Mahimahi: accurate
//! record-and-replay for HTTP", USENIX ATC 2015; its `traces/README`): one time in milliseconds per line, each an
//! opportunity for one packet of 1500 bytes. A *series of rates*: lines `time,rate` below the heading
//! `time_s,rate_bps`, each rate in force until the next time. Both begin again when they are over.
//!
//! Left out: files (the caller reads them), and traces of delay or loss.

mod facts;
mod light;
mod opportunities;
mod rates;
mod series;

pub use facts::Facts;
pub use light::LightTrace;
pub(crate) use opportunities::Cursor;
pub use opportunities::Opportunities;
pub use rates::RateSeries;
pub use series::Series;

use std::sync::Arc;

/// The heading that says that a trace is a series of rates.
pub const RATES_HEADING: &str = "time_s,rate_bps";

/// A link trace.
#[derive(Clone, Debug, PartialEq)]
pub enum Trace {
    /// Opportunities to deliver a packet.
    Opportunities(Arc<Opportunities>),
    /// Rates.
    Rates(Arc<RateSeries>),
}

/// A text that is no trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// The line at fault, from 1; 0 when it is the text as a whole.
    pub line: usize,
    /// What is wrong with it, and what was seen.
    pub message: String,
}

impl std::fmt::Display for TraceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => f.write_str(&self.message),
            line => write!(f, "line {line}: {}", self.message),
        }
    }
}

impl std::error::Error for TraceError {}

fn wrong<T>(line: usize, message: impl Into<String>) -> Result<T, TraceError> {
    Err(TraceError { line, message: message.into() })
}

/// A line for a message, cut to what a person reads.
fn seen(text: &str) -> String {
    let cut: String = text.chars().take(40).flat_map(char::escape_default).collect();
    if text.chars().count() > 40 { format!("`{cut}…`") } else { format!("`{cut}`") }
}

impl Trace {
    /// Reads a trace of either form.
    ///
    /// # Errors
    /// The first line that does not fit, or that the text says nothing.
    ///
    /// ```
    /// use airperf_link::trace::Trace;
    /// let twelve_megabit = Trace::parse("1\n").expect("one packet every millisecond");
    /// assert_eq!(twelve_megabit.facts().mean_bps, 12e6);
    /// assert_eq!(Trace::parse("5\n3\n").unwrap_err().line, 2);
    /// ```
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.lines().next().map(str::trim_end) == Some(RATES_HEADING) {
            return Ok(Self::Rates(Arc::new(RateSeries::parse(text)?)));
        }
        Ok(Self::Opportunities(Arc::new(Opportunities::parse(text)?)))
    }

    /// It in Mahimahi's format, one round, of a series of rates at most `until_ms`.
    ///
    /// # Errors
    /// A series of rates that no schedule can carry ([`Opportunities::of_rates`]).
    pub fn to_mahimahi(&self, until_ms: u64) -> Result<String, TraceError> {
        match self {
            Self::Opportunities(of) => Ok(of.to_text()),
            Self::Rates(of) => Ok(Opportunities::of_rates(of, until_ms)?.to_text()),
        }
    }

    /// What there is to say about it.
    pub fn facts(&self) -> Facts {
        match self {
            Self::Opportunities(of) => facts::of_opportunities(of),
            Self::Rates(of) => facts::of_rates(of),
        }
    }
}

#[cfg(test)]
mod tests;
