//! Scenarios, sweeps and positions for Python.

use crate::error;
use airperf_scenario::{NamedFile, PageFile, Problem, Problems, Scenario, TraceFileError, sweep};
use pyo3::prelude::*;
use serde_json::{Map, Value as Json, json};
use std::path::{Path, PathBuf};

/// Adds the functions to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check_scenario, module)?)?;
    module.add_function(wrap_pyfunction!(expand_sweep, module)?)?;
    module.add_function(wrap_pyfunction!(locate, module)?)?;
    module.add_function(wrap_pyfunction!(export_trace, module)?)?;
    module.add_function(wrap_pyfunction!(describe_trace, module)?)?;
    module.add_function(wrap_pyfunction!(describe_page, module)?)
}

/// Reads a scenario with overrides applied.
pub(crate) fn read(text: &str, name: &str, overrides: &[(String, String)]) -> PyResult<Scenario> {
    Scenario::parse(text, name, overrides).map_err(error::problems)
}

/// Checks a scenario completely before anything starts.
///
/// Args:
///     text: The scenario, TOML.
///     name: What to call it in messages, usually its path.
///     overrides: Pairs of a dotted key and a value, such as ("client.rate", "40/s").
///
/// Returns:
///     JSON: "resolved" (every key with its default filled in), "sha256" (of that), "warnings" (a list
///     of objects like those of ScenarioError) and "estimate" (counts, seconds and bytes of a run).
///
/// Raises:
///     ScenarioError: With every problem: a JSON list of objects with "source", "line", "column", "key",
///         "seen", "message", "hint" and "text", the last being all of it as a person reads it.
#[pyfunction]
fn check_scenario(text: &str, name: &str, overrides: Vec<(String, String)>) -> PyResult<String> {
    let scenario = read(text, name, &overrides)?;
    let estimate = scenario.estimate();
    let warnings: Vec<Json> = scenario.warnings.iter().map(|warning| error::problem(&warning.0)).collect();
    let answer = json!({
        "resolved": scenario.resolved(),
        "sha256": scenario.sha256(),
        "warnings": warnings,
        "estimate": {
            "connections": estimate.connections,
            "exchanges": estimate.exchanges,
            "frames": estimate.frames,
            "run_seconds": estimate.run_seconds,
            "sim_seconds": estimate.sim_seconds,
            "full_bytes": estimate.full_bytes,
            "analysis_bytes": estimate.analysis_bytes,
            "summary_bytes": estimate.summary_bytes,
        },
    });
    Ok(answer.to_string())
}

/// The values of a sweep: a list, or a range such as "10..160 step 10 /s" or "1KiB..64KiB times 2".
///
/// Args:
///     text: A range, one value, or a list in JSON or TOML.
///
/// Returns:
///     The values, each as it would be written in an override.
///
/// Raises:
///     ScenarioError: When the sweep is empty, endless, too long or no sweep; a JSON list as for
///         check_scenario, the position being that in the text.
#[pyfunction]
fn expand_sweep(text: &str) -> PyResult<Vec<String>> {
    sweep::expand(text).map_err(|wrong| {
        let problem = Problem {
            source: "sweep".to_owned(),
            line: 1,
            column: 1,
            key: String::new(),
            seen: text.chars().take(60).collect(),
            message: wrong.message,
            hint: wrong.hint,
        };
        error::problems(Problems(vec![problem]))
    })
}

/// Where every value of a TOML text stands.
///
/// Args:
///     text: Any TOML text.
///     name: What to call it in messages.
///
/// Returns:
///     JSON: an object from dotted path to [line, column], both from 1; elements of a list count from 0.
///
/// Raises:
///     ScenarioError: With every syntax error, if it is not TOML.
#[pyfunction]
fn locate(text: &str, name: &str) -> PyResult<String> {
    let places = airperf_scenario::locate(text, name).map_err(error::problems)?;
    let object: Map<String, Json> =
        places.into_iter().map(|(path, line, column)| (path, json!([line, column]))).collect();
    Ok(Json::Object(object).to_string())
}

fn no_trace(path: &Path, wrong: TraceFileError) -> PyErr {
    match wrong {
        TraceFileError::Io(error) => error.into(),
        TraceFileError::Trace(error) => error::problems(Problems(vec![Problem {
            source: path.display().to_string(),
            line: error.line.max(1),
            column: 1,
            key: String::new(),
            seen: String::new(),
            message: error.message,
            hint: String::new(),
        }])),
    }
}

/// A link trace in Mahimahi's format.
///
/// Args:
///     path: A file in Mahimahi's format, or a series of rates.
///     until_ms: How much of a series of rates at most, milliseconds.
///
/// Returns:
///     One time in milliseconds per line.
///
/// Raises:
///     ScenarioError: When it is no trace, or carries too little; a JSON list of one, as for check_scenario.
///     OSError: When it cannot be read.
#[pyfunction]
fn export_trace(path: PathBuf, until_ms: u64) -> PyResult<String> {
    let (_, trace) = NamedFile::read_trace(&path).map_err(|wrong| no_trace(&path, wrong))?;
    trace.to_mahimahi(until_ms).map_err(|wrong| no_trace(&path, wrong.into()))
}

/// What is in a link trace.
///
/// Args:
///     path: A file in Mahimahi's format, or a series of rates.
///
/// Returns:
///     JSON: "sha256" of the file, "form" ("opportunities" or "rates"), "entries", "duration_s" (null for a rate that
///     never changes), "mean_bps", "percentiles_bps" (an object, "p5" to "p95", of whole seconds) and "longest_gap_s".
///
/// Raises:
///     ScenarioError: When it is no trace; a JSON list of one, as for check_scenario, with its line.
///     OSError: When it cannot be read.
#[pyfunction]
fn describe_trace(path: PathBuf) -> PyResult<String> {
    let (file, trace) = NamedFile::read_trace(&path).map_err(|wrong| no_trace(&path, wrong))?;
    let facts = trace.facts();
    let percentiles = facts.percentiles().map(|(percent, bps)| (format!("p{percent}"), Json::from(bps)));
    let answer = json!({
        "sha256": file.sha256,
        "form": facts.form,
        "entries": facts.entries,
        "duration_s": facts.duration_s.is_finite().then_some(facts.duration_s),
        "mean_bps": facts.mean_bps,
        "percentiles_bps": percentiles.into_iter().collect::<Map<_, _>>(),
        "longest_gap_s": facts.longest_gap_s,
    });
    Ok(answer.to_string())
}

/// What is in a page file, or made up from it.
///
/// Args:
///     text: The file, TOML.
///     name: What to call it in messages, usually its path.
///
/// Returns:
///     JSON: "name", "seed" (of the contents of a page by its statistics, else null), "hosts" (objects with "name" and
///     "tls") and "objects" (objects with "host", "bytes", "packed_bytes", "found_in", "found_at" and "think_ns"), the first
///     object being the page itself.
///
/// Raises:
///     ScenarioError: With every problem; a JSON list of objects as for check_scenario.
#[pyfunction]
fn describe_page(text: &str, name: &str) -> PyResult<String> {
    let PageFile { name, page, seed } = PageFile::parse(text, name).map_err(error::problems)?;
    let hosts: Vec<Json> =
        page.hosts.iter().map(|host| json!({"name": host.name, "tls": host.tls})).collect();
    let objects: Vec<Json> = page
        .objects
        .iter()
        .map(|object| {
            json!({
                "host": object.host,
                "bytes": object.bytes,
                "packed_bytes": object.packed_bytes,
                "found_in": object.found_in,
                "found_at": object.found_at,
                "think_ns": object.think.as_ns(),
            })
        })
        .collect();
    Ok(json!({"name": name, "seed": seed, "hosts": hosts, "objects": objects}).to_string())
}
