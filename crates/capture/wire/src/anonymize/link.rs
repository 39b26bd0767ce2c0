//! Anonymises link headers, and finds the packet behind them.
//!
//! Reference: as the views'. Every function takes the octets from its header on, rewrites them in place and
//! returns how many of them are to be kept. What is not known is not kept. Leaves out 802.11, which has a
//! module of its own.

use super::Scrub;
use crate::LinkType;
use crate::view::layers::{MOST_LAYERS, ethertype};

const ETHERNET_HEADER: usize = 14;
const SLL_HEADER: usize = 16;
const SLL2_HEADER: usize = 20;
const SNAP: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];
/// LLC and SNAP.
const SNAP_HEADER: usize = 8;

impl Scrub {
    /// A frame of any link type but 802.11's.
    pub(super) fn link(&mut self, link: LinkType, bytes: &mut [u8]) -> usize {
        match link {
            LinkType::ETHERNET => self.ethernet(bytes),
            LinkType::NULL | LinkType::LOOP => self.after(bytes, 4, Self::ip),
            LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => self.ip(bytes),
            LinkType::LINUX_SLL => {
                let kind = be16(bytes, SLL_HEADER - 2);
                self.cooked_address(bytes, 4, 6);
                self.after(bytes, SLL_HEADER, |scrub, rest| scrub.typed(kind, rest))
            }
            LinkType::LINUX_SLL2 => {
                let kind = be16(bytes, 0);
                self.cooked_address(bytes, 11, 12);
                self.after(bytes, SLL2_HEADER, |scrub, rest| scrub.typed(kind, rest))
            }
            _ => self.unknown(),
        }
    }

    pub(super) fn ethernet(&mut self, bytes: &mut [u8]) -> usize {
        let Some(header) = bytes.get_mut(..ETHERNET_HEADER) else { return self.unknown() };
        for place in header.chunks_exact_mut(6).take(2) {
            self.addresses.mac_at(place);
        }
        let kind = be16(header, 12);
        self.after(bytes, ETHERNET_HEADER, |scrub, rest| match kind {
            0..=ethertype::LARGEST_LENGTH => scrub.llc(rest),
            kind => scrub.typed(kind, rest),
        })
    }

    /// What follows a type field.
    pub(super) fn typed(&mut self, kind: u16, bytes: &mut [u8]) -> usize {
        match kind {
            ethertype::IPV4 | ethertype::IPV6 => self.ip(bytes),
            ethertype::ARP => self.arp(bytes),
            ethertype::VLAN | ethertype::SERVICE_VLAN | ethertype::OLD_VLAN => {
                let kind = be16(bytes, 2);
                self.after(bytes, 4, |scrub, rest| scrub.typed(kind, rest))
            }
            ethertype::MPLS | ethertype::MPLS_MULTICAST => self.mpls(bytes),
            // Version, code, session and length, then PPP.
            ethertype::PPPOE_SESSION => self.after(bytes, 6, Self::ppp),
            ethertype::PPP => self.ppp(bytes),
            ethertype::BRIDGED => self.ethernet(bytes),
            _ => self.unknown(),
        }
    }

    pub(super) fn llc(&mut self, bytes: &mut [u8]) -> usize {
        if !bytes.starts_with(&SNAP) && !bytes.starts_with(&[0xaa, 0xaa, 3, 0, 0, 0xf8]) {
            return self.unknown();
        }
        let kind = be16(bytes, 6);
        self.after(bytes, SNAP_HEADER, |scrub, rest| scrub.typed(kind, rest))
    }

    fn mpls(&mut self, bytes: &mut [u8]) -> usize {
        const BOTTOM: u8 = 1;
        let bottom = bytes.get(2).is_some_and(|octet| octet & BOTTOM != 0);
        self.after(bytes, 4, |scrub, rest| if bottom { scrub.ip(rest) } else { scrub.mpls(rest) })
    }

    /// PPP, its address and control fields left out or not, its protocol field in one octet or two.
    fn ppp(&mut self, bytes: &mut [u8]) -> usize {
        let start = if bytes.starts_with(&[0xff, 3]) { 2 } else { 0 };
        match bytes.get(start..) {
            Some([0x21 | 0x57, ..]) => self.after(bytes, start + 1, Self::ip),
            Some([0, 0x21 | 0x57, ..]) => self.after(bytes, start + 2, Self::ip),
            _ => self.unknown(),
        }
    }

    fn arp(&mut self, bytes: &mut [u8]) -> usize {
        const BYTES: usize = 28;
        // Ethernet and IPv4, by type and by length.
        let usual = bytes.starts_with(&[0, 1, 8, 0, 6, 4]);
        let Some(addresses) = bytes.get_mut(8..BYTES).filter(|_| usual) else { return self.unknown() };
        for half in addresses.chunks_exact_mut(10) {
            let (mac, ip) = half.split_at_mut(6);
            // A request does not know the address that it asks for.
            if mac != [0; 6] {
                self.addresses.mac_at(mac);
            }
            self.addresses.ip_at(ip);
        }
        BYTES
    }

    /// The address in a cooked header, whose length stands at `length_at`.
    fn cooked_address(&mut self, bytes: &mut [u8], length_at: usize, at: usize) {
        let length = bytes.get(length_at + usize::from(length_at == 4)).copied();
        let Some(field) = bytes.get_mut(at..at + 8) else { return };
        match length {
            Some(6) => {
                let (mac, rest) = field.split_at_mut(6);
                self.addresses.mac_at(mac);
                rest.fill(0);
            }
            _ => field.fill(0),
        }
    }

    /// A header of `length` octets, and what `inner` keeps of the rest; nothing of a header that was cut.
    pub(super) fn after(
        &mut self,
        bytes: &mut [u8],
        length: usize,
        inner: impl FnOnce(&mut Self, &mut [u8]) -> usize,
    ) -> usize {
        let Some(rest) = bytes.get_mut(length..) else { return self.unknown() };
        if self.depth >= MOST_LAYERS {
            return length + self.unknown();
        }
        self.depth += 1;
        let kept = inner(self, rest);
        self.depth -= 1;
        length + kept
    }

    /// Something that is not kept.
    pub(super) fn unknown(&mut self) -> usize {
        self.unknown_here = true;
        0
    }
}

pub(super) fn be16(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |octets| u16::from_be_bytes(*octets))
}

pub(super) fn put16(bytes: &mut [u8], at: usize, value: u16) {
    if let Some(place) = bytes.get_mut(at..at + 2) {
        place.copy_from_slice(&value.to_be_bytes());
    }
}
