//! Anonymised copies of captures.

use super::source::{self, Watch};
use super::target::{Partial, failed};
use crate::error;
use airperf_wire::anonymize::{self as wire, AnonymizeError, AnonymizeOptions, Key, Payload};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::json;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    key: Option<String>,
    payload: Option<String>,
}

/// Writes an anonymised copy of a capture, whole or not at all.
///
/// Args:
///     source: The capture; "-" is the standard input.
///     target: The pcapng file to make; an earlier one is replaced.
///     options: JSON: "key" (the secret in hexadecimal; a random one that nobody learns when null) and "payload"
///         ("strip", "headers" or "keep").
///
/// Returns:
///     JSON: "packets", "bytes_before", "bytes_after" (captured), "unknown" (records cut at a protocol that is not
///     known), "before_1970", "truncated_at" and "damage" (null, or a sentence).
///
/// Raises:
///     CaptureError: When the source is no capture.
///     ValueError: When the options are none.
///     OSError: When a file cannot be read or written.
///     KeyboardInterrupt: After Ctrl-C; nothing is left of the copy.
#[pyfunction]
// PyO3 hands arguments over as values.
#[expect(clippy::needless_pass_by_value)]
pub(super) fn anonymize(py: Python<'_>, source: String, target: PathBuf, options: &str) -> PyResult<String> {
    let options = parse(options)?;
    let watch = Watch::new(None);
    let result = py.detach(|| copy(source, &target, &options, &watch));
    watch.outcome(result)
}

fn parse(text: &str) -> PyResult<AnonymizeOptions> {
    let wrong = |what: String| PyValueError::new_err(format!("options: {what}"));
    let Options { key, payload } = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    let payload = match payload.as_deref() {
        None | Some("strip") => Payload::Strip,
        Some("headers") => Payload::Headers,
        Some("keep") => Payload::Keep,
        Some(other) => return Err(wrong(format!("payload {other:?} is not strip, headers or keep"))),
    };
    let key = match key {
        None => Key::random()?,
        Some(text) => {
            Key::from_secret(&octets(&text).ok_or_else(|| wrong("key: not hexadecimal".to_owned()))?)
        }
    };
    Ok(AnonymizeOptions { key, payload })
}

fn octets(text: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let octet = |[high, low]: &[u8; 2]| Some(digit(*high)? << 4 | digit(*low)?);
    if rest.is_empty() { pairs.iter().map(octet).collect() } else { None }
}

fn copy(source: String, target: &Path, options: &AnonymizeOptions, watch: &Watch) -> PyResult<String> {
    let source = source::open(&[source], watch)?.pop().expect("one path, one source");
    let failed = |error| failed(target, &error);
    let partial = Partial::new(target).map_err(failed)?;
    let mut sink = Watched { file: BufWriter::new(&partial.file), watch };
    let report = wire::anonymize(source, &mut sink, options).map_err(|error| match error {
        AnonymizeError::Read(error) => error::read(&error),
        AnonymizeError::Write(error) => failed(error),
    })?;
    sink.flush().map_err(failed)?;
    partial.publish(target).map_err(failed)?;
    let answer = json!({
        "packets": report.records,
        "bytes_before": report.bytes_before,
        "bytes_after": report.bytes_after,
        "unknown": report.unknown,
        "before_1970": report.before_1970,
        "truncated_at": report.damage.as_ref().map(|damage| damage.at),
        "damage": report.damage.as_ref().map(ToString::to_string),
    });
    Ok(answer.to_string())
}

/// A file that looks for Ctrl-C.
struct Watched<'a> {
    file: BufWriter<&'a File>,
    watch: &'a Watch,
}

impl Write for Watched<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if self.watch.tell(0, None) { self.file.write(data) } else { Err(io::Error::other("interrupted")) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
