//! CellReplay's light traces: the delay of a lone packet, and when those that follow it closely are delivered.
//!
//! Reference: W. Sentosa and others, "CellReplay: Towards accurate record-and-replay for cellular networks", NSDI 2025, and
//! its `cellular_queue.cc`. A line has a time, the base delay then, and how long after the first packet of a train each
//! further opportunity is, all in milliseconds. Left out: its offset of the delay by packet size.

use super::{TraceError, seen, wrong};

/// Longer than 31 days is a mistake, as for schedules.
const LATEST_MS: u64 = 31 * 86_400_000;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Train {
    pub(crate) at_ms: u64,
    pub(crate) delay_ms: u64,
    /// Never decreasing, never empty.
    pub(crate) after_ms: Box<[u64]>,
}

/// A light trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LightTrace {
    /// Three at least, as CellReplay wants; the first at 0, each later than the one before.
    trains: Box<[Train]>,
}

impl LightTrace {
    /// Reads lines of whole milliseconds with spaces between them: time, base delay, opportunities.
    ///
    /// # Errors
    /// The first line that does not fit, or that there are too few.
    ///
    /// ```
    /// use airperf_link::trace::LightTrace;
    /// assert!(LightTrace::parse("0 25 0 0 3\n1000 30 0 4\n2000 25 1\n").is_ok());
    /// assert_eq!(LightTrace::parse("0 25 0\n500 30 4 3\n900 25 1\n").unwrap_err().line, 2);
    /// ```
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut trains: Vec<Train> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let numbers: Option<Vec<u64>> = line
                .split_ascii_whitespace()
                .map(|word| {
                    word.parse()
                        .ok()
                        .filter(|ms| word.bytes().all(|b| b.is_ascii_digit()) && *ms <= LATEST_MS)
                })
                .collect();
            let Some([at_ms, delay_ms, after_ms @ ..]) = numbers.as_deref() else {
                return wrong(number, format!("{} is no line `time delay opportunity…` in ms", seen(line)));
            };
            if after_ms.is_empty() || !after_ms.is_sorted() {
                return wrong(number, "there must be opportunities, and their times must not decrease");
            }
            match trains.last() {
                None if *at_ms > 0 => {
                    return wrong(number, format!("begins at {at_ms} ms; the first time must be 0"));
                }
                Some(last) if *at_ms <= last.at_ms => {
                    return wrong(number, format!("{at_ms} ms does not come after {} ms", last.at_ms));
                }
                _ => {}
            }
            trains.push(Train { at_ms: *at_ms, delay_ms: *delay_ms, after_ms: after_ms.into() });
        }
        if trains.len() < 3 {
            return wrong(0, format!("it has {} lines; a light trace has three at least", trains.len()));
        }
        Ok(Self { trains: trains.into() })
    }

    pub(crate) fn trains(&self) -> &[Train] {
        &self.trains
    }
}
