//! What a simulated run came to in a few numbers: `summary.json`, at level `summary` in place of tables.
//!
//! Definitions are those of the columns (`docs/reference/records.md`), and `python/airperf/analysis/digest.py`
//! computes the same from tables. Quantiles are exact, with linear interpolation between order statistics
//! (type 7 of Hyndman and Fan 1996). Left out: anything over time.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{ConnectionRow, ERROR_PHASES, ExchangeRow};

/// Version of `summary.json`.
const SCHEMA: u32 = 1;

/// Sums over the rows of a run, which are not kept.
#[derive(Debug, Default)]
pub struct Digest {
    load_ns: u64,
    offered: u64,
    carried: u64,
    carried_bytes: u64,
    errors: [u64; ERROR_PHASES.len()],
    carried_by: BTreeMap<u16, u64>,
    response_ns: Vec<u64>,
    connection_ns: Vec<u64>,
    transaction_ns: Vec<u64>,
    single: Single,
}

/// Connections, opened and closed, that carried one exchange.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Single {
    connections: u64,
    segments_up: u64,
    segments_down: u64,
}

/// Times in milliseconds; `None` where there are none.
#[derive(Debug, Default, Serialize)]
struct Spread {
    n: usize,
    mean: Option<f64>,
    least: Option<f64>,
    most: Option<f64>,
    p50: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Summary<'a> {
    schema: u32,
    offered: u64,
    carried: u64,
    carried_bytes: u64,
    carried_by: &'a BTreeMap<u16, u64>,
    errors: BTreeMap<&'static str, u64>,
    response_ms: Spread,
    connection_ms: Spread,
    transaction_ms: Spread,
    single: Single,
}

impl Digest {
    /// Of a run that offers load for `load_ns` nanoseconds.
    pub fn new(load_ns: u64) -> Self {
        Self { load_ns, ..Self::default() }
    }

    /// Counts a row of `exchanges`.
    pub fn exchange(&mut self, row: &ExchangeRow) {
        self.offered += u64::from(row.due_ns.is_some_and(|due| due < self.load_ns));
        if let Some(place) = row.error.and_then(|e| ERROR_PHASES.iter().position(|phase| *phase == e)) {
            self.errors[place] += 1;
            return;
        }
        let Some(done) = row.done_ns else { return };
        if done <= self.load_ns {
            self.carried += 1;
            self.carried_bytes += row.response_bytes;
            *self.carried_by.entry(row.client).or_default() += 1;
        }
        if let Some(due) = row.due_ns.filter(|due| *due <= self.load_ns) {
            self.response_ns.push(done - due);
        }
    }

    /// Counts a row of `connections`, if it was opened and closed on the air.
    pub fn connection(&mut self, row: &ConnectionRow) {
        let (Some(first), Some(last)) = (row.first_frame_ns, row.last_frame_ns) else { return };
        if !matches!(row.class, "syn_fin" | "syn_rst") {
            return;
        }
        self.connection_ns.push(last - first);
        self.transaction_ns.extend(row.due_ns.map(|due| last - due));
        if row.exchanges == 1 {
            self.single.connections += 1;
            self.single.segments_up += u64::from(row.segments_up);
            self.single.segments_down += u64::from(row.segments_down);
        }
    }

    /// The text of `summary.json`.
    pub fn text(mut self) -> String {
        let summary = Summary {
            schema: SCHEMA,
            offered: self.offered,
            carried: self.carried,
            carried_bytes: self.carried_bytes,
            carried_by: &self.carried_by,
            errors: ERROR_PHASES.iter().copied().zip(self.errors).collect(),
            response_ms: spread(&mut self.response_ns),
            connection_ms: spread(&mut self.connection_ns),
            transaction_ms: spread(&mut self.transaction_ns),
            single: self.single,
        };
        serde_json::to_string_pretty(&summary).expect("a summary is plain data") + "\n"
    }
}

fn spread(times_ns: &mut [u64]) -> Spread {
    times_ns.sort_unstable();
    let (Some(least), Some(most)) = (times_ns.first(), times_ns.last()) else { return Spread::default() };
    let ms = |ns: f64| Some(ns / 1e6);
    let total: u128 = times_ns.iter().map(|ns| u128::from(*ns)).sum();
    Spread {
        n: times_ns.len(),
        mean: ms(total as f64 / times_ns.len() as f64),
        least: ms(*least as f64),
        most: ms(*most as f64),
        p50: ms(quantile(times_ns, 50)),
        p95: ms(quantile(times_ns, 95)),
        p99: ms(quantile(times_ns, 99)),
    }
}

/// The value that `percent` of the `sorted` ones lie below.
fn quantile(sorted: &[u64], percent: usize) -> f64 {
    let place = (sorted.len() - 1) * percent;
    let (low, part) = (sorted[place / 100], (place % 100) as f64 / 100.0);
    let high = sorted.get(place / 100 + 1).copied().unwrap_or(low);
    low as f64 + (high - low) as f64 * part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_order_statistics() {
        let mut times: Vec<u64> = (1..=5).rev().map(|ms| ms * 1_000_000).collect();
        let seen = spread(&mut times);
        assert_eq!((seen.n, seen.mean, seen.p50), (5, Some(3.0), Some(3.0)));
        assert_eq!((seen.least, seen.most), (Some(1.0), Some(5.0)));
        // 0.95 × 4 = 3.8: four fifths of the way from the fourth to the fifth.
        assert!((seen.p95.unwrap() - 4.8).abs() < 1e-12);
        assert!((seen.p99.unwrap() - 4.96).abs() < 1e-12);
        assert_eq!(spread(&mut [7_000_000]).p99, Some(7.0));
        assert_eq!(spread(&mut []).mean, None);
    }

    #[test]
    fn what_fails_or_drains_is_not_carried() {
        let mut digest = Digest::new(1_000);
        let row = |due, done, error| ExchangeRow {
            connection: 0,
            index: 0,
            client: 1,
            due_ns: Some(due),
            sent_ns: None,
            first_byte_ns: None,
            done_ns: done,
            request_bytes: 0,
            response_bytes: 10,
            error,
        };
        digest.exchange(&row(0, Some(400), None));
        digest.exchange(&row(900, Some(1_600), None));
        digest.exchange(&row(950, None, Some("reply")));
        digest.exchange(&row(1_000, Some(1_500), None));
        assert_eq!((digest.offered, digest.carried, digest.carried_bytes), (3, 1, 10));
        assert_eq!(digest.errors, [0, 0, 1, 0, 0]);
        assert_eq!(digest.response_ns, [400, 700, 500]);
        assert_eq!(digest.carried_by, BTreeMap::from([(1, 1)]));
    }
}
