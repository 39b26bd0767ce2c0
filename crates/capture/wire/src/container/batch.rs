//! Some records of a capture and the bytes they lie in.

use crate::LinkType;

/// One captured packet or frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its number in the capture, from 1, as Wireshark numbers them.
    pub number: u64,
    /// When it was captured: nanoseconds since 1970, exact.
    pub time_ns: i64,
    /// Where the record begins in the (uncompressed) capture, in bytes.
    pub place: u64,
    /// Number of its interface in the capture, from 0; interfaces of later sections count on.
    pub interface: u32,
    /// What its bytes begin with.
    pub link: LinkType,
    /// Octets of frame check sequence at its end, where the capture says so.
    pub fcs_octets: Option<u8>,
    /// Bytes captured.
    pub captured: u32,
    /// Bytes on the wire.
    pub original: u32,
    /// Where its bytes begin in the batch.
    pub(crate) at: u32,
}

/// Records in order, and their bytes.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub(crate) data: Vec<u8>,
    pub(crate) records: Vec<Record>,
}

impl Batch {
    /// The records in the order of the capture.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The captured bytes of one of its records.
    #[inline]
    pub fn bytes(&self, record: &Record) -> &[u8] {
        let from = record.at as usize;
        self.data.get(from..from + record.captured as usize).unwrap_or_default()
    }

    /// Forgets all records.
    pub fn clear(&mut self) {
        self.data.clear();
        self.records.clear();
    }

    /// Adds a copy of a record of another batch with its bytes, unless there is no more room for them.
    pub fn push(&mut self, record: &Record, bytes: &[u8]) {
        let Ok(at) = u32::try_from(self.data.len()) else { return };
        self.data.extend_from_slice(bytes);
        self.records.push(Record { at, captured: bytes.len() as u32, ..*record });
    }

    /// Bytes of memory it holds.
    pub fn allocated_bytes(&self) -> usize {
        self.data.capacity() + self.records.capacity() * size_of::<Record>()
    }
}
