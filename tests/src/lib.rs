//! What the workspace's tests share: ways to load a link, emulated runs that a machine had time for, and how to say
//! that a test is skipped.
//!
//! Leaves out transport: links are driven by their contract directly.

use std::io::Write;

pub mod in_time;
pub mod saturation;

/// Says, past the harness's capture, why a test is skipped: that must be seen.
pub fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "\nSKIPPED (1 test): {why}");
}
