//! One direction of a connection in sequence space: what was sent, what arrived, what was sent again.
//!
//! Sequence numbers are 32 bits and wrap; here they are 64-bit distances from the initial one, so that
//! the SYN is 0 and the first octet of payload 1 (RFC 9293 §3.4).

use airperf_wire::Flags;

use crate::IntervalSet;

/// Whether a segment's octets were sent before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Novelty {
    /// No octet, or none sent before and all beyond the highest.
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
}

/// One direction of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Half {
    /// Initial sequence number, once known.
    initial: Option<u32>,
    /// Highest distance seen, from which others are unwrapped.
    highest: u64,
    sent: IntervalSet,
    arrived: IntervalSet,
    syn_sent: bool,
    /// Distance of the FIN, once sent.
    pub(crate) fin: Option<u64>,
    pub(crate) segments: u32,
    pub(crate) retransmissions: u32,
}

impl Half {
    /// Fixes the initial sequence number; another one than before begins anew.
    pub(crate) fn begin(&mut self, initial: u32) {
        if self.initial != Some(initial) {
            let Self { segments, retransmissions, .. } = *self;
            *self = Self { initial: Some(initial), segments, retransmissions, ..Self::default() };
        }
    }

    pub(crate) fn initial(&self) -> Option<u32> {
        self.initial
    }

    /// The distance of a sequence number from the initial one, nearest to the highest so far; 0 while the
    /// initial one is unknown.
    pub(crate) fn distance(&self, number: u32) -> u64 {
        let Some(initial) = self.initial else { return 0 };
        let near = initial.wrapping_add(self.highest as u32);
        let step = i64::from(number.wrapping_sub(near) as i32);
        self.highest.saturating_add_signed(step)
    }

    /// Records a segment at its sender: sequence number as a distance, and octets of payload.
    pub(crate) fn send(&mut self, seq: u64, payload: u64, flags: Flags) -> Novelty {
        self.segments += 1;
        let syn = u64::from(flags.has(Flags::SYN));
        let start = seq + syn;
        let end = start + payload;
        let before = self.sent.end();
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
            if self.fin == Some(end) && payload == 0 {
                novelty = Novelty::DupFin;
            }
            self.fin = Some(end);
        }
        self.highest = self.highest.max(end + u64::from(flags.has(Flags::FIN)));
        self.retransmissions += u32::from(novelty.is_retransmission());
        novelty
    }

    /// Records octets of payload at their receiver.
    pub(crate) fn arrive(&mut self, start: u64, payload: u64) {
        self.arrived.insert(start, start + payload);
    }

    /// Octets of payload at the receiver without a gap: what its application can read.
    pub(crate) fn readable(&self) -> u64 {
        self.arrived.reach(1) - 1
    }

    /// Octets of payload at the receiver, without repeats.
    pub(crate) fn received(&self) -> u64 {
        self.arrived.total()
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
}
