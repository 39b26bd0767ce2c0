//! Views of packets where they lie: nothing is copied, nothing past what was captured is read.
//!
//! [`decoder`] reads a frame as far as the packet in it; the other modules read one header each. What is wrong is told
//! by name ([`anomaly`]), never passed over. Leaves out whatever takes more than one frame to tell.

pub(crate) mod anomaly;
pub(crate) mod bytes;
pub(crate) mod checksum;
mod cooked;
pub(crate) mod decoder;
pub(crate) mod describe;
pub(crate) mod dot11;
pub(crate) mod fcs;
pub(crate) mod frame;
pub(crate) mod ip;
pub(crate) mod ipv4;
pub(crate) mod ipv6;
pub(crate) mod layers;
pub(crate) mod plain;
pub(crate) mod radio;
pub(crate) mod tcp;
pub(crate) mod tcp_option;
mod tunnel;
pub(crate) mod udp;

use dot11::amsdu;
