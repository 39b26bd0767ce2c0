//! Anonymises IP packets and ICMP.
//!
//! Reference: RFC 791, RFC 8200 §4, RFC 792, RFC 4443, RFC 4861 §4. Lengths stay as they were sent. Checksums
//! that were right are right afterwards, over zeros where octets were cut; wrong ones are wrong, by a constant:
//! what they were wrong by would tell what was hidden. Of a packet that was not captured whole nobody can tell,
//! and what is left of it gets the checksum that fits; so does the first fragment of several. IP options keep their lengths and lose their contents.

use super::Scrub;
use super::link::{be16, put16};
use super::options::{IPV4_OPTIONS, IPV6_OPTIONS};
use super::transport::Segment;
use crate::view::checksum::checksum;

const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
/// Most extension headers gone through.
const MOST_EXTENSIONS: usize = 16;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION: u8 = 60;

impl Scrub {
    pub(super) fn ip(&mut self, bytes: &mut [u8]) -> usize {
        match bytes.first().map(|first| first >> 4) {
            Some(4) => self.ipv4(bytes),
            Some(6) => self.ipv6(bytes),
            _ => self.unknown(),
        }
    }

    fn ipv4(&mut self, bytes: &mut [u8]) -> usize {
        let header = usize::from(bytes.first().copied().unwrap_or(0) & 15) * 4;
        if header < IPV4_HEADER || bytes.len() < header {
            return self.unknown();
        }
        let total = match usize::from(be16(bytes, 2)) {
            0 => bytes.len(),
            total => total,
        };
        let captured = total.min(bytes.len());
        let (head, rest) = bytes.split_at_mut(header);
        let Some(payload) = captured.checked_sub(header).and_then(|length| rest.get_mut(..length)) else {
            return self.unknown();
        };
        let was_right = checksum(0, head) == 0;
        let protocol = head.get(9).copied().unwrap_or(0);
        let position = be16(head, 6) & 0x3fff;
        let old = head.get(12..20).unwrap_or_default().to_vec();
        for address in head.get_mut(12..20).unwrap_or_default().chunks_exact_mut(4) {
            self.addresses.ip_at(address);
        }
        IPV4_OPTIONS.blank(head.get_mut(IPV4_HEADER..).unwrap_or_default());
        put16(head, 10, 0);
        let right = checksum(0, head);
        put16(head, 10, if was_right { right } else { wrong(right) });
        let segment = Segment {
            protocol,
            length: total - header,
            old_addresses: &old,
            new_addresses: head.get(12..20).unwrap_or_default(),
            in_parts: position != 0,
        };
        if position & 0x1fff != 0 {
            return header + self.later_fragment(payload);
        }
        header + self.nested(payload, |scrub, payload| scrub.transport(&segment, payload))
    }

    fn ipv6(&mut self, bytes: &mut [u8]) -> usize {
        let Some((head, rest)) = bytes.split_at_mut_checked(IPV6_HEADER) else { return self.unknown() };
        let length = usize::from(be16(head, 4));
        // 0 is the length of a jumbogram, or of a packet that the card was still to cut up.
        let captured = if length == 0 { rest.len() } else { length.min(rest.len()) };
        let length = length.max(captured);
        let old = head.get(8..).unwrap_or_default().to_vec();
        for address in head.get_mut(8..).unwrap_or_default().chunks_exact_mut(16) {
            self.addresses.ip_at(address);
        }
        let mut next = head.get(6).copied().unwrap_or(0);
        let (mut at, mut in_parts) = (0, false);
        for _ in 0..MOST_EXTENSIONS {
            let Some(extension) = rest.get_mut(at..captured) else { break };
            let size = match (next, &*extension) {
                (FRAGMENT, _) => 8,
                (HOP_BY_HOP | ROUTING | DESTINATION, [_, words, ..]) => 8 * (usize::from(*words) + 1),
                _ => break,
            };
            let Some(extension) = extension.get_mut(..size) else { return IPV6_HEADER + at + self.unknown() };
            let kind = next;
            next = extension.first().copied().unwrap_or(0);
            at += size;
            match kind {
                FRAGMENT => {
                    let position = be16(extension, 2) & 0xfff9;
                    in_parts |= position != 0;
                    if position & 0xfff8 != 0 {
                        let payload = rest.get_mut(at..captured).unwrap_or_default();
                        return IPV6_HEADER + at + self.later_fragment(payload);
                    }
                }
                ROUTING => extension.get_mut(4..).unwrap_or_default().fill(0),
                _ => IPV6_OPTIONS.blank(extension.get_mut(2..).unwrap_or_default()),
            }
        }
        let segment = Segment {
            protocol: next,
            length: length.saturating_sub(at),
            old_addresses: &old,
            new_addresses: head.get(8..).unwrap_or_default(),
            in_parts,
        };
        let payload = rest.get_mut(at..captured).unwrap_or_default();
        IPV6_HEADER + at + self.nested(payload, |scrub, payload| scrub.transport(&segment, payload))
    }

    /// A fragment without the transport's header. It keeps its length, so that the packet can still be put
    /// together.
    fn later_fragment(&mut self, payload: &mut [u8]) -> usize {
        if self.payload != super::Payload::Keep {
            payload.fill(0);
        }
        payload.len()
    }

    /// The fields of ICMP or ICMPv6; `v6` tells which.
    pub(super) fn icmp(&mut self, v6: bool, bytes: &mut [u8]) -> usize {
        const HEADER: usize = 8;
        let Some(kind) = bytes.first().copied().filter(|_| bytes.len() >= HEADER) else { return 0 };
        let error = if v6 { matches!(kind, 1..=4) } else { matches!(kind, 3 | 4 | 5 | 11 | 12) };
        match (v6, kind) {
            // Redirect: the better router.
            (false, 5) => self.addresses.ip_at(bytes.get_mut(4..8).unwrap_or_default()),
            // Neighbour solicitation and advertisement; redirect, which names two.
            (true, 135 | 136) => return self.neighbour(bytes, 24),
            (true, 137) => return self.neighbour(bytes, 40),
            (true, 133) => return self.neighbour(bytes, 8),
            (true, 134) => return self.neighbour(bytes, 16),
            (true, 130..=132) => {
                if let Some(group) = bytes.get_mut(8..24) {
                    self.addresses.ip_at(group);
                    return 24;
                }
            }
            _ => {}
        }
        if error { self.after(bytes, HEADER, Self::ip) } else { HEADER }
    }

    /// Neighbour discovery: addresses up to `options`, and those options that name a MAC address or a prefix.
    fn neighbour(&mut self, bytes: &mut [u8], options: usize) -> usize {
        if bytes.len() < options {
            return 8;
        }
        let names = if matches!(bytes.first(), Some(134)) { 16 } else { 8 };
        for address in bytes.get_mut(names..options).unwrap_or_default().chunks_exact_mut(16) {
            self.addresses.ip_at(address);
        }
        let mut at = options;
        while let Some([kind, words, ..]) = bytes.get(at..) {
            let (kind, size) = (*kind, 8 * usize::from(*words));
            if size == 0 {
                break;
            }
            let Some(option) = bytes.get_mut(at..at + size) else { break };
            match (kind, size) {
                (1 | 2, 8) => self.addresses.mac_at(option.get_mut(2..8).unwrap_or_default()),
                (3, 32) => self.addresses.ip_at(option.get_mut(16..32).unwrap_or_default()),
                // MTU.
                (5, 8) => {}
                _ => option.get_mut(2..).unwrap_or_default().fill(0),
            }
            at += size;
        }
        at
    }

    /// One layer further in.
    fn nested(&mut self, bytes: &mut [u8], inner: impl FnOnce(&mut Self, &mut [u8]) -> usize) -> usize {
        self.after(bytes, 0, inner)
    }
}

/// A checksum that is not `right`.
pub(super) fn wrong(right: u16) -> u16 {
    right ^ 0x5555
}
