//! Recording a site through a proxy for Python: `airperf record`.
//!
//! Left out: what is browsed, and making a site of what was recorded.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use airperf_host::{RecordOptions, Recorded, record};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde::Deserialize;

use crate::tell::Tell;

/// Adds the function to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(record_site, module)?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    folder: PathBuf,
    allowed: Vec<(Ipv4Addr, u8)>,
    anywhere: bool,
    trusted: Option<PathBuf>,
}

/// Records what passes through a proxy on loopback until told to stop.
///
/// Args:
///     options: JSON: "folder" (where `exchanges.jsonl` and bodies go), "allowed" (networks whose servers may be contacted,
///         each an address and the length of its prefix; loopback always), "anywhere" (whether all may), and "trusted"
///         (null, or a PEM file of authorities).
///     tell: Called ten times a second with JSON: "listen", "authority" (PEM), "key_hash", "exchanges", "refused", "failed",
///         "last_failure"; returns whether to go on. What it raises ends the recording and is raised again here.
///
/// Returns:
///     The last of those JSON texts.
///
/// Raises:
///     ValueError: When the options make no sense.
///     OSError: When it cannot listen, or a file cannot be used.
///     KeyboardInterrupt: After Ctrl-C, if the callback does not catch it.
#[pyfunction]
fn record_site(py: Python<'_>, options: &str, tell: Py<PyAny>) -> PyResult<String> {
    let Wanted { folder, allowed, anywhere, trusted } =
        serde_json::from_str(options).map_err(|error| PyValueError::new_err(format!("options: {error}")))?;
    let options = RecordOptions { folder, allowed, anywhere, trusted };
    let text = |told: &Recorded| {
        serde_json::to_string(told).map_err(|error| PyValueError::new_err(error.to_string()))
    };
    let mut tell = Tell::new(tell);
    let told = py.detach(|| record(options, &mut |told| tell.ask(text(told))));
    match (tell.raised, told) {
        (Some(raised), _) => Err(raised),
        (None, Ok(told)) => text(&told),
        (None, Err(error)) => Err(PyOSError::new_err(error.to_string())),
    }
}
