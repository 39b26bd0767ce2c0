//! The load generator for Python.
//!
//! A load runs on a thread of its own in Rust; the calling thread waits without the interpreter lock, takes
//! it once a second to tell of the progress, and looks for Ctrl-C ten times a second. Left out: names,
//! units, and which targets are allowed to be asked: the plan says.

use crate::error;
use airperf_load::{Live, Plan, Progress};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Adds the function to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(live_workload, module)?)?;
    module.add_function(wrap_pyfunction!(run_load, module)?)
}

/// What a scenario's clients want, as far as a live generator can do it. They must be alike but for their start.
///
/// Args:
///     text: The scenario, TOML, which was checked.
///     name: What to call it in messages.
///     seed: Of random starts; None for the scenario's.
///
/// Returns:
///     JSON; see airperf_load::Live.
///
/// Raises:
///     ScenarioError: When it is no scenario.
///     ValueError: With what of it cannot be done live.
#[pyfunction]
#[pyo3(signature = (text, name, seed))]
fn live_workload(text: &str, name: &str, seed: Option<u64>) -> PyResult<String> {
    let scenario = crate::scenario::read(text, name, &[])?;
    let clients = scenario.clients.iter().map(|client| &client.workload);
    let live = Live::of(clients, scenario.duration, seed.unwrap_or(scenario.seed));
    let live = live.map_err(PyValueError::new_err)?;
    serde_json::to_string(&live).map_err(|error| error::RunError::new_err(error.to_string()))
}

/// Generates the load of a plan.
///
/// Args:
///     plan_json: The plan; see airperf_load::Plan.
///     out_dir: Directory to make with tables of exchanges and connections; None keeps none.
///     progress: Called once a second, on the calling thread, with JSON; see airperf_load::Progress. What it
///         raises ends the load and is raised again here.
///
/// Returns:
///     The result, JSON; see airperf_load::LoadResult. After Ctrl-C it is that of the load so far, with
///     "interrupted": true, and no KeyboardInterrupt is raised.
///
/// Raises:
///     ValueError: With every problem of the plan, one per line; nothing was started.
///     EnvironmentLacks: When a network namespace cannot be entered; nothing was started.
///     FileExistsError: When the directory exists.
///     OSError: When it cannot be written; ENOSPC when the disk is full.
///     RunError: When the generator could not be set up.
#[pyfunction]
#[pyo3(signature = (plan_json, out_dir, progress))]
fn run_load(
    py: Python<'_>,
    plan_json: &str,
    out_dir: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let plan: Plan =
        serde_json::from_str(plan_json).map_err(|error| PyValueError::new_err(format!("plan: {error}")))?;
    let mut raised = None;
    let mut tell = |news: Option<Progress>| match Python::attach(|py| report(py, progress.as_ref(), news)) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            raised = Some(error);
            ControlFlow::Break(())
        }
    };
    let result = py.detach(|| airperf_load::run(&plan, out_dir.as_deref(), &mut tell));
    let asked_to_stop = |error: &PyErr| error.is_instance_of::<PyKeyboardInterrupt>(py);
    match (result, raised) {
        (_, Some(raised)) if !asked_to_stop(&raised) => Err(raised),
        (Ok(result), _) => {
            serde_json::to_string(&result).map_err(|error| error::RunError::new_err(error.to_string()))
        }
        (Err(error), _) => Err(error::load(&error)),
    }
}

/// Looks for signals and tells the callback.
fn report(py: Python<'_>, progress: Option<&Py<PyAny>>, news: Option<Progress>) -> PyResult<()> {
    py.check_signals()?;
    if let (Some(progress), Some(news)) = (progress, news) {
        let text =
            serde_json::to_string(&news).map_err(|error| error::RunError::new_err(error.to_string()))?;
        progress.call1(py, (text,))?;
    }
    Ok(())
}
