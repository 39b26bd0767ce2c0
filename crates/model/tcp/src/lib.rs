//! TCP endpoints as state machines: handshake to TIME-WAIT, retransmission, congestion control, delayed
//! acknowledgements and the listening side's limits, in the flavour of a stated kernel.
//!
//! Reference: RFC 9293, 5681, 6298, 6582, 6675, 3522, 7323, 2018 and the Linux kernels the profiles of [`Config`]
//! name. SANS-IO: time is an argument, segments go to a [`Transmit`]; nothing is allocated, except where data is
//! missing and to find an ensemble's share.
//!
//! Left out: octets (a segment says how many), addresses, CUBIC, ECN, urgent data.

mod ack;
mod cc;
mod config;
mod endpoint;
mod listen;
mod ranges;
mod reorder;
mod rtt;
mod scoreboard;
mod segment;
mod shared;
mod stack;

pub use airperf_units::ConfigError;
pub use cc::Congestion;
pub use config::Config;
pub use endpoint::{Endpoint, HalfOpen, Signals, State, Transmit};
pub use listen::Listener;
pub use segment::{Flags, IP_HEADER_BYTES, MAX_STREAM_BYTES, Segment};
pub use shared::{Inherited, Shared, SharedState};
pub use stack::Stack;
