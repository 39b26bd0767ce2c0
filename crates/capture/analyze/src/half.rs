//! One direction of a connection in sequence space: what was sent, what arrived, what was sent again.
//!
//! Sequence numbers are 32 bits and wrap; here they are 64-bit distances from the initial one, so that
//! the SYN is 0 and the first octet of payload 1 (RFC 9293 §3.4). Where the SYN was not seen, distances
//! begin some way before the first number seen, so that what comes out of order has a place.

use airperf_wire::Flags;

use crate::IntervalSet;
use crate::http::Maybe;

/// Distance before the first number seen of a direction whose SYN was not: what is older is not placed.
const ROOM: u32 = 1 << 24;

/// Whether a segment's octets were sent before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Novelty {
    /// No octet, or none sent before and all beyond the highest.
    #[default]
    New,
    /// All octets were sent before.
    Full,
    /// Some octets were sent before.
    Part,
    /// None was sent before, but higher ones were: out of order.
    Late,
    /// A SYN with the same sequence number again.
    DupSyn,
    /// A FIN with the same sequence number again.
    DupFin,
}

impl Novelty {
    /// Whether TCP sent any of it before.
    pub fn is_retransmission(self) -> bool {
        !matches!(self, Self::New | Self::Late)
    }

    /// The word of `segments.novelty`.
    pub fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Full => "full",
            Self::Part => "part",
            Self::Late => "late",
            Self::DupSyn => "dup_syn",
            Self::DupFin => "dup_fin",
        }
    }
}

/// One direction of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Half {
    /// The sequence number at distance 0, once any is known.
    zero: u32,
    begun: bool,
    /// Distance of the first octet of the stream as far as is known: 1 after a SYN.
    origin: u64,
    /// Highest distance seen, from which others are unwrapped.
    highest: u64,
    /// One after the last octet (or SYN or FIN) that the peer acknowledged; 0 for none.
    acked: u64,
    sent: IntervalSet,
    /// What reached the receiver, where that is told apart from what was sent.
    arrived: Option<Box<IntervalSet>>,
    /// Its SYN was seen.
    syn_sent: bool,
    /// Something of this direction was seen, not only acknowledgements of it.
    seen: bool,
    /// Distance of the FIN, once sent.
    fin: Maybe,
    pub(crate) segments: u32,
    pub(crate) retransmissions: u32,
}

impl Half {
    /// A direction whose packets are seen leaving and arriving.
    pub(crate) fn with_two_ends() -> Self {
        Self { arrived: Some(Box::default()), ..Self::default() }
    }

    /// A SYN with this number; another one than before begins anew.
    pub(crate) fn begin(&mut self, initial: u32) {
        let again = self.begun && self.zero == initial && self.origin == 1;
        if !again && self.begun && !self.syn_sent && self.distance(initial) < self.origin {
            // It comes after what it began: sniffers see packets out of order.
            self.origin = self.distance(initial) + 1;
        } else if !again {
            let Self { segments, retransmissions, .. } = *self;
            let arrived = self.arrived.take().map(|_| Box::default());
            *self = Self {
                zero: initial,
                begun: true,
                origin: 1,
                arrived,
                segments,
                retransmissions,
                ..Self::default()
            };
        }
        self.seen = true;
    }

    /// The first number seen where no SYN was: that of a segment, or of an acknowledgement of one.
    pub(crate) fn begin_late(&mut self, number: u32, of_a_segment: bool) {
        if !self.begun {
            (self.zero, self.begun) = (number.wrapping_sub(ROOM + 1), true);
        }
        if self.origin == 0 {
            self.highest = u64::from(number.wrapping_sub(self.zero));
            self.origin = self.highest;
        } else if of_a_segment && !self.seen {
            self.origin = self.distance(number);
        }
        self.seen |= of_a_segment;
    }

    /// Whether a first number is known.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Whether any of its segments but RSTs was seen.
    pub(crate) fn is_seen(&self) -> bool {
        self.seen
    }

    /// Whether its SYN was seen, so that nothing is unknown of its beginning.
    pub(crate) fn is_whole(&self) -> bool {
        self.syn_sent
    }

    /// The initial sequence number, where the SYN was seen.
    pub(crate) fn initial(&self) -> Option<u32> {
        (self.begun && self.syn_sent).then(|| self.zero.wrapping_add(self.origin as u32).wrapping_sub(1))
    }

    /// The distance of a sequence number, nearest to the highest so far; 0 while none is known.
    #[inline]
    pub(crate) fn distance(&self, number: u32) -> u64 {
        if !self.begun {
            return 0;
        }
        let near = self.zero.wrapping_add(self.highest as u32);
        let step = i64::from(number.wrapping_sub(near) as i32);
        self.highest.saturating_add_signed(step)
    }

    /// A distance counted from the SYN, or from just before the first octet known.
    #[inline]
    pub(crate) fn relative(&self, distance: u64) -> u64 {
        distance.saturating_sub(self.origin.saturating_sub(1))
    }

    /// The offset of a distance in the stream of payload as far as it is known.
    #[inline]
    pub(crate) fn offset(&self, distance: u64) -> u64 {
        distance.saturating_sub(self.origin)
    }

    /// Distance of the first octet of the stream.
    pub(crate) fn origin(&self) -> u64 {
        self.origin
    }

    /// One after the highest distance sent, SYN and FIN included.
    #[inline]
    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }

    /// One after the highest distance that the peer acknowledged; 0 for none.
    #[inline]
    pub(crate) fn acked(&self) -> u64 {
        self.acked
    }

    /// Distance of the FIN, once sent.
    pub(crate) fn fin(&self) -> Option<u64> {
        self.fin.get()
    }

    /// Records a segment at its sender: sequence number as a distance, and octets of payload.
    #[inline]
    pub(crate) fn send(&mut self, seq: u64, payload: u64, flags: Flags) -> Novelty {
        self.segments += 1;
        let syn = u64::from(flags.has(Flags::SYN));
        let start = seq + syn;
        let end = start + payload;
        // What comes after its FIN comes late, too.
        let before = self.fin.get().unwrap_or(0).max(self.sent.end());
        let known = self.sent.insert(start, end);
        let mut novelty = match (payload, known) {
            (0, _) => Novelty::New,
            (_, 0) if start < before => Novelty::Late,
            (_, 0) => Novelty::New,
            (all, known) if known == all => Novelty::Full,
            _ => Novelty::Part,
        };
        if flags.has(Flags::SYN) && std::mem::replace(&mut self.syn_sent, true) {
            novelty = Novelty::DupSyn;
        }
        if flags.has(Flags::FIN) {
            if self.fin == end.into() && payload == 0 {
                novelty = Novelty::DupFin;
            }
            self.fin = end.into();
        }
        self.highest = self.highest.max(end + u64::from(flags.has(Flags::FIN)));
        self.retransmissions += u32::from(novelty.is_retransmission());
        novelty
    }

    /// Whether it goes on from its SYN, without a gap and without an end.
    pub(crate) fn is_steady(&self) -> bool {
        self.syn_sent && self.seen && !self.fin.is_known() && self.arrived.is_none() && !self.may_have_gap()
    }

    /// The sequence number after the highest distance sent.
    #[inline]
    pub(crate) fn next_number(&self) -> u32 {
        self.zero.wrapping_add(self.highest as u32)
    }

    /// Whether the highest distance sent is that of an octet, so that more octets can simply follow.
    #[inline]
    pub(crate) fn ends_in_octets(&self) -> bool {
        self.sent.end() == self.highest
    }

    /// Records a segment that begins after all that was sent, on a direction that [`Self::is_steady`]: what
    /// [`Self::send`] and [`Self::arrive`] would, if it carries any octets and the direction [`Self::ends_in_octets`].
    #[inline]
    pub(crate) fn go_on(&mut self, payload: u64) {
        self.segments += 1;
        self.highest += payload;
        if payload > 0 {
            self.sent.extend(payload);
        }
    }

    /// Records that the peer acknowledged everything before this distance; says whether that is news.
    #[inline]
    pub(crate) fn acknowledge(&mut self, distance: u64) -> bool {
        let news = distance > self.acked;
        self.acked = self.acked.max(distance);
        news
    }

    /// Records octets of payload at their receiver.
    #[inline]
    pub(crate) fn arrive(&mut self, start: u64, payload: u64) {
        if let Some(arrived) = &mut self.arrived {
            arrived.insert(start, start + payload);
        }
    }

    /// One after the highest octet of payload sent; 0 for none.
    #[inline]
    pub(crate) fn octets_end(&self) -> u64 {
        self.sent.end()
    }

    /// Whether it is worth asking [`Self::has_gap`].
    #[inline]
    pub(crate) fn may_have_gap(&self) -> bool {
        self.sent.may_have_gap(self.origin)
    }

    /// Whether later octets came than those without a gap.
    #[inline]
    pub(crate) fn has_gap(&self) -> bool {
        self.sent.end() > self.sent.reach(self.origin)
    }

    /// The first octets that are not there although later ones came.
    pub(crate) fn gap(&self) -> Option<(u64, u64)> {
        self.sent.gap(self.origin)
    }

    /// Octets that are not there although the peer acknowledged them and later ones came: a gap that will
    /// not be filled.
    pub(crate) fn acknowledged_gap(&self) -> Option<(u64, u64)> {
        self.sent.gap(self.origin).filter(|gap| gap.1 <= self.acked)
    }

    /// Gives up waiting for octets.
    pub(crate) fn fill(&mut self, from: u64, to: u64) {
        self.sent.fill(from, to);
    }

    /// Octets of payload at the receiver without a gap: what its application can read.
    #[inline]
    pub(crate) fn readable(&self) -> u64 {
        self.there().reach(self.origin) - self.origin
    }

    /// Octets of payload at the receiver, without repeats.
    pub(crate) fn received(&self) -> u64 {
        self.there().total()
    }

    /// Octets of payload that the peer acknowledged and nobody saw.
    pub(crate) fn missing(&self) -> u64 {
        // The FIN has a number, too, and is no octet.
        let end = self.fin.get().map_or(self.acked, |fin| self.acked.min(fin));
        self.sent.missing(self.origin, end)
    }

    fn there(&self) -> &IntervalSet {
        self.arrived.as_deref().unwrap_or(&self.sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(initial: u32) -> Half {
        let mut half = Half::default();
        half.begin(initial);
        half
    }

    #[test]
    fn segments_are_classed_by_definition() {
        let mut half = half(7);
        assert_eq!(half.send(0, 0, Flags::SYN), Novelty::New);
        assert_eq!(half.send(0, 0, Flags::SYN), Novelty::DupSyn);
        assert_eq!(half.send(1, 100, Flags::ACK), Novelty::New);
        assert_eq!(half.send(1, 100, Flags::ACK), Novelty::Full);
        assert_eq!(half.send(51, 100, Flags::ACK), Novelty::Part);
        assert_eq!(half.send(201, 50, Flags::ACK), Novelty::New);
        assert_eq!(half.send(151, 50, Flags::ACK), Novelty::Late);
        assert_eq!(half.send(251, 0, Flags::ACK), Novelty::New);
        assert_eq!(half.send(251, 10, Flags::FIN), Novelty::New);
        assert_eq!(half.send(261, 0, Flags::FIN), Novelty::DupFin);
        assert_eq!((half.segments, half.retransmissions), (10, 4));
    }

    #[test]
    fn octets_captured_after_their_fin_are_late() {
        let mut half = half(7);
        half.send(0, 0, Flags::SYN);
        half.send(1, 100, Flags::ACK);
        assert_eq!(half.send(201, 0, Flags::FIN), Novelty::New);
        assert_eq!(half.send(101, 100, Flags::ACK), Novelty::Late);
        assert_eq!(half.send(201, 0, Flags::FIN), Novelty::DupFin);
        assert_eq!(half.send(201, 10, Flags::ACK), Novelty::New, "beyond it");
    }

    #[test]
    fn fault_31_sequence_numbers_wrap() {
        let mut half = half(u32::MAX - 10);
        let mut seq = 0u64;
        half.send(0, 0, Flags::SYN);
        // Five times around: more than 4 GiB five times over, in steps of 1 GiB less one.
        for _ in 0..20 {
            let step = (1 << 30) - 1;
            let number = (u32::MAX - 10).wrapping_add(1).wrapping_add(seq as u32);
            assert_eq!(half.distance(number), 1 + seq);
            assert_eq!(half.send(1 + seq, step, Flags::ACK), Novelty::New);
            seq += step;
        }
        assert_eq!(half.sent.total(), seq);
    }

    #[test]
    fn numbers_before_the_first_do_not_wrap() {
        let half = half(1000);
        assert_eq!((half.distance(999), half.distance(1000), half.distance(1001)), (0, 0, 1));
    }

    #[test]
    fn what_comes_before_the_first_number_seen_has_a_place() {
        let mut half = Half::default();
        half.begin_late(5_000, true);
        let place = |half: &Half, number| (half.relative(half.distance(number)), half.distance(number));
        assert_eq!(place(&half, 5_000).0, 1);
        assert_eq!(half.send(place(&half, 5_000).1, 100, Flags::ACK), Novelty::New);
        assert_eq!(half.send(place(&half, 4_900).1, 100, Flags::ACK), Novelty::Late);
        assert_eq!(half.send(place(&half, 4_900).1, 100, Flags::ACK), Novelty::Full);
        half.begin(4_899);
        assert_eq!(half.send(half.distance(4_899), 0, Flags::SYN), Novelty::New);
        assert_eq!((half.initial(), place(&half, 5_000).0, half.readable()), (Some(4_899), 101, 200));
    }

    #[test]
    fn gaps_that_were_acknowledged_are_told() {
        let mut half = half(0);
        half.send(0, 0, Flags::SYN);
        half.send(1, 100, Flags::ACK);
        half.send(201, 100, Flags::ACK);
        assert_eq!((half.readable(), half.acknowledged_gap()), (100, None));
        assert!(half.acknowledge(301) && !half.acknowledge(301));
        assert_eq!((half.acknowledged_gap(), half.missing()), (Some((101, 201)), 100));
        half.fill(101, 201);
        assert_eq!((half.readable(), half.received(), half.missing()), (300, 200, 100));
    }
}
