//! IEEE 802.11 for one collision domain.

pub mod mac;
pub mod phy;

pub use mac::config::{Config, StationConfig};
