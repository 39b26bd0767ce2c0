//! The tables of a capture that are wanted, and where their rows go.
//!
//! The two long tables, frames and segments, are encoded on threads of their own where there is more than one
//! thread to work with. Left out: what is in a row.

use std::path::Path;

use airperf_record::capture::{
    CaptureManifest, CaptureWriter, ConnectionRow, ExchangeRow, FrameRow, HistogramRow, RetransmissionRow,
    SegmentRow, SeriesRow, StationRow,
};
use airperf_record::{BackgroundTable, Row, TableWriter, WriteError};
use serde_json::Value;

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

/// Where the rows of one table go.
#[derive(Debug)]
pub(crate) enum Rows<R: Row> {
    /// Encoded by whoever gives them, some at a time.
    Here(Box<TableWriter<R>>, Vec<R>),
    /// Encoded by a thread.
    There(BackgroundTable<R>),
}

impl<R: Row + Send> Rows<R> {
    /// Adds a row.
    ///
    /// # Errors
    /// As [`TableWriter::push`]; for a table with a thread of its own, some rows later.
    #[inline]
    pub(crate) fn push(&mut self, row: R) -> Result<(), WriteError> {
        match self {
            Self::Here(table, rows) => {
                rows.push(row);
                if rows.len() < AT_ONCE {
                    return Ok(());
                }
                table.extend(rows)?;
                rows.clear();
                Ok(())
            }
            Self::There(table) => table.push(row),
        }
    }

    fn close(self, writer: &mut CaptureWriter) -> Result<(), WriteError> {
        let table = match self {
            Self::Here(mut table, rows) => {
                table.extend(&rows)?;
                Some(*table)
            }
            Self::There(table) => table.finish()?,
        };
        table.map_or(Ok(()), |table| writer.close_table(table))
    }
}

/// The tables that are wanted, being written to the directory of a capture.
#[derive(Debug)]
pub struct TableSet {
    writer: CaptureWriter,
    pub(crate) connections: Option<Rows<ConnectionRow>>,
    pub(crate) exchanges: Option<Rows<ExchangeRow>>,
    pub(crate) frames: Option<Rows<FrameRow>>,
    pub(crate) segments: Option<Rows<SegmentRow>>,
    pub(crate) stations: Option<Rows<StationRow>>,
    pub(crate) series: Option<Rows<SeriesRow>>,
    pub(crate) histograms: Option<Rows<HistogramRow>>,
    pub(crate) retransmissions: Option<Rows<RetransmissionRow>>,
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
        let wants = |table| wanted.contains(&table);
        Ok(Self {
            connections: begin(&mut writer, wants(Table::Connections), false)?,
            exchanges: begin(&mut writer, wants(Table::Exchanges), false)?,
            frames: begin(&mut writer, wants(Table::Frames), threads > 1)?,
            segments: begin(&mut writer, wants(Table::Segments), threads > 1)?,
            stations: begin(&mut writer, wants(Table::Stations), false)?,
            series: begin(&mut writer, wants(Table::Series), false)?,
            histograms: begin(&mut writer, wants(Table::Histograms), false)?,
            retransmissions: begin(&mut writer, wants(Table::Retransmissions), false)?,
            writer,
        })
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
    pub(crate) fn connection(&mut self, row: ConnectionRow) -> Result<(), WriteError> {
        self.connections.as_mut().map_or(Ok(()), |rows| rows.push(row))
    }

    pub(crate) fn exchange(&mut self, row: ExchangeRow) -> Result<(), WriteError> {
        self.exchanges.as_mut().map_or(Ok(()), |rows| rows.push(row))
    }

    #[inline]
    pub(crate) fn segment(&mut self, row: SegmentRow) -> Result<(), WriteError> {
        self.segments.as_mut().map_or(Ok(()), |rows| rows.push(row))
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
        let mut writer = self.writer;
        end(&mut writer, self.connections)?;
        end(&mut writer, self.exchanges)?;
        end(&mut writer, self.frames)?;
        end(&mut writer, self.segments)?;
        end(&mut writer, self.stations)?;
        end(&mut writer, self.series)?;
        end(&mut writer, self.histograms)?;
        end(&mut writer, self.retransmissions)?;
        writer.finish(sources, options, summary)
    }
}

fn begin<R: Row + Send>(
    writer: &mut CaptureWriter,
    wanted: bool,
    background: bool,
) -> Result<Option<Rows<R>>, WriteError> {
    if !wanted {
        return Ok(None);
    }
    let table = writer.table()?;
    if !background {
        return Ok(Some(Rows::Here(Box::new(table), Vec::new())));
    }
    let here = |table| Rows::Here(table, Vec::new());
    Ok(Some(BackgroundTable::new(table).map_or_else(here, Rows::There)))
}

fn end<R: Row + Send>(writer: &mut CaptureWriter, rows: Option<Rows<R>>) -> Result<(), WriteError> {
    rows.map_or(Ok(()), |rows| rows.close(writer))
}
