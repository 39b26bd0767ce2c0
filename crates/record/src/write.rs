//! Writes rows to a Parquet table as they come, in constant memory.
//!
//! Rows are gathered into batches of [`BATCH`] and batches into row groups of [`GROUP`]; only the row
//! group being filled is in memory. Bytes depend on the rows and on this crate's version alone.
//! Reference: Apache Parquet format 2 (data pages version 1, Snappy; times delta-encoded).

use std::sync::Arc;

use arrow_schema::{DataType, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, Encoding};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use crate::chunk::Described;
use crate::file::{Place, RunFile, Written};
use crate::{Row, WriteError};

/// Rows turned into Arrow arrays at once.
const BATCH: usize = 8 * 1024;
/// Rows of a row group: the most that are in memory.
const GROUP: usize = 64 * 1024;

/// A table of a run being written; give it back with [`crate::RunWriter::close_table`].
pub struct TableWriter<R: Row> {
    file: SerializedFileWriter<RunFile>,
    place: Place,
    schema: Arc<Schema>,
    groups: ArrowRowGroupWriterFactory,
    /// Of the row group being filled; none before its first batch.
    columns: Vec<ArrowColumnWriter>,
    builders: R::Builders,
    dense: bool,
    described: Vec<Described>,
    waiting: usize,
    in_group: usize,
    rows: u64,
}

impl<R: Row> TableWriter<R> {
    /// `dense` columns are made by hand where they can be, as suits the long tables of captures.
    pub(crate) fn new(file: RunFile, dense: bool) -> Result<Self, WriteError> {
        let (place, schema) = (file.place(), R::schema());
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties::<R>(dense)))
            .and_then(ArrowWriter::into_serialized_writer);
        let (file, groups) =
            writer.map_err(|source| WriteError::Encode { path: place.path.clone(), source })?;
        let described = file.schema_descr().columns().iter().zip(R::columns());
        let described = described.map(|(column, about)| Described {
            column: column.clone(),
            few: matches!(about.data_type, DataType::UInt8 | DataType::Float64)
                || about.unit == Some("bit/s"),
            // Rows of captures are looked for by number and time.
            sought: matches!(about.name, "frame" | "time_ns"),
        });
        Ok(Self {
            described: described.collect(),
            file,
            place,
            schema,
            groups,
            columns: Vec::new(),
            builders: R::Builders::default(),
            dense,
            waiting: 0,
            in_group: 0,
            rows: 0,
        })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// When a batch is due and the file cannot be written, [`WriteError::DiskFull`] among others.
    #[inline]
    pub fn push(&mut self, row: &R) -> Result<(), WriteError> {
        row.append(&mut self.builders);
        self.gained(1)
    }

    /// Adds rows.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn extend(&mut self, mut rows: &[R]) -> Result<(), WriteError> {
        while !rows.is_empty() {
            let (now, later) = rows.split_at(rows.len().min(BATCH - self.waiting));
            R::append_all(now, &mut self.builders);
            self.gained(now.len())?;
            rows = later;
        }
        Ok(())
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    #[inline]
    fn gained(&mut self, rows: usize) -> Result<(), WriteError> {
        self.waiting += rows;
        self.rows += rows as u64;
        if self.waiting < BATCH {
            return Ok(());
        }
        self.write_batch()?;
        if self.in_group < GROUP { Ok(()) } else { self.write_group() }
    }

    fn write_batch(&mut self) -> Result<(), WriteError> {
        self.in_group += std::mem::take(&mut self.waiting);
        self.encode_batch().map_err(|e| error(&self.place, e))
    }

    fn encode_batch(&mut self) -> Result<(), ParquetError> {
        if self.columns.is_empty() {
            self.columns = self.groups.create_column_writers(self.file.flushed_row_groups().len())?;
        }
        let columns = self.columns.iter_mut().zip(self.schema.fields()).zip(&self.described);
        for (((writer, field), described), cells) in columns.zip(R::gathered(&mut self.builders)) {
            if let Some(cells) = cells.by_hand().filter(|_| self.dense) {
                cells.page(described)?;
                continue;
            }
            for leaf in compute_leaves(field, &cells.take_array())? {
                writer.write(&leaf)?;
            }
        }
        Ok(())
    }

    fn write_group(&mut self) -> Result<(), WriteError> {
        self.in_group = 0;
        self.encode_group().map_err(|e| error(&self.place, e))
    }

    fn encode_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        let columns = self.columns.drain(..).zip(&self.described);
        for ((writer, described), cells) in columns.zip(R::gathered(&mut self.builders)) {
            match cells.by_hand().filter(|_| self.dense) {
                Some(cells) => {
                    let (chunk, close) = cells.close(described)?;
                    group.append_column(&chunk, close)?;
                }
                None => writer.close()?.append_to_row_group(&mut group)?,
            }
        }
        group.close().map(drop)
    }

    /// Writes what is left and the footer.
    ///
    /// # Errors
    /// What the operating system refuses, [`WriteError::DiskFull`] among others.
    pub fn finish(mut self) -> Result<Written, WriteError> {
        if self.waiting > 0 {
            self.write_batch()?;
        }
        if self.in_group > 0 {
            self.write_group()?;
        }
        let file = self.file.into_inner().map_err(|e| error(&self.place, e))?;
        let mut written = file.finish()?;
        written.entry.rows = Some(self.rows);
        Ok(written)
    }
}

impl<R: Row> std::fmt::Debug for TableWriter<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableWriter")
            .field("table", &R::FILE)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

/// What the encoder says about the file at `place`, or what the file itself said if that was the cause:
/// the encoder does not hand every such error on.
fn error(place: &Place, source: ParquetError) -> WriteError {
    match place.failure() {
        Some(kind) => place.error("write it", 1, kind.into()),
        None => WriteError::Encode { path: place.path.clone(), source },
    }
}

fn properties<R: Row>(dense: bool) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("airperf ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_max_row_group_row_count(Some(GROUP));
    for column in R::columns() {
        let path = ColumnPath::from(column.name);
        // Times rise steadily: their differences are short, a dictionary of them would be long.
        if column.unit == Some("ns") {
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED);
        }
        // What is made by hand has its own.
        if dense {
            properties = properties.set_column_statistics_enabled(path, EnabledStatistics::None);
        }
    }
    properties.build()
}
