//! Links whose header only tells the protocol: Linux cooked captures, loopback, bare IP.
//!
//! Reference: the registry's LINKTYPE_LINUX_SLL, LINKTYPE_LINUX_SLL2, LINKTYPE_NULL, LINKTYPE_LOOP and LINKTYPE_RAW.
//! Leaves out the link-layer addresses of cooked captures, which miss the receiver's, and netlink in them.

use crate::view::anomaly::Anomaly;
use crate::view::bytes::{be16, be32, octets};
use crate::view::frame::Payload;
use crate::view::layers::{Listener, Walk, ethertype};

/// ARPHRD of GRE tunnels: the protocol is GRE's, which is an EtherType all the same.
const ARPHRD_NETLINK: u16 = 824;
/// A "protocol" of Linux: 802.2 LLC follows.
const ETH_P_802_2: u16 = 0x0004;

impl<'a, L: Listener<'a>> Walk<L> {
    /// Linux cooked capture.
    pub(crate) fn sll(&mut self, bytes: &'a [u8]) -> Payload<'a> {
        const HEADER: usize = 16;
        self.cooked(be16(bytes, 2), be16(bytes, 14), bytes.get(HEADER..))
    }

    /// Linux cooked capture, version 2.
    pub(crate) fn sll2(&mut self, bytes: &'a [u8]) -> Payload<'a> {
        const HEADER: usize = 20;
        self.cooked(be16(bytes, 8), be16(bytes, 0), bytes.get(HEADER..))
    }

    fn cooked(&mut self, hardware: Option<u16>, kind: Option<u16>, rest: Option<&'a [u8]>) -> Payload<'a> {
        let (Some(hardware), Some(kind), Some(rest)) = (hardware, kind, rest) else {
            self.unreadable(Anomaly::Runt);
            return Payload::None;
        };
        match (hardware, kind) {
            (ARPHRD_NETLINK, _) => Payload::Other(kind),
            (_, ETH_P_802_2) => self.llc(rest),
            // Below the EtherTypes Linux has numbers of its own, no lengths.
            (_, kind) if kind <= ethertype::LARGEST_LENGTH => Payload::Other(kind),
            (_, kind) => self.typed(kind, rest),
        }
    }

    /// BSD loopback: a family in the order of octets of the capturing host, or of the network (`LINKTYPE_LOOP`).
    pub(crate) fn loopback(&mut self, bytes: &'a [u8]) -> Payload<'a> {
        const INET: u32 = 2;
        /// IPv6 on Linux, NetBSD and OpenBSD, FreeBSD, Darwin.
        const INET6: [u32; 4] = [10, 24, 28, 30];
        let (Some(family), Some(rest)) = (be32(bytes, 0), bytes.get(4..)) else {
            self.unreadable(Anomaly::Runt);
            return Payload::None;
        };
        // Families are small: what is large in one order is small in the other.
        match family.min(family.swap_bytes()) {
            INET => self.ip(rest),
            family if INET6.contains(&family) => self.ip(rest),
            _ => Payload::Other(0),
        }
    }

    /// A bare IP packet.
    pub(crate) fn raw(&mut self, bytes: &'a [u8]) -> Payload<'a> {
        self.ip(bytes)
    }

    /// Ethernet behind its addresses.
    #[inline]
    pub(crate) fn ethernet(&mut self, header: &[u8; 14], rest: &'a [u8]) -> Payload<'a> {
        let payload = self.typed(u16::from_be_bytes([header[12], header[13]]), rest);
        self.check_mtu(&payload);
        payload
    }
}

/// Addresses of an Ethernet header.
#[inline]
pub(crate) fn ethernet_header(bytes: &[u8]) -> Option<[u8; 14]> {
    octets(bytes, 0)
}
