//! The MAC of one station.

pub mod config;
