//! Rows that wait to be encoded by whatever thread has time.
//!
//! Whoever makes rows hands them over some at a time; `pipeline` sees to it that a table is encoded by one thread at a
//! time and that few wait, so that the file has the bytes it would have had with one thread, and memory stays
//! constant. Leaves out encoding.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use airperf_record::{Row, TableWriter, WriteError};

/// Lists of rows that wait for one table before others must be done.
pub(crate) const MOST_WAITING: usize = 8;

/// A table whose rows wait.
pub(crate) trait Encode: std::fmt::Debug + Send + Sync {
    /// Lists of rows that wait.
    fn waiting(&self) -> usize;
    /// Encodes the first of them.
    fn encode(&self) -> Result<(), WriteError>;
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Later<R: Row> {
    lists: Mutex<Lists<R>>,
    table: Mutex<TableWriter<R>>,
}

#[derive(Debug)]
struct Lists<R> {
    full: VecDeque<Vec<R>>,
    /// Lists that were encoded, to be filled again.
    empty: Vec<Vec<R>>,
}

impl<R: Row> Later<R> {
    pub(crate) fn new(table: TableWriter<R>) -> Self {
        let lists = Lists { full: VecDeque::new(), empty: Vec::new() };
        Self { lists: Mutex::new(lists), table: Mutex::new(table) }
    }

    /// Takes `rows` and leaves an empty list.
    pub(crate) fn give(&self, rows: &mut Vec<R>) {
        let mut lists = lock(&self.lists);
        let empty = lists.empty.pop().unwrap_or_else(|| Vec::with_capacity(rows.len()));
        lists.full.push_back(std::mem::replace(rows, empty));
    }

    /// Encodes whatever waits and gives the table back.
    pub(crate) fn into_table(self) -> Result<TableWriter<R>, WriteError> {
        let lists = self.lists.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut table = self.table.into_inner().unwrap_or_else(PoisonError::into_inner);
        lists.full.iter().try_for_each(|rows| table.extend(rows))?;
        Ok(table)
    }
}

impl<R: Row + Send> Encode for Later<R> {
    fn waiting(&self) -> usize {
        lock(&self.lists).full.len()
    }

    fn encode(&self) -> Result<(), WriteError> {
        let Some(mut rows) = lock(&self.lists).full.pop_front() else { return Ok(()) };
        lock(&self.table).extend(&rows)?;
        rows.clear();
        lock(&self.lists).empty.push(rows);
        Ok(())
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use airperf_record::capture::{CaptureWriter, RetransmissionRow};
    use serde_json::json;

    use super::*;

    fn row(n: u64) -> RetransmissionRow {
        RetransmissionRow {
            client: [10, 0, (n >> 8) as u8, n as u8].into(),
            kind: "data",
            segments: n,
            tcp_retransmissions: n / 2,
            mac_retransmissions: None,
        }
    }

    /// The bytes of a table that `fill` fills.
    fn bytes(
        home: &Path,
        name: &str,
        fill: impl FnOnce(TableWriter<RetransmissionRow>) -> TableWriter<RetransmissionRow>,
    ) -> Vec<u8> {
        let mut writer = CaptureWriter::create(&home.join(name), false).unwrap();
        let table = fill(writer.table().unwrap());
        writer.keep(table.finish().unwrap());
        writer.finish(Vec::new(), json!({}), json!({})).unwrap();
        std::fs::read(home.join(name).join(RetransmissionRow::FILE)).unwrap()
    }

    #[test]
    fn a_table_whose_rows_waited_has_the_same_bytes() {
        let home = tempfile::tempdir().unwrap();
        for rows in [0, 1, 4_096, 100_000] {
            let here = bytes(home.path(), &format!("here{rows}"), |mut table| {
                (0..rows).for_each(|n| table.push(&row(n)).unwrap());
                table
            });
            let later = bytes(home.path(), &format!("later{rows}"), |table| {
                let later = Later::new(table);
                let mut list = Vec::new();
                for n in 0..rows {
                    list.push(row(n));
                    if n % 700 == 0 {
                        later.give(&mut list);
                    }
                    if n % 1_000 == 0 {
                        later.encode().unwrap();
                    }
                }
                later.give(&mut list);
                later.into_table().unwrap()
            });
            assert!(here == later, "{rows} rows");
        }
    }

    #[test]
    fn fault_02_a_full_disk_is_told_by_whoever_encodes_and_nothing_is_left() {
        let home = tempfile::tempdir().unwrap();
        let mut writer = CaptureWriter::create(&home.path().join("capture"), false).unwrap();
        // `/dev/full` answers every write as a full disk does.
        std::os::unix::fs::symlink("/dev/full", writer.partial().join(RetransmissionRow::FILE)).unwrap();
        let later = Later::new(writer.table().unwrap());
        let failed = (0..10_000).find_map(|n| {
            later.give(&mut (n * 1_000..(n + 1) * 1_000).map(row).collect());
            later.encode().err()
        });
        assert!(matches!(failed, Some(WriteError::DiskFull { .. })), "{failed:?}");
        drop((later, writer));
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
    }
}
