//! What will happen when: events in order of time, and among equals of asking.
//!
//! Left out: taking an event back. Who changes its mind ignores the event when it comes.

use airperf_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Future events of a link.
#[derive(Clone, Debug)]
pub struct Agenda<E: Ord> {
    events: BinaryHeap<Reverse<(Time, u64, E)>>,
    asked: u64,
}

impl<E: Ord> Default for Agenda<E> {
    fn default() -> Self {
        Self { events: BinaryHeap::new(), asked: 0 }
    }
}

impl<E: Ord> Agenda<E> {
    /// Asks for an event.
    pub fn at(&mut self, at: Time, event: E) {
        self.events.push(Reverse((at, self.asked, event)));
        self.asked += 1;
    }

    /// When the next event is.
    pub fn next(&self) -> Option<Time> {
        self.events.peek().map(|Reverse((at, ..))| *at)
    }

    /// The next event, if it is not after `now`.
    pub fn due(&mut self, now: Time) -> Option<(Time, E)> {
        self.next().filter(|&at| at <= now)?;
        self.events.pop().map(|Reverse((at, _, event))| (at, event))
    }
}
