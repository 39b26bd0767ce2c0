//! Captures written here packet by packet, and what is found in them.

mod air;
mod annotate;
mod faults;
mod order;
mod script;
mod short_cuts;
mod whole;
