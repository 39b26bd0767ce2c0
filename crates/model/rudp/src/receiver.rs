//! What has arrived of the peer's stream, what can be restored, and when that is told.
//!
//! Reference: RFC 9000 §13.2 (when to acknowledge). Left out: a limit of what is held; the peer's window is one.

use crate::config::{Config, Fec};
use crate::datagram::{Ack, Piece, RUNS, Repair};
use airperf_units::Time;
use std::collections::BTreeMap;

/// Repair datagrams of a group with pieces still missing.
#[derive(Clone, Copy, Debug)]
struct Group {
    repair: Repair,
    /// Which have arrived, as bits.
    arrived: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// The first piece that is missing.
    next: u32,
    /// Pieces behind it.
    held: BTreeMap<u32, Piece>,
    groups: BTreeMap<u32, Group>,
    pub(crate) bytes: u64,
    pub(crate) ended: bool,
    largest: Option<(u32, Time)>,
    received: u32,
    unanswered: u8,
    /// When an acknowledgement is due.
    pub(crate) due: Time,
}

impl Receiver {
    pub(crate) fn new() -> Self {
        Self {
            next: 0,
            held: BTreeMap::new(),
            groups: BTreeMap::new(),
            bytes: 0,
            ended: false,
            largest: None,
            received: 0,
            unanswered: 0,
            due: Time::MAX,
        }
    }

    pub(crate) fn data(&mut self, now: Time, config: &Config, number: u32, place: u32, piece: Piece) {
        let known = self.has(place);
        if !known {
            self.held.insert(place, piece);
        }
        self.mend();
        self.answer(now, config, number, known);
    }

    pub(crate) fn repair(&mut self, now: Time, config: &Config, number: u32, repair: Repair) {
        if repair.first + u32::from(repair.data) > self.next {
            let group = self.groups.entry(repair.first).or_insert(Group { repair, arrived: 0 });
            group.arrived |= 1 << repair.index;
        }
        self.mend();
        self.answer(now, config, number, false);
    }

    fn has(&self, place: u32) -> bool {
        place < self.next || self.held.contains_key(&place)
    }

    /// Restores what can be, and takes what is in order.
    fn mend(&mut self) {
        let mut restored: Option<Repair> = None;
        for group in self.groups.values() {
            let places = group.repair.first..group.repair.first + u32::from(group.repair.data);
            let missing = places.filter(|&place| !self.has(place)).count() as u32;
            if missing > 0 && missing <= group.arrived.count_ones() {
                restored = Some(group.repair);
            }
        }
        if let Some(repair) = restored {
            for (place, piece) in (repair.first..).zip(&repair.pieces[..usize::from(repair.data)]) {
                if !self.has(place) {
                    self.held.insert(place, *piece);
                }
            }
        }
        while let Some(piece) = self.held.remove(&self.next) {
            self.bytes += u64::from(piece.bytes);
            self.ended |= piece.last;
            self.next += 1;
        }
        let next = self.next;
        self.groups.retain(|first, group| first + u32::from(group.repair.data) > next);
    }

    fn answer(&mut self, now: Time, config: &Config, number: u32, known: bool) {
        let before = self.largest.map(|(largest, _)| largest);
        let gap = number > before.map_or(0, |largest| largest + 1);
        if before.is_none_or(|largest| number > largest) {
            self.largest = Some((number, now));
        }
        self.received += 1;
        self.unanswered = self.unanswered.saturating_add(1);
        if gap || known || self.ended || self.unanswered >= config.ack_every {
            self.due = now;
        } else {
            self.due = self.due.min(now + config.ack_delay);
        }
    }

    /// The acknowledgement of all until now.
    pub(crate) fn acknowledge(&mut self, now: Time) -> Option<Ack> {
        (self.due, self.unanswered) = (Time::MAX, 0);
        let (largest, at) = self.largest?;
        let mut runs = [(0, 0); RUNS];
        let mut count = 0;
        for &place in self.held.keys() {
            match count {
                1.. if runs[count - 1].1 == place => runs[count - 1].1 += 1,
                RUNS => break,
                _ => {
                    runs[count] = (place, place + 1);
                    count += 1;
                }
            }
        }
        let delay_us = ((now - at).as_ns() / 1_000).min(u64::from(u32::MAX)) as u32;
        Some(Ack { next: self.next, runs, largest, received: self.received, delay_us })
    }
}

const _: () = assert!(Fec::MOST_REPAIR <= 32, "the bits of a group");
