//! Runs of the testbeds for Python.
//!
//! A simulated run takes as long as computing it does, usually under a second, and is finished before
//! Ctrl-C is looked at. An emulated run lasts as long as its scenario says and looks for Ctrl-C twice a
//! second. Nothing is ever left half written. Left out: choosing a directory.

use crate::error;
use crate::scenario;
use airperf_emu::{EmuOptions, Progress};
use airperf_record::{Level, Manifest, Options};
use airperf_scenario::Scenario;
use airperf_units::StreamKey;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Adds the functions to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run_sim, module)?)?;
    module.add_function(wrap_pyfunction!(run_emu, module)?)
}

/// Simulates a scenario and writes a run directory, whole or not at all.
///
/// Args:
///     text: The scenario, TOML.
///     name: What to call it in messages, usually its path.
///     overrides: Pairs of a dotted key and a value, such as ("client.rate", "40/s").
///     seed: Seed of all random streams; None takes the scenario's.
///     point: Which point of an experiment; 0 where points share their random draws.
///     repetition: Which repetition of that point.
///     out_dir: The directory to make; refused when it exists.
///     level: "full", "analysis" or "summary"; None takes the scenario's.
///     deferred: Leave it to the caller to put the run on the disk, with many others at once.
///
/// Returns:
///     The manifest, JSON. Same arguments, same bytes in every file.
///
/// Raises:
///     ScenarioError: With every problem of the scenario; nothing was started.
///     FileExistsError: When the directory exists.
///     OSError: When it cannot be written; ENOSPC when the disk is full.
///     RunError: When the run began and could not be finished.
#[pyfunction]
#[pyo3(signature = (text, name, overrides, seed, point, repetition, out_dir, level, deferred))]
// The argument list is the contract with Python.
#[expect(clippy::too_many_arguments)]
fn run_sim(
    py: Python<'_>,
    text: &str,
    name: &str,
    overrides: Vec<(String, String)>,
    seed: Option<u64>,
    point: u64,
    repetition: u64,
    out_dir: PathBuf,
    level: Option<&str>,
    deferred: bool,
) -> PyResult<String> {
    let scenario = scenario::read(text, name, &overrides)?;
    let key = StreamKey { seed: seed.unwrap_or(scenario.seed), point, repetition };
    let options = Options { deferred, ..options(&scenario, level)? };
    let manifest = py
        .detach(|| airperf_sim::run(&scenario, text, key, &out_dir, options))
        .map_err(|error| error::sim(&error))?;
    text_of(&manifest)
}

/// Runs a scenario with real programs in real time and writes a run directory, whole or not at all.
///
/// Args:
///     text: The scenario, TOML.
///     name: What to call it in messages, usually its path.
///     overrides: Pairs of a dotted key and a value, such as ("client.rate", "40/s").
///     seed: Seed of the medium's random streams; None takes the scenario's.
///     out_dir: The directory to make; refused when it exists.
///     level: "full", "analysis" or "summary" (kept like "analysis"); None takes the scenario's.
///     own_parts: A command, program and arguments, that becomes a part of airperf in a process of its own when it is
///         told which, "load" or "proxy"; empty where there is none.
///     progress: Called about twice a second, on the calling thread, with JSON: "phase" ("starting",
///         "running" or "recording"), "elapsed_s" and "total_s". What it raises ends the run and is
///         raised again here.
///
/// Returns:
///     The manifest, JSON. A run that was too late to be used has "valid": false and says why.
///
/// Raises:
///     ScenarioError: With every problem of the scenario; nothing was started.
///     EnvironmentLacks: When this machine lacks something; nothing was started.
///     FileExistsError: When the directory exists.
///     OSError: When it cannot be written; ENOSPC when the disk is full.
///     RunError: When the run began and could not be finished.
///     KeyboardInterrupt: After Ctrl-C; nothing is left of the run.
#[pyfunction]
#[pyo3(signature = (text, name, overrides, seed, out_dir, level, own_parts, progress))]
// The argument list is the contract with Python.
#[expect(clippy::too_many_arguments)]
fn run_emu(
    py: Python<'_>,
    text: &str,
    name: &str,
    overrides: Vec<(String, String)>,
    seed: Option<u64>,
    out_dir: PathBuf,
    level: Option<&str>,
    own_parts: Vec<OsString>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let scenario = scenario::read(text, name, &overrides)?;
    let key = StreamKey::new(seed.unwrap_or(scenario.seed));
    let record = emu_options(&scenario, level)?;
    let options = EmuOptions { record, own_parts, ..EmuOptions::default() };
    let mut raised = None;
    let mut tell = |seen: Progress| match Python::attach(|py| report(py, progress.as_ref(), seen)) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            raised = Some(error);
            ControlFlow::Break(())
        }
    };
    let result = py.detach(|| airperf_emu::run(&scenario, text, key, &out_dir, &options, &mut tell));
    match (result, raised) {
        // What the callback or a signal handler raised is the reason, whatever it made the run say.
        (Err(_), Some(raised)) => Err(raised),
        (Err(error), None) => Err(error::emu(&error)),
        (Ok(manifest), _) => text_of(&manifest),
    }
}

/// Looks for signals and tells the callback.
fn report(py: Python<'_>, progress: Option<&Py<PyAny>>, seen: Progress) -> PyResult<()> {
    py.check_signals()?;
    if let Some(progress) = progress {
        let Progress { phase, elapsed_s, total_s } = seen;
        let text = json!({ "phase": phase, "elapsed_s": elapsed_s, "total_s": total_s }).to_string();
        progress.call1(py, (text,))?;
    }
    Ok(())
}

/// What to write: the caller's level, or the scenario's; refused beforehand where it does not fit.
fn options(scenario: &Scenario, level: Option<&str>) -> PyResult<Options> {
    let level = match level {
        None => scenario.record.level,
        Some(name) => airperf_scenario::Level::from_name(name).ok_or_else(|| {
            PyValueError::new_err(format!("level {name:?}: must be \"full\", \"analysis\" or \"summary\""))
        })?,
    };
    let estimate = scenario.estimate();
    let (level, bytes) = match level {
        airperf_scenario::Level::Full => (Level::Full, estimate.full_bytes),
        airperf_scenario::Level::Analysis => (Level::Analysis, estimate.analysis_bytes),
        airperf_scenario::Level::Summary => (Level::Summary, estimate.summary_bytes),
    };
    Ok(Options { level, expected_bytes: bytes as u64, ..Options::default() })
}

/// The same for an emulated run: what real programs did is worth its tables, for it cannot be made again.
pub(crate) fn emu_options(scenario: &Scenario, level: Option<&str>) -> PyResult<Options> {
    let wanted = options(scenario, level)?;
    let level = if wanted.level == Level::Summary { Level::Analysis } else { wanted.level };
    Ok(Options { level, ..wanted })
}

pub(crate) fn text_of(manifest: &Manifest) -> PyResult<String> {
    serde_json::to_string(manifest).map_err(|error| error::RunError::new_err(error.to_string()))
}
