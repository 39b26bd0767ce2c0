//! Records of a classic pcap file.
//!
//! Reference: draft-ietf-opsawg-pcap. Also takes the variant of Alexey Kuznetzov's patches, whose record
//! headers have 8 more bytes, and files of versions before 2.4, where the two lengths may be swapped.
//! Leaves out variants that share the usual magic number and differ in their record headers.

use super::batch::Record;
use super::clock::Clock;
use super::scan::{Found, Interface, LONGEST_RECORD, Order, Stop, link_type};

/// Length of the file's header.
pub(super) const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
const MODIFIED_RECORD_HEADER: usize = 24;

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
const MODIFIED: u32 = 0xa1b2_cd34;

/// What a file's header says.
#[derive(Clone, Debug)]
pub(super) struct Pcap {
    order: Order,
    header: usize,
    /// Nanoseconds in a unit of the fraction of a second.
    unit_ns: u32,
    /// Whether captured and original length may be swapped.
    may_be_swapped: bool,
    pub(super) interface: Interface,
}

impl Pcap {
    /// Whether a file that begins so is one, and in which byte order.
    fn magic(start: &[u8]) -> Option<(Order, u32)> {
        let magic = *start.first_chunk::<4>()?;
        [Order::Little, Order::Big]
            .map(|order| (order, order.u32(magic)))
            .into_iter()
            .find(|(_, magic)| [MICROSECONDS, NANOSECONDS, MODIFIED].contains(magic))
    }

    /// Reads the file's header; none where it is another format or too short.
    pub(super) fn new(start: &[u8]) -> Option<Self> {
        let (order, magic) = Self::magic(start)?;
        let [_, version, _, _, snap_length, network] = order.words(start)?;
        // The two halves are fields of their own.
        let (major, minor) = match order {
            Order::Little => (version & 0xffff, version >> 16),
            Order::Big => (version >> 16, version & 0xffff),
        };
        // Bit 26 says that the highest four bits count the check sequence in words of 16 bits.
        let fcs_octets = (network & 1 << 26 != 0).then_some((network >> 28) as u8 * 2);
        let nanoseconds = magic == NANOSECONDS;
        let interface = Interface {
            name: None,
            link: link_type(network as u16),
            fcs_octets,
            snap_length,
            clock: if nanoseconds { Clock::NANOSECONDS } else { Clock::MICROSECONDS },
        };
        Some(Self {
            order,
            header: if magic == MODIFIED { MODIFIED_RECORD_HEADER } else { RECORD_HEADER },
            unit_ns: if nanoseconds { 1 } else { 1_000 },
            may_be_swapped: major == 2 && minor <= 3,
            interface,
        })
    }

    /// Finds the records in `window`, which begins with one at `place` of the file; returns how many bytes
    /// they took.
    pub(super) fn scan(&mut self, window: &[u8], place: u64, found: &mut Found<'_>) -> (usize, Stop) {
        // What is asked of every record is known once for all of them.
        match (self.order, self.header, self.may_be_swapped) {
            (Order::Little, RECORD_HEADER, false) => {
                self.records::<RECORD_HEADER>(u32::from_le_bytes, false, window, place, found)
            }
            (order, RECORD_HEADER, swapped) => {
                self.records::<RECORD_HEADER>(|bytes| order.u32(bytes), swapped, window, place, found)
            }
            (order, _, swapped) => self.records::<MODIFIED_RECORD_HEADER>(
                |bytes| order.u32(bytes),
                swapped,
                window,
                place,
                found,
            ),
        }
    }

    #[inline(always)]
    fn records<const HEADER: usize>(
        &self,
        number: impl Fn([u8; 4]) -> u32,
        may_be_swapped: bool,
        window: &[u8],
        place: u64,
        found: &mut Found<'_>,
    ) -> (usize, Stop) {
        let mut rest = window;
        let (link, fcs_octets, unit_ns) = (self.interface.link, self.interface.fcs_octets, self.unit_ns);
        loop {
            let at = window.len() - rest.len();
            if found.is_full() {
                return (at, Stop::Full);
            }
            let Some((head, after)) = rest.split_first_chunk::<HEADER>() else {
                return (at, Stop::Incomplete { need: HEADER as u64 });
            };
            let word = |at: usize| number([head[at], head[at + 1], head[at + 2], head[at + 3]]);
            let (seconds, fraction, captured, original) = (word(0), word(4), word(8), word(12));
            let swapped = may_be_swapped && captured > original;
            let (captured, original) = if swapped { (original, captured) } else { (captured, original) };
            let length = HEADER + captured as usize;
            if captured > LONGEST_RECORD {
                found.leave_out(|counts| &mut counts.long);
                return (at, Stop::Skip { bytes: length as u64 });
            }
            let Some(behind) = after.get(captured as usize..) else {
                return (at, Stop::Incomplete { need: length as u64 });
            };
            rest = behind;
            if captured > original {
                found.leave_out(|counts| &mut counts.above_original);
                continue;
            }
            // Both fit: 2^32 seconds are less than 2^62 nanoseconds.
            let time_ns = i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * i64::from(unit_ns);
            found.counts.time(time_ns, u64::from(fraction) * u64::from(unit_ns) < 1_000_000_000);
            found.counts.cut += u64::from(captured < original);
            *found.number += 1;
            found.records.push(Record {
                number: *found.number,
                time_ns,
                place: place + at as u64,
                interface: found.interfaces_before,
                link,
                fcs_octets,
                captured,
                original,
                at: (at + HEADER) as u32,
            });
        }
    }
}
