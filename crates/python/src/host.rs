//! Hosting a recorded site for Python: `airperf host`.
//!
//! It runs until the callback or a signal handler raises. Left out: network namespaces, and reading recordings.

use std::net::IpAddr;
use std::path::PathBuf;

use airperf_host::{Matching, Options, Site, Told, serve};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde::Deserialize;

use crate::tell::Tell;

/// Adds the function to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(host_site, module)?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    strict: bool,
    think: bool,
    http2: bool,
    rewritten_at: Option<IpAddr>,
}

/// Hosts a recorded site until told to stop.
///
/// Args:
///     folder: The site: `site.json` and `bodies/`.
///     options: JSON: "strict", "think", "http2", and "rewritten_at" (null, or an address for plain HTTP with rewritten texts).
///     tell: Called ten times a second with JSON: "origins" (where each is), "name_server", "authority" (PEM), "key_hash",
///         "counts", "misses"; returns whether to go on. What it raises ends the hosting and is raised again here.
///
/// Returns:
///     The last of those JSON texts.
///
/// Raises:
///     ValueError: When the folder is no site or the options make no sense.
///     OSError: When an address cannot be served at.
///     KeyboardInterrupt: After Ctrl-C, if the callback does not catch it.
#[pyfunction]
#[pyo3(signature = (folder, options, tell))]
fn host_site(py: Python<'_>, folder: PathBuf, options: &str, tell: Py<PyAny>) -> PyResult<String> {
    let wanted: Wanted =
        serde_json::from_str(options).map_err(|error| PyValueError::new_err(format!("options: {error}")))?;
    let matching = if wanted.strict { Matching::Strict } else { Matching::Fuzzy };
    let options =
        Options { matching, think: wanted.think, http2: wanted.http2, rewritten_at: wanted.rewritten_at };
    let site = py.detach(|| Site::load(&folder)).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let text =
        |told: &Told| serde_json::to_string(told).map_err(|error| PyValueError::new_err(error.to_string()));
    let mut tell = Tell::new(tell);
    let told = py.detach(|| serve(site, options, &mut |told| tell.ask(text(told))));
    match (tell.raised, told) {
        (Some(raised), _) => Err(raised),
        (None, Ok(told)) => text(&told),
        (None, Err(error)) => Err(PyOSError::new_err(error.to_string())),
    }
}
