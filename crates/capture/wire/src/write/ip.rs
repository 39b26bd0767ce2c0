//! Begins IPv4 packets: the header that every packet we build has.
//!
//! Reference: RFC 791 §3.1. Leaves out options and fragments.

use std::net::Ipv4Addr;

use crate::view::checksum::checksum;

/// Octets of the header.
pub(super) const IP_HEADER: usize = 20;

/// What differs between the headers of two packets.
pub(super) struct IpHeader {
    pub(super) source: Ipv4Addr,
    pub(super) destination: Ipv4Addr,
    pub(super) protocol: u8,
    pub(super) identification: u16,
    pub(super) ttl: u8,
}

impl IpHeader {
    /// Makes `out` the header of a packet with `payload` octets behind it.
    ///
    /// # Panics
    /// If the packet would be longer than the 65,535 bytes of an IPv4 packet.
    pub(super) fn write(&self, payload: usize, out: &mut Vec<u8>) {
        const DONT_FRAGMENT: u16 = 0x4000;
        out.clear();
        let total = u16::try_from(IP_HEADER + payload).expect("an IPv4 packet has at most 65,535 bytes");
        out.extend_from_slice(&[0x45, 0]);
        out.extend_from_slice(&total.to_be_bytes());
        out.extend_from_slice(&self.identification.to_be_bytes());
        out.extend_from_slice(&DONT_FRAGMENT.to_be_bytes());
        out.extend_from_slice(&[self.ttl, self.protocol, 0, 0]);
        out.extend_from_slice(&self.source.octets());
        out.extend_from_slice(&self.destination.octets());
        let check = checksum(0, &out[..IP_HEADER]);
        out[10..12].copy_from_slice(&check.to_be_bytes());
    }
}
