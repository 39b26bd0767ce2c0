//! What the workspace's tests share: ways to load a link.
//!
//! Leaves out transport: these drive the link contract directly.

pub mod saturation;
