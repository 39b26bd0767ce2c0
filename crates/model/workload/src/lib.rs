//! When users want something, and how much.
//!
//! SANS-IO: a [`Schedule`] says when sessions are due, a [`Session`] what is requested in one and when; both are
//! computed from a configuration and named random streams, for the simulation as for a live generator. Left out:
//! streams.

mod config;
mod distribution;
mod fgn;
mod pace;
mod schedule;
mod session;

pub use airperf_units::ConfigError;
pub use config::{ArrivalProcess, Config, PerSecond, Plain, SessionConfig, Start};
pub use distribution::Distribution;
pub use fgn::fractional_noise;
pub use schedule::{Demand, Schedule};
pub use session::{Ending, Outcome, Page, Request, Session};
