//! From packets seen to connections and exchanges.
//!
//! [`FlowTracker`] is told of every packet twice, when it is offered at its sender and when it is
//! delivered at its receiver, and gives rows of `connections` and `exchanges` and the TCP fields of
//! `packets`. It knows packets by their bytes alone, so it works for real programs and for captures.
//!
//! Reference: RFC 9293 (TCP), RFC 9112 (HTTP/1.1 message lengths). Leaves out what needs more than one
//! packet's place in its connection: round-trip times, the MAC's own retransmissions, HTTP/2 and TLS.

pub mod capture;
mod connection;
mod half;
mod http;
mod interval;
mod tracker;

pub use half::Novelty;
pub use interval::IntervalSet;
pub use tracker::{Counts, FlowTracker, Segment};
