//! The tables of a capture that are wanted, and where their rows go.
//!
//! The rows of the two long tables, frames and segments, are encoded some at a time, and where there is more than one
//! thread to work with by any of them (`later`). Rows with texts are encoded at once, so that their memory goes where it
//! came from. Left out: what is in a row.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use airperf_record::capture::{
    CaptureManifest, CaptureWriter, ConnectionRow, ExchangeRow, FrameRow, HistogramRow, RetransmissionRow,
    SegmentRow, SeriesRow, StationRow,
};
use airperf_record::{Row, TableWriter, WriteError, Written};
use serde_json::Value;

use super::later::{Encode, Later};

/// Rows encoded at once: few enough to be in the processor's cache.
const AT_ONCE: usize = 512;

/// A table of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// TCP connections.
    Connections,
    /// HTTP exchanges.
    Exchanges,
    /// Frames.
    Frames,
    /// TCP segments.
    Segments,
    /// 802.11 transmitters.
    Stations,
    /// Packets and bytes over time.
    Series,
    /// Distributions.
    Histograms,
    /// Retransmissions by client and type.
    Retransmissions,
}

impl Table {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Connections,
        Self::Exchanges,
        Self::Frames,
        Self::Segments,
        Self::Stations,
        Self::Series,
        Self::Histograms,
        Self::Retransmissions,
    ];

    /// Its name: that of its file without `.parquet`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Exchanges => "exchanges",
            Self::Frames => "frames",
            Self::Segments => "segments",
            Self::Stations => "stations",
            Self::Series => "series",
            Self::Histograms => "histograms",
            Self::Retransmissions => "retransmissions",
        }
    }

    /// The table of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|table| table.name() == name)
    }
}

/// Where the rows of a long table go.
#[derive(Debug)]
pub(crate) enum LongTable<R: Row> {
    /// Encoded by whoever gives them, some at a time.
    Here(Box<TableWriter<R>>, Vec<R>),
    /// Encoded by whoever has time.
    Later(Arc<Later<R>>, Vec<R>),
}

impl<R: Row + Send> LongTable<R> {
    /// Adds a row.
    ///
    /// # Errors
    /// As [`TableWriter::push`], of this row or one before it.
    #[inline]
    pub(crate) fn push(&mut self, row: R) -> Result<(), WriteError> {
        match self {
            Self::Here(table, rows) => {
                rows.push(row);
                if rows.len() >= AT_ONCE {
                    table.extend(rows)?;
                    rows.clear();
                }
            }
            Self::Later(later, rows) => {
                rows.push(row);
                if rows.len() >= AT_ONCE {
                    later.give(rows);
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Written, WriteError> {
        match self {
            Self::Here(mut table, rows) => {
                table.extend(&rows)?;
                table.finish()
            }
            Self::Later(later, mut rows) => {
                later.give(&mut rows);
                let later = Arc::into_inner(later).expect("whoever encoded has let go of it");
                later.into_table()?.finish()
            }
        }
    }
}

/// The tables that are wanted, being written to the directory of a capture.
#[derive(Debug)]
pub struct TableSet {
    writer: CaptureWriter,
    threads: usize,
    later: Vec<Arc<dyn Encode>>,
    pub(crate) connections: Option<Box<TableWriter<ConnectionRow>>>,
    pub(crate) exchanges: Option<Box<TableWriter<ExchangeRow>>>,
    pub(crate) frames: Option<LongTable<FrameRow>>,
    pub(crate) segments: Option<LongTable<SegmentRow>>,
    pub(crate) stations: Option<Box<TableWriter<StationRow>>>,
    pub(crate) series: Option<Box<TableWriter<SeriesRow>>>,
    pub(crate) histograms: Option<Box<TableWriter<HistogramRow>>>,
    pub(crate) retransmissions: Option<Box<TableWriter<RetransmissionRow>>>,
}

impl TableSet {
    /// Begins `wanted` in what will be `directory`, an earlier analysis there being replaced if `replace`.
    /// `threads` as in [`Options`](crate::capture::Options): with one, nothing is done on other threads.
    ///
    /// # Errors
    /// As [`CaptureWriter::create`] and [`CaptureWriter::table`].
    pub fn create(
        directory: &Path,
        replace: bool,
        wanted: &[Table],
        threads: usize,
    ) -> Result<Self, WriteError> {
        let mut writer = CaptureWriter::create(directory, replace)?;
        let mut later: Vec<Arc<dyn Encode>> = Vec::new();
        let mut begin = Begin { writer: &mut writer, wanted, later: (threads > 1).then_some(&mut later) };
        Ok(Self {
            connections: begin.table(Table::Connections)?,
            exchanges: begin.table(Table::Exchanges)?,
            frames: begin.long_table(Table::Frames)?,
            segments: begin.long_table(Table::Segments)?,
            stations: begin.table(Table::Stations)?,
            series: begin.table(Table::Series)?,
            histograms: begin.table(Table::Histograms)?,
            retransmissions: begin.table(Table::Retransmissions)?,
            later,
            threads,
            writer,
        })
    }

    /// The tables whose rows wait to be encoded; to be asked for once.
    pub(crate) fn take_later(&mut self) -> Vec<Arc<dyn Encode>> {
        std::mem::take(&mut self.later)
    }

    /// Whether a table is wanted.
    pub fn wants(&self, table: Table) -> bool {
        match table {
            Table::Connections => self.connections.is_some(),
            Table::Exchanges => self.exchanges.is_some(),
            Table::Frames => self.frames.is_some(),
            Table::Segments => self.segments.is_some(),
            Table::Stations => self.stations.is_some(),
            Table::Series => self.series.is_some(),
            Table::Histograms => self.histograms.is_some(),
            Table::Retransmissions => self.retransmissions.is_some(),
        }
    }

    /// Adds a connection, if they are wanted; so with the next two.
    pub(crate) fn connection(&mut self, row: &ConnectionRow) -> Result<(), WriteError> {
        self.connections.as_mut().map_or(Ok(()), |table| table.push(row))
    }

    pub(crate) fn exchange(&mut self, row: &ExchangeRow) -> Result<(), WriteError> {
        self.exchanges.as_mut().map_or(Ok(()), |table| table.push(row))
    }

    #[inline]
    pub(crate) fn segment(&mut self, row: &SegmentRow) -> Result<(), WriteError> {
        self.segments.as_mut().map_or(Ok(()), |table| table.push(row.clone()))
    }

    /// Ends all tables, writes the manifest and gives the directory its name.
    ///
    /// # Errors
    /// What the operating system refuses; then nothing is left of it, and an earlier one stands.
    pub fn finish(
        self,
        sources: Vec<String>,
        options: Value,
        summary: Value,
    ) -> Result<CaptureManifest, WriteError> {
        let Self { mut writer, threads, .. } = self;
        let mut ends: Vec<End> = Vec::new();
        ends.extend(self.segments.map(|table| Box::new(|| table.finish()) as End));
        ends.extend(self.frames.map(|table| Box::new(|| table.finish()) as End));
        ends.extend(self.exchanges.map(end));
        ends.extend(self.connections.map(end));
        ends.extend(self.stations.map(end));
        ends.extend(self.series.map(end));
        ends.extend(self.histograms.map(end));
        ends.extend(self.retransmissions.map(end));
        end_all(ends, threads)?.into_iter().for_each(|table| writer.keep(table));
        writer.finish(sources, options, summary)
    }
}

/// Begins tables.
struct Begin<'b> {
    writer: &'b mut CaptureWriter,
    wanted: &'b [Table],
    /// Tables whose rows wait, if any shall.
    later: Option<&'b mut Vec<Arc<dyn Encode>>>,
}

impl Begin<'_> {
    fn table<R: Row>(&mut self, table: Table) -> Result<Option<Box<TableWriter<R>>>, WriteError> {
        let begun = self.wanted.contains(&table).then(|| self.writer.table()).transpose()?;
        Ok(begun.map(Box::new))
    }

    /// A table with a row for every frame or segment.
    fn long_table<R: Row + Send>(&mut self, table: Table) -> Result<Option<LongTable<R>>, WriteError> {
        let Some(table) = self.table(table)? else { return Ok(None) };
        let Some(waiting) = &mut self.later else { return Ok(Some(LongTable::Here(table, Vec::new()))) };
        let later = Arc::new(Later::new(*table));
        waiting.push(later.clone());
        Ok(Some(LongTable::Later(later, Vec::new())))
    }
}

/// Finishes a table.
type End = Box<dyn FnOnce() -> Result<Written, WriteError> + Send>;

fn end<R: Row + Send>(table: Box<TableWriter<R>>) -> End {
    Box::new(|| table.finish())
}

/// Finishes tables, the longest first: their last rows may be as many as all before.
fn end_all(ends: Vec<End>, threads: usize) -> Result<Vec<Written>, WriteError> {
    let threads = threads.min(ends.len());
    let ends = Mutex::new(ends.into_iter());
    let next = || ends.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || std::iter::from_fn(next).map(|end| end()).collect::<Result<Vec<_>, _>>();
    std::thread::scope(|scope| {
        // A thread that cannot be had is done without.
        let thread = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).filter_map(thread).collect();
        let mut written = work()?;
        for other in others {
            written.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(written)
    })
}
