//! When users want something, and how much.
//!
//! SANS-IO: a [`Schedule`] is an iterator over demands, computed from a configuration and a named random
//! stream. Left out so far: sessions, pages and streams.

mod config;
mod fgn;
mod pace;
mod schedule;

pub use airperf_units::ConfigError;
pub use config::{ArrivalProcess, Config, PerSecond, Size, Start};
pub use fgn::fractional_noise;
pub use schedule::{Demand, Schedule};
