//! Numbers that theory gives and the models must meet.

mod bianchi;
mod dcf_table;
mod throughput;

/// Asserts that `ours` is within `tolerance` (a share) of `published`, naming both.
#[track_caller]
fn close(what: &str, ours: f64, published: f64, tolerance: f64) {
    let off = (ours - published) / published;
    assert!(
        off.abs() <= tolerance,
        "{what}: ours {ours:.4}, published {published:.4}, off by {:.2}%",
        off * 100.0
    );
}
