//! Recording a simulation: rows of every table, the capture, and the totals of the manifest.

mod capture;
mod flows;
mod ledger;
mod octets;
mod recorder;
mod tables;
mod visits;
mod words;

pub(crate) use recorder::Recorder;
