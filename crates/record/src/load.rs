//! The rows of a live load's tables, and its directory: what a load generator saw from its side.
//!
//! Columns that a run's tables have too mean the same. What only a model or a capture knows (stations,
//! segments, frames) is not here. Rows are in the order in which their outcomes became known; times are
//! nanoseconds since the start of the load. `Option` means "did not happen", never zero.
//!
//! Left out: connections left out for want of room, which the result counts.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::directory::Directory;
use crate::manifest::{FileInfo, TableEntry};
use crate::rows::ERROR_PHASES;
use crate::table::table;
use crate::{Row, RunFile, SCHEMA_VERSION, TableWriter, WriteError};

/// Words of `outcome`: completed, the phase of the error, a failure of this machine, or cut off by the end.
pub const OUTCOMES: &[&str] =
    &["completed", "connect", "send", "reply", "receive", "reset", "framing", "local", "unfinished"];
/// Words of `connections.cause`.
pub const CAUSES: &[&str] = &[
    "timeout",
    "tcp_timeout",
    "refused",
    "reset",
    "closed",
    "unreachable",
    "framing",
    "descriptors",
    "file_table",
    "ports",
    "limit",
    "other",
];

table! {
    /// One HTTP exchange of a live load; rows are in the order in which their outcomes became known.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ExchangeRow in "exchanges.parquet" {
        /// Connection it ran on.
        pub connection: u64,
        /// Its place among the requests wanted, from 0.
        pub index: u32,
        /// Client, in the order of the plan, from 0.
        pub client: u16,
        /// When it was wanted: the connection's due time, or the end of the exchange or thinking before it.
        pub due_ns: u64 = "ns",
        /// First octet of the request handed to TCP; null if it never was.
        pub sent_ns: Option<u64> = "ns",
        /// First octet of the response at the client; null if there was none.
        pub first_byte_ns: Option<u64> = "ns",
        /// Last octet of the response at the client. Response time is `done_ns - due_ns`, service time `done_ns - sent_ns`.
        pub done_ns: Option<u64> = "ns",
        /// Octets of the request; 0 if none was handed to TCP.
        pub request_bytes: u64 = "B",
        /// Octets of response received, headers included.
        pub response_bytes: u64 = "B",
        /// Status of the response; null when none was read.
        pub status: Option<u16>,
        /// `completed`, the phase of the error (`connect`, `send`, `reply`, `receive`, `reset`, `framing`), or `unfinished`.
        pub outcome: &'static str => OUTCOMES,
        /// Null when complete or unfinished, else the phase of the error as in a run's table.
        pub error: Option<&'static str> => ERROR_PHASES,
    }
}

table! {
    /// One TCP connection of a live load; rows are in the order in which they ended.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ConnectionRow in "connections.parquet" {
        /// Number of the connection in the load, from 0 in order of opening.
        pub connection: u64,
        /// Client, in the order of the plan, from 0.
        pub client: u16,
        /// When the workload wanted it opened.
        pub due_ns: u64 = "ns",
        /// When connect(2) was called; null where this machine could not.
        pub opened_ns: Option<u64> = "ns",
        /// Handshake complete at the client; null if it never was.
        pub established_ns: Option<u64> = "ns",
        /// When it was closed; null where it was never opened.
        pub closed_ns: Option<u64> = "ns",
        /// `completed`, the phase of the error, `local` for a failure of this machine, or `unfinished`.
        pub outcome: &'static str => OUTCOMES,
        /// Error seen by the user: null, `connect`, `send`, `reply`, `receive` or `reset`.
        pub error: Option<&'static str> => ERROR_PHASES,
        /// What was behind it; null for a connection that ended as wanted.
        pub cause: Option<&'static str> => CAUSES,
        /// Exchanges completed.
        pub exchanges: u32 = "exchanges",
        /// Octets handed to TCP.
        pub bytes_up: u64 = "B",
        /// Octets received.
        pub bytes_down: u64 = "B",
    }
}

/// What the directory of a load was made from and what it came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadManifest {
    /// Version of the tables and of this file: [`SCHEMA_VERSION`].
    pub schema: u32,
    /// What the directory holds: `load`.
    pub kind: String,
    /// Version of the program.
    pub airperf: String,
    /// The plan.
    pub plan: Value,
    /// The result, as `airperf load --json` prints it.
    pub result: Value,
    /// The tables by file name.
    pub tables: BTreeMap<String, TableEntry>,
    /// Every other file but this one, by name.
    pub files: BTreeMap<String, FileInfo>,
}

/// Writes the directory of one load.
#[derive(Debug)]
pub struct LoadWriter {
    directory: Directory,
}

impl LoadWriter {
    /// Begins what will be `directory`; parents are created. With `replace` an earlier load there is replaced
    /// once this one is finished.
    ///
    /// # Errors
    /// [`WriteError::Exists`], [`WriteError::NotRecords`], or what the operating system refuses.
    pub fn create(directory: &Path, replace: bool) -> Result<Self, WriteError> {
        Ok(Self { directory: Directory::create(directory, "load", replace, 0)? })
    }

    /// Begins a table.
    ///
    /// # Errors
    /// [`WriteError::Twice`], or what the operating system refuses.
    pub fn table<R: Row>(&mut self) -> Result<TableWriter<R>, WriteError> {
        self.directory.table()
    }

    /// Begins another file.
    ///
    /// # Errors
    /// [`WriteError::Twice`], or what the operating system refuses.
    pub fn file(&mut self, name: &str) -> Result<RunFile, WriteError> {
        self.directory.file(name)
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

    /// Writes the manifest and gives the directory its name.
    ///
    /// # Errors
    /// What the operating system refuses; then nothing is left of it, and an earlier one stands.
    ///
    /// # Panics
    /// If a table or file was begun and not closed.
    pub fn finish(self, plan: Value, result: Value) -> Result<LoadManifest, WriteError> {
        self.directory.finish(|(tables, files)| LoadManifest {
            schema: SCHEMA_VERSION,
            kind: "load".to_owned(),
            airperf: env!("CARGO_PKG_VERSION").to_owned(),
            plan,
            result,
            tables,
            files,
        })
    }
}
