//! Captures for Python: their analysis, a listing of their frames, annotated and anonymised copies.
//!
//! Every call releases the interpreter lock, looks for Ctrl-C ten times a second and leaves nothing behind when it is
//! interrupted. Left out: which files are meant (patterns, directories) and all tables for people.

mod annotate;
mod anonymize;
mod listing;
mod options;
mod source;
mod target;

use crate::error;
use airperf_analyze::capture::{Table, TableSet, analyze, check};
use options::Options;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use source::Watch;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Adds the functions to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(analyze_capture, module)?)?;
    module.add_function(wrap_pyfunction!(check_capture, module)?)?;
    module.add_function(wrap_pyfunction!(listing::describe_frames, module)?)?;
    module.add_function(wrap_pyfunction!(annotate::annotate, module)?)?;
    module.add_function(wrap_pyfunction!(anonymize::anonymize, module)?)
}

/// Analyses files as one capture.
///
/// Args:
///     paths: The files, in any order; "-" is the standard input.
///     out_dir: The directory to make for the tables; None makes none.
///     tables: Which tables: "connections", "exchanges", "frames", "segments", "stations", "series",
///         "histograms", "retransmissions".
///     options: JSON: "threads" (as many as there are processors), "strict_checksum" (false), "sort_window_ns" (null),
///         "max_connections" (25000), "series_interval_ns" (1000000000), "replace" (false: an earlier analysis in
///         out_dir is refused) and "filter" with "hosts", "clients", "servers" (lists of addresses), "ports",
///         "from" and "to" (objects with "time_ns" since 1970 or "offset_ns" since the first packet). What is left
///         out has its default, in parentheses.
///     progress: Called up to ten times a second, on the calling thread, with the bytes done and in all (None when not
///         known). What it raises ends the analysis and is raised again here.
///
/// Returns:
///     The summary, JSON, as "airperf trace summary --json" prints it.
///
/// Raises:
///     CaptureError: When a file is no capture.
///     ValueError: When tables or options are none.
///     FileExistsError: When out_dir exists.
///     OSError: When a file cannot be read or written; ENOSPC when the disk is full.
///     KeyboardInterrupt: After Ctrl-C; nothing is left of the tables.
#[pyfunction]
#[pyo3(signature = (paths, out_dir, tables, options, progress))]
// PyO3 hands arguments over as values.
#[expect(clippy::needless_pass_by_value)]
fn analyze_capture(
    py: Python<'_>,
    paths: Vec<String>,
    out_dir: Option<PathBuf>,
    tables: Vec<String>,
    options: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let asked = Options::parse(options)?;
    let wanted: Vec<Table> = tables.iter().map(|name| table(name)).collect::<PyResult<_>>()?;
    let watch = Watch::new(progress);
    let result = py.detach(|| -> PyResult<String> {
        let sources = source::open(&paths, &watch)?;
        let options = asked.analysis(&sources);
        let mut set = match &out_dir {
            Some(directory) => {
                let set = TableSet::create(directory, asked.replace, &wanted, options.threads);
                Some(set.map_err(|error| error::write(&error))?)
            }
            None => None,
        };
        let mut tell = |done, total| {
            if watch.tell(done, total) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let summary = analyze(sources, &options, set.as_mut(), &mut tell).map_err(|e| error::analyze(&e))?;
        let summary = summary.to_json();
        if let Some(set) = set {
            let finished = set.finish(paths, asked.record(), summary.clone());
            finished.map_err(|error| error::write(&error))?;
        }
        Ok(summary.to_string())
    });
    watch.outcome(result)
}

/// Compares an analysed capture with the run that it was made in: the sniffer's view with the ends'.
///
/// Args:
///     capture_dir: Directory of a capture with the table of connections.
///     run_dir: Directory of the run.
///
/// Returns:
///     JSON: see "checks" in docs/reference/capture-records.md.
///
/// Raises:
///     RecordsError: When one of them is no such directory, or damaged.
#[pyfunction]
// PyO3 hands paths over as values.
#[expect(clippy::needless_pass_by_value)]
fn check_capture(py: Python<'_>, capture_dir: PathBuf, run_dir: PathBuf) -> PyResult<String> {
    let checked = py.detach(|| check::against(&capture_dir, &run_dir));
    let checked = checked.map_err(|error| error::RecordsError::new_err(error.to_string()))?;
    Ok(checked.to_json().to_string())
}

fn table(name: &str) -> PyResult<Table> {
    Table::from_name(name).ok_or_else(|| {
        let all: Vec<&str> = Table::ALL.iter().map(|table| table.name()).collect();
        PyValueError::new_err(format!("no table {name:?}; there are {}", all.join(", ")))
    })
}
