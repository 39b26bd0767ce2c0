//! Captures and frames as they are written.

pub(crate) mod air;
pub(crate) mod build;
pub(crate) mod dot11;
pub(crate) mod ethernet;
mod ip;
pub(crate) mod mac;
pub mod pcapng;
pub(crate) mod radiotap;
pub(crate) mod udp;
