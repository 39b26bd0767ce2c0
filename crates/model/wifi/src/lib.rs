//! IEEE 802.11 as a link: PHY tables, the DCF, and a medium that decides who hears whom.
//!
//! - [`phy`]: what a frame costs in time; a new PHY is a new table.
//! - [`mac`]: one station's queue, window and retries; whose turn it is.
//! - [`Domain`]: one collision domain of any number of stations, with one event per frame exchange.
//!
//! Reference: IEEE 802.11-2020 clauses 10.3 (DCF), 15 and 16 (DSSS, HR/DSSS). Left out so far: hidden
//! stations, signal strength, infrastructure mode, fragmentation, power save, EDCA, later PHYs.

pub mod mac;
mod medium;
pub mod phy;

pub use mac::config::{Config, ConfigError, Fade, StationConfig};
pub use mac::timing::SSID;
pub use medium::{Category, Domain};
