//! Captures again, with what was found of each packet as its comment.

use super::source::{self, Watch};
use super::target::{Partial, failed};
use crate::error;
use airperf_analyze::capture::annotate::{self as capture, AnnotateError, Tables};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::json;
use std::io::BufWriter;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Bytes of output that are written at once.
const BUFFER: usize = 1 << 18;

/// Writes a capture that was analysed again as pcapng, with comments, whole or not at all.
///
/// Args:
///     paths: The files of the capture, as they were analysed, without sorting; not the standard input.
///     tables: Files of the tables "frames", "segments" and "exchanges", in this order.
///     target: The pcapng file to make; an earlier one is replaced.
///     progress: As for analyze_capture.
///
/// Returns:
///     JSON: "packets", "comments", "stand_ins" (empty packets for records that cannot be read) and "before_1970"
///     (packets whose time is 0 because pcapng has none for them).
///
/// Raises:
///     CaptureError: When a file is no capture.
///     RecordsError: When a table cannot be read, or is of another capture.
///     OSError: When a file cannot be read or written.
///     KeyboardInterrupt: After Ctrl-C; nothing is left of the copy.
#[pyfunction]
#[pyo3(signature = (paths, tables, target, progress))]
// PyO3 hands arguments over as values.
#[expect(clippy::needless_pass_by_value)]
pub(super) fn annotate(
    py: Python<'_>,
    paths: Vec<String>,
    tables: (PathBuf, PathBuf, PathBuf),
    target: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let watch = Watch::new(progress);
    let (frames, segments, exchanges) = &tables;
    let tables = Tables { frames, segments, exchanges };
    let result = py.detach(|| copy(&paths, tables, &target, &watch));
    watch.outcome(result)
}

fn copy(paths: &[String], tables: Tables<'_>, target: &Path, watch: &Watch) -> PyResult<String> {
    let sources = source::open(paths, watch)?;
    let refused = |error| failed(target, &error);
    let partial = Partial::new(target).map_err(refused)?;
    let sink = BufWriter::with_capacity(BUFFER, &partial.file);
    let mut tell = |done, total| {
        if watch.tell(done, total) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let annotated = capture::annotate(sources, tables, sink, &mut tell).map_err(|error| match error {
        AnnotateError::Read(error) => error::read(&error),
        AnnotateError::Write(error) => failed(target, &error),
        AnnotateError::Interrupted => PyKeyboardInterrupt::new_err("interrupted"),
        AnnotateError::Tables(_) | AnnotateError::Changed => error::RecordsError::new_err(error.to_string()),
    })?;
    partial.publish(target).map_err(refused)?;
    let answer = json!({
        "packets": annotated.packets,
        "comments": annotated.comments,
        "stand_ins": annotated.stand_ins,
        "before_1970": annotated.before_1970,
    });
    Ok(answer.to_string())
}
