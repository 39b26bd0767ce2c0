//! IP packets put together again from their fragments, within bounded memory and time.
//!
//! Reference: RFC 791 §3.2, RFC 8200 §4.5. Where fragments overlap the first octets seen win, and that is
//! counted. A packet is given up [`PATIENCE_NS`] after its first fragment, or when there are too many.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use airperf_wire::{Anomalies, Fragment, Ip};

/// How long fragments wait for the rest of their packet: Linux's default (`ipfrag_time`).
const PATIENCE_NS: u64 = 30_000_000_000;
/// Most packets that are being put together.
const MOST_PACKETS: usize = 1_024;
/// Most octets they hold.
const MOST_OCTETS: usize = 4 << 20;
/// Most fragments of one packet: the longest packet in the smallest fragments of a 576-octet path.
const MOST_FRAGMENTS: usize = 128;
/// Longest payload.
const LONGEST: u32 = 65_535;

/// Anomalies of fragments: name and what it means.
pub const ANOMALIES: &[(&str, &str)] = &[
    ("ip_fragments", "fragments of IP packets"),
    ("ip_fragment_overlap", "fragments with octets that another one had brought; the first ones are kept"),
    ("ip_fragment_invalid", "fragments that cannot be part of a packet"),
    ("ip_fragments_incomplete", "packets of which fragments are missing, left out"),
];

type Key = (IpAddr, IpAddr, u32, u8);

#[derive(Debug)]
struct Packet {
    first_ns: u64,
    /// Headers of the fragment that begins the packet.
    header: Vec<u8>,
    /// Payload, as far as it was captured, and which of it came.
    pieces: Vec<(u32, u32, Vec<u8>)>,
    /// Length of the payload, once the last fragment came.
    length: Option<u32>,
    /// Octets of all the fragments' packets.
    ip_bytes: u32,
    octets: usize,
}

/// A packet that was put together.
#[derive(Debug)]
pub(crate) struct Whole {
    /// Headers of the first fragment, then the payload as far as it was captured without a gap.
    pub(crate) bytes: Vec<u8>,
    /// Octets of headers.
    pub(crate) header: usize,
    /// Octets of payload as sent.
    pub(crate) length: usize,
    /// Octets of all the fragments' packets.
    pub(crate) ip_bytes: u32,
}

/// The packets that are not whole yet.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    packets: HashMap<Key, Packet>,
    order: VecDeque<(u64, Key)>,
    octets: usize,
    fragments: u64,
    overlaps: u64,
    invalid: u64,
    incomplete: u64,
}

impl Fragments {
    /// Takes a fragment; gives its packet when it is whole.
    pub(crate) fn add(&mut self, time_ns: u64, ip: &Ip<'_>, fragment: Fragment) -> Option<Whole> {
        self.fragments += 1;
        self.forget(time_ns);
        let length = u32::try_from(ip.payload_len()).unwrap_or(u32::MAX);
        let end = fragment.offset.saturating_add(length);
        // All but the last are whole multiples of 8 octets.
        if length == 0 || end > LONGEST || fragment.more && length % 8 != 0 {
            self.invalid += 1;
            return None;
        }
        let key = (ip.source(), ip.destination(), fragment.id, ip.protocol());
        let packet = self.packets.entry(key).or_insert_with(|| {
            self.order.push_back((time_ns, key));
            Packet {
                first_ns: time_ns,
                header: Vec::new(),
                pieces: Vec::new(),
                length: None,
                ip_bytes: 0,
                octets: 0,
            }
        });
        let known_end = packet.length.unwrap_or(LONGEST);
        let last = packet.pieces.last().map_or(0, |p| p.0 + p.1);
        if end > known_end || !fragment.more && (end < last || packet.length.is_some_and(|l| l != end)) {
            self.invalid += 1;
            return None;
        }
        if packet.pieces.len() >= MOST_FRAGMENTS {
            self.invalid += 1;
            return None;
        }
        if !fragment.more {
            packet.length = Some(end);
        }
        if fragment.offset == 0 && packet.header.is_empty() {
            packet.header = ip.header().to_vec();
        }
        packet.ip_bytes = packet.ip_bytes.saturating_add(ip.total_len() as u32);
        let (added, overlaps) = packet.insert(fragment.offset, length, ip.payload());
        self.octets += added;
        self.overlaps += u64::from(overlaps);
        if !packet.is_whole() {
            self.limit();
            return None;
        }
        let packet = self.packets.remove(&key)?;
        self.octets -= packet.octets;
        Some(packet.whole())
    }

    /// Gives up what came too long ago.
    fn forget(&mut self, now: u64) {
        while self.order.front().is_some_and(|(first, _)| now.saturating_sub(*first) > PATIENCE_NS) {
            self.drop_oldest();
        }
    }

    fn limit(&mut self) {
        while self.packets.len() > MOST_PACKETS || self.octets > MOST_OCTETS {
            self.drop_oldest();
        }
        // Whole packets leave their place in the order behind.
        if self.order.len() > 2 * MOST_PACKETS {
            let packets = &self.packets;
            self.order.retain(|(first, key)| packets.get(key).is_some_and(|p| p.first_ns == *first));
        }
    }

    fn drop_oldest(&mut self) {
        let Some((first, key)) = self.order.pop_front() else { return };
        if self.packets.get(&key).is_some_and(|p| p.first_ns == first) {
            self.octets -= self.packets.remove(&key).map_or(0, |p| p.octets);
            self.incomplete += 1;
        }
    }

    /// Each of [`ANOMALIES`] with its count; what is not whole now never will be.
    pub(crate) fn anomalies(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let incomplete = self.incomplete + self.packets.len() as u64;
        let counts = [self.fragments, self.overlaps, self.invalid, incomplete];
        ANOMALIES.iter().zip(counts).map(|((name, _), count)| (*name, count))
    }
}

impl Packet {
    /// Adds the octets `from..from + length` that are not there; says how many are held more, and whether
    /// some were there before.
    fn insert(&mut self, from: u32, length: u32, data: &[u8]) -> (usize, bool) {
        let (mut at, end, mut added, mut known) = (from, from + length, 0, 0);
        let mut place = self.pieces.partition_point(|p| p.0 + p.1 <= from);
        while at < end {
            let next = self.pieces.get(place).map_or(end, |p| p.0.clamp(at, end));
            if next > at {
                let piece = data.get((at - from) as usize..data.len().min((next - from) as usize));
                let piece = piece.unwrap_or_default().to_vec();
                added += piece.len();
                self.pieces.insert(place, (at, next - at, piece));
                place += 1;
            }
            let Some(after) = self.pieces.get(place).filter(|p| p.0 < end) else { break };
            let to = (after.0 + after.1).min(end);
            known += to - next;
            at = to;
            place += 1;
        }
        self.octets += added;
        (added, known > 0)
    }

    fn is_whole(&self) -> bool {
        let mut at = 0;
        let without_gap = self.pieces.iter().all(|p| std::mem::replace(&mut at, p.0 + p.1) == p.0);
        without_gap && self.length == Some(at)
    }

    fn whole(self) -> Whole {
        let header = self.header.len();
        let mut bytes = self.header;
        for (_, length, data) in &self.pieces {
            bytes.extend_from_slice(data);
            if data.len() < *length as usize {
                break;
            }
        }
        let length = self.length.unwrap_or_default() as usize;
        Whole { bytes, header, length, ip_bytes: self.ip_bytes }
    }
}

/// Reads a packet that was put together.
pub(crate) fn read<'a>(whole: &'a Whole, anomalies: &mut Anomalies) -> Option<Ip<'a>> {
    let first = Ip::parse(whole.bytes.get(..whole.header)?, whole.length, anomalies).ok()?;
    Ip::reassembled(&first, &whole.bytes, anomalies).ok()
}
