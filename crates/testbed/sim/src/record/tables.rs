//! The tables that a run has: opened and closed by its record level.

use airperf_record::{Row, RunWriter, TableWriter, WriteError};

/// A table, if the run has it; a writer is tens of kilobytes, and a recorder is handed from hand to hand.
pub(super) type Table<R> = Option<Box<TableWriter<R>>>;

/// Opens a table that the run's level has.
pub(super) fn table<R: Row>(writer: &mut RunWriter) -> Result<Table<R>, WriteError> {
    Ok(writer.table()?.map(Box::new))
}

/// Closes a table.
pub(super) fn close<R: Row>(writer: &mut RunWriter, table: Table<R>) -> Result<(), WriteError> {
    table.map_or(Ok(()), |table| writer.close_table(*table))
}
