//! Puts records in order of time where a capture has them a little out of order.
//!
//! A record waits until another one is later by the window, or until too many bytes wait; records of the
//! same time keep their order. Leaves out everything unless it was asked for: it copies every record.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use airperf_wire::container::{Batch, ReadError, Record};

/// Most bytes of memory for records that wait.
const MOST_BYTES: usize = 32 << 20;
/// What an allocation takes besides.
const ALLOCATION_BYTES: usize = 16;
/// Bytes after which a batch is full.
const BATCH_BYTES: usize = 1 << 20;
/// Records after which a batch is full.
const BATCH_RECORDS: usize = 8_192;

#[derive(Debug)]
struct Waiting {
    record: Record,
    bytes: Vec<u8>,
}

impl Waiting {
    fn key(&self) -> (i64, u64) {
        (self.record.time_ns, self.record.number)
    }

    /// Memory it takes: of short records most is not their bytes.
    fn cost(&self) -> usize {
        size_of::<Self>() + ALLOCATION_BYTES + self.bytes.len()
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// Records that may have to wait for earlier ones.
#[derive(Debug)]
pub(crate) struct Sorter {
    window_ns: i64,
    waiting: BinaryHeap<Reverse<Waiting>>,
    bytes: usize,
    latest_ns: i64,
    raw: Batch,
    /// Records of `raw` that were taken.
    taken: usize,
    at_end: bool,
}

impl Sorter {
    pub(crate) fn new(window: Duration) -> Self {
        Self {
            window_ns: i64::try_from(window.as_nanos()).unwrap_or(i64::MAX),
            waiting: BinaryHeap::new(),
            bytes: 0,
            latest_ns: i64::MIN,
            raw: Batch::default(),
            taken: 0,
            at_end: false,
        }
    }

    /// Fills `batch` with the next records in order; `read` gives them as they come. False at the end.
    pub(crate) fn read(
        &mut self,
        batch: &mut Batch,
        mut read: impl FnMut(&mut Batch) -> Result<bool, ReadError>,
    ) -> Result<bool, ReadError> {
        batch.clear();
        let mut filled = 0;
        loop {
            while let Some(Reverse(first)) = self.waiting.peek() {
                let is_due = self.at_end
                    || self.bytes > MOST_BYTES
                    || self.latest_ns.saturating_sub(first.record.time_ns) > self.window_ns;
                if !is_due {
                    break;
                }
                let Some(Reverse(first)) = self.waiting.pop() else { break };
                self.bytes -= first.cost();
                batch.push(&first.record, &first.bytes);
                filled += first.bytes.len();
                if filled >= BATCH_BYTES || batch.records().len() >= BATCH_RECORDS {
                    return Ok(true);
                }
            }
            if let Some(record) = self.raw.records().get(self.taken) {
                let bytes = self.raw.bytes(record).to_vec();
                self.taken += 1;
                self.latest_ns = self.latest_ns.max(record.time_ns);
                let record = Waiting { record: *record, bytes };
                self.bytes += record.cost();
                self.waiting.push(Reverse(record));
            } else if self.at_end {
                return Ok(!batch.records().is_empty());
            } else {
                self.taken = 0;
                self.at_end = !read(&mut self.raw)?;
                if self.at_end {
                    self.raw.clear();
                }
            }
        }
    }
}
