//! Who transmits next: the backoff counters of all stations of one collision domain.
//!
//! Where everybody hears everybody all counters freeze together, so in *virtual idle-slot time* (idle
//! slots counted since the start) the expiry of a counter never changes after it is drawn. Expiries
//! live in a ring of 1024 buckets with a bitmap: the next transmitter is a find-first-set, two stations
//! in one bucket are a collision, and idle slots are added arithmetically. Freezing costs nothing and no
//! event is spent on a slot.
//!
//! Stations whose slots do not line up with the others' until the next busy period (after an ACK
//! timeout, after EIFS alone, after a host gap, or with immediate access) wait in a short side list with
//! a phase of their own and are folded back, partial slots lost, when the medium next becomes busy.
//!
//! Reference: IEEE 802.11-2020 §10.3.4.2–10.3.4.4. Leaves out: who draws which window (the MAC) and what
//! the transmission does (the medium).

use airperf_link::StationId;
use airperf_units::{Duration, Time};

/// Buckets of the ring: one more than the largest contention window.
const BUCKETS: usize = 1024;
const WORDS: usize = BUCKETS / 64;
const NONE: u16 = u16::MAX;
/// An expiry no station has.
const NEVER: u64 = u64::MAX;

/// The slot time, with what it takes to count whole slots without dividing.
#[derive(Clone, Copy, Debug)]
struct Slot {
    length: Duration,
    /// ⌊(2^64 − 1) / length⌋: the product's upper half is the quotient or one less.
    inverse: u64,
}

impl Slot {
    fn new(length: Duration) -> Self {
        Self { length, inverse: u64::MAX / length.as_ns() }
    }

    /// How many whole slots fit into `span`.
    #[inline]
    fn whole(self, span: Duration) -> u64 {
        let (span, length) = (span.as_ns(), self.length.as_ns());
        let low = ((u128::from(span) * u128::from(self.inverse)) >> 64) as u64;
        low + u64::from(span - low * length >= length)
    }

    #[inline]
    fn times(self, slots: u64) -> Duration {
        self.length * slots
    }
}

/// A station that begins to transmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Winner {
    /// Which station.
    pub station: StationId,
    /// When its first symbol leaves.
    pub start: Time,
    /// When its interframe space ended and its slots began to count.
    pub resumed: Time,
    /// How much of the wait before `resumed` was the station's host, not the standard.
    pub host_gap: Duration,
}

/// A countdown that is out of step with the common slots.
#[derive(Clone, Copy, Debug)]
struct Own {
    station: u16,
    resume: Time,
    left: u32,
    host_gap: Duration,
    /// Sends without having drawn a backoff; loses that right when somebody else starts first.
    immediate: bool,
}

impl Own {
    fn start(&self, slot: Slot) -> Time {
        self.resume + slot.times(u64::from(self.left))
    }
}

/// Where a station's countdown stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Counts in the common slots, towards `expiry`.
    Common,
    /// Has an entry in the side list.
    Own,
    /// Is transmitting: has no countdown.
    Sending,
}

/// One station's countdown.
#[derive(Clone, Copy, Debug)]
struct Countdown {
    /// Virtual slot at which it runs out, while [`Phase::Common`].
    expiry: u64,
    /// Next station in its bucket of the ring.
    next: u16,
    phase: Phase,
    /// Whether the station has something to send, or only serves a post-backoff.
    contending: bool,
}

/// The backoff counters of one collision domain.
#[derive(Clone, Debug)]
pub struct Contention {
    slot: Slot,
    /// Virtual slot number at `resume`.
    base: u64,
    /// When the common slots (re)started to count; in the future during DIFS or EIFS.
    resume: Time,
    heads: Box<[u16; BUCKETS]>,
    occupied: [u64; WORDS],
    /// Which words of `occupied` are not zero.
    summary: u16,
    countdowns: Vec<Countdown>,
    contenders: usize,
    own: Vec<Own>,
    /// Smallest expiry in the ring, or [`NEVER`].
    first_expiry: u64,
    /// Earliest start of all contenders, or [`Time::MAX`].
    first: Time,
    winners: Vec<Winner>,
    deposed: Vec<StationId>,
}

impl Contention {
    /// Counters for `stations` stations, all idle with no backoff to serve.
    pub fn new(stations: usize, slot: Duration, difs: Duration) -> Self {
        Self {
            slot: Slot::new(slot),
            base: 0,
            resume: Time::ZERO + difs,
            heads: Box::new([NONE; BUCKETS]),
            occupied: [0; WORDS],
            summary: 0,
            countdowns: vec![
                Countdown { expiry: 0, next: NONE, phase: Phase::Common, contending: false };
                stations
            ],
            contenders: 0,
            own: Vec::with_capacity(stations),
            first_expiry: NEVER,
            first: Time::MAX,
            winners: Vec::with_capacity(stations),
            deposed: Vec::with_capacity(stations),
        }
    }

    /// When the next transmission begins if nothing changes.
    #[inline]
    pub fn first(&self) -> Option<Time> {
        (self.contenders > 0).then_some(self.first)
    }

    /// Whether any station has something to send.
    #[inline]
    pub fn any_contender(&self) -> bool {
        self.contenders > 0
    }

    /// The stations due within `window` of `start` begin, earliest first in [`Self::winners`] and in a fixed
    /// order among equals; everyone else freezes.
    ///
    /// `start` is [`Self::first`], or an earlier instant at which something outside contention seized the
    /// medium (then nobody wins). Stations deposed from immediate access are in [`Self::deposed`] and must
    /// draw a backoff.
    #[inline]
    pub fn seize(&mut self, start: Time, window: Duration) {
        self.winners.clear();
        self.deposed.clear();
        let deadline = start + window;
        self.base += self.take_common(start, deadline);
        if !self.own.is_empty() {
            self.fold(start, deadline);
            self.winners.sort_unstable_by_key(|w| (w.start, w.station));
        }
        self.first = Time::MAX;
    }

    /// Who began; valid after [`Self::seize`].
    #[inline]
    pub fn winners(&self) -> &[Winner] {
        &self.winners
    }

    /// Takes everyone out of the ring who is due before `deadline`; returns the slots that passed before `start`.
    #[inline]
    fn take_common(&mut self, start: Time, deadline: Time) -> u64 {
        let expiry = self.first_expiry;
        let first = self.common_start(expiry);
        if first != start {
            if first < deadline {
                self.take_buckets_before(deadline);
            }
            return self.slot.whole(start.saturating_since(self.resume));
        }
        // Aligned with the slots, as nearly always: no division, and the next bucket is a slot away.
        self.take_bucket(expiry, start);
        if deadline > start + self.slot.length {
            self.take_buckets_before(deadline);
        }
        expiry - self.base
    }

    fn take_buckets_before(&mut self, deadline: Time) {
        loop {
            let start = self.common_start(self.first_expiry);
            if start >= deadline {
                return;
            }
            self.take_bucket(self.first_expiry, start);
        }
    }

    #[inline]
    fn take_bucket(&mut self, expiry: u64, start: Time) {
        let bucket = (expiry as usize) % BUCKETS;
        let mut station = std::mem::replace(&mut self.heads[bucket], NONE);
        self.clear(bucket);
        while station != NONE {
            let index = usize::from(station);
            self.send(index);
            self.winners.push(Winner {
                station: StationId(station),
                start,
                resumed: self.resume,
                host_gap: Duration::ZERO,
            });
            station = std::mem::replace(&mut self.countdowns[index].next, NONE);
        }
        self.first_expiry = self.scan();
    }

    #[inline]
    fn clear(&mut self, bucket: usize) {
        let word = &mut self.occupied[bucket / 64];
        *word &= !(1 << (bucket % 64));
        self.summary &= !(u16::from(*word == 0) << (bucket / 64));
    }

    fn send(&mut self, index: usize) {
        self.countdowns[index].phase = Phase::Sending;
        self.countdowns[index].contending = false;
        self.contenders -= 1;
    }

    fn fold(&mut self, start: Time, deadline: Time) {
        let mut own = std::mem::take(&mut self.own);
        for entry in own.drain(..) {
            let index = usize::from(entry.station);
            let station = StationId(entry.station);
            if self.countdowns[index].contending && entry.start(self.slot) < deadline {
                self.send(index);
                self.winners.push(Winner {
                    station,
                    start: entry.start(self.slot),
                    resumed: entry.resume,
                    host_gap: entry.host_gap,
                });
                continue;
            }
            if entry.immediate {
                self.deposed.push(station);
            }
            let counted = self.slot.whole(start.saturating_since(entry.resume));
            let left = u64::from(entry.left).saturating_sub(counted);
            self.countdowns[index].phase = Phase::Common;
            self.countdowns[index].expiry = self.base + left;
            if self.countdowns[index].contending {
                self.insert(entry.station, self.base + left);
            }
        }
        self.own = own;
    }

    /// Stations that waited for immediate access when somebody else began; valid after [`Self::seize`].
    pub fn deposed(&self) -> &[StationId] {
        &self.deposed
    }

    /// The medium is free again and common slots count from `resume` on.
    #[inline]
    pub fn release(&mut self, resume: Time) {
        self.resume = resume;
        self.first = self.common_start(self.first_expiry);
    }

    /// Gives `station` a backoff of `slots` that counts with everybody's.
    ///
    /// Whether it contends or serves a post-backoff with nothing to send is `contending`.
    #[inline]
    pub fn back_off(&mut self, station: StationId, slots: u32, contending: bool) {
        let index = station.index();
        self.withdraw(index);
        self.countdowns[index].phase = Phase::Common;
        self.countdowns[index].expiry = self.base + u64::from(slots);
        if contending {
            self.enter(index);
            self.insert(station.0, self.countdowns[index].expiry);
            let start = self.common_start(self.countdowns[index].expiry);
            self.note(start);
        }
    }

    /// Gives `station` a backoff of `slots` that counts from `resume` on, until the medium is next busy.
    pub fn back_off_alone(
        &mut self,
        station: StationId,
        slots: u32,
        contending: bool,
        resume: Time,
        host_gap: Duration,
    ) {
        if resume == self.resume {
            return self.back_off(station, slots, contending);
        }
        let index = station.index();
        self.withdraw(index);
        self.countdowns[index].phase = Phase::Own;
        let entry = Own { station: station.0, resume, left: slots, host_gap, immediate: false };
        self.own.push(entry);
        if contending {
            self.enter(index);
            self.note(entry.start(self.slot));
        }
    }

    /// Keeps the rest of `station`'s countdown but lets it count only from `resume` on.
    pub fn delay(&mut self, station: StationId, resume: Time) {
        let index = station.index();
        if self.countdowns[index].phase != Phase::Common {
            return;
        }
        let left = self.countdowns[index].expiry.saturating_sub(self.base) as u32;
        let contending = self.countdowns[index].contending;
        self.back_off_alone(station, left, contending, resume, Duration::ZERO);
        self.first = self.earliest();
    }

    /// `station` has got something to send at `now` while the medium is free.
    #[inline]
    pub fn contend(&mut self, station: StationId, now: Time) {
        let index = station.index();
        debug_assert!(!self.countdowns[index].contending);
        match self.countdowns[index].phase {
            Phase::Common => {
                if self.expired(index, now) {
                    let resume = now.max(self.resume);
                    self.countdowns[index].phase = Phase::Own;
                    let host_gap = Duration::ZERO;
                    self.own.push(Own { station: station.0, resume, left: 0, host_gap, immediate: true });
                    self.enter(index);
                    self.note(resume);
                } else {
                    let expiry = self.countdowns[index].expiry;
                    self.enter(index);
                    self.insert(station.0, expiry);
                    let start = self.common_start(expiry);
                    self.note(start);
                }
            }
            Phase::Own => {
                let slot = self.slot;
                let entry = self
                    .own
                    .iter_mut()
                    .find(|e| e.station == station.0)
                    .expect("a station in its own phase has an entry");
                if entry.start(slot) <= now {
                    *entry = Own { resume: now, left: 0, immediate: true, ..*entry };
                } else if entry.left == 0 {
                    entry.immediate = true;
                }
                let start = entry.start(slot);
                self.enter(index);
                self.note(start);
            }
            Phase::Sending => unreachable!("a sending station has something to send already"),
        }
    }

    /// Whether `station` had served its backoff when the medium became busy.
    #[inline]
    pub fn had_served(&self, station: StationId) -> bool {
        self.countdowns[station.index()].expiry <= self.base
    }

    /// `station` has got something to send while the medium is busy; its countdown stands.
    #[inline]
    pub fn contend_frozen(&mut self, station: StationId) {
        let index = station.index();
        debug_assert_eq!(self.countdowns[index].phase, Phase::Common);
        self.enter(index);
        self.insert(station.0, self.countdowns[index].expiry);
    }

    /// `station` seizes the medium within the window in which it cannot hear who else did.
    pub fn join(&mut self, station: StationId) {
        self.countdowns[station.index()].phase = Phase::Sending;
    }

    fn enter(&mut self, index: usize) {
        self.countdowns[index].contending = true;
        self.contenders += 1;
    }

    /// Takes a station out of wherever it counts.
    #[inline]
    fn withdraw(&mut self, index: usize) {
        match self.countdowns[index].phase {
            Phase::Sending => {}
            Phase::Own => self.own.retain(|e| usize::from(e.station) != index),
            Phase::Common if self.countdowns[index].contending => self.unlink(index),
            Phase::Common => {}
        }
        if std::mem::replace(&mut self.countdowns[index].contending, false) {
            self.contenders -= 1;
        }
    }

    #[inline]
    fn expired(&self, index: usize, now: Time) -> bool {
        let passed = self.slot.whole(now.saturating_since(self.resume));
        self.countdowns[index].expiry <= self.base + passed
    }

    #[inline]
    fn common_start(&self, expiry: u64) -> Time {
        if expiry == NEVER { Time::MAX } else { self.resume + self.slot.times(expiry - self.base) }
    }

    #[inline]
    fn note(&mut self, start: Time) {
        self.first = self.first.min(start);
    }

    fn earliest(&self) -> Time {
        let own = self.own.iter().filter(|e| self.countdowns[usize::from(e.station)].contending);
        own.map(|e| e.start(self.slot)).fold(self.common_start(self.first_expiry), Time::min)
    }

    #[inline]
    fn insert(&mut self, station: u16, expiry: u64) {
        debug_assert!(expiry >= self.base && expiry - self.base < BUCKETS as u64);
        let bucket = (expiry as usize) % BUCKETS;
        self.countdowns[usize::from(station)].next = self.heads[bucket];
        self.heads[bucket] = station;
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
        self.summary |= 1 << (bucket / 64);
        self.first_expiry = self.first_expiry.min(expiry);
    }

    fn unlink(&mut self, index: usize) {
        let bucket = (self.countdowns[index].expiry as usize) % BUCKETS;
        let after = std::mem::replace(&mut self.countdowns[index].next, NONE);
        if usize::from(self.heads[bucket]) == index {
            self.heads[bucket] = after;
        } else {
            let mut at = usize::from(self.heads[bucket]);
            while usize::from(self.countdowns[at].next) != index {
                at = usize::from(self.countdowns[at].next);
            }
            self.countdowns[at].next = after;
        }
        if self.heads[bucket] == NONE {
            self.clear(bucket);
            self.first_expiry = self.scan();
        }
    }

    /// The smallest expiry in the ring: find-first-set from `base` on, around the ring once.
    #[inline]
    fn scan(&self) -> u64 {
        let from = (self.base as usize) % BUCKETS;
        let (word, bit) = (from / 64, from % 64);
        let here = self.occupied[word] >> bit;
        if here != 0 {
            return self.base + u64::from(here.trailing_zeros());
        }
        let ahead = self.summary.rotate_right(word as u32 + 1);
        if ahead == 0 {
            return NEVER;
        }
        let step = ahead.trailing_zeros() as usize + 1;
        let bits = self.occupied[(word + step) % WORDS];
        self.base + (step * 64 - bit) as u64 + u64::from(bits.trailing_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airperf_units::StreamKey;

    #[test]
    fn slots_are_counted_exactly_without_division() {
        let mut random = StreamKey::new(1).stream("test");
        for length in [1, 7, 9_000, 20_000, 50_000] {
            let slot = Slot::new(Duration::from_ns(length));
            let edges = (0..1_000u64).flat_map(|n| [n * length, (n + 1) * length - 1]);
            let far = (0..10_000).map(|_| random.bits());
            for span in edges.chain(far).chain([u64::MAX, u64::MAX - 1]) {
                assert_eq!(slot.whole(Duration::from_ns(span)), span / length, "{span} / {length}");
            }
        }
    }
}
