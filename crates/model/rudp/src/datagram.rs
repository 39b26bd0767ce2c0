//! What goes over the link: descriptors, without the octets of the stream.
//!
//! Left out: their encoding; the sizes are those of a plain one.

use crate::config::Fec;

/// Octets before the stream's in a datagram: 20 of IP, 8 of UDP; number, place in the stream, length and kind 4 + 4 + 2 + 2.
pub const HEADER_BYTES: u16 = 40;
/// Octets of a run in an acknowledgement.
const RUN_BYTES: u16 = 8;
/// Octets of an acknowledgement without runs: IP, UDP, its five numbers.
const ACK_BYTES: u16 = 28 + 20;
/// The length of each datagram is coded with its octets.
const LENGTH_BYTES: u16 = 2;
/// Runs that an acknowledgement tells at most.
pub(crate) const RUNS: usize = 6;

/// A part of the stream: the data of one datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Octets.
    pub bytes: u16,
    /// Whether the stream ends with it.
    pub last: bool,
}

/// What of a group of pieces and its repair datagrams any as many as there are pieces restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The place of the group's first piece.
    pub first: u32,
    /// Pieces of the group.
    pub data: u8,
    /// Which of its repair datagrams.
    pub index: u8,
    /// What the coded octets say of the pieces.
    pub(crate) pieces: [Piece; Fec::MOST_DATA as usize],
}

/// What has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The first piece that has not.
    pub next: u32,
    /// Runs of pieces behind it that have, from and until; empty ones say nothing.
    pub runs: [(u32, u32); RUNS],
    /// The largest number of a datagram that has.
    pub largest: u32,
    /// Datagrams that have.
    pub received: u32,
    /// Microseconds since that with the largest number.
    pub delay_us: u32,
}

/// A datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datagram {
    /// A piece of the stream.
    Data {
        /// Counts datagrams with data or repair, from 0.
        number: u32,
        /// Counts pieces, from 0.
        place: u32,
        /// The piece.
        piece: Piece,
        /// Whether it was sent before.
        again: bool,
    },
    /// Redundancy.
    Repair {
        /// As of data.
        number: u32,
        /// For which group.
        repair: Repair,
    },
    /// An acknowledgement.
    Ack(Ack),
}

impl Datagram {
    /// Octets of its IP packet.
    pub fn ip_bytes(&self) -> u16 {
        match self {
            Self::Data { piece, .. } => HEADER_BYTES + piece.bytes,
            Self::Repair { repair, .. } => {
                let pieces = &repair.pieces[..usize::from(repair.data)];
                HEADER_BYTES + LENGTH_BYTES + pieces.iter().map(|piece| piece.bytes).max().unwrap_or(0)
            }
            Self::Ack(ack) => {
                let runs = ack.runs.iter().filter(|(from, until)| from < until).count() as u16;
                ACK_BYTES + RUN_BYTES * runs
            }
        }
    }
}
