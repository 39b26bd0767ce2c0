//! Writes rows to a Parquet table as they come, in constant memory.
//!
//! Rows are gathered into batches of [`BATCH`] and batches into row groups of [`GROUP`]; only the row
//! group being filled is in memory. Bytes depend on the rows and on this crate's version alone.
//! Reference: Apache Parquet format 2 (data pages version 1, Snappy; times delta-encoded).

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::file::{FileEntry, Place, RunFile};
use crate::{Row, WriteError};

/// Rows turned into Arrow arrays at once.
const BATCH: usize = 8 * 1024;
/// Rows of a row group: the most that are in memory.
const GROUP: usize = 64 * 1024;

/// A table of a run being written; give it back with [`crate::RunWriter::close_table`].
pub struct TableWriter<R: Row> {
    writer: ArrowWriter<RunFile>,
    builders: R::Builders,
    waiting: usize,
    rows: u64,
}

impl<R: Row> TableWriter<R> {
    /// `dense` numbers are delta-encoded, as suits the long tables of captures.
    pub(crate) fn new(file: RunFile, dense: bool) -> Result<Self, WriteError> {
        let path = file.path().to_owned();
        let writer = ArrowWriter::try_new(file, R::schema(), Some(properties::<R>(dense)))
            .map_err(|source| WriteError::Encode { path, source })?;
        Ok(Self { writer, builders: R::Builders::default(), waiting: 0, rows: 0 })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// When a batch is due and the file cannot be written, [`WriteError::DiskFull`] among others.
    #[inline]
    pub fn push(&mut self, row: &R) -> Result<(), WriteError> {
        row.append(&mut self.builders);
        self.waiting += 1;
        self.rows += 1;
        if self.waiting == BATCH { self.write_batch() } else { Ok(()) }
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    fn write_batch(&mut self) -> Result<(), WriteError> {
        self.waiting = 0;
        let columns = R::finish(&mut self.builders);
        let batch = RecordBatch::try_new(R::schema(), columns).expect("builders follow the schema");
        self.writer.write(&batch).map_err(|e| error(&self.writer.inner().place(), e))
    }

    /// Writes what is left and the footer, and puts everything on the disk.
    pub(crate) fn finish(mut self) -> Result<FileEntry, WriteError> {
        if self.waiting > 0 {
            self.write_batch()?;
        }
        let place = self.writer.inner().place();
        let file = self.writer.into_inner().map_err(|e| error(&place, e))?;
        Ok(FileEntry { rows: Some(self.rows), ..file.finish()? })
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
        // Times rise steadily: their differences are short, a dictionary of them would be long. So it is
        // with most numbers of a capture but rates. Runs keep the encoding of their first version.
        let number = matches!(column.data_type, DataType::UInt32 | DataType::UInt64);
        if column.unit == Some("ns") || dense && number && column.unit != Some("bit/s") {
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        } else if dense && column.data_type == DataType::Utf8 {
            properties = properties.set_column_statistics_enabled(path, EnabledStatistics::None);
        }
    }
    properties.build()
}
