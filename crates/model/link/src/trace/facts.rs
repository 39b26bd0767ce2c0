//! What there is to say about a trace before anything is run over it.
//!
//! Rates are those of whole seconds of one round; a trace of less than a second is one of them. An opportunity counts
//! as 1500 bytes, which is what Mahimahi's documents say of it. Left out: autocorrelation, spectra.

use super::{Opportunities, RateSeries};

/// Octets of an opportunity in what is said about a trace.
const OPPORTUNITY_BYTES: f64 = 1500.0;

/// A summary of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// `opportunities` or `rates`.
    pub form: &'static str,
    /// Opportunities, or steps.
    pub entries: usize,
    /// Seconds of one round; infinite for a rate that never changes.
    pub duration_s: f64,
    /// Mean rate of one round, bit/s.
    pub mean_bps: f64,
    /// Rates of whole seconds, bit/s: the 5th, 25th, 50th, 75th and 95th percentile, nearest rank.
    pub percentiles_bps: [f64; 5],
    /// Longest time without an opportunity, or at rate 0, the way from the end to the beginning included; seconds.
    pub longest_gap_s: f64,
}

/// The percentiles of [`Facts::percentiles_bps`].
const PERCENTILES: [u8; 5] = [5, 25, 50, 75, 95];

impl Facts {
    /// Every percentile with its rate.
    pub fn percentiles(&self) -> [(u8, f64); 5] {
        std::array::from_fn(|index| (PERCENTILES[index], self.percentiles_bps[index]))
    }
}

fn percentiles(mut rates: Vec<f64>) -> [f64; 5] {
    rates.sort_by(f64::total_cmp);
    PERCENTILES.map(|percent| rates[(rates.len() * usize::from(percent)).div_ceil(100).max(1) - 1])
}

pub(super) fn of_opportunities(of: &Opportunities) -> Facts {
    let (at, period) = (of.at_ms(), of.period_ms());
    let mean_bps = at.len() as f64 * OPPORTUNITY_BYTES * 8.0 / (period as f64 / 1e3);
    let mut rates = vec![0.0; (period / 1000) as usize];
    for &ms in at {
        // A second ends with its last millisecond, as a round ends with its last opportunity.
        if let Some(rate) = rates.get_mut((ms.max(1) as usize - 1) / 1000) {
            *rate += OPPORTUNITY_BYTES * 8.0;
        }
    }
    if rates.is_empty() {
        rates.push(mean_bps);
    }
    let gaps = at.windows(2).map(|pair| pair[1] - pair[0]);
    Facts {
        form: "opportunities",
        entries: at.len(),
        duration_s: period as f64 / 1e3,
        mean_bps,
        percentiles_bps: percentiles(rates),
        longest_gap_s: gaps.fold(at[0], u64::max) as f64 / 1e3,
    }
}

pub(super) fn of_rates(of: &RateSeries) -> Facts {
    let steps = of.steps();
    let ends = steps.iter().skip(1).map(|&(from, _)| from).chain([of.period_ns()]);
    let spans: Vec<(f64, f64, f64)> = steps
        .iter()
        .zip(ends)
        .map(|(&(from, rate), until)| (from as f64 / 1e9, until as f64 / 1e9, rate.as_bps() as f64))
        .collect();
    if of.period_ns() == u64::MAX {
        let rate = spans[0].2;
        return Facts {
            form: "rates",
            entries: 1,
            duration_s: f64::INFINITY,
            mean_bps: rate,
            percentiles_bps: [rate; 5],
            longest_gap_s: 0.0,
        };
    }
    let duration_s = of.period_ns() as f64 / 1e9;
    let seconds = duration_s as usize;
    let mut rates = vec![0.0; seconds];
    for &(from, until, rate) in &spans {
        let last = (until.ceil() as usize).min(seconds);
        for (second, sum) in rates.iter_mut().enumerate().take(last).skip(from as usize) {
            let begins = second as f64;
            *sum += ((begins + 1.0).min(until) - begins.max(from)).max(0.0) * rate;
        }
    }
    let bits: f64 = spans.iter().map(|&(from, until, rate)| (until - from) * rate).sum();
    let mean_bps = bits / duration_s;
    if rates.is_empty() {
        rates.push(mean_bps);
    }
    // Twice around, so that a gap over the end is seen whole; a trace carries something, so none is endless.
    let (mut gap, mut longest_gap_s) = (0.0, 0.0_f64);
    for &(from, until, rate) in spans.iter().chain(&spans) {
        gap = if rate == 0.0 { gap + until - from } else { 0.0 };
        longest_gap_s = longest_gap_s.max(gap);
    }
    Facts {
        form: "rates",
        entries: steps.len(),
        duration_s,
        mean_bps,
        percentiles_bps: percentiles(rates),
        longest_gap_s,
    }
}
