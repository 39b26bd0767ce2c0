//! The own stream: which pieces are on their way, which are lost, and what redundancy goes behind them.
//!
//! Reference: RFC 9002 §6.1.1 (lost when three later ones arrived; here also not before the group's repair datagrams
//! had their chance), §6.2 (probe timeout), RFC 6298 §2 (round trip). Left out: loss by time alone.

use crate::config::{Config, Fec};
use crate::datagram::{Ack, Datagram, Piece, Repair};
use airperf_units::{Duration, Time, repairs_needed};
use std::collections::VecDeque;

/// Datagrams that must arrive behind one before it counts as lost (RFC 9002 §6.1.1, kPacketThreshold).
const REORDERED: u32 = 3;
/// Smallest variance term of the timeout (RFC 9002 §6.1.2 has 1 ms for its clock; ours bears a block of 20 ms).
const GRANULARITY: Duration = Duration::from_ms(20);
/// Doublings of the timeout at most.
const MOST_DOUBLINGS: u8 = 6;
/// Datagrams over which the share lost is remembered. Ours: some groups.
const MEMORY: f64 = 64.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Flying,
    Lost,
    Acknowledged,
}

/// A piece that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    piece: Piece,
    /// The number of its last datagram, or of the last repair datagram behind it.
    number: u32,
    state: State,
}

/// The group that is being filled.
#[derive(Clone, Copy, Debug)]
struct Open {
    first: u32,
    data: u8,
    pieces: [Piece; Fec::MOST_DATA as usize],
    /// When its repair datagrams go at the latest.
    until: Time,
}

#[derive(Clone, Debug)]
pub(crate) struct Sender {
    unsent: u64,
    closing: bool,
    /// Whether the last piece was made.
    ended: bool,
    first: u32,
    window: VecDeque<Sent>,
    flying_bytes: u64,
    lost: u32,
    open: Option<Open>,
    repairs: VecDeque<Repair>,
    next_number: u32,
    /// When datagrams were sent, by number from `timed`.
    times: VecDeque<Time>,
    timed: u32,
    smoothed: Option<(Duration, Duration)>,
    /// The largest number acknowledged and how many had arrived.
    heard: (u32, u32),
    /// The share of datagrams lost.
    pub(crate) error: Option<f64>,
    last_event: Time,
    backoff: u8,
}

impl Sender {
    pub(crate) fn new() -> Self {
        Self {
            unsent: 0,
            closing: false,
            ended: false,
            first: 0,
            window: VecDeque::new(),
            flying_bytes: 0,
            lost: 0,
            open: None,
            repairs: VecDeque::new(),
            next_number: 0,
            times: VecDeque::new(),
            timed: 0,
            smoothed: None,
            heard: (0, 0),
            error: None,
            last_event: Time::ZERO,
            backoff: 0,
        }
    }

    pub(crate) fn write(&mut self, bytes: u64) {
        self.unsent += bytes;
    }

    pub(crate) fn close(&mut self) {
        self.closing = true;
    }

    /// Whether all was acknowledged, the end included.
    pub(crate) fn is_done(&self) -> bool {
        self.ended && self.window.is_empty()
    }

    pub(crate) fn timeouts(&self) -> u8 {
        self.backoff
    }

    fn has_new(&self, config: &Config) -> bool {
        let bytes = self.unsent.min(config.datagram_bytes.into());
        let fits = self.flying_bytes == 0 || self.flying_bytes + bytes <= config.window_bytes;
        (self.unsent > 0 || (self.closing && !self.ended)) && fits
    }

    /// Whether there is something to send.
    pub(crate) fn wants(&self, config: &Config) -> bool {
        self.lost > 0 || !self.repairs.is_empty() || self.has_new(config)
    }

    /// The next datagram: what is lost, redundancy, what is new.
    pub(crate) fn next(&mut self, now: Time, config: &Config) -> Option<Datagram> {
        if let Some(fec) = config.fec.filter(|_| self.is_held(now, config)) {
            self.close_group(fec);
        }
        let number = self.next_number;
        let datagram = if self.lost > 0 {
            self.again(number)
        } else if let Some(repair) = self.repairs.pop_front() {
            for place in repair.first.max(self.first)..repair.first + u32::from(repair.data) {
                let sent = &mut self.window[(place - self.first) as usize];
                sent.number = sent.number.max(number);
            }
            Some(Datagram::Repair { number, repair })
        } else if self.has_new(config) {
            Some(self.new_piece(now, config, number))
        } else {
            None
        };
        if datagram.is_some() {
            self.next_number += 1;
            self.times.push_back(now);
            self.last_event = now;
        }
        datagram
    }

    fn again(&mut self, number: u32) -> Option<Datagram> {
        let index = self.window.iter().position(|sent| sent.state == State::Lost)?;
        let sent = &mut self.window[index];
        (sent.state, sent.number) = (State::Flying, number);
        self.lost -= 1;
        self.flying_bytes += u64::from(sent.piece.bytes);
        let place = self.first + index as u32;
        Some(Datagram::Data { number, place, piece: sent.piece, again: true })
    }

    fn new_piece(&mut self, now: Time, config: &Config, number: u32) -> Datagram {
        let bytes = self.unsent.min(config.datagram_bytes.into()) as u16;
        self.unsent -= u64::from(bytes);
        let piece = Piece { bytes, last: self.closing && self.unsent == 0 };
        self.ended |= piece.last;
        let place = self.first + self.window.len() as u32;
        self.window.push_back(Sent { piece, number, state: State::Flying });
        self.flying_bytes += u64::from(bytes);
        if let Some(fec) = config.fec {
            let until = now + fec.hold;
            let open =
                self.open.get_or_insert(Open { first: place, data: 0, pieces: Default::default(), until });
            open.pieces[usize::from(open.data)] = piece;
            open.data += 1;
            if open.data >= fec.data || piece.last {
                self.close_group(fec);
            }
        }
        Datagram::Data { number, place, piece, again: false }
    }

    /// Puts repair datagrams behind the group that is being filled.
    fn close_group(&mut self, fec: Fec) {
        let Some(Open { first, data, pieces, .. }) = self.open.take() else { return };
        let repairs = match (fec.target, self.error) {
            (Some(target), Some(error)) => repairs_needed(data, error, target, Fec::MOST_REPAIR),
            // In proportion, so that a short group does not cost as much as a full one.
            _ => (u16::from(fec.repair) * u16::from(data)).div_ceil(fec.data.into()) as u8,
        };
        self.repairs.extend((0..repairs).map(|index| Repair { first, data, index, pieces }));
    }

    /// Whether the group that is being filled has waited long enough: while more data is ready it fills at the link's rate.
    fn is_held(&self, now: Time, config: &Config) -> bool {
        self.open.is_some_and(|open| open.until <= now) && !self.has_new(config)
    }

    /// When [`Self::on_timer`] is needed, the link being free from `free` on.
    pub(crate) fn deadline(&self, config: &Config, free: Time) -> Time {
        let open = self.open.filter(|_| !self.has_new(config));
        let hold = open.map_or(Time::MAX, |open| open.until.max(free));
        if self.window.is_empty() { hold } else { hold.min(self.probe(config)) }
    }

    fn probe(&self, config: &Config) -> Time {
        // RFC 9002 §6.2.1, §6.2.2: without a sample twice the round trip that is expected.
        let timeout = match self.smoothed {
            Some((smoothed, variance)) => smoothed + (variance * 4).max(GRANULARITY) + config.ack_delay,
            None => config.round_trip * 2,
        };
        self.last_event + timeout * (1u64 << self.backoff.min(MOST_DOUBLINGS))
    }

    /// Nothing was heard for too long: the oldest piece is sent again.
    pub(crate) fn on_timer(&mut self, now: Time, config: &Config) {
        if self.window.is_empty() || self.probe(config) > now {
            return;
        }
        self.backoff = self.backoff.saturating_add(1);
        self.last_event = now;
        if let Some(sent) = self.window.iter_mut().find(|sent| sent.state == State::Flying) {
            sent.state = State::Lost;
            self.lost += 1;
            self.flying_bytes -= u64::from(sent.piece.bytes);
        }
    }

    /// The peer tells what has arrived.
    pub(crate) fn hear(&mut self, now: Time, ack: &Ack) {
        if ack.largest >= self.next_number || ack.next > self.first + self.window.len() as u32 {
            return; // nothing that was sent
        }
        self.learn(now, ack);
        let mut progress = self.acknowledge(self.first, ack.next);
        for (from, until) in ack.runs {
            progress |= self.acknowledge(from, until);
        }
        if progress {
            (self.backoff, self.last_event) = (0, now);
        }
        self.detect(ack.largest);
        while self.window.front().is_some_and(|sent| sent.state == State::Acknowledged) {
            self.window.pop_front();
            self.first += 1;
        }
        let first = self.first;
        // What all have needs no repair.
        self.repairs.retain(|repair| repair.first + u32::from(repair.data) > first);
    }

    /// Round trip and loss.
    fn learn(&mut self, now: Time, ack: &Ack) {
        while self.timed < ack.largest {
            self.times.pop_front();
            self.timed += 1;
        }
        if self.timed == ack.largest
            && let Some(sent) = self.times.pop_front()
        {
            self.timed += 1;
            let sample = (now - sent).saturating_sub(Duration::from_us(ack.delay_us.into()));
            self.smoothed = Some(self.smoothed.map_or((sample, sample / 2), |(smoothed, variance)| {
                let off = sample.saturating_sub(smoothed) + smoothed.saturating_sub(sample);
                ((smoothed * 7 + sample) / 8, (variance * 3 + off) / 4)
            }));
        }
        // Counted from one, so that the first acknowledgement has something to be compared with.
        let sent = (ack.largest + 1).saturating_sub(self.heard.0);
        if sent > 0 {
            let arrived = ack.received.saturating_sub(self.heard.1);
            let share = (1.0 - f64::from(arrived) / f64::from(sent)).max(0.0);
            let known = self.error.unwrap_or(0.0);
            let weight = f64::from(sent) / (f64::from(sent) + MEMORY);
            self.error = Some(known + (share - known) * weight);
            self.heard = (ack.largest + 1, ack.received);
        }
    }

    fn acknowledge(&mut self, from: u32, until: u32) -> bool {
        let mut progress = false;
        let end = until.min(self.first + self.window.len() as u32);
        for place in from.max(self.first)..end {
            let sent = &mut self.window[(place - self.first) as usize];
            match sent.state {
                State::Acknowledged => continue,
                State::Flying => self.flying_bytes -= u64::from(sent.piece.bytes),
                State::Lost => self.lost -= 1,
            }
            sent.state = State::Acknowledged;
            progress = true;
        }
        progress
    }

    /// Which pieces are lost: those with three later datagrams acknowledged, and none of their repair to come.
    fn detect(&mut self, largest: u32) {
        let open = self.open.map_or(u32::MAX, |open| open.first);
        for (place, sent) in (self.first..).zip(&mut self.window) {
            let awaits =
                |repair: &Repair| (repair.first..repair.first + u32::from(repair.data)).contains(&place);
            if sent.state == State::Flying
                && largest >= sent.number + REORDERED
                && place < open
                && !self.repairs.iter().any(awaits)
            {
                sent.state = State::Lost;
                self.lost += 1;
                self.flying_bytes -= u64::from(sent.piece.bytes);
            }
        }
    }
}
