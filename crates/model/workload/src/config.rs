//! What can be chosen about a workload.
//!
//! Left out so far: on/off and self-similar arrivals, sessions, think times and random sizes.

use airperf_units::Duration;
use std::fmt;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalProcess {
    /// Connection i exactly i/rate after the start.
    Deterministic,
    /// Independent exponential times between connections.
    Poisson,
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
        let rules = [
            (self.rate.as_micro() > 0, "rate must be positive"),
            (self.rate.as_micro() <= 1_000_000_000_000, "rate is at most 1,000,000/s"),
            (bytes <= Self::MAX_SIZE_BYTES, "size is at most 2GiB"),
        ];
        match rules.iter().find(|(holds, _)| !holds) {
            Some((_, why)) => Err(ConfigError(why)),
            None => Ok(()),
        }
    }
}

/// A configuration that no workload could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigError(&'static str);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "workload: {}", self.0)
    }
}

impl std::error::Error for ConfigError {}
