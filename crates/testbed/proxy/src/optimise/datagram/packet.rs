//! Datagrams as they are on the network; ours, version 1, all numbers big-endian.
//!
//! | kind | after kind (1 octet) and connection (4) |
//! |---|---|
//! | `O` open | rate (8, bit/s), round trip (4, ms), repair (1: 255 adaptive) – then another datagram |
//! | `D` data | number (4), turn (4), octets |
//! | `R` repair | turn (4), first piece (4), pieces (1), repairs (1), which (1), shard |
//! | `A` acknowledgement | next piece missing (4), datagrams heard (4), latest turn (4), ranges beyond: from (4), how many (2) |
//! | `C` close | nothing |
//!
//! A *turn* counts every data and repair datagram sent. Left out: anything that could be longer than its datagram.

use super::repair::{Repair, Shard};
use crate::optimise::adapted::Path;

/// Most octets of a piece: with all headers (IPv6, UDP, open, data) a packet stays below 1280 (RFC 8200 §5).
pub(super) const PIECE: usize = 1_180;
/// Most ranges in an acknowledgement.
pub(super) const RANGES: usize = 16;

/// Octets of the head that opens a connection.
const OPEN: usize = 18;

/// What arrived at the other end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ack {
    /// All pieces before this one are there.
    pub(super) next: u32,
    /// Data and repair datagrams that arrived.
    pub(super) heard: u32,
    /// The latest of their turns.
    pub(super) turn: u32,
    /// Pieces that are there beyond: the first, and how many.
    pub(super) ranges: Vec<(u32, u16)>,
}

/// A datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Packet {
    Open(Path, Repair),
    Data { number: u32, turn: u32, octets: Vec<u8> },
    Repair(Shard, u32),
    Ack(Ack),
    Close,
}

impl Packet {
    pub(super) fn write(&self, id: u32) -> Vec<u8> {
        let mut out = Vec::with_capacity(PIECE + 32);
        out.push(match self {
            Self::Open(..) => b'O',
            Self::Data { .. } => b'D',
            Self::Repair(..) => b'R',
            Self::Ack(_) => b'A',
            Self::Close => b'C',
        });
        out.extend(id.to_be_bytes());
        match self {
            Self::Open(path, repair) => {
                out.extend(path.rate_bps.to_be_bytes());
                out.extend(u32::try_from(path.rtt_ms).unwrap_or(u32::MAX).to_be_bytes());
                out.push(repair.code());
            }
            Self::Data { number, turn, octets } => {
                out.extend(number.to_be_bytes());
                out.extend(turn.to_be_bytes());
                out.extend(octets);
            }
            Self::Repair(shard, turn) => {
                out.extend(turn.to_be_bytes());
                out.extend(shard.first.to_be_bytes());
                out.extend([shard.pieces, shard.repairs, shard.which]);
                out.extend(&shard.octets);
            }
            Self::Ack(ack) => {
                for number in [ack.next, ack.heard, ack.turn] {
                    out.extend(number.to_be_bytes());
                }
                for (first, count) in &ack.ranges {
                    out.extend(first.to_be_bytes());
                    out.extend(count.to_be_bytes());
                }
            }
            Self::Close => {}
        }
        out
    }
}

/// Splits off what opens a connection, if the datagram begins with that: the connection, its path and repair.
pub(super) fn opening(datagram: &[u8]) -> Option<(u32, Path, Repair)> {
    let mut rest = datagram.get(..OPEN)?;
    if take(&mut rest)? != *b"O" {
        return None;
    }
    let id = u32::from_be_bytes(take(&mut rest)?);
    let rate_bps = u64::from_be_bytes(take(&mut rest)?);
    let rtt_ms = u64::from(u32::from_be_bytes(take(&mut rest)?));
    let [code] = take(&mut rest)?;
    Some((id, Path { rate_bps, rtt_ms }, Repair::of_code(code)?))
}

/// Reads a datagram, that within it which opens included: its connection and what it is. `None` for anything else.
pub(super) fn read(datagram: &[u8]) -> Option<(u32, Packet)> {
    let mut rest = if datagram.first() == Some(&b'O') {
        opening(datagram)?;
        datagram.get(OPEN..)?
    } else {
        datagram
    };
    let [kind] = take(&mut rest)?;
    let id = u32::from_be_bytes(take(&mut rest)?);
    let packet = match kind {
        b'D' => {
            let (number, turn) = (u32::from_be_bytes(take(&mut rest)?), u32::from_be_bytes(take(&mut rest)?));
            let fits = !rest.is_empty() && rest.len() <= PIECE;
            fits.then(|| Packet::Data { number, turn, octets: rest.to_vec() })?
        }
        b'R' => {
            let (turn, first) = (u32::from_be_bytes(take(&mut rest)?), u32::from_be_bytes(take(&mut rest)?));
            let [pieces, repairs, which] = take(&mut rest)?;
            let shard = Shard { first, pieces, repairs, which, octets: rest.to_vec() };
            Packet::Repair(shard.sound().then_some(shard)?, turn)
        }
        b'A' => {
            let next = u32::from_be_bytes(take(&mut rest)?);
            let (heard, turn) = (u32::from_be_bytes(take(&mut rest)?), u32::from_be_bytes(take(&mut rest)?));
            let mut ranges = Vec::new();
            while !rest.is_empty() {
                let first = u32::from_be_bytes(take(&mut rest)?);
                ranges.push((first, u16::from_be_bytes(take(&mut rest)?)));
            }
            (ranges.len() <= RANGES).then_some(Packet::Ack(Ack { next, heard, turn, ranges }))?
        }
        b'C' if rest.is_empty() => Packet::Close,
        _ => return None,
    };
    Some((id, packet))
}

fn take<const N: usize>(from: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = from.split_first_chunk()?;
    *from = rest;
    Some(*taken)
}
