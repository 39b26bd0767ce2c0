//! A TCP packet on its way to the shard of its connection: what its headers said, and where its octets lie.

use airperf_wire::Flags;

use super::pair::{Pair, fold};

/// What the MAC knows of the frame that carried it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carried {
    /// No 802.11 frame.
    Wire,
    /// An 802.11 frame without the retry bit.
    First,
    /// One with the retry bit, whose original was not captured.
    Retry,
    /// One that repeats its transmitter's previous frame: TCP has seen it.
    Duplicate,
}

/// What tells an 802.11 frame from the next one of its transmitter; nothing outside 802.11.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Way(u16);

impl Way {
    /// A frame with this sequence number (12 bits), to and from a distribution system or not.
    pub(crate) fn new(sequence: u16, to_ds: bool, from_ds: bool) -> Self {
        Self(1 << 15 | u16::from(to_ds) << 14 | u16::from(from_ds) << 13 | sequence & 0xfff)
    }

    /// Whether frames that carry the same packet carry one packet: seen twice, or on its way through an access point.
    #[inline]
    pub(crate) fn may_be(self, other: Self) -> bool {
        let (a, b) = (self.0, other.0);
        a == 0 || b == 0 || a == b || (a ^ b) & 0x6000 != 0
    }
}

/// One TCP packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Number of its frame.
    pub(crate) frame: u64,
    /// When it was captured, nanoseconds since 1970.
    pub(crate) time_ns: u64,
    /// When its receiver had it: at the end of an 802.11 frame.
    pub(crate) delivered_ns: u64,
    pub(crate) pair: Pair,
    /// Secret hash of the pair.
    pub(crate) hash: u64,
    /// Its sender is the lower end of the pair.
    pub(crate) from_low: bool,
    pub(crate) flags: Flags,
    pub(crate) window: u16,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    /// Octets of payload as sent.
    pub(crate) length: u32,
    /// Octets of the IP packet, or of all its fragments.
    pub(crate) ip_bytes: u32,
    /// IP identification; `None` for IPv6, which has none.
    pub(crate) identification: Option<u16>,
    /// Its TCP checksum as captured.
    pub(crate) checksum: u16,
    /// Ones' complement sum of the TCP header but for the ports, and of the length: together with that of the
    /// ends and the payload it is 0xffff when the checksum is right. 0 without payload.
    pub(crate) sum: u16,
    pub(crate) carried: Carried,
    /// The MAC's own number of the frame and which way it went; two of one way with different numbers are no copies.
    pub(crate) way: Way,
    /// Octets of TCP options captured, which lie just before the payload; 0 when they are timestamps alone.
    pub(crate) options: u8,
    /// Which record of the batch it lies in; `None` for a packet reassembled from fragments.
    pub(crate) record: Option<u32>,
    /// Where its payload begins in the record (or among the reassembled octets).
    pub(crate) at: u32,
    /// Octets of payload captured.
    pub(crate) captured: u32,
}

impl Packet {
    /// Whether its headers say nothing that needs a closer look; see [`Flow::plain`](super::flow::Flow::plain).
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        const LOOKED_AT: u8 = Flags::FIN.0 | Flags::SYN.0 | Flags::RST.0 | Flags::ACK.0 | Flags::URG.0;
        let carried = matches!(self.carried, Carried::Wire | Carried::First);
        let says_nothing = self.flags.0 & LOOKED_AT == Flags::ACK.0 && self.options == 0;
        // A single octet may probe a window or keep a connection alive.
        carried && says_nothing && self.window != 0 && self.length != 1
    }

    /// A digest that copies of a packet share and no other packet of its sender does: all its octets but those of
    /// its IP header are in its checksum, right or wrong. Never 0.
    #[inline]
    pub(crate) fn digest(&self) -> u32 {
        let id = u64::from(self.identification.unwrap_or_default());
        let numbers = u64::from(self.seq) << 32 | u64::from(self.ack);
        let words = u64::from(self.window) << 16 | u64::from(self.checksum);
        let rest = u64::from(self.length) << 40 ^ words << 8 ^ u64::from(self.flags.0);
        let sum = fold(numbers ^ id.rotate_left(48), rest ^ 0x9e37_79b9_7f4a_7c15);
        (sum ^ sum >> 32) as u32 | 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::flows::flow::Flow;

    #[test]
    fn frames_of_one_way_with_different_numbers_are_no_copies() {
        let up = Way::new(7, true, false);
        assert!(up.may_be(up) && up.may_be(Way::default()) && Way::default().may_be(up));
        assert!(up.may_be(Way::new(9, false, true)), "through an access point");
        assert!(!up.may_be(Way::new(8, true, false)), "sent twice");
    }

    #[test]
    fn a_live_connection_takes_no_more_memory_than_it_must() {
        assert!(size_of::<Flow>() <= 960, "{}", size_of::<Flow>());
        assert!(size_of::<Packet>() <= 128, "{}", size_of::<Packet>());
    }
}
