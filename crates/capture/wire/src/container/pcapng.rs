//! Records of a pcapng file: its sections, interfaces and packets.
//!
//! Reference: draft-ietf-opsawg-pcapng. A block whose length is wrong ends the reading, because nothing
//! tells where the next begins. Leaves out names, statistics, secrets and comments.

use super::batch::Record;
use super::clock::Clock;
use super::scan::{Found, Interface, LONGEST_BLOCK, LONGEST_RECORD, MOST_INTERFACES, Order, Stop, link_type};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
/// Blocks that are known and hold no packets: names, statistics, secrets.
const OTHERS: [u32; 3] = [4, 5, 10];
/// Blocks that Wireshark numbers as it numbers packets: journal entries, system calls, custom blocks.
const NUMBERED: [u32; 6] = [9, 0x204, 0x216, 0x221, 0xbad, 0x4000_0bad];

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Type and length before a block's body, length after it.
const OVERHEAD: usize = 12;
/// Longest name of an interface that is kept, in characters.
const LONGEST_NAME: usize = 64;

/// State of the current section.
#[derive(Clone, Debug)]
pub(super) struct Pcapng {
    order: Order,
    /// Interfaces of all sections.
    pub(super) interfaces: Vec<Interface>,
    /// Where those of this section begin.
    section: usize,
    /// Length of a block that is being passed over, whose second length is next.
    passing: Option<(u32, u64)>,
    /// Time of the last record, for those that have none.
    last_ns: i64,
}

/// A packet's place in its block.
struct Packet {
    interface: u32,
    stamp: Option<u64>,
    captured: u32,
    original: u32,
    /// Where its bytes begin in the block.
    at: usize,
}

impl Pcapng {
    /// Whether a file that begins so is one.
    pub(super) fn is(start: &[u8]) -> bool {
        start.starts_with(&SECTION_HEADER.to_be_bytes())
    }

    pub(super) fn new() -> Self {
        Self { order: Order::Little, interfaces: Vec::new(), section: 0, passing: None, last_ns: 0 }
    }

    /// Whether a block is being passed over.
    pub(super) fn is_passing(&self) -> bool {
        self.passing.is_some()
    }

    /// Finds the records in `window`, which begins with a block at `place` of the file; returns how many
    /// bytes of blocks it went through.
    pub(super) fn scan(&mut self, window: &[u8], place: u64, found: &mut Found<'_>) -> (usize, Stop) {
        let mut at = 0;
        loop {
            if found.is_full() {
                return (at, Stop::Full);
            }
            let rest = window.get(at..).unwrap_or_default();
            match self.block(rest, place + at as u64, at, found) {
                Ok(length) => at += length,
                Err(stop) => return (at, stop),
            }
        }
    }

    /// Reads one block, `at` in the batch, and returns its length.
    #[inline]
    fn block(&mut self, rest: &[u8], place: u64, at: usize, found: &mut Found<'_>) -> Result<usize, Stop> {
        if let Some(passing) = self.passing {
            return self.end_of_passing(passing, rest);
        }
        let Some(head) = rest.first_chunk::<8>() else { return Err(Stop::Incomplete { need: 12 }) };
        if head.starts_with(&SECTION_HEADER.to_be_bytes()) {
            self.section_order(rest, place)?;
        }
        let [kind, length] = self.order.words(head).unwrap_or_default();
        if length < OVERHEAD as u32 || length % 4 != 0 {
            let why = if length % 4 != 0 { "no multiple of 4" } else { "12 is the least" };
            return Err(damaged(place, format_args!("claims a length of {length} bytes, {why}")));
        }
        if length > LONGEST_BLOCK {
            return Err(self.pass_over(kind, length, place, found));
        }
        let Some(block) = rest.get(..length as usize) else {
            return Err(Stop::Incomplete { need: u64::from(length) });
        };
        let (before, trailer) = block.split_at(block.len() - 4);
        if self.order.words(trailer) != Some([length]) {
            let [second] = self.order.words(trailer).unwrap_or_default();
            return Err(damaged(
                place,
                format_args!("is {length} bytes long by its head and {second} by its end"),
            ));
        }
        let body = before.get(8..).unwrap_or_default();
        let packet = match kind {
            ENHANCED_PACKET => self.enhanced_packet(body),
            SIMPLE_PACKET => self.simple_packet(body),
            OLD_PACKET => self.old_packet(body),
            SECTION_HEADER => {
                self.section = self.interfaces.len();
                self.section_header(body, place)?;
                return Ok(block.len());
            }
            INTERFACE_DESCRIPTION => {
                self.interface(body, place)?;
                return Ok(block.len());
            }
            _ => {
                self.count_other(kind, found);
                return Ok(block.len());
            }
        };
        let Some(packet) = packet else {
            return Err(damaged(place, format_args!("is too short for a packet")));
        };
        self.record(body, &packet, place, at, found)?;
        Ok(block.len())
    }

    #[inline]
    fn record(
        &mut self,
        body: &[u8],
        packet: &Packet,
        place: u64,
        at: usize,
        found: &mut Found<'_>,
    ) -> Result<(), Stop> {
        let after = packet.at + packet.captured as usize;
        if packet.captured > LONGEST_RECORD && after <= body.len() {
            found.leave_out(|counts| &mut counts.long);
            return Ok(());
        }
        if after > body.len() {
            let (captured, length) = (packet.captured, body.len() + OVERHEAD);
            let what = format_args!("claims {captured} captured bytes in {length} bytes of block");
            return Err(damaged(place, what));
        }
        let options = body.get(after.next_multiple_of(4)..).unwrap_or_default();
        let mut flags = None;
        if !options.is_empty() {
            self.options(options, place, |code, value| {
                if code == 2 {
                    flags = self.order.words::<1>(value);
                }
            })?;
        }
        let index = self.section + packet.interface as usize;
        let Some(interface) = self.interfaces.get(index) else {
            found.leave_out(|counts| &mut counts.unknown_interface);
            return Ok(());
        };
        if packet.captured > packet.original {
            found.leave_out(|counts| &mut counts.above_original);
            return Ok(());
        }
        match packet.stamp {
            Some(stamp) => {
                let (time_ns, whole) = interface.clock.time_ns(stamp);
                found.counts.time(time_ns, whole);
                self.last_ns = time_ns;
            }
            None => found.counts.untimed += 1,
        }
        // Bits 5 to 8 of a packet's flags count the octets of its check sequence, 0 where that is not known.
        let fcs_octets = match flags.map_or(0, |[flags]| flags >> 5 & 15) {
            0 => interface.fcs_octets,
            octets => Some(octets as u8),
        };
        found.counts.cut += u64::from(packet.captured < packet.original);
        *found.number += 1;
        found.records.push(Record {
            number: *found.number,
            time_ns: self.last_ns,
            place,
            interface: found.interfaces_before.saturating_add(index as u32),
            link: interface.link,
            fcs_octets,
            captured: packet.captured,
            original: packet.original,
            at: (at + 8 + packet.at) as u32,
        });
        Ok(())
    }

    #[inline]
    fn enhanced_packet(&self, body: &[u8]) -> Option<Packet> {
        let [interface, high, low, captured, original] = self.order.words(body)?;
        let stamp = Some(u64::from(high) << 32 | u64::from(low));
        Some(Packet { interface, stamp, captured, original, at: 20 })
    }

    fn old_packet(&self, body: &[u8]) -> Option<Packet> {
        let [_, high, low, captured, original] = self.order.words(body)?;
        let interface = u32::from(self.order.u16(*body.first_chunk()?));
        let stamp = Some(u64::from(high) << 32 | u64::from(low));
        Some(Packet { interface, stamp, captured, original, at: 20 })
    }

    /// A simple packet says only how long it was; the section's first interface how much was captured.
    fn simple_packet(&self, body: &[u8]) -> Option<Packet> {
        let [original] = self.order.words(body)?;
        let limit = match self.interfaces.get(self.section).map_or(0, |i| i.snap_length) {
            0 => u32::MAX,
            limit => limit,
        };
        Some(Packet { interface: 0, stamp: None, captured: original.min(limit), original, at: 4 })
    }

    /// Learns the byte order of the section that begins here.
    fn section_order(&mut self, rest: &[u8], place: u64) -> Result<(), Stop> {
        let Some(magic) = rest.get(8..12).and_then(|magic| magic.first_chunk::<4>()) else {
            return Err(Stop::Incomplete { need: 28 });
        };
        let orders = [Order::Little, Order::Big];
        let Some(order) = orders.into_iter().find(|order| order.u32(*magic) == BYTE_ORDER_MAGIC) else {
            return Err(damaged(place, format_args!("begins a section in no known byte order")));
        };
        self.order = order;
        Ok(())
    }

    fn section_header(&self, body: &[u8], place: u64) -> Result<(), Stop> {
        let Some(version) = body.get(4..6).and_then(|v| v.first_chunk::<2>()) else {
            return Err(damaged(place, format_args!("is too short for a section header")));
        };
        let major = self.order.u16(*version);
        if major != 1 {
            return Err(damaged(place, format_args!("begins a section of version {major}, 1 is known")));
        }
        let Some(options) = body.get(16..) else {
            return Err(damaged(place, format_args!("is too short for a section header")));
        };
        self.options(options, place, |_, _| {})
    }

    fn interface(&mut self, body: &[u8], place: u64) -> Result<(), Stop> {
        let (Some([kind, snap_length]), Some(options)) = (self.order.words::<2>(body), body.get(8..)) else {
            return Err(damaged(place, format_args!("is too short for an interface description")));
        };
        if self.interfaces.len() >= MOST_INTERFACES {
            let what = format_args!("describes one interface more than the {MOST_INTERFACES} that are kept");
            return Err(damaged(place, what));
        }
        // The upper or lower half is reserved, depending on the byte order.
        let kind = match self.order {
            Order::Little => kind as u16,
            Order::Big => (kind >> 16) as u16,
        };
        let (mut name, mut fcs_octets, mut resolution, mut offset_s) = (None, None, 6, 0);
        let order = self.order;
        self.options(options, place, |code, value| match (code, value) {
            (2, name_bytes) => name = Some(short_name(name_bytes)),
            (9, [exponent]) => resolution = *exponent,
            // In bits.
            (13, [bits]) if bits % 8 == 0 => fcs_octets = Some(bits / 8),
            (14, _) => offset_s = long(order, value).unwrap_or(0),
            _ => {}
        })?;
        let clock = Clock::new(resolution, offset_s);
        self.interfaces.push(Interface { name, link: link_type(kind), fcs_octets, snap_length, clock });
        Ok(())
    }

    /// Walks options to their end; they must fill their room exactly or say where they end.
    fn options(&self, mut rest: &[u8], place: u64, mut each: impl FnMut(u16, &[u8])) -> Result<(), Stop> {
        while let Some((head, after)) = rest.split_first_chunk::<4>() {
            let [a, b, c, d] = *head;
            let (code, length) = (self.order.u16([a, b]), usize::from(self.order.u16([c, d])));
            if code == 0 {
                return Ok(());
            }
            let (Some(value), Some(next)) = (after.get(..length), after.get(length.next_multiple_of(4)..))
            else {
                let what = format_args!("has option {code} of {length} bytes, which ends past the block");
                return Err(damaged(place, what));
            };
            each(code, value);
            rest = next;
        }
        Ok(())
    }

    fn count_other(&self, kind: u32, found: &mut Found<'_>) {
        if NUMBERED.contains(&kind) {
            *found.number += 1;
        } else if !OTHERS.contains(&kind) {
            found.counts.unknown_blocks += 1;
        }
    }

    /// Begins to pass over a block that is too long to look into.
    fn pass_over(&mut self, kind: u32, length: u32, place: u64, found: &mut Found<'_>) -> Stop {
        match kind {
            SECTION_HEADER | INTERFACE_DESCRIPTION => {
                return damaged(place, format_args!("describes a section or an interface in {length} bytes"));
            }
            ENHANCED_PACKET | SIMPLE_PACKET | OLD_PACKET => found.leave_out(|counts| &mut counts.long),
            _ => self.count_other(kind, found),
        }
        self.passing = Some((length, place));
        Stop::Skip { bytes: u64::from(length) - 4 }
    }

    fn end_of_passing(&mut self, (length, place): (u32, u64), rest: &[u8]) -> Result<usize, Stop> {
        let Some([second]) = self.order.words(rest) else { return Err(Stop::Incomplete { need: 4 }) };
        self.passing = None;
        if second != length {
            return Err(damaged(
                place,
                format_args!("is {length} bytes long by its head and {second} by its end"),
            ));
        }
        Ok(4)
    }
}

/// What makes no sense about the block at `place`.
#[cold]
fn damaged(place: u64, what: std::fmt::Arguments<'_>) -> Stop {
    Stop::Damaged { at: place, what: format!("the block at byte {place} {what}") }
}

fn long(order: Order, value: &[u8]) -> Option<i64> {
    let bytes = *value.first_chunk::<8>()?;
    Some(match order {
        Order::Little => i64::from_le_bytes(bytes),
        Order::Big => i64::from_be_bytes(bytes),
    })
}

fn short_name(bytes: &[u8]) -> Box<str> {
    String::from_utf8_lossy(bytes).chars().take(LONGEST_NAME).collect::<String>().into()
}
