//! A command over emulated links for Python: `airperf shell`.
//!
//! Left out: choosing links, and showing what came of it.

use std::ffi::OsString;

use airperf_emu::{LabError, ShellError, shell};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::error::EnvironmentLacks;
use crate::scenario;
use crate::tell::Tell;

/// Adds the function to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run_shell, module)?)
}

/// Text, name, overrides and seed of a link's scenario.
type Layer = (String, String, Vec<(String, String)>, Option<u64>);

/// Runs a command whose only network is a chain of emulated links to where this process is.
///
/// Args:
///     layers: The links, the outermost first: text of a scenario, its name in messages, overrides, and a seed or None.
///     command: Program and arguments.
///     own_parts: As of run_emu, for the other clients of a link.
///     tell: Called some times a second with an empty text; returns whether to go on. What it raises ends the command and
///         is raised again here.
///
/// Returns:
///     JSON: "status" of the command, "enclosed", "clocks", and "layers" (a report each).
///
/// Raises:
///     ScenarioError: With every problem of a scenario; nothing was started.
///     EnvironmentLacks: When namespaces or devices cannot be made.
///     OSError: When the command cannot be executed.
///     ValueError: When there is no command, or no layer, or several of which one has other clients.
#[pyfunction]
fn run_shell(
    py: Python<'_>,
    layers: Vec<Layer>,
    command: Vec<OsString>,
    own_parts: Vec<OsString>,
    tell: Py<PyAny>,
) -> PyResult<String> {
    let read = |(text, name, overrides, seed): &Layer| {
        let scenario = scenario::read(text, name, overrides)?;
        let seed = seed.unwrap_or(scenario.seed);
        PyResult::Ok((scenario, seed))
    };
    let layers = layers.iter().map(read).collect::<PyResult<Vec<_>>>()?;
    let mut tell = Tell::new(tell);
    let report = py.detach(|| shell(&layers, &command, &own_parts, &mut || tell.ask(Ok(String::new()))));
    match (tell.raised, report) {
        (Some(raised), _) => Err(raised),
        (None, Ok(report)) => {
            serde_json::to_string(&report).map_err(|error| PyValueError::new_err(error.to_string()))
        }
        (None, Err(ShellError::Lab(error))) => Err(EnvironmentLacks::new_err(lack(&error))),
        (None, Err(ShellError::Command { error, .. })) => Err(error.into()),
        (None, Err(ShellError::Program(error))) => Err(EnvironmentLacks::new_err(error.to_string())),
        (None, Err(error @ (ShellError::NoLayer | ShellError::Crowded(_)))) => {
            Err(PyValueError::new_err(error.to_string()))
        }
        (None, Err(error)) => Err(PyOSError::new_err(error.to_string())),
    }
}

fn lack(error: &LabError) -> String {
    format!(
        "{error}\nA layer changes the network namespace around it, which has to be yours: start it as root, or inside \
         `airperf host SITE --` or `unshare --user --map-root-user --net`."
    )
}
