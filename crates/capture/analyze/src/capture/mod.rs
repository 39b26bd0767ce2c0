//! Captures: one pass over any number of records, in constant memory.
//!
//! [`analyze`] reads sources as one capture and gives a [`Summary`] and the rows of whatever tables are wanted.
//! In the order of the data: `front` reads records, `ordered` is shown each frame in its turn (`mac`, `series`,
//! `histogram`, the table of frames), `fragments` puts packets together, `flows` follows the connections of
//! each shard, `merge` brings together what shards found; `pipeline` says which thread does what. Leaves out
//! the formats (crate `wire`) and the files of the tables (crate `record`).

mod airtime;
pub mod annotate;
pub(crate) mod application;
pub mod check;
mod clients;
mod flows;
mod fragments;
mod frames;
mod front;
mod histogram;
mod later;
mod mac;
mod merge;
mod options;
mod ordered;
mod pipeline;
mod reader;
mod series;
mod sort;
mod summary;
mod tables;

use std::ops::ControlFlow;

use airperf_record::WriteError;
use airperf_wire::container::{ReadError, Source};
use serde_json::json;

use clients::Clients;
use flows::{Shard, Wants};
use front::Front;
use merge::Merge;
use ordered::Ordered;
use reader::Reader;

pub use crate::http::{ANOMALIES as HTTP_ANOMALIES, HttpCounts};
pub use flows::{ANOMALIES as FLOW_ANOMALIES, FlowCounts};
pub use fragments::ANOMALIES as FRAGMENT_ANOMALIES;
pub use front::ANOMALIES as PACKET_ANOMALIES;
pub use mac::{ANOMALIES as MAC_ANOMALIES, MacTotals};
pub use options::{Filter, Options};
pub use ordered::ANOMALIES as ORDERED_ANOMALIES;
pub use summary::Summary;
pub use tables::{Table, TableSet};

/// Why an analysis did not come to its end. Damage within a capture is no such reason.
#[derive(Debug, thiserror::Error)]
pub enum AnalyzeError {
    /// A source cannot be read on.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A table cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// `progress` said to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Analyses `sources` as one capture: in order of their first records, one after the other.
///
/// `progress` is told how many bytes of the files were read, and of how many where that is known, several
/// times a second; it says whether to go on. Rows go to `tables`, which the caller finishes.
///
/// # Errors
/// [`AnalyzeError`]
pub fn analyze(
    mut sources: Vec<Source>,
    options: &Options,
    mut tables: Option<&mut TableSet>,
    progress: &mut dyn FnMut(u64, Option<u64>) -> ControlFlow<()>,
) -> Result<Summary, AnalyzeError> {
    // A source without records has no time; it does not matter where it stands.
    sources.sort_by_key(Source::first_time_ns);
    let wants = |table| tables.as_ref().is_some_and(|tables| tables.wants(table));
    let wants = Wants {
        connections: wants(Table::Connections),
        exchanges: wants(Table::Exchanges),
        segments: wants(Table::Segments),
        series: wants(Table::Series),
        retransmissions: wants(Table::Retransmissions),
    };
    let ordered = Ordered::new(options.series_interval_ns, tables.as_deref_mut());
    let later = tables.as_mut().map_or_else(Vec::new, |tables| tables.take_later());
    let reader = Reader::new(sources, options);
    let front = Front::new(options, ordered);
    let merge = Merge::new(tables);
    let shards = std::array::from_fn(|_| Shard::new(options, wants));
    let done = pipeline::run(reader, front, shards, merge, later, options.threads, progress)?;

    let (mut clients, mut counts) = (Clients::new(options.series_interval_ns, wants), FlowCounts::default());
    for shard in done.shards {
        counts.merge(&shard.counts);
        clients.merge(shard.clients);
    }
    let tables = done.merge.finish()?;

    let Front { ordered, decoder, fragments, quic, read, .. } = *done.front;
    let mut summary = ordered.finish(&clients, &counts, tables)?;
    done.reader.done.iter().for_each(|source| summary.source(source));
    summary.decoder(&decoder);
    summary.anomalies(read.anomalies());
    summary.anomalies(counts.http.anomalies());
    summary.add("applications", counts.http.applications().collect());
    summary.anomalies(fragments.anomalies());
    summary.checked_checksums = read.checksums_seen;
    summary.wrong_checksums = read.checksums_wrong;
    summary.strict_checksum = options.strict_checksum;
    summary.sorted = options.sort_window.is_some();
    let quic = quic.finish();
    if quic != Default::default() {
        summary.add(
            "quic",
            json!({
                "connections": quic.connections,
                "version_negotiations": quic.version_negotiations,
                "other_versions": quic.other_versions,
                "names": quic.names,
            }),
        );
    }
    Ok(summary)
}
