//! Page loads by a real browser over a scenario's link, as runs, for Python.
//!
//! Left out: the hosts, the browser and the proxies, which Python starts around and inside.

use std::ffi::OsString;
use std::path::PathBuf;

use airperf_emu::{Visitor, visit, visit_settings};
use airperf_units::StreamKey;
use pyo3::prelude::*;
use serde_json::json;

use crate::error;
use crate::run::{emu_options, text_of};
use crate::scenario;
use crate::tell::Tell;

/// Adds the functions to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(visit_orders, module)?)?;
    module.add_function(wrap_pyfunction!(run_visits, module)?)
}

/// What a scenario with a browser asks of the machine around it.
///
/// Args:
///     text: The scenario, TOML.
///     name: What to call it in messages, usually its path.
///     overrides: Pairs of a dotted key and a value, such as ("browser.loads", "3").
///
/// Returns:
///     JSON: "page" (the page's file, TOML), "sysctls" (pairs of a file under /proc/sys/net and what to write there),
///     "path" (null, or "rate_bps" from the servers and "rtt_ms" of a link of stated rates).
///
/// Raises:
///     ScenarioError: With every problem of the scenario.
///     EnvironmentLacks: With the key of what no real browser or kernel could be told.
#[pyfunction]
fn visit_orders(text: &str, name: &str, overrides: Vec<(String, String)>) -> PyResult<String> {
    let scenario = scenario::read(text, name, &overrides)?;
    let sysctls = visit_settings(&scenario).map_err(|error| error::emu(&error))?;
    let page = scenario.files.iter().find(|file| file.kind == airperf_scenario::FileKind::Page);
    let path = scenario.link.path();
    let orders = json!({
        "page": page.map(|file| &file.text),
        "sysctls": sysctls,
        "path": path.map(|(rate, rtt)| json!({ "rate_bps": rate.as_bps(), "rtt_ms": (rtt.as_ns() / 1_000_000).max(1) })),
    });
    Ok(orders.to_string())
}

/// Runs a command over the link of a scenario with a browser, records everything on it, and writes a run directory, whole or
/// not at all.
///
/// Args:
///     text: The scenario, TOML.
///     name: What to call it in messages, usually its path.
///     overrides: Pairs of a dotted key and a value.
///     seed: Seed of the link's random streams; None takes the scenario's.
///     out_dir: The directory to make; refused when it exists.
///     level: As of run_emu.
///     command: Program and arguments; its only network is the link.
///     seen: Called with the command's exit status when it has ended; returns JSON of what the browser said, or raises.
///     tell: Called some times a second with an empty text; returns whether to go on.
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
#[pyfunction]
// The argument list is the contract with Python.
#[expect(clippy::too_many_arguments)]
fn run_visits(
    py: Python<'_>,
    text: &str,
    name: &str,
    overrides: Vec<(String, String)>,
    seed: Option<u64>,
    out_dir: PathBuf,
    level: Option<&str>,
    command: Vec<OsString>,
    seen: Py<PyAny>,
    tell: Py<PyAny>,
) -> PyResult<String> {
    let scenario = scenario::read(text, name, &overrides)?;
    let key = StreamKey::new(seed.unwrap_or(scenario.seed));
    let options = emu_options(&scenario, level)?;
    let mut tell = Tell::new(tell);
    let mut raised = None;
    let mut seen = |status: i32| {
        let told = Python::attach(|py| seen.call1(py, (status,))?.extract::<String>(py));
        match told {
            Ok(told) => serde_json::from_str(&told).map_err(|error| error.to_string()),
            Err(error) => {
                let why = error.to_string();
                raised = Some(error);
                Err(why)
            }
        }
    };
    let result = py.detach(|| {
        let mut ask = || tell.ask(Ok(String::new()));
        let visitor = Visitor { command: &command, seen: &mut seen, tell: &mut ask };
        visit(&scenario, text, key, &out_dir, options, visitor)
    });
    match (result, tell.raised.or(raised)) {
        (Err(_), Some(raised)) => Err(raised),
        (Err(error), None) => Err(error::emu(&error)),
        (Ok(manifest), _) => text_of(&manifest),
    }
}
