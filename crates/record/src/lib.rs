//! What was seen, as tables that describe themselves.
//!
//! A run directory holds Parquet tables ([`FrameRow`] … [`LagRow`]), a capture, and `manifest.json`
//! with the scenario, seed, totals and a SHA-256 of every file. [`RunWriter`] makes one under a
//! temporary name and gives it its real name only when every byte is on the disk; [`read`] opens one.
//! An analysed capture has a directory of the same make with tables of its own ([`capture`]).
//! Equal rows give equal bytes: nothing here reads a clock.
//!
//! Left out: what a row means (the testbeds fill them) and analysis (Python).

mod address;
pub mod capture;
mod chunk;
mod coded;
mod digest;
mod directory;
mod error;
mod file;
pub mod load;
mod manifest;
mod numbers;
pub mod read;
mod rows;
mod run;
mod sequence;
mod table;
mod write;

pub use address::MacAddress;
pub use digest::Digest;
pub use error::{ReadError, WriteError};
pub use file::{RunFile, Written};
pub use manifest::{
    FileInfo, FrameTotals, LagSummary, Level, Manifest, PacketTotals, QueueTotals, ScenarioInfo, StationInfo,
    TableEntry, Testbed, Totals,
};
pub use rows::{
    CONNECTION_CLASSES, ConnectionRow, ERROR_PHASES, ExchangeRow, FLOW_KINDS, FRAME_KINDS, FRAME_OUTCOMES,
    FlowRow, FrameRow, LAG_KINDS, LagRow, OBJECT_SOURCES, ObjectRow, PACKET_FATES, PACKET_KINDS,
    PAGE_OUTCOMES, PacketRow, PageRow, QueueRow, SNIFFER_VIEWS,
};
pub use run::{Options, RunWriter};
pub use sequence::Sequence;
pub use table::{Column, Row};
pub use write::TableWriter;

/// Version of the tables and the manifest; a reader refuses any other.
pub const SCHEMA_VERSION: u32 = 1;
