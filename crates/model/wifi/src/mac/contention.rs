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

mod ring;
mod slot;

use airperf_link::StationId;
use airperf_units::{Duration, Time};
use ring::{NEVER, NONE, Ring};
use slot::Slot;

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
    /// Whether the station has something to send, or only serves a post-backoff.
    contending: bool,
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
    /// Is transmitting: has no countdown.
    Sending,
    /// Counts in the common slots, towards `expiry`, with nothing to send: a post-backoff.
    Idle,
    /// Counts in the common slots, towards `expiry`, and contends: stands in the ring.
    Contending,
    /// Has an entry in the side list.
    Own,
}

/// One station's countdown.
#[derive(Clone, Copy, Debug)]
struct Countdown {
    /// Virtual slot at which it runs out, while it counts in the common slots.
    expiry: u64,
    phase: Phase,
}

/// The backoff counters of one collision domain.
#[derive(Clone, Debug)]
pub struct Contention {
    slot: Slot,
    /// Virtual slot number at `resume`.
    base: u64,
    /// When the common slots (re)started to count; in the future during DIFS or EIFS.
    resume: Time,
    /// Smallest expiry in the ring, or [`NEVER`].
    first_expiry: u64,
    /// Earliest start of the contenders in the side list, or [`Time::MAX`].
    first_own: Time,
    /// Everybody who contends in the common slots.
    ring: Ring,
    countdowns: Vec<Countdown>,
    own: Vec<Own>,
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
            first_expiry: NEVER,
            first_own: Time::MAX,
            ring: Ring::new(stations),
            countdowns: vec![Countdown { expiry: 0, phase: Phase::Idle }; stations],
            own: Vec::with_capacity(stations),
            winners: Vec::with_capacity(stations),
            deposed: Vec::with_capacity(stations),
        }
    }

    /// When the next transmission begins if nothing changes; [`Time::MAX`] when nobody has anything to send.
    #[inline]
    pub fn first(&self) -> Time {
        self.common_start(self.first_expiry).min(self.first_own)
    }

    /// Whether any station has something to send.
    #[inline]
    pub fn any_contender(&self) -> bool {
        self.first_expiry != NEVER || self.first_own != Time::MAX
    }

    /// The stations due within `window` of `start` begin; everyone else freezes.
    ///
    /// Returns the winner if it is alone, as nearly always. Else the winners are in [`Self::winners`],
    /// earliest first and in a fixed order among equals. Stations deposed from immediate access are in
    /// [`Self::deposed`] and must draw a backoff.
    ///
    /// `start` is [`Self::first`].
    #[inline]
    pub fn seize(&mut self, start: Time, window: Duration) -> Option<Winner> {
        self.winners.clear();
        self.deposed.clear();
        let (expiry, aligned) = (self.first_expiry, self.common_start(self.first_expiry) == start);
        if !aligned || window > self.slot.length() || !self.own.is_empty() {
            return self.seize_out_of_step(start, window);
        }
        // In step with the slots: no division, and the next bucket is a slot away.
        let station = self.ring.take(expiry);
        self.countdowns[usize::from(station)].phase = Phase::Sending;
        let winner = self.common_winner(station, start);
        let after = self.ring.after(station);
        self.base = expiry;
        self.first_expiry = self.ring.first(expiry);
        if after == NONE {
            return Some(winner);
        }
        self.winners.push(winner);
        self.send_from(after, start);
        None
    }

    #[cold]
    fn seize_out_of_step(&mut self, start: Time, window: Duration) -> Option<Winner> {
        let deadline = start + window;
        let mut due = self.common_start(self.first_expiry);
        while due == start || due < deadline {
            let station = self.ring.take(self.first_expiry);
            self.send_from(station, due);
            self.first_expiry = self.ring.first(self.base);
            due = self.common_start(self.first_expiry);
        }
        self.base += self.slot.whole(start.saturating_since(self.resume));
        if !self.own.is_empty() {
            self.fold(start, deadline);
            self.winners.sort_unstable_by_key(|w| (w.start, w.station));
        }
        if let [only] = self.winners[..] { Some(only) } else { None }
    }

    /// Something outside contention seizes the medium at `at`, not later than [`Self::first`]: everyone freezes,
    /// who was due at that instant too. Fills [`Self::deposed`].
    pub fn freeze(&mut self, at: Time) {
        self.winners.clear();
        self.deposed.clear();
        self.base += self.slot.whole(at.saturating_since(self.resume));
        self.fold(at, at);
    }

    /// Who began, when several did; valid after [`Self::seize`].
    #[inline]
    pub fn winners(&self) -> &[Winner] {
        &self.winners
    }

    #[inline]
    fn common_winner(&self, station: u16, start: Time) -> Winner {
        Winner { station: StationId(station), start, resumed: self.resume, host_gap: Duration::ZERO }
    }

    /// `station` and those behind it in its bucket begin.
    fn send_from(&mut self, mut station: u16, start: Time) {
        while station != NONE {
            self.countdowns[usize::from(station)].phase = Phase::Sending;
            self.winners.push(self.common_winner(station, start));
            station = self.ring.after(station);
        }
    }

    /// Those in the side list who are due before `deadline` begin; the others join the common slots.
    fn fold(&mut self, start: Time, deadline: Time) {
        let mut own = std::mem::take(&mut self.own);
        for entry in own.drain(..) {
            let station = StationId(entry.station);
            let due = entry.start(self.slot);
            if entry.contending && due < deadline {
                self.countdowns[station.index()].phase = Phase::Sending;
                let (resumed, host_gap) = (entry.resume, entry.host_gap);
                self.winners.push(Winner { station, start: due, resumed, host_gap });
                continue;
            }
            if entry.immediate {
                self.deposed.push(station);
            }
            let counted = self.slot.whole(start.saturating_since(entry.resume));
            let left = u64::from(entry.left).saturating_sub(counted);
            self.count_common(station, self.base + left, entry.contending);
        }
        self.own = own;
        self.first_own = Time::MAX;
    }

    /// Stations that waited for immediate access when somebody else began; valid after [`Self::seize`].
    #[inline]
    pub fn deposed(&self) -> &[StationId] {
        &self.deposed
    }

    /// The medium is free again and common slots count from `resume` on.
    #[inline]
    pub fn release(&mut self, resume: Time) {
        self.resume = resume;
    }

    /// Gives `station` a backoff of `slots` that counts with everybody's.
    ///
    /// Whether it contends or serves a post-backoff with nothing to send is `contending`.
    #[inline]
    pub fn back_off(&mut self, station: StationId, slots: u32, contending: bool) {
        self.withdraw(station);
        self.count_common(station, self.base + u64::from(slots), contending);
    }

    /// Gives `station` a backoff of `slots` that counts from `resume` on, until the medium is next busy.
    #[inline]
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
        self.withdraw(station);
        self.count_own(Own {
            station: station.0,
            resume,
            left: slots,
            host_gap,
            contending,
            immediate: false,
        });
    }

    /// Keeps the rest of `station`'s countdown but lets it count only from `resume` on.
    pub fn delay(&mut self, station: StationId, resume: Time) {
        let Countdown { expiry, phase } = self.countdowns[station.index()];
        if matches!(phase, Phase::Idle | Phase::Contending) {
            let left = expiry.saturating_sub(self.base) as u32;
            self.back_off_alone(station, left, phase == Phase::Contending, resume, Duration::ZERO);
        }
    }

    /// `station` has got something to send at `now` while the medium is free.
    #[inline]
    pub fn contend(&mut self, station: StationId, now: Time) {
        let Countdown { expiry, phase } = self.countdowns[station.index()];
        match phase {
            Phase::Idle if expiry <= self.base + self.slot.whole(now.saturating_since(self.resume)) => {
                let (station, resume) = (station.0, now.max(self.resume));
                let host_gap = Duration::ZERO;
                self.count_own(Own { station, resume, left: 0, host_gap, contending: true, immediate: true });
            }
            Phase::Idle => self.count_common(station, expiry, true),
            Phase::Own => {
                let entry = self.own.iter_mut().find(|e| e.station == station.0);
                let entry = entry.expect("a station in its own phase has an entry");
                entry.contending = true;
                if entry.start(self.slot) <= now {
                    *entry = Own { resume: now, left: 0, immediate: true, ..*entry };
                } else if entry.left == 0 {
                    entry.immediate = true;
                }
                self.first_own = self.first_own.min(entry.start(self.slot));
            }
            Phase::Sending | Phase::Contending => unreachable!("this station has something to send already"),
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
        let countdown = self.countdowns[station.index()];
        debug_assert_eq!(countdown.phase, Phase::Idle);
        self.count_common(station, countdown.expiry, true);
    }

    /// `station` seizes the medium within the window in which it cannot hear who else did.
    pub fn join(&mut self, station: StationId) {
        self.countdowns[station.index()].phase = Phase::Sending;
    }

    /// `station`, which counts nowhere, counts in the common slots towards `expiry`.
    #[inline]
    fn count_common(&mut self, station: StationId, expiry: u64, contending: bool) {
        let phase = if contending { Phase::Contending } else { Phase::Idle };
        self.countdowns[station.index()] = Countdown { expiry, phase };
        if contending {
            debug_assert!(expiry >= self.base && expiry - self.base < 1024);
            self.ring.insert(station.0, expiry);
            self.first_expiry = self.first_expiry.min(expiry);
        }
    }

    /// A station that counts nowhere counts in a phase of its own.
    fn count_own(&mut self, entry: Own) {
        self.countdowns[usize::from(entry.station)].phase = Phase::Own;
        if entry.contending {
            self.first_own = self.first_own.min(entry.start(self.slot));
        }
        self.own.push(entry);
    }

    /// Takes a station out of wherever it counts; one that sends counts nowhere.
    #[inline]
    fn withdraw(&mut self, station: StationId) {
        let Countdown { expiry, phase } = self.countdowns[station.index()];
        if matches!(phase, Phase::Contending | Phase::Own) {
            self.withdraw_listed(station, expiry, phase);
        }
    }

    #[cold]
    fn withdraw_listed(&mut self, station: StationId, expiry: u64, phase: Phase) {
        if phase == Phase::Contending {
            self.ring.remove(station.0, expiry);
            self.first_expiry = self.ring.first(self.base);
        } else {
            self.own.retain(|e| e.station != station.0);
            let contenders = self.own.iter().filter(|e| e.contending);
            self.first_own = contenders.map(|e| e.start(self.slot)).min().unwrap_or(Time::MAX);
        }
    }

    #[inline]
    fn common_start(&self, expiry: u64) -> Time {
        if expiry == NEVER { Time::MAX } else { self.resume + self.slot.times(expiry - self.base) }
    }
}
