//! Makes the directory of a capture's tables, whole or not at all, and says what is in it.
//!
//! The manifest holds no clock and no fact of the host: equal captures and options give equal bytes.
//! Left out: which tables there are and when rows are known, which is the analysis's.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::directory::Directory;
use crate::file::Written;
use crate::manifest::{FileInfo, TableEntry};
use crate::{Row, SCHEMA_VERSION, TableWriter, WriteError};

/// What the directory of a capture was made from and what it came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaptureManifest {
    /// Version of the tables and of this file: [`SCHEMA_VERSION`].
    pub schema: u32,
    /// What the directory holds: `capture`.
    pub kind: String,
    /// Version of the program.
    pub airperf: String,
    /// The capture files as they were named, in order.
    pub sources: Vec<String>,
    /// The options of the analysis.
    pub options: Value,
    /// The summary, as `airperf trace summary --json` prints it.
    pub summary: Value,
    /// The tables by file name.
    pub tables: BTreeMap<String, TableEntry>,
    /// Every other file but this one, by name.
    pub files: BTreeMap<String, FileInfo>,
}

/// Writes the directory of one capture.
#[derive(Debug)]
pub struct CaptureWriter {
    directory: Directory,
}

impl CaptureWriter {
    /// Begins what will be `directory`; parents are created. With `replace` an earlier analysis there is
    /// replaced once this one is finished.
    ///
    /// # Errors
    /// [`WriteError::Exists`], [`WriteError::NotRecords`], or what the operating system refuses.
    pub fn create(directory: &Path, replace: bool) -> Result<Self, WriteError> {
        Ok(Self { directory: Directory::create(directory, "capture", replace, 0)? })
    }

    /// Where files are until the capture is finished.
    pub fn partial(&self) -> &Path {
        self.directory.partial()
    }

    /// Begins a table.
    ///
    /// # Errors
    /// [`WriteError::Twice`], or what the operating system refuses.
    pub fn table<R: Row>(&mut self) -> Result<TableWriter<R>, WriteError> {
        self.directory.table()
    }

    /// Takes a table that was finished, by whatever thread.
    pub fn keep(&mut self, table: Written) {
        self.directory.keep(table);
    }

    /// Writes the manifest and gives the directory its name.
    ///
    /// # Errors
    /// What the operating system refuses; then nothing is left of it, and an earlier one stands.
    ///
    /// # Panics
    /// If a table was begun and not closed.
    pub fn finish(
        self,
        sources: Vec<String>,
        options: Value,
        summary: Value,
    ) -> Result<CaptureManifest, WriteError> {
        self.directory.finish(|(tables, files)| CaptureManifest {
            schema: SCHEMA_VERSION,
            kind: "capture".to_owned(),
            airperf: env!("CARGO_PKG_VERSION").to_owned(),
            sources,
            options,
            summary,
            tables,
            files,
        })
    }
}
