//! What surrounds emulated runs: what they need, repeating one, and clearing up after a killed one.
//!
//! Left out: deciding what to do about a need; that is the command line's.

use crate::error;
use airperf_emu::FrameDifference;
use airperf_record::FrameRow;
use pyo3::prelude::*;
use serde_json::{Value as Json, json};
use std::path::PathBuf;

/// Adds the functions to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(probe, module)?)?;
    module.add_function(wrap_pyfunction!(replay, module)?)?;
    module.add_function(wrap_pyfunction!(clean, module)?)
}

/// Looks at everything emulation needs.
///
/// Returns:
///     JSON: a list of objects with "name", "ok", "required" (whether emulation is impossible without
///     it), "why" (what was seen) and "remedy" (empty when it is there).
#[pyfunction]
fn probe(py: Python<'_>) -> String {
    let needs: Vec<Json> = py
        .detach(airperf_emu::probe)
        .into_iter()
        .map(|need| {
            json!({
                "name": need.name,
                "ok": need.ok,
                "required": need.required,
                "why": need.why,
                "remedy": need.remedy,
            })
        })
        .collect();
    Json::from(needs).to_string()
}

/// Repeats an emulated run in virtual time and compares its frames with those of the run.
///
/// Args:
///     run_dir: A run directory with an arrivals log and frames.
///
/// Returns:
///     JSON: "identical", "frames" (how many were repeated identically) and "first_difference": null, or
///     an object with "frame" (its number, from 0), "run" and "replay" (the two rows, or null where one
///     had ended).
///
/// Raises:
///     RecordsError: When the directory is no emulated run with frames, or is damaged.
#[pyfunction]
fn replay(py: Python<'_>, run_dir: PathBuf) -> PyResult<String> {
    let replayed = py.detach(|| airperf_emu::replay(&run_dir)).map_err(|error| error::replay(&error))?;
    let answer = json!({
        "identical": replayed.first_difference.is_none(),
        "frames": replayed.frames,
        "first_difference": replayed.first_difference.as_ref().map(difference),
    });
    Ok(answer.to_string())
}

fn difference(at: &FrameDifference) -> Json {
    let row = |row: &FrameRow| {
        json!({
            "start_ns": row.start_ns,
            "end_ns": row.end_ns,
            "station": row.station,
            "to": row.to,
            "kind": row.kind,
            "rate_bps": row.rate_bps,
            "bytes": row.bytes,
            "sequence": row.sequence,
            "attempt": row.attempt,
            "outcome": row.outcome,
            "sniffer": row.sniffer,
            "packet": row.packet,
        })
    };
    json!({ "frame": at.frame, "run": at.run.as_ref().map(row), "replay": at.replay.as_ref().map(row) })
}

/// Removes what killed emulated runs registered and left behind, and nothing else.
///
/// Args:
///     state_dir: Where runs are registered, "$XDG_STATE_HOME/airperf" unless told otherwise.
///
/// Returns:
///     JSON: "removed", a list of directories.
///
/// Raises:
///     OSError: When the state directory exists and cannot be read.
#[pyfunction]
fn clean(py: Python<'_>, state_dir: PathBuf) -> PyResult<String> {
    let removed = py.detach(|| airperf_emu::clean(&state_dir))?;
    let removed: Vec<String> = removed.iter().map(|path| path.display().to_string()).collect();
    Ok(json!({ "removed": removed }).to_string())
}
