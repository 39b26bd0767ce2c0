//! What one direction sent lately: to time acknowledgements, to tell a retransmission with other octets,
//! and to tell a packet that was captured twice.
//!
//! Octets are compared by what checksums say of them (RFC 1071), so that payload need not be read.
//! Reference: Karn's rule (RFC 6298 §3): nothing outstanding when something is sent again is timed. A
//! flight of more than [`MOST`] segments is timed at every second, fourth … segment. Bounded memory.

use super::packet::Way;
use super::ring::{MOST, Ring};

/// Segments kept after they were acknowledged, to compare late repeats with.
const KEPT: usize = 2;
/// Packets whose digests are kept.
const PACKETS: usize = 4;
/// Longest time between two captures of one packet, in microseconds: shorter than any retransmission timer
/// (Linux's TCP_RTO_MIN is 200 ms), longer than a queue between two places of capture.
const TWICE_US: u32 = 100_000;
/// The same for packets without an identification of their own, which a fast retransmission shares.
const TWICE_UNNAMED_US: u32 = 1_000;

#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    time_ns: u64,
    /// Distance of the first octet, and how many.
    from: u64,
    length: u32,
    /// [`Packet::sum`](super::Packet::sum).
    sum: u16,
}

impl Segment {
    fn to(&self) -> u64 {
        self.from + u64::from(self.length)
    }
}

/// What one direction sent lately.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    segments: Ring<Segment>,
    /// Nothing before this distance is timed: it was outstanding when something was sent again.
    untimed: u64,
    /// Digests of the last packets and when they were captured (µs, wrapping).
    digests: [u32; PACKETS],
    times: [u32; PACKETS],
    ways: [Way; PACKETS],
    /// The turn each of them was sent in; a turn ends where the peer sends.
    turns: [u8; PACKETS],
    turn: u8,
    next: u8,
}

impl Sent {
    /// Whether a packet with this digest was captured just before; remembers it if not. `named` when the
    /// digest holds an identification that no other packet of this sender has; without one, a packet after
    /// the peer's next is an answer of its own.
    #[inline]
    pub(crate) fn is_captured_twice(&mut self, time_ns: u64, digest: u32, way: Way, named: bool) -> bool {
        let again = self.knows(digest) && {
            let now = (time_ns / 1_000) as u32;
            let window = if named { TWICE_US } else { TWICE_UNNAMED_US };
            let last = self.digests.iter().zip(&self.times).zip(&self.turns).zip(&self.ways);
            last.into_iter().any(|(((known, at), turn), before)| {
                *known == digest
                    && now.abs_diff(*at) <= window
                    && (named || *turn == self.turn)
                    && way.may_be(*before)
            })
        };
        if !again {
            self.remember(time_ns, digest, way);
        }
        again
    }

    /// Whether one of the last packets has this digest.
    #[inline]
    pub(crate) fn knows(&self, digest: u32) -> bool {
        self.digests.contains(&digest)
    }

    /// Remembers a packet that was not captured twice.
    #[inline]
    pub(crate) fn remember(&mut self, time_ns: u64, digest: u32, way: Way) {
        let place = usize::from(self.next) % PACKETS;
        self.digests[place] = digest;
        self.times[place] = (time_ns / 1_000) as u32;
        self.turns[place] = self.turn;
        self.ways[place] = way;
        self.next = (place + 1) as u8;
    }

    /// The peer sent a packet.
    #[inline]
    pub(crate) fn answered(&mut self) {
        self.turn = self.turn.wrapping_add(1);
    }

    /// A segment that takes the distances `from..to`.
    #[inline]
    pub(crate) fn push(&mut self, time_ns: u64, from: u64, to: u64, sum: u16) {
        if self.segments.len() == MOST {
            self.segments.thin_out();
        }
        self.segments.push(Segment { time_ns, from, length: (to - from) as u32, sum });
    }

    /// Something before distance `highest` was sent again.
    pub(crate) fn sent_again(&mut self, highest: u64) {
        self.untimed = self.untimed.max(highest);
    }

    /// Whether the segment that took the distances `from..to` before had another sum.
    pub(crate) fn differs(&self, from: u64, to: u64, sum: u16) -> bool {
        self.segments.iter().any(|s| s.from == from && s.to() == to && s.sum != sum)
    }

    /// Everything before distance `to` was acknowledged at `time_ns`: gives when the segment that ends
    /// there was sent, if that is the answer to it and to nothing else.
    #[inline]
    pub(crate) fn acknowledged(&mut self, to: u64) -> Option<u64> {
        let timed = to > self.untimed;
        let found = self.segments.iter().find(|s| s.to() >= to).filter(|s| s.to() == to && timed);
        let sent = found.map(|s| s.time_ns);
        let spare = self.segments.len().saturating_sub(KEPT);
        let known = self.segments.iter().take(spare).take_while(|s| s.to() <= to).count();
        self.segments.drop_front(known);
        sent
    }

    /// Gives back memory that the next burst would need again: there are many connections.
    pub(crate) fn rest(&mut self) {
        if self.segments.len() <= KEPT && self.segments.capacity() > 8 * KEPT {
            self.segments.resize(4 * KEPT);
        }
    }

    /// Gives memory back: the connection is over.
    pub(crate) fn release(&mut self) {
        self.segments = Ring::default();
    }

    /// Octets of memory it holds apart from itself.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.segments.capacity() * size_of::<Segment>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn karn_times_nothing_that_was_outstanding_at_a_repeat() {
        let mut sent = Sent::default();
        (0..4).for_each(|i| sent.push(i * 10, 1 + i * 100, 101 + i * 100, 0));
        assert_eq!(sent.acknowledged(101), Some(0));
        assert_eq!(sent.acknowledged(151), None, "no segment ends there");
        sent.sent_again(401);
        assert_eq!(sent.acknowledged(401), None);
        sent.push(50, 401, 501, 0);
        assert_eq!(sent.acknowledged(501), Some(50));
    }

    #[test]
    fn memory_is_bounded_and_given_back() {
        let mut sent = Sent::default();
        (0..10_000).for_each(|i| sent.push(i, i, i + 1, 0));
        assert!(sent.segments.len() <= MOST && sent.held() <= 128 * size_of::<Segment>());
        assert_eq!(sent.acknowledged(10_000), Some(9_999));
        sent.rest();
        assert!(sent.held() <= 8 * KEPT * size_of::<Segment>(), "{}", sent.held());
    }

    #[test]
    fn packets_are_told_from_their_copies() {
        let mut sent = Sent::default();
        let wire = Way::default();
        assert!(!sent.is_captured_twice(1_000_000, 7, wire, true));
        assert!(sent.is_captured_twice(1_050_000, 7, wire, true));
        assert!(!sent.is_captured_twice(102_000_000, 7, wire, true), "too late to be the same packet");
        assert!(!sent.is_captured_twice(104_000_000, 8, wire, false));
        assert!(!sent.is_captured_twice(106_000_000, 8, wire, false), "a fast retransmission");
        assert!(sent.is_captured_twice(106_500_000, 8, wire, false));
        sent.answered();
        assert!(!sent.is_captured_twice(106_900_000, 8, wire, false), "an answer of its own");
        let way = |sequence| Way::new(sequence, false, true);
        assert!(!sent.is_captured_twice(200_000_000, 9, way(1), false));
        assert!(!sent.is_captured_twice(200_100_000, 9, way(2), false), "the MAC was given it twice");
        assert!(sent.is_captured_twice(200_200_000, 9, way(2), false));
    }
}
