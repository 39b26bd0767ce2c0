//! What the scanners of both formats share: where records go, and why a scan stops.

use super::batch::Record;
use super::clock::Clock;
use super::counts::Counts;
use crate::LinkType;

/// Most bytes captured of one record (the most that libpcap and Wireshark take).
pub(super) const LONGEST_RECORD: u32 = 256 << 10;
/// Longest block that is looked into; longer ones are passed over in the stream.
pub(super) const LONGEST_BLOCK: u32 = 512 << 10;
/// Most records of a batch: bounds its memory where records are short.
pub(super) const MOST_RECORDS: usize = 4 << 10;
/// Most interfaces of a capture.
pub(super) const MOST_INTERFACES: usize = 1 << 16;

/// An interface of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name, if it has one: at most 64 characters, as the file has it; escape it where it is shown.
    pub name: Option<Box<str>>,
    /// What its packets begin with.
    pub link: LinkType,
    /// Octets of frame check sequence at the end of its frames, where the capture says so.
    pub fcs_octets: Option<u8>,
    /// Most bytes captured of a packet; 0 where there is no limit.
    pub snap_length: u32,
    pub(super) clock: Clock,
}

/// Where a scanner puts what it finds.
pub(super) struct Found<'a> {
    pub(super) records: &'a mut Vec<Record>,
    pub(super) counts: &'a mut Counts,
    /// Number of the last record.
    pub(super) number: &'a mut u64,
    /// Records are full at this many.
    pub(super) most: usize,
    /// Interfaces of earlier captures.
    pub(super) interfaces_before: u32,
}

impl Found<'_> {
    pub(super) fn is_full(&self) -> bool {
        self.records.len() >= self.most
    }

    /// Counts a record that is left out; it keeps its number.
    pub(super) fn leave_out(&mut self, count: fn(&mut Counts) -> &mut u64) {
        *self.number += 1;
        *count(self.counts) += 1;
    }
}

/// Why a scan stopped.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// No more records fit.
    Full,
    /// What comes next is not all there: it is so long, header and all.
    Incomplete { need: u64 },
    /// So many bytes from here on are of no interest.
    Skip { bytes: u64 },
    /// What comes next makes no sense.
    Damaged { at: u64, what: String },
}

/// The byte order of a file or section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    #[inline]
    pub(super) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub(super) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    /// The 32-bit words of `bytes`.
    #[inline]
    pub(super) fn words<const N: usize>(self, bytes: &[u8]) -> Option<[u32; N]> {
        let mut words = [0; N];
        let (chunks, _) = bytes.as_chunks::<4>();
        let chunks = chunks.first_chunk::<N>()?;
        for (word, chunk) in words.iter_mut().zip(chunks) {
            *word = self.u32(*chunk);
        }
        Some(words)
    }
}

/// The link type of a number in a file: raw IP has three numbers, depending on the system that wrote it.
pub(super) fn link_type(number: u16) -> LinkType {
    match number {
        12 | 14 => LinkType::RAW,
        number => LinkType(number),
    }
}
