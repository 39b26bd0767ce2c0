//! The files that a scenario names: the traces of its link, the pages of its browsers.
//!
//! A path is seen from the folder of the scenario's own file. A run keeps a copy of every file under a name made of
//! its SHA-256, so that it can be repeated from its folder alone. Left out: writing; the testbeds do.

use airperf_link::trace::{Trace, TraceError};
use sha2::{Digest, Sha256};
use std::io::{Error, ErrorKind, Read, Result};
use std::path::{Path, PathBuf};

/// A trace larger than this is refused: days of the fastest links are smaller.
const MOST_BYTES: u64 = 64 << 20;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A trace of a link.
    Trace,
    /// A page.
    Page,
}

/// A file that a scenario names, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// What it is.
    pub kind: Kind,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// What it holds.
    pub text: String,
}

fn name_of(kind: Kind, sha256: &str) -> String {
    let short = sha256.get(..16).unwrap_or(sha256);
    match kind {
        Kind::Trace => format!("trace-{short}.txt"),
        Kind::Page => format!("page-{short}.toml"),
    }
}

/// The SHA-256 of a text, in hexadecimal.
pub(crate) fn sha256(text: &[u8]) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Why a file gives no trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceFileError {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] Error),
    /// It is no trace.
    #[error("is no trace: {0}")]
    Trace(#[from] TraceError),
}

impl NamedFile {
    /// Reads a trace by itself, and what there is in it.
    ///
    /// # Errors
    /// A file that cannot be read or is no trace.
    pub fn read_trace(path: &Path) -> std::result::Result<(Self, Trace), TraceFileError> {
        let text = read(path)?;
        let trace = Trace::parse(&text)?;
        Ok((Self { kind: Kind::Trace, sha256: sha256(text.as_bytes()), text }, trace))
    }

    /// What its copy in a run directory is called.
    pub fn name(&self) -> String {
        name_of(self.kind, &self.sha256)
    }
}

fn read(path: &Path) -> Result<String> {
    let mut text = String::new();
    // Not by its length: what has none, such as a device, must not be read for ever.
    std::fs::File::open(path)?.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(Error::new(ErrorKind::FileTooLarge, "it is larger than 64 MiB"));
    }
    Ok(text)
}

/// Where files are looked for.
#[derive(Clone, Debug)]
pub(crate) enum Folder {
    /// Beside the scenario's file.
    Beside(PathBuf),
    /// In a run directory, by their SHA-256.
    Run(PathBuf),
}

impl Folder {
    /// The folder of a scenario of this name, if the name is a path.
    pub(crate) fn of(name: &str) -> Self {
        Self::Beside(Path::new(name).parent().unwrap_or(Path::new("")).to_owned())
    }

    /// Reads a file that is called `path` and, if that is known, has this SHA-256.
    pub(crate) fn read(&self, kind: Kind, path: &str, sha256: &str) -> Result<String> {
        match self {
            Self::Beside(folder) => read(&folder.join(path)),
            Self::Run(folder) => read(&folder.join(name_of(kind, sha256))),
        }
    }
}
