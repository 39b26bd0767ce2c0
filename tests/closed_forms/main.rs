//! Numbers that theory gives and the models must meet.

mod bianchi;
mod bianchi_equations;
mod dcf_table;
mod throughput;

/// Asserts that `ours` is within `tolerance` (a share) of `published`, naming both; `make conform` collects the
/// rows that this prints.
#[track_caller]
fn close(what: &str, ours: f64, published: f64, tolerance: f64) {
    let off = (ours - published) / published;
    println!("| {what} | {ours:.4} | {published:.4} | {:+.2}% | ±{}% |", off * 100.0, tolerance * 100.0);
    assert!(
        off.abs() <= tolerance,
        "{what}: ours {ours:.4}, published {published:.4}, off by {:.2}%",
        off * 100.0
    );
}
