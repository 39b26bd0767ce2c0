//! Files that are either whole or absent.

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A file beside its target until it is whole.
pub(super) struct Partial {
    path: PathBuf,
    pub(super) file: File,
}

impl Partial {
    /// Begins what will be `target`.
    pub(super) fn new(target: &Path) -> io::Result<Self> {
        let mut name = target.file_name().unwrap_or_default().to_owned();
        name.push(format!(".partial-{}", std::process::id()));
        let path = target.with_file_name(name);
        let file = File::create(&path)?;
        Ok(Self { path, file })
    }

    /// Gives it its name.
    pub(super) fn publish(&self, target: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, target)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After publishing nothing has this name.
        let _ = fs::remove_file(&self.path);
    }
}

/// What the system refused about `target` as an exception.
pub(super) fn failed(target: &Path, error: &io::Error) -> PyErr {
    let text = format!("{}: cannot write it: {error}", target.display());
    match error.raw_os_error() {
        Some(number) => PyOSError::new_err((number, text)),
        None => PyOSError::new_err(text),
    }
}
