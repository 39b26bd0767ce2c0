//! The simulated testbed: a scenario's link, TCP, programs and users in virtual time.
//!
//! [`simulate()`] jumps from event to event and returns sums; an [`Observer`] sees everything on the way and
//! costs nothing where it looks away. [`run()`] adds the observer that writes a run directory: tables, capture,
//! manifest. The link is the very model that the emulated testbed drives in real time; hosts are
//! [`airperf_tcp`], [`airperf_http`] and [`airperf_workload`].
//!
//! Same scenario and seed, same bytes, on any machine. Left out: hosts that route for others, several
//! stations with servers, IP fragments.

mod connection;
mod flows;
mod gate;
mod net;
mod observer;
mod payload;
mod pressure;
mod record;
mod run;
mod server;
mod simulate;
mod timers;
mod totals;
mod visits;
mod world;

pub use flows::FlowEnded;
pub use observer::{Ended, Observer, Opened};
pub use payload::Payload;
pub use run::{RunError, run};
pub use simulate::{SimulateError, Simulated, simulate, simulate_over};
pub use totals::Totals;
pub use visits::ObjectSeen;
