//! The reverse proxy for Python: `airperf proxy`.
//!
//! It runs until the callback or a signal handler raises. Left out: choosing addresses; the command line refuses those it
//! should not take.

use crate::tell::Tell;
use airperf_http::{AdmissionConfig, Policy, Refusal};
use airperf_proxy::{Options, Served, Upstream, serve};
use airperf_units::Duration;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::json;
use std::net::{SocketAddr, TcpListener};

/// Adds the function to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run_proxy, module)?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    listen: SocketAddr,
    upstream: SocketAddr,
    admission: Option<Admission>,
    max_connections: u32,
    backlog: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Admission {
    policy: String,
    limit: u32,
    target_ns: u64,
    wait_ns: u64,
    refusal: String,
}

impl Admission {
    fn config(&self) -> Option<AdmissionConfig> {
        let policy = match self.policy.as_str() {
            "concurrent" => Policy::Concurrent { limit: self.limit.max(1) },
            "adaptive" => Policy::Adaptive { target: Duration::from_ns(self.target_ns) },
            _ => return None,
        };
        let refusal = if self.refusal == "reset" { Refusal::Reset } else { Refusal::Unavailable };
        Some(AdmissionConfig { policy, wait: Duration::from_ns(self.wait_ns), refusal })
    }
}

/// Serves as a reverse proxy before one server until told to stop; then replies under way may end.
///
/// Args:
///     options: JSON: "listen" and "upstream" (address:port), "admission" (null, or "policy" ("concurrent" or
///         "adaptive"), "limit", "target_ns", "wait_ns" and "refusal" ("503" or "reset")), "max_connections",
///         "backlog" (null for the system's).
///     tell: Called four times a second with JSON: "listen" (the address in use), "elapsed_s", "open", "places",
///         "active", "waiting" and "counts"; returns whether to go on. What it raises ends the proxy and is raised
///         again here.
///
/// Returns:
///     The last of those JSON texts.
///
/// Raises:
///     ValueError: When the options make no sense.
///     OSError: When the address cannot be listened on.
///     KeyboardInterrupt: After Ctrl-C, if the callback does not catch it.
#[pyfunction]
#[pyo3(signature = (options, tell))]
fn run_proxy(py: Python<'_>, options: &str, tell: Py<PyAny>) -> PyResult<String> {
    let bad = |error: &dyn std::fmt::Display| PyValueError::new_err(format!("options: {error}"));
    let wanted: Wanted = serde_json::from_str(options).map_err(|error| bad(&error))?;
    let admission = match &wanted.admission {
        None => None,
        Some(admission) => Some(admission.config().ok_or_else(|| bad(&"no such admission policy"))?),
    };
    let listener = TcpListener::bind(wanted.listen)?;
    let listen = listener.local_addr()?;
    let options = Options {
        upstream: Upstream::At(wanted.upstream),
        admission,
        max_connections: wanted.max_connections,
        backlog: wanted.backlog,
    };
    let text = |served: &Served| {
        let Served { elapsed_s, open, places, active, waiting, counts } = served;
        json!({
            "listen": listen.to_string(),
            "elapsed_s": elapsed_s,
            "open": open,
            "places": places,
            "active": active,
            "waiting": waiting,
            "counts": counts,
        })
        .to_string()
    };
    let mut tell = Tell::new(tell);
    let served = py.detach(|| serve(listener, options, &mut |served| tell.ask(Ok(text(&served)))));
    match (tell.raised, served) {
        (Some(raised), _) => Err(raised),
        (None, Ok(served)) => Ok(text(&served)),
        (None, Err(error)) => Err(PyOSError::new_err(error.to_string())),
    }
}
