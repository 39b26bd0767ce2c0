//! Gets events off the medium's thread: encoded into blocks, written by another thread, read back later.
//!
//! The medium must never wait for a disk. Events go into a block in memory; full blocks cross a bounded
//! channel to a writer and come back empty. When the writer falls behind, the block grows instead. The
//! file is private to one run and little endian; it is gone when the run directory is complete.
//!
//! Left out: any meaning; see `records`.

mod codec;

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use crate::medium::{Event, Recorder};
use codec::{decode, encode};

const BLOCK_BYTES: usize = 256 * 1024;
const BLOCKS: usize = 16;

/// The medium's end of the spool.
#[derive(Debug)]
pub(crate) struct Spool {
    block: Vec<u8>,
    full: Option<SyncSender<Vec<u8>>>,
    empty: Receiver<Vec<u8>>,
    /// Times a full block could not be handed over at once.
    pub(crate) delayed: u64,
}

/// The writer's end; its thread ends when the [`Spool`] is closed or dropped.
#[derive(Debug)]
pub(crate) struct Spooler(JoinHandle<io::Result<()>>);

impl Spooler {
    /// Waits until everything is in the file.
    ///
    /// # Errors
    /// What writing the file ran into, a full disk for instance.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.0.join().unwrap_or_else(|_| Err(io::Error::other("the spool's writer panicked")))
    }
}

/// Opens a spool into the file `path`.
///
/// # Errors
/// When the file cannot be made.
pub(crate) fn open(path: &Path) -> io::Result<(Spool, Spooler)> {
    let mut file = File::create(path)?;
    let (full, to_write) = sync_channel::<Vec<u8>>(BLOCKS);
    let (written, empty) = sync_channel::<Vec<u8>>(2 * BLOCKS);
    for _ in 0..BLOCKS {
        // Touched now, so that the first use of a block is not a page fault on the medium's thread.
        let mut block = vec![0; BLOCK_BYTES + 65_536];
        block.clear();
        let _ = written.try_send(block);
    }
    let write_all = move || -> io::Result<()> {
        for mut block in to_write {
            file.write_all(&block)?;
            block.clear();
            let _ = written.try_send(block);
        }
        Ok(())
    };
    let writer = std::thread::Builder::new().name("emu-spool".into()).spawn(write_all)?;
    let block = empty.try_recv().unwrap_or_default();
    Ok((Spool { block, full: Some(full), empty, delayed: 0 }, Spooler(writer)))
}

impl Spool {
    /// Hands over what is left; this may wait, so it is for the end of a run.
    pub(crate) fn close(&mut self) {
        if let Some(full) = self.full.take() {
            // A send fails only when the writer has failed, and then the writer says why.
            let _ = full.send(std::mem::take(&mut self.block));
        }
    }

    fn hand_over(&mut self) {
        let next = self.empty.try_recv();
        let (Ok(next), Some(full)) = (next, &self.full) else {
            self.delayed += 1;
            return;
        };
        match full.try_send(std::mem::replace(&mut self.block, next)) {
            Ok(()) => {}
            Err(TrySendError::Full(block) | TrySendError::Disconnected(block)) => {
                self.block = block;
                self.delayed += 1;
            }
        }
    }
}

impl Recorder for Spool {
    fn record(&mut self, event: &Event<'_>) {
        encode(event, &mut self.block);
        if self.block.len() >= BLOCK_BYTES {
            self.hand_over();
        }
    }
}

/// Reads a spool back, event by event.
#[derive(Debug)]
pub(crate) struct SpoolReader {
    file: BufReader<File>,
    path: PathBuf,
    packet: Vec<u8>,
}

impl SpoolReader {
    /// Opens the file.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = BufReader::with_capacity(BLOCK_BYTES, File::open(path)?);
        Ok(Self { file, path: path.to_owned(), packet: Vec::new() })
    }

    /// The next event, `None` at the end of the file.
    ///
    /// # Errors
    /// When the file cannot be read, or is not a whole spool.
    pub(crate) fn next(&mut self) -> io::Result<Option<Event<'_>>> {
        let mut tag = [0u8];
        match self.file.read_exact(&mut tag) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        let what = format_args!("{} is not a whole spool", self.path.display()).to_string();
        decode(tag[0], &mut self.file, &mut self.packet)?
            .map(Some)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, what))
    }
}

#[cfg(test)]
mod tests;
