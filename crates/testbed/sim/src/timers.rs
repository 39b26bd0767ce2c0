//! Future events in order of time, and among equals of asking, or as the kernel's wheel fires its timers.
//!
//! Connections keep their own deadlines and ask for one wake-up at the earliest; a deadline that moves
//! later costs nothing here, and a wake-up that finds nothing due asks again. So a connection that lives a
//! few milliseconds costs two entries, whatever timers its segments set and cleared.
//!
//! An entry is one 128-bit number, time before sequence before event, so that ordering is one comparison.

use airperf_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A client's next connection is due.
    Arrival { client: u32 },
    /// The connection in this place looks at its deadlines.
    Wake { slot: u32 },
    /// Transmit queues are read.
    Sample,
    /// The user in this place wants something, or no longer.
    User { slot: u32 },
    /// A flow looks at what is due.
    Flow { index: u32 },
    /// A browser looks at what is due.
    Visit { index: u32 },
}

const INDEX_BITS: u32 = 29;
/// Places, clients and users are numbered below this.
pub(crate) const MOST: u32 = 1 << INDEX_BITS;

impl Event {
    const fn pack(self) -> u32 {
        match self {
            Self::Arrival { client } => client,
            Self::Wake { slot } => slot | 1 << INDEX_BITS,
            Self::Sample => 2 << INDEX_BITS,
            Self::User { slot } => slot | 3 << INDEX_BITS,
            Self::Flow { index } => index | 4 << INDEX_BITS,
            Self::Visit { index } => index | 5 << INDEX_BITS,
        }
    }

    const fn unpack(packed: u32) -> Self {
        let index = packed & (MOST - 1);
        match packed >> INDEX_BITS {
            0 => Self::Arrival { client: index },
            1 => Self::Wake { slot: index },
            2 => Self::Sample,
            3 => Self::User { slot: index },
            4 => Self::Flow { index },
            _ => Self::Visit { index },
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<u128>>,
    sequence: u32,
}

impl Timers {
    #[inline]
    pub(crate) fn push(&mut self, at: Time, event: Event) {
        let key = u128::from(at.as_ns()) << 64 | u128::from(self.sequence) << 32 | u128::from(event.pack());
        self.heap.push(Reverse(key));
        // Wraps after 4 billion entries; only entries for the same nanosecond compare it.
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// Wakes a connection at `at`, when a timer fires that waited in `level` of its kernel's wheel: of several on one
    /// tick the highest level goes first, and in a level the last that asked. `None`: as [`Self::push`].
    #[inline]
    pub(crate) fn push_timer(&mut self, at: Time, level: Option<u8>, slot: u32) {
        let Some(level) = level else { return self.push(at, Event::Wake { slot }) };
        let order = (7 - u32::from(level.min(7))) << 29 | !self.sequence >> 3;
        let event = Event::Wake { slot }.pack();
        self.heap.push(Reverse(u128::from(at.as_ns()) << 64 | u128::from(order) << 32 | u128::from(event)));
        // By eight, for the order has room for 29 bits of it.
        self.sequence = self.sequence.wrapping_add(8);
    }

    /// When the next event happens; [`Time::MAX`] when none will.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.heap.peek().map_or(Time::MAX, |Reverse(key)| Time::from_ns((key >> 64) as u64))
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Time, Event)> {
        let Reverse(key) = self.heap.pop()?;
        Some((Time::from_ns((key >> 64) as u64), Event::unpack(key as u32)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_of_a_wheel_come_from_the_highest_level_and_the_last_set_first() {
        let mut timers = Timers::default();
        let at = Time::from_ns(5);
        for (slot, level) in [(1, 0), (2, 0), (3, 1), (4, 2), (5, 1)] {
            timers.push_timer(at, Some(level), slot);
        }
        let order = std::iter::from_fn(|| timers.pop()).map(|(_, event)| event);
        let wake = |slot| Event::Wake { slot };
        assert_eq!(order.collect::<Vec<_>>(), [4, 5, 3, 2, 1].map(wake));
    }

    #[test]
    fn equal_times_come_in_order_of_asking() {
        let mut timers = Timers::default();
        let at = Time::from_ns(5);
        let events = [Event::Wake { slot: 3 }, Event::Arrival { client: MOST - 1 }, Event::Wake { slot: 1 }];
        for event in events {
            timers.push(at, event);
        }
        timers.push(Time::from_ns(4), Event::Sample);
        assert_eq!(timers.next(), Time::from_ns(4));
        assert_eq!(timers.pop(), Some((Time::from_ns(4), Event::Sample)));
        for event in events {
            assert_eq!(timers.pop(), Some((at, event)));
        }
        assert_eq!(timers.pop(), None);
        assert_eq!(timers.next(), Time::MAX);
    }
}
