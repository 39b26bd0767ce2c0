//! A reliable stream over datagrams for a link of known rate, with forward error correction: what two halves of a proxy can
//! speak to each other in place of TCP.
//!
//! The two ends know each other and the link, so there is no handshake and nothing to probe: datagrams are *paced* at
//! the link's rate, acknowledged *selectively*, and followed by *repair* datagrams of which any as many as were lost
//! restore a group, without the round trip that a repetition takes. The number of repair datagrams can follow the loss, and
//! a group that is not full waits no longer than a stated time for its repair. References: RFC 9002 (loss detection by packet
//! number, probe timeout), RFC 6298 (round trip), RFC 6363 (the framework for FEC). The protocol is ours.
//!
//! SANS-IO as `airperf_tcp`: time is an argument, datagrams go to a [`Transmit`]. A datagram says how many octets it has,
//! not which.
//!
//! - [`Endpoint`]: one end, for both directions. [`Config`], [`Fec`]: what can be chosen. [`Datagram`]: what is sent.
//!
//! Left out: handshake and encryption, congestion control (a link that others share needs it), several streams, a window of
//! the receiver's, codes that are not perfect.

mod config;
mod datagram;
mod endpoint;
mod receiver;
mod sender;

pub use config::{Config, Fec};
pub use datagram::{Ack, Datagram, HEADER_BYTES, Piece, Repair};
pub use endpoint::{Endpoint, Transmit};
