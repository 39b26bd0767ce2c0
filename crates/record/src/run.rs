//! Makes a run directory that exists whole or not at all.
//!
//! What a run has and a capture has not: a level, which leaves out what is large, `air.pcapng`, and
//! `summary.json`.

use std::io::{self, Write};
use std::path::Path;

use crate::directory::Directory;
use crate::file::RunFile;
use crate::manifest::Manifest;
use crate::{Digest, FrameRow, Level, PacketRow, Row, TableWriter, WriteError};

const CAPTURE: &str = "air.pcapng";
const SUMMARY: &str = "summary.json";

/// What a caller may choose about writing a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// How much to write.
    pub level: Level,
    /// Replace a finished run; without it a finished run is refused.
    pub replace: bool,
    /// Bytes the run is expected to need; refused beforehand when the volume has less. 0 when not known.
    pub expected_bytes: u64,
    /// Leave it to the caller to put the run on the disk, with many others at once. A loss of power before
    /// may damage it, which its checksums tell.
    pub deferred: bool,
}

/// Writes one run directory.
#[derive(Debug)]
pub struct RunWriter {
    directory: Directory,
    level: Level,
}

impl RunWriter {
    /// Begins a run that will be `directory`; parents are created.
    ///
    /// # Errors
    /// [`WriteError::Exists`], [`WriteError::NotRecords`], [`WriteError::DiskFull`] when `expected_bytes`
    /// do not fit, or what the operating system refuses.
    pub fn create(directory: &Path, options: Options) -> Result<Self, WriteError> {
        let Options { level, replace, expected_bytes, deferred } = options;
        let mut directory = Directory::create(directory, "run", replace, expected_bytes)?;
        directory.defer(deferred);
        Ok(Self { directory, level })
    }

    /// Where files are until the run is finished.
    pub fn partial(&self) -> &Path {
        self.directory.partial()
    }

    /// How much is written.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Begins a table, or `None` when the level leaves it out.
    ///
    /// # Errors
    /// [`WriteError::Twice`], or what the operating system refuses.
    pub fn table<R: Row>(&mut self) -> Result<Option<TableWriter<R>>, WriteError> {
        let detailed = R::FILE == FrameRow::FILE || R::FILE == PacketRow::FILE;
        match self.level {
            Level::Analysis if detailed => Ok(None),
            Level::Summary => Ok(None),
            Level::Full | Level::Analysis => self.directory.table().map(Some),
        }
    }

    /// Begins `air.pcapng`, or `None` when the level leaves it out.
    ///
    /// # Errors
    /// As [`RunWriter::file`].
    pub fn capture(&mut self) -> Result<Option<RunFile>, WriteError> {
        if self.level == Level::Full { self.file(CAPTURE).map(Some) } else { Ok(None) }
    }

    /// Begins any other file, say `arrivals.bin`.
    ///
    /// # Errors
    /// [`WriteError::Twice`], or what the operating system refuses.
    ///
    /// # Panics
    /// If `name` is not a plain file name.
    pub fn file(&mut self, name: &str) -> Result<RunFile, WriteError> {
        self.directory.file(name)
    }

    /// Writes a whole text file, say a trace.
    ///
    /// # Errors
    /// As [`RunWriter::file`], or what the operating system refuses.
    pub fn text(&mut self, name: &str, text: &str) -> Result<(), WriteError> {
        let mut file = self.file(name)?;
        file.write_all(text.as_bytes()).map_err(|e| file.error(e))?;
        self.close(file)
    }

    /// The error of this run for a failed write to the file `name`, when the [`RunFile`] is out of reach.
    pub fn error(&self, name: &str, source: io::Error) -> WriteError {
        self.directory.error(name, source)
    }

    /// Writes `summary.json`, which is all that level `summary` has beside the manifest.
    ///
    /// # Errors
    /// What the operating system refuses, [`WriteError::DiskFull`] among others.
    pub fn summary(&mut self, digest: Digest) -> Result<(), WriteError> {
        self.text(SUMMARY, &digest.text())
    }

    /// Ends a table: its last rows and footer are written.
    ///
    /// # Errors
    /// What the operating system refuses, [`WriteError::DiskFull`] among others.
    pub fn close_table<R: Row>(&mut self, table: TableWriter<R>) -> Result<(), WriteError> {
        self.directory.close_table(table)
    }

    /// Ends a file: its bytes are written.
    ///
    /// # Errors
    /// What the operating system refuses, [`WriteError::DiskFull`] among others.
    pub fn close(&mut self, file: RunFile) -> Result<(), WriteError> {
        self.directory.close(file)
    }

    /// Writes the manifest, with level and files filled in, and gives the directory its name.
    ///
    /// # Errors
    /// What the operating system refuses; then nothing is left of the run, and an earlier one stands.
    ///
    /// # Panics
    /// If a table or file was begun and not closed.
    pub fn finish(self, mut manifest: Manifest) -> Result<Manifest, WriteError> {
        manifest.level = self.level;
        self.directory.finish(|(tables, files)| {
            manifest.tables.extend(tables);
            manifest.files.extend(files);
            manifest
        })
    }
}
