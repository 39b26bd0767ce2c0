//! Admission control: how many transfers a server carries on at once, and what becomes of the others.
//!
//! Under overload every transfer slows down until users give up in the middle of theirs, and what was sent of those is
//! wasted: goodput falls as more is asked for. With a place needed for each transfer those that are carried end in
//! time; the others wait a little, in order, or are refused while that costs next to nothing.
//!
//! Two policies. [`Policy::Concurrent`]: a fixed number of places (as Elnikety et al., WWW 2004, do for a
//! database). [`Policy::Adaptive`]: as many as keep nine of ten transfers within a target time, found as Welsh and
//! Culler (USITS 2003) do: the 90th percentile over a batch, additive increase, multiplicative decrease (Chiu and
//! Jain 1989), here of places instead of a rate. A request that would wait longer than [`AdmissionConfig::wait`] by
//! Little's law is refused at once, one that does wait as long is refused then.
//!
//! SANS-IO: the simulated server and the working proxy drive this same code. Left out: classes of users, priorities,
//! predicting a transfer's length from what is asked for.

use airperf_units::{Duration, Time};
use std::collections::VecDeque;

/// How many transfers go on at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// At most `limit`.
    Concurrent {
        /// Places.
        limit: u32,
    },
    /// As many as keep nine of ten within `target`, from the place given to the last octet acknowledged.
    Adaptive {
        /// Longest time nine of ten transfers should take.
        target: Duration,
    },
}

/// What a user who is refused sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A short reply, `503 Service Unavailable` (RFC 9110 §15.6.4), then a close.
    Unavailable,
    /// A reset of the connection, which costs one packet.
    Reset,
}

/// Admission control of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmissionConfig {
    /// How many transfers go on at once.
    pub policy: Policy,
    /// Longest wait for a place.
    pub wait: Duration,
    /// What those get that are refused.
    pub refusal: Refusal,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It has a place.
    Admitted,
    /// It waits until [`Admission::admit_next`] names it, or until [`Admission::withdraw`].
    Deferred,
    /// It is refused.
    Refused,
}

/// What admission control did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdmissionCounts {
    /// Requests that got a place.
    pub admitted: u64,
    /// Requests that had to wait for a place, or for their refusal.
    pub deferred: u64,
    /// Requests refused, at once or after waiting.
    pub refused: u64,
    /// Requests given up by their user while they waited.
    pub abandoned: u64,
}

/// Places an adaptive policy begins with: two browsers' worth (RFC 2616 §8.1.4 allowed each two connections).
const FIRST_PLACES: u32 = 4;
/// Fewest transfers of a batch: less, and there is no tenth of it.
const BATCH: u32 = 10;
/// Most places ever.
const MOST_PLACES: u32 = 1 << 20;

/// State of admission control; `J` names a request.
#[derive(Clone, Debug)]
pub struct Admission<J> {
    config: AdmissionConfig,
    places: u32,
    active: u32,
    waiting: VecDeque<J>,
    counts: AdmissionCounts,
    /// Smoothed time of a transfer, ns; 0 before the first.
    transfer_ns: u64,
    batch: Batch,
}

/// Transfers since the places were last changed.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    ended: u32,
    late: u32,
    /// Whether all places were taken at some time.
    full: bool,
    /// Whether places ever had to be taken away: before, they double.
    settled: bool,
}

impl<J: Copy + PartialEq> Admission<J> {
    /// All places free.
    pub fn new(config: AdmissionConfig) -> Self {
        let places = match config.policy {
            Policy::Concurrent { limit } => limit.max(1),
            Policy::Adaptive { .. } => FIRST_PLACES,
        };
        Self {
            config,
            places,
            active: 0,
            waiting: VecDeque::new(),
            counts: AdmissionCounts::default(),
            transfer_ns: 0,
            batch: Batch::default(),
        }
    }

    /// The configuration.
    pub fn config(&self) -> &AdmissionConfig {
        &self.config
    }

    /// A request is there. [`Verdict::Deferred`]: refuse it after [`AdmissionConfig::wait`] with
    /// [`Self::expired`].
    pub fn ask(&mut self, request: J) -> Verdict {
        if self.active < self.places && self.waiting.is_empty() {
            self.admit();
            return Verdict::Admitted;
        }
        self.batch.full = true;
        if self.config.wait == Duration::ZERO || self.expected_wait() > self.config.wait {
            self.counts.refused += 1;
            return Verdict::Refused;
        }
        self.counts.deferred += 1;
        self.waiting.push_back(request);
        Verdict::Deferred
    }

    /// How long a request that comes now would wait, by Little's law.
    fn expected_wait(&self) -> Duration {
        let before = self.waiting.len() as u64 + 1;
        Duration::from_ns(self.transfer_ns.saturating_mul(before) / u64::from(self.places))
    }

    fn admit(&mut self) {
        self.active += 1;
        self.counts.admitted += 1;
        self.batch.full |= self.active == self.places;
    }

    /// The next request that gets a place, if one is free. Ask after every [`Self::done`].
    pub fn admit_next(&mut self) -> Option<J> {
        if self.active >= self.places {
            return None;
        }
        let request = self.waiting.pop_front()?;
        self.admit();
        Some(request)
    }

    /// A deferred request has waited as long as it may and is refused; false when it did not wait any more.
    pub fn expired(&mut self, request: J) -> bool {
        let was = self.leave(request);
        self.counts.refused += u64::from(was);
        was
    }

    /// The user of a deferred request has given up; false when it did not wait any more.
    pub fn withdraw(&mut self, request: J) -> bool {
        let was = self.leave(request);
        self.counts.abandoned += u64::from(was);
        was
    }

    fn leave(&mut self, request: J) -> bool {
        let place = self.waiting.iter().position(|waiting| *waiting == request);
        place.is_some_and(|at| self.waiting.remove(at).is_some())
    }

    /// A transfer admitted at `since` is over, in success or failure.
    pub fn done(&mut self, now: Time, since: Time) {
        self.active -= 1;
        let took = now.saturating_since(since);
        let (old, new) = (self.transfer_ns, took.as_ns());
        self.transfer_ns = if old == 0 { new } else { old - old / 8 + new / 8 }; // as RFC 6298 smooths
        if let Policy::Adaptive { target } = self.config.policy {
            self.adapt(took > target);
        }
    }

    fn adapt(&mut self, late: bool) {
        let batch = &mut self.batch;
        batch.ended += 1;
        batch.late += u32::from(late);
        if batch.ended < self.places.max(BATCH) {
            return;
        }
        if batch.late * 10 > batch.ended {
            self.places = (self.places - self.places.div_ceil(4)).max(1);
            batch.settled = true;
        } else if batch.full {
            let more = if batch.settled { 1 } else { self.places };
            self.places = (self.places + more).min(MOST_PLACES);
        }
        *batch = Batch { settled: batch.settled, full: self.active >= self.places, ..Batch::default() };
    }

    /// Places there are now.
    pub fn places(&self) -> u32 {
        self.places
    }

    /// Transfers going on.
    pub fn active(&self) -> u32 {
        self.active
    }

    /// Requests that wait for a place.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// What was done so far.
    pub fn counts(&self) -> AdmissionCounts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Time {
        Time::from_ns(n * 1_000_000)
    }

    fn admission(policy: Policy, wait: Duration) -> Admission<u32> {
        Admission::new(AdmissionConfig { policy, wait, refusal: Refusal::Unavailable })
    }

    #[test]
    fn who_finds_no_place_waits_in_order_and_follows_who_ends() {
        let mut a = admission(Policy::Concurrent { limit: 2 }, Duration::from_secs(1));
        let verdicts: Vec<_> = (0..5).map(|request| a.ask(request)).collect();
        use Verdict::{Admitted, Deferred};
        assert_eq!(verdicts, [Admitted, Admitted, Deferred, Deferred, Deferred]);
        assert_eq!(a.admit_next(), None, "both places are taken");
        assert!(a.withdraw(3));
        a.done(ms(100), ms(0));
        assert_eq!((a.admit_next(), a.admit_next()), (Some(2), None));
        assert!(a.expired(4));
        assert!(!a.expired(2), "it has a place");
        let counts = a.counts();
        assert_eq!((counts.admitted, counts.deferred, counts.refused, counts.abandoned), (3, 3, 1, 1));
        assert_eq!((a.active(), a.waiting()), (2, 0));
    }

    #[test]
    fn who_would_wait_too_long_is_refused_at_once() {
        let mut a = admission(Policy::Concurrent { limit: 2 }, Duration::from_ms(350));
        assert_eq!((a.ask(0), a.ask(1)), (Verdict::Admitted, Verdict::Admitted));
        a.done(ms(200), ms(0)); // a transfer takes 200 ms, so two places end one every 100 ms
        assert_eq!(a.ask(2), Verdict::Admitted);
        let verdicts: Vec<_> = (3..7).map(|request| a.ask(request)).collect();
        use Verdict::{Deferred, Refused};
        assert_eq!(verdicts, [Deferred, Deferred, Deferred, Refused], "100, 200, 300 and 400 ms of 350");
        let mut none = admission(Policy::Concurrent { limit: 1 }, Duration::ZERO);
        assert_eq!((none.ask(0), none.ask(1)), (Verdict::Admitted, Verdict::Refused));
    }

    /// A link that gives each of n transfers an n-th of itself: each takes n × `alone`.
    fn places_found(alone_ms: u64, target: Duration) -> Vec<u32> {
        let mut a = admission(Policy::Adaptive { target }, Duration::from_secs(1_000_000));
        let mut asked = 0;
        let mut seen = Vec::new();
        for _ in 0..2_000 {
            while a.waiting() == 0 {
                a.ask(asked);
                asked += 1;
            }
            a.done(ms(alone_ms * u64::from(a.active())), ms(0));
            while a.admit_next().is_some() {}
            seen.push(a.places());
        }
        seen
    }

    #[test]
    fn places_rise_to_what_keeps_the_target_and_fall_back_beyond() {
        let seen = places_found(100, Duration::from_secs(1));
        let late: Vec<u32> = seen[500..].to_vec();
        // Ten transfers at once take a second each; an eleventh place is tried and taken back with three others.
        assert!(late.iter().all(|places| (8..=11).contains(places)), "{late:?}");
        assert_eq!(late.iter().max(), Some(&11));
        let slow = places_found(2_000, Duration::from_secs(1));
        assert_eq!(slow.last(), Some(&1), "there is always one place");
    }

    #[test]
    fn places_that_nobody_needs_are_not_added() {
        let mut a = admission(Policy::Adaptive { target: Duration::from_secs(1) }, Duration::from_secs(1));
        for request in 0..1_000 {
            assert_eq!(a.ask(request), Verdict::Admitted);
            a.done(ms(10), ms(0));
        }
        assert_eq!(a.places(), FIRST_PLACES);
    }
}
