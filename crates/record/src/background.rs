//! A table that is encoded on a thread of its own.
//!
//! Rows are handed over in batches through a queue of bounded length: a slow disk slows the one who
//! gives rows, memory stays constant, and the file has the bytes it would have had without the thread.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use crate::{Row, TableWriter, WriteError};

/// Rows handed over at once.
const BATCH: usize = 1024;
/// Batches that wait at most.
const WAITING: usize = 4;

type Outcome<R> = Result<TableWriter<R>, WriteError>;

/// A [`TableWriter`] whose work is done on another thread.
#[derive(Debug)]
pub struct BackgroundTable<R: Row> {
    rows: Vec<R>,
    full: SyncSender<Vec<R>>,
    /// Batches that were written, to be filled again.
    empty: Receiver<Vec<R>>,
    /// `None` once its failure was told.
    thread: Option<JoinHandle<Outcome<R>>>,
}

impl<R: Row + Send> BackgroundTable<R> {
    /// Hands `table` to a thread.
    ///
    /// # Errors
    /// The table again where the operating system has no thread left: write it without.
    pub fn new(table: TableWriter<R>) -> Result<Self, Box<TableWriter<R>>> {
        let (full, batches) = sync_channel::<Vec<R>>(WAITING);
        let (done, empty) = sync_channel(WAITING);
        let (give, taken) = sync_channel(1);
        let work = move || -> Outcome<R> {
            let mut table: TableWriter<R> = taken.recv().expect("given once the thread is there");
            for mut rows in batches {
                table.extend(&rows)?;
                rows.clear();
                if let Err(TrySendError::Full(rows)) = done.try_send(rows) {
                    drop(rows);
                }
            }
            Ok(table)
        };
        match std::thread::Builder::new().name(R::FILE.to_owned()).spawn(work) {
            Ok(thread) => {
                give.send(table).expect("the thread waits for it");
                Ok(Self { rows: Vec::with_capacity(BATCH), full, empty, thread: Some(thread) })
            }
            Err(_) => Err(Box::new(table)),
        }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// Those of [`TableWriter::push`], of this row or one before it; later rows go nowhere.
    #[inline]
    pub fn push(&mut self, row: R) -> Result<(), WriteError> {
        self.rows.push(row);
        if self.rows.len() == BATCH { self.hand_over() } else { Ok(()) }
    }

    #[cold]
    fn hand_over(&mut self) -> Result<(), WriteError> {
        let next = self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(BATCH));
        let rows = std::mem::replace(&mut self.rows, next);
        if self.full.send(rows).is_ok() {
            return Ok(());
        }
        // The thread has left because of an error; what it says comes with joining it.
        self.thread.take().map_or(Ok(()), |thread| join(thread).map(drop))
    }

    /// Waits for the last row and gives the table back, to be closed; `None` when [`Self::push`] has failed.
    ///
    /// # Errors
    /// Those of [`TableWriter::push`], of whichever row.
    ///
    /// # Panics
    /// Where the thread did.
    pub fn finish(self) -> Result<Option<TableWriter<R>>, WriteError> {
        let Self { rows, full, empty: _, thread } = self;
        let _ = full.send(rows);
        drop(full);
        thread.map(join).transpose()
    }
}

fn join<R: Row>(thread: JoinHandle<Outcome<R>>) -> Outcome<R> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
