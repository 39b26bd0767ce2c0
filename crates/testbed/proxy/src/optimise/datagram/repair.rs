//! Repair datagrams: how many, made of what, and what they restore.
//!
//! Reference: Reed–Solomon erasure code of a library (Leopard-RS; as RFC 5510 any `k` of `k + m` shards restore the block). How
//! many: the fewest for which a block cannot be restored at most once in a hundred, losses being independent. Left out: bursts:
//! a block is as long as one burst on the links of the studies, and what it loses then is sent again.

use super::packet::PIECE;
use std::collections::BTreeMap;

/// Most pieces in a block.
pub(super) const BLOCK: usize = 16;
/// Blocks that cannot be restored, of all: one in a hundred.
const FAILURES: f64 = 0.01;
/// Loss below which repair costs more than sending again what was lost.
const NO_LOSS: f64 = 0.000_5;
/// Octets before a piece in its shard: how long it is.
const LENGTH: usize = 2;

/// How much repair is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// As much as the measured loss asks for.
    Adaptive,
    /// So many repair datagrams for each full block of 16 pieces, fewer for shorter ones; none with 0.
    Fixed(u8),
}

impl Repair {
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Adaptive => u8::MAX,
            Self::Fixed(repairs) => repairs.min(BLOCK as u8),
        }
    }

    pub(super) fn of_code(code: u8) -> Option<Self> {
        match code {
            u8::MAX => Some(Self::Adaptive),
            code if usize::from(code) <= BLOCK => Some(Self::Fixed(code)),
            _ => None,
        }
    }

    /// Repair datagrams for a block of so many pieces when this share of datagrams is lost.
    pub(super) fn count(self, pieces: usize, loss: f64) -> usize {
        match self {
            Self::Fixed(repairs) => (usize::from(repairs) * pieces).div_ceil(BLOCK),
            Self::Adaptive if loss < NO_LOSS => 0,
            Self::Adaptive => {
                (0..pieces).find(|more| beyond(pieces + more, *more, loss) <= FAILURES).unwrap_or(pieces)
            }
        }
    }
}

/// Probability that of `all` more than `most` are lost.
fn beyond(all: usize, most: usize, loss: f64) -> f64 {
    let mut term = (1.0 - loss).powi(all as i32);
    let mut within = term;
    for lost in 1..=most {
        term *= (all - lost + 1) as f64 / lost as f64 * loss / (1.0 - loss);
        within += term;
    }
    1.0 - within
}

/// A repair datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shard {
    /// First piece of the block.
    pub(super) first: u32,
    /// How many pieces it has.
    pub(super) pieces: u8,
    /// How many repairs it has.
    pub(super) repairs: u8,
    /// Which of these.
    pub(super) which: u8,
    pub(super) octets: Vec<u8>,
}

impl Shard {
    pub(super) fn sound(&self) -> bool {
        let right = |number: u8| (1..=BLOCK).contains(&usize::from(number));
        right(self.pieces)
            && right(self.repairs)
            && self.which < self.repairs
            && (LENGTH..=PIECE + LENGTH).contains(&self.octets.len())
            && self.octets.len().is_multiple_of(2)
            && self.first.checked_add(u32::from(self.pieces)).is_some()
    }

    fn same_block(&self, other: &Self) -> bool {
        (self.pieces, self.repairs, self.octets.len()) == (other.pieces, other.repairs, other.octets.len())
    }
}

fn shard(piece: &[u8], width: usize) -> Vec<u8> {
    let mut octets = (piece.len() as u16).to_be_bytes().to_vec();
    octets.extend(piece);
    octets.resize(width, 0);
    octets
}

/// Repairs of a block.
pub(super) fn protect(first: u32, pieces: &[&[u8]], repairs: usize) -> Vec<Shard> {
    let longest = pieces.iter().map(|piece| piece.len()).max().unwrap_or(0);
    let width = (longest + LENGTH).next_multiple_of(2);
    let shards = pieces.iter().map(|piece| shard(piece, width));
    let made = reed_solomon_simd::encode(pieces.len(), repairs, shards).unwrap_or_default();
    let block = (pieces.len() as u8, made.len() as u8);
    let number =
        |(which, octets)| Shard { first, pieces: block.0, repairs: block.1, which: which as u8, octets };
    made.into_iter().enumerate().map(number).collect()
}

/// Repairs of one block that have arrived.
#[derive(Debug, Default)]
pub(super) struct Block(Vec<Shard>);

impl Block {
    /// Takes a repair that belongs to the others.
    pub(super) fn take(&mut self, shard: Shard) {
        let fits = self.0.first().is_none_or(|known| known.same_block(&shard));
        if fits && self.0.iter().all(|known| known.which != shard.which) {
            self.0.push(shard);
        }
    }

    /// How many pieces the block has.
    pub(super) fn pieces(&self) -> u32 {
        self.0.first().map_or(0, |shard| u32::from(shard.pieces))
    }

    /// The missing pieces by their place in the block, if what is there restores them.
    pub(super) fn restore(&self, there: &BTreeMap<usize, &[u8]>) -> Option<BTreeMap<usize, Vec<u8>>> {
        let known = self.0.first()?;
        let (pieces, width) = (usize::from(known.pieces), known.octets.len());
        if there.len() + self.0.len() < pieces || there.values().any(|piece| piece.len() + LENGTH > width) {
            return None;
        }
        let shards = there.iter().map(|(place, piece)| (*place, shard(piece, width)));
        let repairs = self.0.iter().map(|shard| (usize::from(shard.which), &shard.octets));
        let restored = reed_solomon_simd::decode(pieces, usize::from(known.repairs), shards, repairs).ok()?;
        let piece = |octets: Vec<u8>| {
            let length = usize::from(u16::from_be_bytes([octets[0], octets[1]]));
            octets.get(LENGTH..LENGTH + length).filter(|piece| !piece.is_empty()).map(<[u8]>::to_vec)
        };
        restored.into_iter().map(|(place, octets)| Some((place, piece(octets)?))).collect()
    }
}
