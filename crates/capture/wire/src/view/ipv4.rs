//! Views of IPv4 headers, where they lie.
//!
//! Reference: RFC 791 §3.1. A view never reads past what was captured and never
//! takes padding for payload: lengths come from the header. Leaves out reassembly of fragments.

use std::net::Ipv4Addr;

use crate::view::checksum::checksum;

const SHORTEST_HEADER: usize = 20;

/// Why bytes are no IPv4 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ipv4Error {
    /// The capture ends within the header.
    #[error("IPv4 header needs {need} bytes, {have} were captured")]
    Cut {
        /// Bytes captured.
        have: usize,
        /// Bytes the header takes.
        need: usize,
    },
    /// Another version of IP, or no IP at all.
    #[error("IP version {0} where 4 was expected")]
    Version(u8),
    /// The header claims to be shorter than the shortest.
    #[error("IPv4 header length of {0} bytes, 20 is the least")]
    HeaderLength(usize),
    /// The packet claims to be shorter than its header.
    #[error("IPv4 total length of {total} bytes in a packet with {header} bytes of header")]
    TotalLength {
        /// Length claimed for the packet.
        total: usize,
        /// Length of the header.
        header: usize,
    },
}

/// An IPv4 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4<'a> {
    /// What every header has.
    head: &'a [u8; SHORTEST_HEADER],
    /// Captured bytes, without what follows the packet.
    bytes: &'a [u8],
    header: usize,
    total: usize,
}

impl<'a> Ipv4<'a> {
    /// The packet at the beginning of `bytes`; what follows it (padding, a check sequence) is left out.
    ///
    /// A total length of 0 means a segment still to be cut up by the card (TCP segmentation offload):
    /// then the packet is all of `bytes`.
    ///
    /// # Errors
    /// [`Ipv4Error`]; the payload may be cut, the header not.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Ipv4Error> {
        Self::parse_cut(bytes, 0)
    }

    /// As [`Self::parse`] where `missing` octets after `bytes` were sent but not captured.
    #[inline]
    pub(crate) fn parse_cut(bytes: &'a [u8], missing: usize) -> Result<Self, Ipv4Error> {
        let have = bytes.len();
        let Some(head) = bytes.first_chunk() else {
            return match bytes.first() {
                Some(first) if first >> 4 != 4 => Err(Ipv4Error::Version(first >> 4)),
                _ => Err(Ipv4Error::Cut { have, need: SHORTEST_HEADER }),
            };
        };
        if head[0] >> 4 != 4 {
            return Err(Ipv4Error::Version(head[0] >> 4));
        }
        let header = usize::from(head[0] & 15) * 4;
        if header < SHORTEST_HEADER {
            return Err(Ipv4Error::HeaderLength(header));
        }
        if have < header {
            return Err(Ipv4Error::Cut { have, need: header });
        }
        let total = match usize::from(u16_at(head, 2)) {
            0 => have + missing,
            total => total,
        };
        if total < header {
            return Err(Ipv4Error::TotalLength { total, header });
        }
        Ok(Self { head, bytes: &bytes[..have.min(total)], header, total })
    }

    /// Sender.
    pub fn source(&self) -> Ipv4Addr {
        self.address(12)
    }

    /// Receiver.
    pub fn destination(&self) -> Ipv4Addr {
        self.address(16)
    }

    fn address(&self, at: usize) -> Ipv4Addr {
        Ipv4Addr::from_bits(u32_at(self.head, at))
    }

    /// Number of the transport protocol.
    pub fn protocol(&self) -> u8 {
        self.head[9]
    }

    /// Identification, which retransmissions do not share.
    pub fn identification(&self) -> u16 {
        u16_at(self.head, 4)
    }

    /// Hops left.
    pub fn ttl(&self) -> u8 {
        self.head[8]
    }

    /// Length of the packet as sent, header included.
    pub fn total_len(&self) -> usize {
        self.total
    }

    /// Length of the payload as sent.
    pub fn payload_len(&self) -> usize {
        self.total - self.header
    }

    /// The payload as far as it was captured.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header..]
    }

    /// The packet as far as it was captured.
    #[inline]
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The header.
    pub fn header(&self) -> &'a [u8] {
        &self.bytes[..self.header]
    }

    /// Where its payload stands in the payload of the packet it is a fragment of, in octets, and whether more
    /// fragments follow; `None` for a whole packet.
    #[inline]
    pub fn fragment(&self) -> Option<(u32, bool)> {
        let word = u16_at(self.head, 6);
        (word & 0x3fff != 0).then(|| (u32::from(word & 0x1fff) * 8, word & 0x2000 != 0))
    }

    /// Whether it is a fragment that is not the first: its payload begins with no transport header.
    pub fn is_later_fragment(&self) -> bool {
        u16_at(self.head, 6) & 0x1fff != 0
    }

    /// Whether the header's checksum is right.
    pub fn checksum_is_right(&self) -> bool {
        checksum(0, &self.bytes[..self.header]) == 0
    }
}

#[inline(always)]
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

#[inline(always)]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::ip::PROTOCOL_TCP;

    /// A header from a textbook capture; its checksum is b1e6.
    const HEADER: [u8; 20] = [
        0x45, 0x00, 0x00, 0x3c, 0x1c, 0x46, 0x40, 0x00, 0x40, 0x06, 0xb1, 0xe6, 0xac, 0x10, 0x0a, 0x63, 0xac,
        0x10, 0x0a, 0x0c,
    ];

    #[test]
    fn a_known_header_is_read() {
        let mut bytes = HEADER.to_vec();
        bytes.extend([7; 40]);
        bytes.extend([0; 6]);
        let ip = Ipv4::parse(&bytes).unwrap();
        assert_eq!((ip.source(), ip.destination()), ([172, 16, 10, 99].into(), [172, 16, 10, 12].into()));
        assert_eq!((ip.protocol(), ip.ttl(), ip.identification()), (PROTOCOL_TCP, 64, 0x1c46));
        assert_eq!((ip.total_len(), ip.payload_len(), ip.payload()), (60, 40, &[7; 40][..]));
        assert!(ip.checksum_is_right() && !ip.is_later_fragment());
        bytes[19] ^= 1;
        assert!(!Ipv4::parse(&bytes).unwrap().checksum_is_right());
    }

    #[test]
    fn what_is_no_packet_says_why() {
        assert_eq!(Ipv4::parse(&[]), Err(Ipv4Error::Cut { have: 0, need: 20 }));
        assert_eq!(Ipv4::parse(&[0x60; 40]), Err(Ipv4Error::Version(6)));
        assert_eq!(Ipv4::parse(&[0x41; 40]), Err(Ipv4Error::HeaderLength(4)));
        assert_eq!(Ipv4::parse(&[0x46; 20]), Err(Ipv4Error::Cut { have: 20, need: 24 }));
        let mut short = HEADER;
        short[3] = 19;
        assert_eq!(Ipv4::parse(&short), Err(Ipv4Error::TotalLength { total: 19, header: 20 }));
    }

    #[test]
    fn a_cut_packet_keeps_its_length() {
        let mut bytes = HEADER.to_vec();
        bytes.extend([7; 10]);
        let ip = Ipv4::parse(&bytes).unwrap();
        assert_eq!((ip.payload().len(), ip.payload_len()), (10, 40));
    }

    #[test]
    fn an_offloaded_packet_is_as_long_as_captured() {
        let mut bytes = HEADER.to_vec();
        bytes[2..4].fill(0);
        bytes.extend([7; 10]);
        assert_eq!(Ipv4::parse(&bytes).unwrap().payload_len(), 10);
    }
}
