//! The sending side: cuts octets into pieces, paces them, protects them, sends again what is lost.
//!
//! A piece is lost when three datagrams sent after it, and after its block's repairs, could have been heard of and it is still
//! missing (RFC 9002 §6.1.1), or when its timer runs out (RFC 6298). Left out: congestion control; see the parent.

use super::Config;
use super::packet::{Ack, PIECE, Packet};
use super::repair::{BLOCK, Shard, protect};
use airperf_units::{Duration, Time};
use std::collections::{BTreeMap, VecDeque};

/// Datagrams heard of before what was sent earlier is given up (RFC 9002 §6.1.1, kPacketThreshold).
const LATER: u32 = 3;
/// Octets taken before they are cut: two pieces, so that what is urgent above does not wait behind them.
const WAITING: usize = 2 * PIECE;
/// Headers of IPv4 and UDP, which the link carries too.
const HEADERS: u64 = 28;
/// Shortest timer (RFC 6298 §2.4 says 1 s; Linux has 200 ms).
const SHORTEST: Duration = Duration::from_ms(200);
/// Longest timer (RFC 6298 §2.5).
const LONGEST: Duration = Duration::from_secs(60);
/// Timers that may run out one after the other, as Linux' `tcp_retries1` and a little more.
const TRIES: u32 = 8;
/// Loss taken for granted before it was measured: a full block gets one repair, a short one none.
const GUESS: f64 = 0.002;
/// Datagrams between two looks at the loss.
const SAMPLE: u32 = 32;

#[derive(Debug)]
struct Piece {
    octets: Vec<u8>,
    /// Turn of its latest sending.
    turn: u32,
    /// Turn after which its block's repairs have been sent.
    protected: u32,
    lost: bool,
}

#[derive(Debug)]
pub(super) struct Sender {
    config: Config,
    waiting: VecDeque<u8>,
    /// Pieces sent and not known to be there.
    pieces: BTreeMap<u32, Piece>,
    number: u32,
    turn: u32,
    /// Pieces of the block that is not protected yet, and when its first and its last were sent.
    block: Vec<Vec<u8>>,
    block_since: Time,
    block_last: Time,
    shards: VecDeque<Shard>,
    /// Turns and when they were; those not heard of.
    sent: VecDeque<(u32, Time)>,
    /// When the next may go.
    free_at: Time,
    srtt: Option<(Duration, Duration)>,
    timer: Option<Time>,
    tries: u32,
    heard: (u32, u32),
    pub(super) loss: f64,
    pub(super) resent: u64,
    pub(super) repairs: u64,
}

impl Sender {
    pub(super) fn new(config: Config) -> Self {
        Self {
            config,
            waiting: VecDeque::new(),
            pieces: BTreeMap::new(),
            number: 0,
            turn: 0,
            block: Vec::new(),
            block_since: Time::from_ns(0),
            block_last: Time::from_ns(0),
            shards: VecDeque::new(),
            sent: VecDeque::new(),
            free_at: Time::from_ns(0),
            srtt: None,
            timer: None,
            tries: 0,
            heard: (0, 0),
            loss: GUESS,
            resent: 0,
            repairs: 0,
        }
    }

    pub(super) fn room(&self) -> usize {
        WAITING.saturating_sub(self.waiting.len())
    }

    pub(super) fn write(&mut self, octets: &[u8]) {
        self.waiting.extend(octets);
    }

    pub(super) fn is_settled(&self) -> bool {
        self.waiting.is_empty() && self.pieces.is_empty()
    }

    pub(super) fn gave_up(&self) -> bool {
        self.tries > TRIES
    }

    /// Octets that may be under way: two windows, for acknowledgements come late and in twos.
    fn window(&self) -> usize {
        2 * self.config.path.window_bytes() as usize + 2 * PIECE
    }

    fn under_way(&self) -> usize {
        self.pieces.values().filter(|piece| !piece.lost).map(|piece| piece.octets.len()).sum()
    }

    /// Longest that a block waits to be full: sending again would take a round trip, too.
    fn patience(&self) -> Duration {
        Duration::from_ms(self.config.path.rtt_ms.clamp(5, 2_000))
    }

    /// How long it waits when there is nothing more to send.
    fn pause(&self) -> Duration {
        self.patience() / 4
    }

    /// When the block that is not protected yet is to be.
    fn block_due(&self) -> Option<Time> {
        let full = self.block.len() >= BLOCK;
        let due = match self.waiting.is_empty() {
            _ if full => self.block_since,
            false => self.block_since + self.patience(),
            true => (self.block_since + self.patience()).min(self.block_last + self.pause()),
        };
        (!self.block.is_empty()).then_some(due)
    }

    fn rto(&self) -> Duration {
        let measured = match self.srtt {
            None => Duration::from_secs(1).max(Duration::from_ms(3 * self.config.path.rtt_ms)), // RFC 6298 §2.1
            Some((srtt, variation)) => srtt + variation * 4,
        };
        // The other end may wait for a block's repairs before it hears of a loss.
        let base = (measured + self.patience()).max(SHORTEST);
        (base * (1 << self.tries.min(10))).min(LONGEST)
    }

    /// The next datagram, if one may go now.
    pub(super) fn transmit(&mut self, now: Time) -> Option<Packet> {
        self.run_timer(now);
        if now < self.free_at || self.gave_up() {
            return None;
        }
        if self.shards.is_empty() && self.block_due().is_some_and(|due| due <= now) {
            self.protect_block();
        }
        let packet = self.lost_piece().or_else(|| self.shard()).or_else(|| self.new_piece(now))?;
        let octets = match &packet {
            Packet::Data { octets, .. } => octets.len() + 13,
            Packet::Repair(shard, _) => shard.octets.len() + 16,
            _ => 0,
        };
        let nanoseconds =
            (octets as u64 + HEADERS) * 8 * 1_000_000_000 / self.config.path.rate_bps.max(1_000);
        self.free_at = now + Duration::from_ns(nanoseconds);
        self.sent.push_back((self.turn, now));
        self.timer.get_or_insert(now + self.rto());
        Some(packet)
    }

    fn lost_piece(&mut self) -> Option<Packet> {
        let (number, piece) = self.pieces.iter_mut().find(|(_, piece)| piece.lost)?;
        self.turn += 1;
        self.resent += 1;
        (piece.turn, piece.protected, piece.lost) = (self.turn, self.turn, false);
        Some(Packet::Data { number: *number, turn: self.turn, octets: piece.octets.clone() })
    }

    fn shard(&mut self) -> Option<Packet> {
        let shard = self.shards.pop_front()?;
        self.turn += 1;
        self.repairs += 1;
        Some(Packet::Repair(shard, self.turn))
    }

    fn new_piece(&mut self, now: Time) -> Option<Packet> {
        if self.waiting.is_empty() || self.under_way() >= self.window() {
            return None;
        }
        let octets: Vec<u8> = self.waiting.drain(..self.waiting.len().min(PIECE)).collect();
        self.turn += 1;
        let number = self.number;
        self.number += 1;
        if self.block.is_empty() {
            self.block_since = now;
        }
        self.block_last = now;
        self.block.push(octets.clone());
        self.pieces.insert(
            number,
            Piece { octets: octets.clone(), turn: self.turn, protected: u32::MAX, lost: false },
        );
        Some(Packet::Data { number, turn: self.turn, octets })
    }

    fn protect_block(&mut self) {
        let block = std::mem::take(&mut self.block);
        let first = self.number - block.len() as u32;
        let repairs = self.config.repair.count(block.len(), self.loss);
        if repairs > 0 {
            let pieces: Vec<&[u8]> = block.iter().map(Vec::as_slice).collect();
            self.shards.extend(protect(first, &pieces, repairs));
        }
        let protected = self.turn + self.shards.len() as u32;
        for (_, piece) in self.pieces.range_mut(first..) {
            piece.protected = protected;
        }
    }

    /// Hears what is there.
    pub(super) fn acknowledged(&mut self, now: Time, ack: &Ack) {
        if ack.next > self.number || ack.turn > self.turn {
            return; // of nothing that was sent
        }
        let before = self.pieces.len();
        self.pieces = self.pieces.split_off(&ack.next);
        for (first, count) in &ack.ranges {
            let range = *first..first.saturating_add(u32::from(*count));
            let there: Vec<u32> = self.pieces.range(range).map(|(number, _)| *number).collect();
            there.iter().for_each(|number| drop(self.pieces.remove(number)));
        }
        let mut heard_of = None;
        while let Some((turn, at)) = self.sent.front().copied()
            && turn <= ack.turn
        {
            heard_of = Some(at);
            self.sent.pop_front();
        }
        if let Some(at) = heard_of {
            self.round_trip(now.saturating_since(at));
        }
        self.measure(ack);
        let mut doubtful = false;
        for piece in self.pieces.values_mut() {
            let settled = piece.turn.max(piece.protected);
            let later = if settled == u32::MAX { 0 } else { ack.turn.saturating_sub(settled) };
            piece.lost |= later >= LATER;
            doubtful |= settled <= ack.turn;
        }
        if self.pieces.len() < before {
            self.tries = 0;
        }
        if self.pieces.is_empty() {
            self.timer = None;
        } else if heard_of.is_some() {
            // Nothing need come after the last of all: a little time settles it as well (RFC 9002 §6.1.2).
            self.timer = Some(now + if doubtful { self.pause() } else { self.rto() });
        }
    }

    /// RFC 6298 §2.2, §2.3.
    fn round_trip(&mut self, sample: Duration) {
        self.srtt = Some(match self.srtt {
            None => (sample, sample / 2),
            Some((srtt, variation)) => {
                let off = srtt.max(sample) - srtt.min(sample);
                ((srtt * 7 + sample) / 8, (variation * 3 + off) / 4)
            }
        });
    }

    fn measure(&mut self, ack: &Ack) {
        let (turn, heard) = self.heard;
        let sent = ack.turn.saturating_sub(turn);
        if sent >= SAMPLE {
            let arrived = ack.heard.wrapping_sub(heard).min(sent);
            let lost = f64::from(sent - arrived) / f64::from(sent);
            // Too little repair costs a round trip, too much an octet or two: quick to believe in losses, slow to forget.
            let weight = if lost > self.loss { 0.25 } else { 0.1 };
            self.loss += weight * (lost - self.loss);
            self.heard = (ack.turn, ack.heard);
        }
    }

    fn run_timer(&mut self, now: Time) {
        if self.timer.is_none_or(|at| now < at) {
            return;
        }
        self.tries += 1;
        // One is enough to be heard of; what it then turns out that others are lost too is sent at once.
        if let Some(mut first) = self.pieces.first_entry() {
            first.get_mut().lost = true;
        }
        self.timer = (!self.pieces.is_empty()).then(|| now + self.rto());
    }

    pub(super) fn next_event(&self) -> Option<Time> {
        let has_more = !self.shards.is_empty()
            || self.pieces.values().any(|piece| piece.lost)
            || !self.waiting.is_empty() && self.under_way() < self.window();
        let block = self.block_due().map(|due| due.max(self.free_at));
        [has_more.then_some(self.free_at), block, self.timer].into_iter().flatten().min()
    }
}
