//! The records of all files of a capture, batch after batch, as one capture.
//!
//! Leaves out what is in the records: this is the part that waits for the disk, and it runs ahead of the rest.

use std::collections::VecDeque;

use airperf_wire::container::{Batch, ReadError, Source};

use super::options::Options;
use super::sort::Sorter;

/// Reads sources one after the other.
#[derive(Debug)]
pub(crate) struct Reader {
    sources: VecDeque<Source>,
    /// Sources that were read to their end.
    pub(crate) done: Vec<Source>,
    sorter: Option<Sorter>,
}

impl Reader {
    pub(crate) fn new(sources: Vec<Source>, options: &Options) -> Self {
        Self { sources: sources.into(), done: Vec::new(), sorter: options.sort_window.map(Sorter::new) }
    }

    /// Bytes read of all sources, and how many there are.
    pub(crate) fn progress(&self) -> (u64, Option<u64>) {
        let before: u64 = self.done.iter().map(|s| s.progress().0).sum();
        let now = self.sources.front().map_or((0, Some(0)), Source::progress);
        let after: Option<u64> = self.sources.iter().skip(1).map(|s| s.progress().1).sum();
        (before + now.0, now.1.and_then(|n| Some(before + n + after?)))
    }

    /// Fills `batch` with the next records; false when there are no more.
    pub(crate) fn read(&mut self, batch: &mut Batch) -> Result<bool, ReadError> {
        let Self { sources, done, sorter } = self;
        let more = match sorter {
            Some(sorter) => sorter.read(batch, |raw| next(sources, done, raw))?,
            None => next(sources, done, batch)?,
        };
        if !more {
            batch.clear();
        }
        Ok(more)
    }
}

/// The next records of the first source that has any.
fn next(
    sources: &mut VecDeque<Source>,
    done: &mut Vec<Source>,
    batch: &mut Batch,
) -> Result<bool, ReadError> {
    while let Some(source) = sources.front_mut() {
        if source.read(batch)? {
            return Ok(true);
        }
        let Some(read) = sources.pop_front() else { break };
        if let Some(after) = sources.front_mut() {
            after.count_on(&read);
        }
        done.push(read);
    }
    Ok(false)
}
