//! What can go wrong with records: writing them, and reading them back.

use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

/// Why records could not be written. The unfinished run directory is removed; earlier runs are untouched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// There are finished records of the same kind (`run`, `capture`) and replacing them was not asked for.
    #[error("{}: a finished {} is already there; choose another directory or ask to replace it", .0.display(), .1)]
    Exists(PathBuf, &'static str),
    /// The directory holds something else than records of this kind; it is never overwritten.
    #[error("{}: exists and is not a {} directory; choose another directory", .0.display(), .1)]
    NotRecords(PathBuf, &'static str),
    /// The volume is too small for the run.
    #[error(
        "{}: the disk is full: this run needs {needed} bytes or more, {free} are free; \
         make room or write to another volume, then run it again", .path.display()
    )]
    DiskFull {
        /// File being written, or the directory when found beforehand.
        path: PathBuf,
        /// Bytes the run needs in all: as expected, or at least what it had written plus what did not fit.
        needed: u64,
        /// Bytes free on the volume once the unfinished run is removed.
        free: u64,
    },
    /// The operating system refused something else.
    #[error("{}: cannot {doing}: {source}", .path.display())]
    Io {
        /// What was being done, as a verb.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The Parquet encoder failed for a reason other than the disk.
    #[error("{}: cannot encode rows: {source}", .path.display())]
    Encode {
        /// Which table.
        path: PathBuf,
        /// What the encoder said.
        source: ParquetError,
    },
    /// A file with this name was already written in this run.
    #[error("{0}: written twice in one run")]
    Twice(String),
}

impl WriteError {
    pub(crate) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { doing, path: path.to_owned(), source }
    }
}

/// Why records could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The operating system refused.
    #[error("{}: cannot read: {source}", .path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Not a manifest, or one with a field missing.
    #[error("{}: not a manifest of a run: {source}; the run must be made again", .path.display())]
    Manifest {
        /// Which file.
        path: PathBuf,
        /// What the JSON reader said, with line and column.
        source: serde_json::Error,
    },
    /// Written by another version of the records.
    #[error(
        "{}: records of schema version {found}, this program reads version {expected}; \
         make the run again or use the program that wrote it", .path.display()
    )]
    Version {
        /// Which file.
        path: PathBuf,
        /// Version found.
        found: u32,
        /// Version expected.
        expected: u32,
    },
    /// The records of something else.
    #[error("{}: the records of a {found}, not of a {expected}", .path.display())]
    Kind {
        /// Which file.
        path: PathBuf,
        /// What they are of, as the manifest says.
        found: String,
        /// What was expected: `run` or `capture`.
        expected: &'static str,
    },
    /// Contents do not match the manifest.
    #[error("{}: damaged: SHA-256 is {found}, the manifest says {expected}; the run must be made again", .path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// SHA-256 found, in hexadecimal.
        found: String,
        /// SHA-256 in the manifest.
        expected: String,
    },
    /// Not a Parquet file, or a broken one.
    #[error("{}: cannot decode rows: {source}", .path.display())]
    Decode {
        /// Which file.
        path: PathBuf,
        /// What the decoder said.
        source: ParquetError,
    },
    /// A row does not fit the table: a column is missing, has another type, or holds an unknown word.
    #[error("{}: row {row} does not fit this version's schema", .path.display())]
    Row {
        /// Which file.
        path: PathBuf,
        /// Which row, from 0.
        row: u64,
    },
}
