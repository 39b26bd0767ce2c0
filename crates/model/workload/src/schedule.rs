//! When sessions become due: pure functions of the configuration and a random stream.
//!
//! Open loop: nothing that happens in a session moves the next one. Deterministic arrivals are computed
//! from their index, not by adding up intervals, so they never drift.

use crate::config::{ArrivalProcess, Config, Start};
use crate::pace::Pace;
use airperf_units::{Duration, Stream, StreamKey, Time};

/// A session that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// When.
    pub due: Time,
    /// Its number among this client's, from 0.
    pub session: u64,
}

/// The demands of one client, in order of time.
#[derive(Clone, Debug)]
pub struct Schedule {
    config: Config,
    origin: Time,
    end: Time,
    index: u64,
    /// Poisson: the last arrival.
    last: Time,
    stream: Stream,
    /// What modulates a Poisson process.
    pace: Option<Pace>,
}

impl Schedule {
    /// The demands of the `client`-th client up to, not including, `end`.
    pub fn new(config: Config, end: Time, key: &StreamKey, client: u64) -> Self {
        let origin = match config.start {
            Start::At(offset) => Time::ZERO + offset,
            Start::Random => {
                let interval = match config.arrivals {
                    ArrivalProcess::Once => config.session.think_time.mean() as u64,
                    _ => interval_ns(1, config.rate.as_micro()),
                };
                let share = key.indexed("start", client).unit();
                Time::ZERO + Duration::from_ns(interval).mul_f64(share)
            }
        };
        let pace = Pace::of(&config, origin, end, key, client);
        Self { config, origin, end, index: 0, last: origin, stream: key.indexed("arrivals", client), pace }
    }
}

impl Schedule {
    /// When it begins.
    pub const fn origin(&self) -> Time {
        self.origin
    }
}

impl Iterator for Schedule {
    type Item = Demand;

    fn next(&mut self) -> Option<Demand> {
        let rate = self.config.rate.as_micro();
        let due = match self.config.arrivals {
            ArrivalProcess::Deterministic => self.origin + Duration::from_ns(interval_ns(self.index, rate)),
            ArrivalProcess::Once if self.index > 0 => return None,
            ArrivalProcess::Once => self.origin,
            ArrivalProcess::Poisson | ArrivalProcess::SelfSimilar { .. } | ArrivalProcess::OnOff { .. } => {
                let gap = self.stream.exponential(Duration::from_ns(interval_ns(1, rate)));
                self.last = match &mut self.pace {
                    None => self.last + gap,
                    Some(pace) => pace.advance(gap, self.end)?,
                };
                self.last
            }
        };
        if due >= self.end {
            return None;
        }
        let session = self.index;
        self.index += 1;
        Some(Demand { due, session })
    }
}

/// `count` intervals at `micro` millionths per second, rounded down to a nanosecond once.
fn interval_ns(count: u64, micro: u64) -> u64 {
    (u128::from(count) * 1_000_000_000_000_000 / u128::from(micro)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PerSecond;

    fn schedule(arrivals: ArrivalProcess, rate: PerSecond, start: Start, seconds: u64) -> Schedule {
        let config = Config { arrivals, rate, start, ..Config::default() };
        Schedule::new(config, Time::ZERO + Duration::from_secs(seconds), &StreamKey::new(1), 0)
    }

    #[test]
    fn deterministic_arrivals_do_not_drift() {
        let s = schedule(ArrivalProcess::Deterministic, PerSecond::new(3), Start::At(Duration::ZERO), 86_400);
        let all: Vec<_> = s.collect();
        assert_eq!(all.len(), 3 * 86_400);
        assert_eq!(all[3 * 86_399].due, Time::from_ns(86_399_000_000_000));
        assert_eq!(all[1].due, Time::from_ns(333_333_333));
    }

    #[test]
    fn the_offset_moves_all_arrivals_and_the_end_stays() {
        let start = Start::At(Duration::from_ms(50));
        let all: Vec<_> = schedule(ArrivalProcess::Deterministic, PerSecond::new(10), start, 1).collect();
        assert_eq!(all.len(), 10);
        assert_eq!(all[9].due, Time::from_ns(950_000_000));
    }

    #[test]
    fn poisson_gaps_are_exponential() {
        let s = schedule(ArrivalProcess::Poisson, PerSecond::new(100), Start::At(Duration::ZERO), 2_000);
        let due: Vec<f64> = s.map(|d| d.due.as_secs_f64()).collect();
        let n = due.len() as f64;
        assert!((n - 200_000.0).abs() < 4.0 * 200_000f64.sqrt(), "{n} arrivals");
        let gaps: Vec<f64> = due.windows(2).map(|w| w[1] - w[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let var = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((var.sqrt() / mean - 1.0).abs() < 0.02, "coefficient of variation {}", var.sqrt() / mean);
    }

    /// Connections in each second, over many independent clients.
    fn counts(arrivals: ArrivalProcess, rate: u64, seconds: usize, clients: u64) -> Vec<Vec<f64>> {
        let config = Config { arrivals, rate: PerSecond::new(rate), ..Config::default() };
        let end = Time::ZERO + Duration::from_secs(seconds as u64);
        let of = |client| {
            let mut each = vec![0.0; seconds];
            let mut last = Time::ZERO;
            for demand in Schedule::new(config.clone(), end, &StreamKey::new(4), client) {
                assert!(demand.due >= last && demand.due < end, "in order and in time");
                last = demand.due;
                each[demand.due.as_secs_f64() as usize] += 1.0;
            }
            each
        };
        (0..clients).map(of).collect()
    }

    /// Mean and variance of the counts of a second.
    fn moments(counts: &[Vec<f64>]) -> (f64, f64) {
        let n = counts.iter().map(Vec::len).sum::<usize>() as f64;
        let mean = counts.iter().flatten().sum::<f64>() / n;
        (mean, counts.iter().flatten().map(|c| (c - mean).powi(2)).sum::<f64>() / n)
    }

    /// Counts of a second: Poisson's variance, and that of the rate's ten bins, (0.3 rate)^2 10^(2H-2).
    #[test]
    fn self_similar_arrivals_have_their_mean_their_variance_and_their_memory() {
        for hurst in [0.5, 0.8, 0.9] {
            let counts = counts(ArrivalProcess::SelfSimilar { hurst }, 100, 32, 2_000);
            let (mean, variance) = moments(&counts);
            assert!((mean - 100.0).abs() < 0.5, "H {hurst}: mean {mean}");
            let of_rate = 900.0 * libm::pow(10.0, 2.0 * hurst - 2.0);
            assert!((variance / (100.0 + of_rate) - 1.0).abs() < 0.05, "H {hurst}: variance {variance}");
            for lag in [1, 4, 16] {
                let products = counts.iter().map(|c| (c[0] - 100.0) * (c[lag] - 100.0));
                let seen = products.sum::<f64>() / counts.len() as f64;
                let expected = of_rate * crate::fgn::autocovariance(hurst, lag);
                let error = 4.0 * (100.0 + of_rate) * libm::sqrt(2.0 / counts.len() as f64);
                assert!(
                    (seen - expected).abs() < error,
                    "H {hurst}, {lag} s apart: {seen}, expected {expected}"
                );
            }
        }
    }

    /// With exponential times the covariance of the state falls as e^(-t (1/on + 1/off)).
    #[test]
    fn on_off_arrivals_have_their_mean_and_are_more_variable_than_poisson() {
        let (on, off) = (Duration::from_secs(2), Duration::from_secs(6));
        let counts = counts(ArrivalProcess::OnOff { on, off }, 100, 64, 2_000);
        let (mean, variance) = moments(&counts);
        // Rate 400/s a quarter of the time: variance 30,000, averaged over a second of memory 1.5 s.
        let tau = 1.5;
        let averaged = 2.0 * tau * (1.0 - tau * (1.0 - libm::exp(-1.0 / tau)));
        assert!((mean / 100.0 - 1.0).abs() < 0.05, "mean {mean}");
        let expected = 100.0 + 30_000.0 * averaged;
        assert!((variance / expected - 1.0).abs() < 0.05, "variance {variance}, expected {expected}");
    }

    #[test]
    fn random_starts_differ_between_clients_and_stay_within_one_interval() {
        let config = Config { rate: PerSecond::new(10), start: Start::Random, ..Config::default() };
        let first = |client| {
            let end = Time::ZERO + Duration::from_secs(1);
            Schedule::new(config.clone(), end, &StreamKey::new(1), client).next().unwrap().due
        };
        assert_ne!(first(0), first(1));
        assert!((0..50).all(|c| first(c) < Time::ZERO + Duration::from_ms(100)));
    }
}
