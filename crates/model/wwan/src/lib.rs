//! Wide-area wireless: GPRS, and EDGE by another table.
//!
//! A packet waits in the queue of the logical link, is cut into radio blocks of 20 ms, which are sent on the time slots
//! of a temporary block flow and sent again until they are acknowledged. What makes such a network slow is all here:
//! the time to set up a block flow, the few octets a block, the retransmissions, the outages. References: 3GPP TS 44.060
//! (RLC/MAC), TS 45.002 (multiplexing), TS 44.064 and 44.065 (LLC, SNDCP), and osmo-pcu, an open implementation, where
//! the standard leaves a value to the network.
//!
//! - [`Gprs`]: the link. [`Config`]: what can be chosen. [`Family`], [`Scheme`]: coding schemes.
//! - [`defaults`]: values that are the network's to choose, and why they are what they are.
//!
//! Left out: time slots shared by several mobiles, LLC's acknowledged mode, mobility and cell changes, signalling blocks
//! as frames, power saving, voice that takes the slots away.

mod bearer;
mod channel;
mod config;
pub mod defaults;
mod gprs;
mod radio;
mod rlc;
mod scheme;

pub use channel::Channel;
pub use config::{Adaptation, BlockError, Config, Direction, Fading, Fec, Stalls, StationConfig};
pub use gprs::Gprs;
pub use scheme::{Family, Scheme};
