//! QUIC connections among UDP datagrams: how many there are, and which servers they name.
//!
//! A client's first flight is protected with keys that follow from the packet itself, so that its TLS
//! hello can be read, and that it can be told for certain from anything else. Reference: RFC 9000 §14.1,
//! §17.2, §19; RFC 9001 §5; RFC 9369. Work and memory per datagram are bounded. Leaves out everything
//! after the first flight, and versions but 1 and 2, which are only counted.

mod keys;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;

use super::cursor::Cursor;
use super::tls::{self, Hello};
use crate::IntervalSet;
use keys::{Keys, Version};

/// A client's first datagrams are at least as long (RFC 9000 §14.1).
const SHORTEST_FIRST: usize = 1200;
/// Longest connection id (RFC 9000 §17.2).
const MOST_ID: usize = 20;
/// Most flows remembered: datagrams of a first flight come within a second.
const MOST_FLOWS: usize = 4096;
/// Most names told apart.
const MOST_NAMES: usize = 10_000;
/// Most packets of one datagram that are looked at.
const MOST_PACKETS: usize = 8;
/// Most Initial packets of one flow that are looked at: a hello takes two or three.
const MOST_INITIALS: u8 = 16;

/// QUIC as it was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct QuicTally {
    /// Connections whose first packet was seen.
    pub(crate) connections: u64,
    /// Datagrams of servers that name the versions they speak.
    pub(crate) version_negotiations: u64,
    /// Datagrams that could begin a connection in a version that is not known.
    pub(crate) other_versions: u64,
    /// Connections by the name of the server, where the hello was read.
    pub(crate) names: BTreeMap<String, u64>,
}

impl QuicTally {
    fn told(&mut self, hello: &Hello) {
        let Some(name) = &hello.server_name else { return };
        if self.names.len() < MOST_NAMES || self.names.contains_key(name.as_str()) {
            *self.names.entry(name.to_string()).or_default() += 1;
        }
    }
}

/// Source and destination.
type Flow = (SocketAddr, SocketAddr);

/// A first flight.
struct Flight {
    keys: Keys,
    crypto: Vec<u8>,
    have: IntervalSet,
    initials: u8,
}

/// Watches datagrams for QUIC; one for all datagrams of a flow, either way.
#[derive(Default)]
pub(crate) struct Quic {
    tally: QuicTally,
    /// Flights being gathered; `None` when there is no more to learn.
    flights: HashMap<Flow, Option<Box<Flight>>>,
    oldest: VecDeque<Flow>,
}

impl Quic {
    /// A datagram from `source` to `destination`: `length` octets of payload, `payload` of which were captured.
    #[inline]
    pub(crate) fn datagram(
        &mut self,
        source: SocketAddr,
        destination: SocketAddr,
        length: usize,
        payload: &[u8],
    ) {
        // A long header (RFC 9000 §17.2); few other protocols have both bits set.
        if payload.first().is_some_and(|first| first & 0xc0 == 0xc0) {
            self.long_header((source, destination), length, payload);
        }
    }

    /// What was seen.
    pub(crate) fn finish(mut self) -> QuicTally {
        while let Some(oldest) = self.oldest.pop_front() {
            self.forget(&oldest);
        }
        self.tally
    }

    /// Forgets a flow; what is there of its hello may name the server.
    fn forget(&mut self, flow: &Flow) {
        if let Some(Some(flight)) = self.flights.remove(flow) {
            self.tally.told(&Hello::parse(&flight.crypto));
        }
    }

    fn long_header(&mut self, flow: Flow, length: usize, payload: &[u8]) -> Option<()> {
        let mut header = Cursor(payload.get(1..)?);
        let version = header.u32()?;
        let ids = [header.short_vector()?, header.short_vector()?];
        if ids.iter().any(|id| id.len() > MOST_ID) {
            return None;
        }
        if version == 0 {
            // Versions follow, at least one (RFC 9000 §17.2.1).
            self.tally.version_negotiations += u64::from(!header.0.is_empty() && header.0.len() % 4 == 0);
            return None;
        }
        if length < SHORTEST_FIRST || self.flights.contains_key(&(flow.1, flow.0)) {
            return None;
        }
        let Some(version) = Version::of(version) else {
            // Reserved versions and drafts of the IETF, and Google's: others are not QUIC.
            let known = version & 0x0f0f_0f0f == 0x0a0a_0a0a || matches!(version >> 24, 0xff | 0x51 | 0x54);
            self.tally.other_versions += u64::from(known);
            return None;
        };
        match self.flights.get(&flow) {
            Some(None) => return None,
            None if payload.len() < length => {
                // Cut: it cannot be opened, but it looks like nothing else.
                self.tally.connections += 1;
                self.remember(flow, None);
                return None;
            }
            _ => {}
        }
        self.packets(flow, version, ids[0], payload)
    }

    /// Opens the Initial packets of a datagram.
    fn packets(&mut self, flow: Flow, version: Version, id: &[u8], datagram: &[u8]) -> Option<()> {
        let mut rest = datagram;
        for _ in 0..MOST_PACKETS {
            let (packet, number_at, after) = long_packet(rest, version)?;
            rest = after;
            let Some(number_at) = number_at else { continue };
            let opened = match self.flights.get(&flow) {
                Some(Some(flight)) => flight.keys.open(packet, number_at),
                Some(None) => return None,
                None => None,
            };
            // After a Retry, or with no keys yet, the packet's own connection id gives them.
            let frames = match opened {
                Some(frames) => frames,
                None => {
                    let keys = Keys::of_client(version, id);
                    let frames = keys.open(packet, number_at)?;
                    self.begin(flow, keys);
                    frames
                }
            };
            let Some(Some(flight)) = self.flights.get_mut(&flow) else { return None };
            flight.crypto_frames(&frames);
            flight.initials = flight.initials.saturating_add(1);
            let there = flight.have.reach(0) as usize;
            let message = flight.crypto.get(..there).unwrap_or_default();
            if tls::is_whole(message) || flight.initials >= MOST_INITIALS {
                let hello = Hello::parse(message);
                self.flights.insert(flow, None);
                self.tally.told(&hello);
            }
        }
        None
    }

    /// A first flight with keys that fit; those of a flight after a Retry replace the old ones.
    fn begin(&mut self, flow: Flow, keys: Keys) {
        match self.flights.get_mut(&flow) {
            Some(Some(flight)) => flight.keys = keys,
            _ => {
                self.tally.connections += 1;
                let flight = Flight { keys, crypto: Vec::new(), have: IntervalSet::default(), initials: 0 };
                self.remember(flow, Some(Box::new(flight)));
            }
        }
    }

    fn remember(&mut self, flow: Flow, flight: Option<Box<Flight>>) {
        if self.oldest.len() >= MOST_FLOWS
            && let Some(oldest) = self.oldest.pop_front()
        {
            self.forget(&oldest);
        }
        self.oldest.push_back(flow);
        self.flights.insert(flow, flight);
    }
}

impl Flight {
    /// Takes the CRYPTO frames of a packet (RFC 9000 §19.6).
    fn crypto_frames(&mut self, frames: &[u8]) -> Option<()> {
        let mut frames = Cursor(frames);
        loop {
            match frames.varint()? {
                // PADDING, PING.
                0 | 1 => {}
                // ACK, with ECN counts or without.
                kind @ (2 | 3) => {
                    frames.varint()?;
                    frames.varint()?;
                    let ranges = frames.varint()?;
                    let more = ranges.checked_mul(2)?.checked_add(1 + if kind == 3 { 3 } else { 0 })?;
                    for _ in 0..more {
                        frames.varint()?;
                    }
                }
                6 => {
                    let start = usize::try_from(frames.varint()?).ok()?;
                    let length = usize::try_from(frames.varint()?).ok()?;
                    let data = frames.take(length)?;
                    let end = start.checked_add(length).filter(|end| *end <= tls::MOST_HELLO)?;
                    if self.crypto.len() < end {
                        self.crypto.resize(end, 0);
                    }
                    self.crypto[start..end].copy_from_slice(data);
                    self.have.insert(start as u64, end as u64);
                }
                _ => return None,
            }
        }
    }
}

/// The first packet of a datagram, where its number begins if it is an Initial one, and what follows it.
fn long_packet(datagram: &[u8], version: Version) -> Option<(&[u8], Option<usize>, &[u8])> {
    let first = *datagram.first()?;
    let mut rest = Cursor(datagram.get(1..)?);
    if first & 0x80 == 0 || Version::of(rest.u32()?)? != version {
        return None;
    }
    rest.short_vector()?;
    rest.short_vector()?;
    let is_initial = first >> 4 & 3 == version.initial_type();
    if is_initial {
        let token = usize::try_from(rest.varint()?).ok()?;
        rest.take(token)?;
    }
    let length = usize::try_from(rest.varint()?).ok()?;
    let number_at = datagram.len() - rest.0.len();
    let (packet, after) = datagram.split_at_checked(number_at.checked_add(length)?)?;
    Some((packet, is_initial.then_some(number_at), after))
}

#[cfg(test)]
mod tests;
