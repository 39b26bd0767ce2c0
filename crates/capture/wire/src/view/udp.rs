//! Views of UDP headers, where they lie.
//!
//! Reference: RFC 768; RFC 8200 §8.1 (no zero checksum over IPv6). Leaves out what the payload means.

use std::net::IpAddr;

use crate::view::bytes::be16;
use crate::view::checksum::{checksum, pseudo_header};
use crate::view::ip::PROTOCOL_UDP;

const HEADER: usize = 8;

/// Why bytes are no UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UdpError {
    /// The capture ends within the header.
    #[error("UDP header needs 8 bytes, {have} were captured")]
    Cut {
        /// Bytes captured.
        have: usize,
    },
    /// The datagram claims to be shorter than its header or longer than its packet.
    #[error("UDP length of {length} bytes in a packet with room for {room}")]
    Length {
        /// Length claimed for the datagram.
        length: usize,
        /// Octets of the packet's payload as sent.
        room: usize,
    },
}

/// A UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp<'a> {
    bytes: &'a [u8],
    length: usize,
}

impl<'a> Udp<'a> {
    /// The datagram in the payload of an IP packet: `bytes` as far as captured, of `room` octets sent. A length of
    /// 0 means all of them (a jumbogram, RFC 2675 §4, or a datagram still to be cut up by the card).
    ///
    /// # Errors
    /// [`UdpError`]; the payload may be cut, the header not.
    pub fn parse(bytes: &'a [u8], room: usize) -> Result<Self, UdpError> {
        let length = match be16(bytes, 4) {
            Some(length) if bytes.len() >= HEADER => usize::from(length),
            _ => return Err(UdpError::Cut { have: bytes.len() }),
        };
        let length = if length == 0 { room } else { length };
        if length < HEADER || length > room {
            return Err(UdpError::Length { length, room });
        }
        Ok(Self { bytes: bytes.get(..length).unwrap_or(bytes), length })
    }

    /// Sender's port.
    pub fn source_port(&self) -> u16 {
        be16(self.bytes, 0).unwrap_or_default()
    }

    /// Receiver's port.
    pub fn destination_port(&self) -> u16 {
        be16(self.bytes, 2).unwrap_or_default()
    }

    /// Octets of payload as sent.
    pub fn payload_len(&self) -> usize {
        self.length - HEADER
    }

    /// The payload as far as it was captured.
    pub fn payload(&self) -> &'a [u8] {
        self.bytes.get(HEADER..).unwrap_or_default()
    }

    /// Whether the checksum is right or, over IPv4, left out; `None` when the datagram was cut and nobody can tell.
    pub fn checksum_is_right(
        &self,
        source: impl Into<IpAddr>,
        destination: impl Into<IpAddr>,
    ) -> Option<bool> {
        let (source, destination) = (source.into(), destination.into());
        if be16(self.bytes, 6) == Some(0) && source.is_ipv4() {
            return Some(true);
        }
        let whole = self.bytes.len() == self.length;
        let pseudo = || pseudo_header(source, destination, PROTOCOL_UDP, self.length);
        whole.then(|| checksum(pseudo(), self.bytes) == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_the_headers() {
        let bytes = [0, 53, 0x30, 0x39, 0, 12, 0, 0, 1, 2, 3, 4, 0xee, 0xee];
        let udp = Udp::parse(&bytes, 14).unwrap();
        assert_eq!((udp.source_port(), udp.destination_port()), (53, 12_345));
        assert_eq!((udp.payload_len(), udp.payload()), (4, &[1, 2, 3, 4][..]));
        assert_eq!(Udp::parse(&bytes[..9], 12).unwrap().payload(), [1]);
        assert_eq!(Udp::parse(&bytes[..7], 12), Err(UdpError::Cut { have: 7 }));
        assert_eq!(Udp::parse(&bytes, 11), Err(UdpError::Length { length: 12, room: 11 }));
        let short = [0, 53, 0x30, 0x39, 0, 7, 0, 0];
        assert_eq!(Udp::parse(&short, 8), Err(UdpError::Length { length: 7, room: 8 }));
    }

    #[test]
    fn a_checksum_of_zero_is_none_over_ipv4_and_wrong_over_ipv6() {
        let bytes = [0, 53, 0x30, 0x39, 0, 8, 0, 0];
        let udp = Udp::parse(&bytes, 8).unwrap();
        assert_eq!(udp.checksum_is_right([10, 0, 0, 1], [10, 0, 0, 2]), Some(true));
        assert_eq!(udp.checksum_is_right([0_u16; 8], [1_u16; 8]), Some(false));
    }
}
