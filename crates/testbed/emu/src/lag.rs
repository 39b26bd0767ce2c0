//! How late the emulator was: a histogram with fixed bins, and percentiles that never flatter.
//!
//! Bins are 1 µs wide up to 1 ms, 10 µs up to 10 ms, 100 µs up to 100 ms and one beyond, so that
//! recording costs one addition and a percentile is known to 1 % or 1 µs. A percentile is the upper
//! edge of its bin.

use airperf_units::Duration;

const FINE: u64 = 1_000; // bins of 1 µs
const MIDDLE: u64 = 900; // bins of 10 µs
const COARSE: u64 = 900; // bins of 100 µs
const BINS: usize = (FINE + MIDDLE + COARSE + 1) as usize;

/// A histogram of lateness.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
    max: Duration,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BINS], total: 0, max: Duration::ZERO }
    }
}

impl Histogram {
    /// Counts one lateness.
    #[inline]
    pub(crate) fn record(&mut self, late: Duration) {
        self.counts[bin_of(late)] += 1;
        self.total += 1;
        self.max = self.max.max(late);
    }

    /// How many were counted.
    pub(crate) const fn total(&self) -> u64 {
        self.total
    }

    /// The largest, exactly.
    pub(crate) const fn max(&self) -> Duration {
        self.max
    }

    /// The lateness that a share `q` of the counted stayed below; `None` when nothing was counted.
    pub(crate) fn percentile(&self, q: f64) -> Option<Duration> {
        let wanted = ((self.total as f64 * q).ceil() as u64).max(1);
        let mut seen = 0;
        for (bin, &count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Some(edges(bin).1.min(self.max));
            }
        }
        None
    }

    /// The bins that are not empty: lower edge, upper edge (not included), count.
    pub(crate) fn bins(&self) -> impl Iterator<Item = (Duration, Duration, u64)> + '_ {
        self.counts.iter().enumerate().filter(|&(_, &count)| count > 0).map(|(bin, &count)| {
            let (from, below) = edges(bin);
            (from, below.max(if bin + 1 == BINS { self.max + Duration::from_ns(1) } else { below }), count)
        })
    }
}

fn bin_of(late: Duration) -> usize {
    let us = late.as_ns() / 1_000;
    let bin = match us {
        0..1_000 => us,
        1_000..10_000 => FINE + (us - 1_000) / 10,
        10_000..100_000 => FINE + MIDDLE + (us - 10_000) / 100,
        _ => FINE + MIDDLE + COARSE,
    };
    bin as usize
}

fn edges(bin: usize) -> (Duration, Duration) {
    let bin = bin as u64;
    let (from, width) = match bin {
        0..FINE => (bin, 1),
        b if b < FINE + MIDDLE => (1_000 + (b - FINE) * 10, 10),
        b if b < FINE + MIDDLE + COARSE => (10_000 + (b - FINE - MIDDLE) * 100, 100),
        _ => return (Duration::from_ms(100), Duration::from_secs(3600)),
    };
    (Duration::from_us(from), Duration::from_us(from + width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bin_holds_what_its_edges_say() {
        for ns in [0, 999, 1_000, 999_999, 1_000_000, 9_999_999, 10_000_000, 99_999_999, 100_000_000] {
            let late = Duration::from_ns(ns);
            let (from, below) = edges(bin_of(late));
            assert!(from <= late && late < below, "{late} not in {from}..{below}");
        }
    }

    #[test]
    fn percentiles_are_never_too_small() {
        let mut h = Histogram::default();
        assert_eq!(h.percentile(0.5), None);
        for us in 1..=1_000 {
            h.record(Duration::from_ns(us * 1_000 + 300));
        }
        let p = |q| h.percentile(q).unwrap().as_ns();
        assert_eq!(p(0.5), 501_000);
        assert_eq!(p(0.99), 991_000);
        assert_eq!(p(1.0), 1_000_300); // not above the largest
        assert_eq!(h.max().as_ns(), 1_000_300);
        assert_eq!(h.bins().map(|(_, _, n)| n).sum::<u64>(), 1_000);
    }
}
