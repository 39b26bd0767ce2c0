//! When users want something, and how much.
//!
//! SANS-IO: a [`Schedule`] says when sessions are due, a [`Session`] what is requested in one and when; both are
//! computed from a configuration and named random streams, for the simulation as for a live generator. [`Datagrams`]
//! says when those of flows that are no Web are due, and a [`Meter`] how well they were served.

mod bulk;
mod config;
mod fgn;
mod pace;
mod schedule;
mod session;
mod stream;
mod users;
mod way;

pub use airperf_units::{ConfigError, Distribution};
pub use bulk::{Datagram, DatagramConfig, DatagramPace, Datagrams, FlowConfig, FlowKind, RTP_HEADER_BYTES};
pub use config::{ArrivalProcess, Config, PerSecond, Plain, SessionConfig, Start};
pub use fgn::fractional_noise;
pub use schedule::{Demand, Schedule};
pub use session::{Ending, Outcome, Page, Request, Session};
pub use stream::{Meter, Playout, Quality};
pub use users::Users;
pub use way::Way;
