//! A scenario: one situation to be measured, as a TOML text that becomes the models' own Config types.
//!
//! [`Scenario::parse`] reads a text once and completely: either everything is right and the result can
//! be run, or it returns *all* problems, each with line, column, what was seen and what to do. Values
//! carry their units (`"11Mbit/s"`, `"1KiB"`). Every key stands in one declarative table, from which
//! also come the resolved form and the reference page (`docs/reference/scenario.md`).
//!
//! - [`quantity`]: numbers with units.
//! - [`sweep`]: the lists and ranges of an experiment's factors.
//! - [`Scenario`]: the typed result; [`Problem`]: what is wrong and where.
//!
//! Left out: files but for the traces and pages that a scenario names (the caller reads them), studies and their targets (Python's), and anything that
//! runs.

mod build;
mod distribution;
mod document;
mod estimate;
mod files;
mod keys;
mod link;
mod locate;
mod page;
mod problem;
pub mod quantity;
mod reader;
mod reference;
mod scenario;
mod setting;
pub mod sweep;

pub use airperf_http::{AdmissionConfig, Policy as AdmissionPolicy, Refusal};
pub use estimate::Estimate;
pub use files::{Kind as FileKind, NamedFile, TraceFileError};
pub use link::{LinkConfig, OverLink, Radio};
pub use locate::locate;
pub use page::PageFile;
pub use problem::{Problem, Problems, Warning};
pub use reference::reference;
pub use scenario::{
    Browser, Client, ClientProgram, EmuSettings, Flow, Level, RecordSettings, Role, Scenario, Server,
    ServerProgram, Station,
};

#[cfg(test)]
mod tests;
