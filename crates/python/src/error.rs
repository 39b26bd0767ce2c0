//! The one place where errors of the crates become Python exceptions.
//!
//! What the operating system refused becomes the `OSError` that Python has for it, a full disk with
//! `ENOSPC` say; everything else is a [`CoreError`]. Left out: exit codes, which are the command line's.

use airperf_analyze::capture::AnalyzeError;
use airperf_emu::ReplayError;
use airperf_load::LoadError;
use airperf_record::WriteError;
use airperf_scenario::{Problem, Problems};
use airperf_wire::container::{OpenError, ReadError};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyOSError, PyValueError};
use pyo3::prelude::*;
use rustix::io::Errno;
use serde_json::{Value as Json, json};

create_exception!(airperf._core, CoreError, PyException, "Base of what this module raises.");
create_exception!(
    airperf._core,
    ScenarioError,
    CoreError,
    "A scenario with problems; its text is a JSON list of all of them."
);

create_exception!(
    airperf._core,
    EnvironmentLacks,
    CoreError,
    "This machine lacks something the testbed needs; nothing was started."
);
create_exception!(
    airperf._core,
    RecordsError,
    CoreError,
    "A run directory that cannot be read, or that cannot be repeated."
);
create_exception!(
    airperf._core,
    CaptureError,
    CoreError,
    "A file that is no capture: empty, or something else, which its text names."
);
create_exception!(airperf._core, RunError, CoreError, "A run that began and could not be finished.");

/// Adds the exceptions to the module.
pub(crate) fn add(py: Python<'_>, module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("CoreError", py.get_type::<CoreError>())?;
    module.add("ScenarioError", py.get_type::<ScenarioError>())?;
    module.add("EnvironmentLacks", py.get_type::<EnvironmentLacks>())?;
    module.add("CaptureError", py.get_type::<CaptureError>())?;
    module.add("RecordsError", py.get_type::<RecordsError>())?;
    module.add("RunError", py.get_type::<RunError>())
}

/// One problem or warning as JSON; `message` names key and value, `text` is all of it as a person reads it.
pub(crate) fn problem(problem: &Problem) -> Json {
    json!({
        "source": problem.source,
        "line": problem.line,
        "column": problem.column,
        "key": problem.key,
        "seen": problem.seen,
        "message": problem.statement(),
        "hint": problem.hint,
        "text": problem.to_string(),
    })
}

/// A scenario's problems as an exception.
pub(crate) fn problems(problems: Problems) -> PyErr {
    let list: Vec<Json> = problems.0.iter().map(problem).collect();
    ScenarioError::new_err(Json::from(list).to_string())
}

/// A simulated run's failure as an exception.
pub(crate) fn sim(error: &airperf_sim::RunError) -> PyErr {
    match error {
        airperf_sim::RunError::Write(error) => write(error),
        airperf_sim::RunError::Link(error) => RunError::new_err(error.to_string()),
    }
}

/// A failure to write records as an exception; Python chooses the subclass of `OSError` by its number.
pub(crate) fn write(error: &WriteError) -> PyErr {
    let number = match error {
        WriteError::Exists(..) | WriteError::NotRecords(..) => Some(Errno::EXIST.raw_os_error()),
        WriteError::DiskFull { .. } => Some(Errno::NOSPC.raw_os_error()),
        WriteError::Io { source, .. } => source.raw_os_error(),
        _ => None,
    };
    match number {
        Some(number) => PyOSError::new_err((number, error.to_string())),
        None => RunError::new_err(error.to_string()),
    }
}

/// An emulated run's failure as an exception.
pub(crate) fn emu(error: &airperf_emu::RunError) -> PyErr {
    match error {
        airperf_emu::RunError::Write(error) => write(error),
        airperf_emu::RunError::Interrupted => PyKeyboardInterrupt::new_err(error.to_string()),
        lack if lack.is_lack() => EnvironmentLacks::new_err(lack.to_string()),
        other => RunError::new_err(other.to_string()),
    }
}

/// A load's failure as an exception.
pub(crate) fn load(error: &LoadError) -> PyErr {
    match error {
        LoadError::Plan(_) => PyValueError::new_err(error.to_string()),
        LoadError::Namespace { .. } => EnvironmentLacks::new_err(error.to_string()),
        LoadError::Write(error) => write(error),
        LoadError::System { .. } => RunError::new_err(error.to_string()),
    }
}

/// A run directory that cannot be repeated as an exception.
pub(crate) fn replay(error: &ReplayError) -> PyErr {
    RecordsError::new_err(error.to_string())
}

/// A file that is no capture, or that cannot be opened, as an exception.
pub(crate) fn open(error: &OpenError) -> PyErr {
    match error {
        OpenError::Io { source, .. } => system(source, error.to_string()),
        _ => CaptureError::new_err(error.to_string()),
    }
}

/// A capture that cannot be read on as an exception.
pub(crate) fn read(error: &ReadError) -> PyErr {
    system(&error.source, error.to_string())
}

/// An analysis that did not come to its end as an exception.
pub(crate) fn analyze(error: &AnalyzeError) -> PyErr {
    match error {
        AnalyzeError::Read(error) => read(error),
        AnalyzeError::Write(error) => write(error),
        AnalyzeError::Interrupted => PyKeyboardInterrupt::new_err("interrupted"),
    }
}

fn system(source: &std::io::Error, text: String) -> PyErr {
    match source.raw_os_error() {
        Some(number) => PyOSError::new_err((number, text)),
        None => PyOSError::new_err(text),
    }
}
