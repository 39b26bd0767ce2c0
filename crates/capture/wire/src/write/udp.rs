//! Builds IPv4 packets with a UDP datagram inside, and the header of RTP.
//!
//! Reference: RFC 791 §3.1, RFC 768, RFC 3550 §5.1. Leaves out IP options, fragments, and RTP's contributing sources
//! and extensions.

use std::net::Ipv4Addr;

use crate::view::checksum::{checksum, pseudo_header};
use crate::view::ip::PROTOCOL_UDP;
use crate::write::ip::{IP_HEADER, IpHeader};

const UDP_HEADER: usize = 8;

/// An IPv4 packet with a UDP datagram, but for its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpPacket {
    /// Sender.
    pub source: Ipv4Addr,
    /// Receiver.
    pub destination: Ipv4Addr,
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's port.
    pub destination_port: u16,
    /// IP identification.
    pub identification: u16,
    /// Hops left.
    pub ttl: u8,
}

impl UdpPacket {
    /// Makes `out` the whole packet.
    ///
    /// # Panics
    /// If it would be longer than the 65,535 bytes of an IPv4 packet.
    pub fn write(&self, payload: &[u8], out: &mut Vec<u8>) {
        let datagram = UDP_HEADER + payload.len();
        IpHeader {
            source: self.source,
            destination: self.destination,
            protocol: PROTOCOL_UDP,
            identification: self.identification,
            ttl: self.ttl,
        }
        .write(datagram, out);

        out.extend_from_slice(&self.source_port.to_be_bytes());
        out.extend_from_slice(&self.destination_port.to_be_bytes());
        out.extend_from_slice(&(datagram as u16).to_be_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(payload);
        let sum = pseudo_header(self.source, self.destination, PROTOCOL_UDP, datagram);
        // Zero would say that there is no checksum (RFC 768).
        let check = match checksum(sum, &out[IP_HEADER..]) {
            0 => 0xffff,
            check => check,
        };
        out[IP_HEADER + 6..IP_HEADER + 8].copy_from_slice(&check.to_be_bytes());
    }
}

/// The header of an RTP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtpHeader {
    /// Payload type.
    pub payload_type: u8,
    /// Counts packets.
    pub sequence: u16,
    /// When its first octet was made, in ticks of the medium's clock.
    pub timestamp: u32,
    /// Who sends.
    pub source: u32,
}

impl RtpHeader {
    /// Its octets.
    pub fn octets(&self) -> [u8; 12] {
        const VERSION: u8 = 2 << 6;
        let mut octets = [0; 12];
        octets[..2].copy_from_slice(&[VERSION, self.payload_type & 0x7f]);
        octets[2..4].copy_from_slice(&self.sequence.to_be_bytes());
        octets[4..8].copy_from_slice(&self.timestamp.to_be_bytes());
        octets[8..].copy_from_slice(&self.source.to_be_bytes());
        octets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_reads_back_and_its_checksums_hold() {
        let packet = UdpPacket {
            source: Ipv4Addr::new(10, 77, 0, 1),
            destination: Ipv4Addr::new(10, 77, 0, 2),
            source_port: 5004,
            destination_port: 40_000,
            identification: 7,
            ttl: 64,
        };
        let mut out = Vec::new();
        packet.write(b"odd", &mut out);
        assert_eq!(out.len(), 31);
        assert_eq!(checksum(0, &out[..20]), 0);
        let sum = pseudo_header(packet.source, packet.destination, PROTOCOL_UDP, 11);
        assert_eq!(checksum(sum, &out[20..]), 0);
        assert_eq!(out[20..26], [0x13, 0x8c, 0x9c, 0x40, 0, 11]);
        assert_eq!(&out[28..], b"odd");
    }

    #[test]
    fn an_rtp_header_says_version_two() {
        let header = RtpHeader { payload_type: 96, sequence: 513, timestamp: 0x0102_0304, source: 5 };
        assert_eq!(header.octets(), [0x80, 96, 2, 1, 1, 2, 3, 4, 0, 0, 0, 5]);
    }
}
