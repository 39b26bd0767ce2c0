//! Quantities every other crate speaks in, and the random streams every model draws from.
//!
//! Time is an integer count of nanoseconds since the start of a run, so that arithmetic is exact
//! and a run is the same in debug and release, on any machine. Nothing here reads a clock.
//!
//! Left out: wall-clock time (the testbeds own it) and quantities no model uses yet.

mod config;
mod distribution;
mod erasure;
mod random;
mod time;

pub use config::ConfigError;
pub use distribution::Distribution;
pub use erasure::repairs_needed;
pub use random::{Stream, StreamKey};
pub use time::{Duration, Time};

use std::fmt;

/// A link rate in bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// A rate of `bps` bits per second.
    pub const fn bps(bps: u64) -> Self {
        Self(bps)
    }

    /// A rate of `kbps` thousand bits per second.
    pub const fn kbps(kbps: u64) -> Self {
        Self(kbps * 1_000)
    }

    /// A rate of `mbps` million bits per second.
    pub const fn mbps(mbps: u64) -> Self {
        Self(mbps * 1_000_000)
    }

    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// The time `bytes` take at this rate, rounded up to whole nanoseconds.
    ///
    /// # Panics
    /// If the rate is zero.
    pub const fn time_for(self, bytes: u64) -> Duration {
        Duration::from_ns((bytes * 8 * 1_000_000_000).div_ceil(self.0))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b if b >= 1_000_000 => write!(f, "{}Mbit/s", b as f64 / 1e6),
            b if b >= 1_000 => write!(f, "{}kbit/s", b as f64 / 1e3),
            b => write!(f, "{b}bit/s"),
        }
    }
}
