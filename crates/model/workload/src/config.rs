//! What can be chosen about a workload.
//!
//! Left out so far: sessions, think times and random sizes.

use airperf_units::{ConfigError, Duration};

/// A mean number of arrivals per second, exact to a millionth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PerSecond {
    micro: u64,
}

impl PerSecond {
    /// `n` per second.
    pub const fn new(n: u64) -> Self {
        Self { micro: n * 1_000_000 }
    }

    /// `n` millionths per second.
    pub const fn from_micro(n: u64) -> Self {
        Self { micro: n }
    }

    /// Millionths per second.
    pub const fn as_micro(self) -> u64 {
        self.micro
    }

    /// Per second, for reports only.
    pub fn as_f64(self) -> f64 {
        self.micro as f64 / 1e6
    }
}

/// The process by which connections become due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArrivalProcess {
    /// Connection i exactly i/rate after the start.
    Deterministic,
    /// Independent exponential times between connections.
    Poisson,
    /// Poisson at a rate that follows fractional Gaussian noise, so that it varies on all time scales.
    SelfSimilar {
        /// The Hurst exponent, at least 0.5 (no memory) and below 1.
        hurst: f64,
    },
    /// Poisson while on, nothing while off; `rate` is the mean over both.
    OnOff {
        /// Mean of the exponential times on.
        on: Duration,
        /// Mean of the exponential times off.
        off: Duration,
    },
}

/// When a client begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// So long after the start of the run.
    At(Duration),
    /// Uniform within one mean time between arrivals.
    Random,
}

/// How many octets an object has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Always this many.
    Fixed(u64),
}

/// What one client wants, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The arrival process.
    pub arrivals: ArrivalProcess,
    /// Its mean rate, connections per second.
    pub rate: PerSecond,
    /// Its beginning.
    pub start: Start,
    /// Size of the objects fetched.
    pub size: Size,
}

impl Config {
    /// Largest object: sequence numbers of one connection must not wrap.
    pub const MAX_SIZE_BYTES: u64 = 1 << 31;

    /// Finds what no workload could be.
    ///
    /// # Errors
    /// The first impossible value, named.
    pub fn check(&self) -> Result<(), ConfigError> {
        let Size::Fixed(bytes) = self.size;
        let (hurst, on) = match self.arrivals {
            ArrivalProcess::SelfSimilar { hurst } => (hurst, true),
            ArrivalProcess::OnOff { on, .. } => (0.5, on > Duration::ZERO),
            ArrivalProcess::Deterministic | ArrivalProcess::Poisson => (0.5, true),
        };
        let rules = [
            ((0.5..1.0).contains(&hurst), "hurst must be at least 0.5 and below 1"),
            (on, "on must be positive"),
            (self.rate.as_micro() > 0, "rate must be positive"),
            (self.rate.as_micro() <= 1_000_000_000_000, "rate is at most 1,000,000/s"),
            (bytes <= Self::MAX_SIZE_BYTES, "size is at most 2GiB"),
        ];
        ConfigError::check("workload", &rules)
    }
}
