//! When users want something, and how much.
//!
//! SANS-IO: a [`Schedule`] is an iterator over demands, computed from a configuration and a named random
//! stream. Left out so far: on/off and self-similar arrivals, sessions, pages and streams.

mod config;
mod schedule;

pub use config::{ArrivalProcess, Config, ConfigError, PerSecond, Size, Start};
pub use schedule::{Demand, Schedule};
