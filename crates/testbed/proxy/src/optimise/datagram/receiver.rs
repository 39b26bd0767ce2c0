//! The receiving side: puts pieces in order, restores what is missing, says what is there.
//!
//! Acknowledges every second datagram, at once when something is missing, and else after 25 ms, as TCP does (RFC 5681 §4.2,
//! RFC 9000 §13.2). Left out: a window of its own: HTTP/2 above it holds senders back.

use super::packet::{Ack, RANGES};
use super::repair::{Block, Shard};
use airperf_units::{Duration, Time};
use std::collections::{BTreeMap, VecDeque};

/// Pieces that may be ahead of a missing one: 4 MiB.
const AHEAD: u32 = 4_096;
/// Pieces kept after they were read, to restore others of their block.
const BEHIND: u32 = 64;
/// Longest wait of an acknowledgement (RFC 9000 §18.2, `max_ack_delay`).
const ACK_DELAY: Duration = Duration::from_ms(25);

#[derive(Debug, Default)]
pub(super) struct Receiver {
    /// First piece that is missing.
    next: u32,
    /// Pieces that are there, those behind that are still of use included.
    pieces: BTreeMap<u32, Vec<u8>>,
    blocks: BTreeMap<u32, Block>,
    ready: VecDeque<Vec<u8>>,
    heard: u32,
    turn: u32,
    unsaid: u32,
    ack_at: Option<Time>,
    pub(super) repaired: u64,
}

impl Receiver {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn read(&mut self) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }

    pub(super) fn data(&mut self, now: Time, number: u32, turn: u32, octets: Vec<u8>) {
        self.heard(turn);
        if self.place(number, octets) {
            let around = number.saturating_sub(BEHIND)..=number;
            let firsts: Vec<u32> = self.blocks.range(around).map(|(first, _)| *first).collect();
            firsts.into_iter().for_each(|first| self.restore(first));
        }
        self.advance();
        self.say_soon(now);
    }

    pub(super) fn repair(&mut self, now: Time, shard: Shard, turn: u32) {
        self.heard(turn);
        let first = shard.first;
        let end = first + u32::from(shard.pieces);
        if end > self.next && first < self.next.saturating_add(AHEAD) {
            self.blocks.entry(first).or_default().take(shard);
            self.restore(first);
        }
        self.advance();
        self.say_soon(now);
    }

    fn heard(&mut self, turn: u32) {
        self.heard = self.heard.wrapping_add(1);
        self.turn = self.turn.max(turn);
        self.unsaid += 1;
    }

    /// Whether this piece was missing.
    fn place(&mut self, number: u32, octets: Vec<u8>) -> bool {
        let wanted = number >= self.next && number - self.next < AHEAD && !self.pieces.contains_key(&number);
        if wanted {
            self.pieces.insert(number, octets);
        }
        wanted
    }

    fn restore(&mut self, first: u32) {
        let Some(block) = self.blocks.get(&first) else { return };
        let there: BTreeMap<usize, &[u8]> = self
            .pieces
            .range(first..first + block.pieces())
            .map(|(number, piece)| ((number - first) as usize, piece.as_slice()))
            .collect();
        let complete = there.len() == block.pieces() as usize;
        let restored = if complete { None } else { block.restore(&there) };
        if complete || restored.is_some() {
            self.blocks.remove(&first);
        }
        for (place, piece) in restored.unwrap_or_default() {
            if self.place(first + place as u32, piece) {
                self.repaired += 1;
            }
        }
    }

    fn advance(&mut self) {
        while let Some(piece) = self.pieces.get(&self.next) {
            self.ready.push_back(piece.clone());
            self.next += 1;
        }
        let behind = self.next.saturating_sub(BEHIND);
        self.pieces = self.pieces.split_off(&behind);
        let next = self.next;
        self.blocks.retain(|first, block| first + block.pieces() > next);
    }

    fn say_soon(&mut self, now: Time) {
        let missing = self.pieces.last_key_value().is_some_and(|(last, _)| *last >= self.next);
        let at = if missing || self.unsaid >= 2 { now } else { now + ACK_DELAY };
        self.ack_at = Some(self.ack_at.map_or(at, |known| known.min(at)));
    }

    /// The acknowledgement that is due.
    pub(super) fn acknowledge(&mut self, now: Time) -> Option<Ack> {
        self.ack_at.filter(|at| *at <= now)?;
        self.ack_at = None;
        self.unsaid = 0;
        let mut ranges: Vec<(u32, u16)> = Vec::new();
        for number in self.pieces.range(self.next..).map(|(number, _)| *number) {
            let last = ranges.last_mut().filter(|(first, count)| *first + u32::from(*count) == number);
            if let Some((_, count)) = last {
                *count += 1;
            } else if ranges.len() < RANGES {
                ranges.push((number, 1));
            } else {
                break;
            }
        }
        Some(Ack { next: self.next, heard: self.heard, turn: self.turn, ranges })
    }

    pub(super) fn next_event(&self) -> Option<Time> {
        self.ack_at
    }
}
