//! The MAC: what one station chooses and remembers, and who transmits next.

pub mod config;
pub mod contention;
pub(crate) mod station;
pub(crate) mod timing;
