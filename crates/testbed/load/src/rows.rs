//! Rows of exchanges, connections and pages, written by a thread of its own so that no disk delays an arrival.
//!
//! Rows are handed over in batches. While the writer is behind they gather here, [`MOST_GATHERED`] at most;
//! beyond, rows are dropped and counted: the schedule comes first, and the statistics do not need rows.
//!
//! Left out: what the columns mean; see `airperf_record::load`.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use airperf_record::load::{ConnectionRow, ExchangeRow, LoadWriter};
use airperf_record::{PageRow, TableWriter, WriteError};

use crate::stats::{Cause, Outcome};

/// Rows handed over at once.
const BATCH: usize = 4 * 1024;
/// Batches that wait at most.
const WAITING: usize = 8;
/// Rows that gather here at most while the writer is behind: some 25 MB.
const MOST_GATHERED: usize = 256 * 1024;

/// The end of an exchange.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExchangeEnd {
    pub(crate) connection: u64,
    pub(crate) index: u32,
    pub(crate) client: u16,
    pub(crate) due_ns: u64,
    pub(crate) sent_ns: Option<u64>,
    pub(crate) first_byte_ns: Option<u64>,
    pub(crate) done_ns: Option<u64>,
    pub(crate) request_bytes: u64,
    pub(crate) response_bytes: u64,
    pub(crate) status: u16,
    pub(crate) outcome: Outcome,
}

/// The end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionEnd {
    pub(crate) connection: u64,
    pub(crate) client: u16,
    pub(crate) due_ns: u64,
    pub(crate) opened_ns: Option<u64>,
    pub(crate) established_ns: Option<u64>,
    pub(crate) closed_ns: Option<u64>,
    pub(crate) outcome: Outcome,
    pub(crate) cause: Option<Cause>,
    pub(crate) exchanges: u32,
    pub(crate) bytes_up: u64,
    pub(crate) bytes_down: u64,
}

/// The phase of an error as the tables of runs tell it; a reply that makes no sense broke while it was received.
fn phase(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Completed | Outcome::Local | Outcome::Unfinished => None,
        Outcome::Framing => Some("receive"),
        other => Some(other.name()),
    }
}

#[derive(Debug, Default)]
struct Batch {
    exchanges: Vec<ExchangeEnd>,
    connections: Vec<ConnectionEnd>,
    pages: Vec<PageRow>,
}

impl Batch {
    fn len(&self) -> usize {
        self.exchanges.len() + self.connections.len() + self.pages.len()
    }

    fn clear(&mut self) {
        let Self { exchanges, connections, pages } = self;
        exchanges.clear();
        connections.clear();
        pages.clear();
    }
}

/// The tables of a load.
struct Tables {
    exchanges: TableWriter<ExchangeRow>,
    connections: TableWriter<ConnectionRow>,
    /// Of loads of users only.
    pages: Option<TableWriter<PageRow>>,
}

/// Where rows go.
#[derive(Debug)]
pub(crate) struct Rows {
    batch: Batch,
    full: SyncSender<Batch>,
    empty: Receiver<Batch>,
    thread: JoinHandle<Result<LoadWriter, WriteError>>,
    dropped: u64,
}

impl Rows {
    /// Begins the directory, with a table of pages if there will be `pages`, and its thread.
    pub(crate) fn create(directory: &Path, pages: bool) -> Result<Self, WriteError> {
        let mut writer = LoadWriter::create(directory, false)?;
        let mut tables = Tables {
            exchanges: writer.table()?,
            connections: writer.table()?,
            pages: pages.then(|| writer.table()).transpose()?,
        };
        let (full, batches) = sync_channel::<Batch>(WAITING);
        let (done, empty) = sync_channel::<Batch>(WAITING);
        let thread = std::thread::spawn(move || {
            for mut batch in batches {
                write(&batch, &mut tables)?;
                batch.clear();
                if let Err(TrySendError::Full(batch)) = done.try_send(batch) {
                    drop(batch);
                }
            }
            writer.close_table(tables.exchanges)?;
            writer.close_table(tables.connections)?;
            tables.pages.map_or(Ok(()), |pages| writer.close_table(pages))?;
            Ok(writer)
        });
        Ok(Self { batch: Batch::default(), full, empty, thread, dropped: 0 })
    }

    #[inline]
    pub(crate) fn exchange(&mut self, row: ExchangeEnd) {
        if self.room() {
            self.batch.exchanges.push(row);
        }
    }

    #[inline]
    pub(crate) fn connection(&mut self, row: ConnectionEnd) {
        if self.room() {
            self.batch.connections.push(row);
        }
    }

    pub(crate) fn page(&mut self, row: PageRow) {
        if self.room() {
            self.batch.pages.push(row);
        }
    }

    #[inline]
    fn room(&mut self) -> bool {
        let gathered = self.batch.len();
        if gathered >= BATCH && gathered.is_multiple_of(BATCH) {
            let next = self.empty.try_recv().unwrap_or_default();
            let batch = std::mem::replace(&mut self.batch, next);
            if let Err(TrySendError::Full(batch) | TrySendError::Disconnected(batch)) =
                self.full.try_send(batch)
            {
                self.batch = batch; // and an error of the writer is told at its end
            }
        }
        let room = self.batch.len() < MOST_GATHERED;
        self.dropped += u64::from(!room);
        room
    }

    /// Waits for the last row; the directory, to be finished, and how many rows are not in it.
    pub(crate) fn finish(self) -> Result<(LoadWriter, u64), WriteError> {
        let Self { batch, full, empty, thread, dropped } = self;
        let _ = full.send(batch);
        drop((full, empty));
        let writer = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok((writer, dropped))
    }
}

fn write(batch: &Batch, tables: &mut Tables) -> Result<(), WriteError> {
    for end in &batch.exchanges {
        tables.exchanges.push(&ExchangeRow {
            connection: end.connection,
            index: end.index,
            client: end.client,
            due_ns: end.due_ns,
            sent_ns: end.sent_ns,
            first_byte_ns: end.first_byte_ns,
            done_ns: end.done_ns,
            request_bytes: end.request_bytes,
            response_bytes: end.response_bytes,
            status: (end.status > 0).then_some(end.status),
            outcome: end.outcome.name(),
            error: phase(end.outcome),
        })?;
    }
    for end in &batch.connections {
        tables.connections.push(&ConnectionRow {
            connection: end.connection,
            client: end.client,
            due_ns: end.due_ns,
            opened_ns: end.opened_ns,
            established_ns: end.established_ns,
            closed_ns: end.closed_ns,
            outcome: end.outcome.name(),
            error: phase(end.outcome),
            cause: end.cause.map(Cause::name),
            exchanges: end.exchanges,
            bytes_up: end.bytes_up,
            bytes_down: end.bytes_down,
        })?;
    }
    tables.pages.as_mut().map_or(Ok(()), |pages| pages.extend(&batch.pages))
}
