//! Anonymises what IP carries: TCP, UDP, ICMP and tunnels. Anything else is cut.
//!
//! Reference: RFC 9293 §3.1, RFC 768, RFC 2784 and 2890 (GRE), RFC 7348 (VXLAN). Ports, sequence numbers, windows
//! and TCP's clocks stay: they are what a capture is shared for. Leaves out SCTP, IPsec and QUIC's own headers.

use super::link::{be16, put16};
use super::network::wrong;
use super::options::TCP_OPTIONS;
use super::{Payload, Scrub};
use crate::view::checksum::{add, checksum};

const ICMP: u8 = 1;
const IPV4: u8 = 4;
const TCP: u8 = 6;
const UDP: u8 = 17;
const IPV6: u8 = 41;
const GRE: u8 = 47;
const ICMPV6: u8 = 58;

const TCP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
const VXLAN_PORT: u16 = 4789;
const VXLAN_HEADER: usize = 8;

/// Ports whose messages name hosts and people whatever the user wants to keep: DNS and its kin, DHCP, NetBIOS,
/// SSDP.
const NAMING_PORTS: &[u16] = &[53, 67, 68, 137, 138, 546, 547, 1900, 5353, 5355];

/// What an IP header says of its payload.
pub(super) struct Segment<'a> {
    pub(super) protocol: u8,
    /// Octets as sent.
    pub(super) length: usize,
    /// Source and destination, before and after.
    pub(super) old_addresses: &'a [u8],
    pub(super) new_addresses: &'a [u8],
    /// Whether it is only the first of several fragments.
    pub(super) in_parts: bool,
}

impl Segment<'_> {
    fn pseudo_header(&self, addresses: &[u8]) -> u32 {
        let length = self.length as u32;
        add(0, addresses) + u32::from(self.protocol) + (length & 0xffff) + (length >> 16)
    }

    /// Sum before ICMP, which has a pseudo header in IPv6 only.
    fn sums(&self) -> (u32, u32) {
        if self.protocol == ICMP {
            return (0, 0);
        }
        (self.pseudo_header(self.old_addresses), self.pseudo_header(self.new_addresses))
    }
}

impl Scrub {
    /// A transport segment or what else an IP packet carries, as far as captured.
    pub(super) fn transport(&mut self, segment: &Segment<'_>, bytes: &mut [u8]) -> usize {
        let checksum_at = match segment.protocol {
            TCP => 16,
            UDP => 6,
            ICMP | ICMPV6 => 2,
            IPV4 | IPV6 => return self.ip(bytes),
            GRE => return self.gre(bytes),
            _ => return self.unknown(),
        };
        let whole = bytes.len() == segment.length && !segment.in_parts;
        let (before, after) = segment.sums();
        let was_wrong = whole && checksum(before, bytes) != 0;
        let none = segment.protocol == UDP && be16(bytes, checksum_at) == 0;
        let kept = match segment.protocol {
            TCP => self.tcp(segment, bytes),
            UDP => self.udp(segment, bytes),
            protocol => self.icmp(protocol == ICMPV6, bytes),
        };
        bytes.get_mut(kept..).unwrap_or_default().fill(0);
        put16(bytes, checksum_at, 0);
        let right = match checksum(after, bytes) {
            0 if segment.protocol == UDP => 0xffff,
            right => right,
        };
        if !none {
            put16(bytes, checksum_at, if was_wrong { wrong(right) } else { right });
        }
        // The packet can only be put together if the fragment keeps its length.
        if segment.in_parts { bytes.len() } else { kept }
    }

    fn tcp(&mut self, segment: &Segment<'_>, bytes: &mut [u8]) -> usize {
        let header = usize::from(bytes.get(12).copied().unwrap_or(0) >> 4) * 4;
        if bytes.len() < TCP_HEADER || header < TCP_HEADER || header > segment.length {
            return bytes.len().min(TCP_HEADER);
        }
        let end = header.min(bytes.len());
        TCP_OPTIONS.blank(bytes.get_mut(TCP_HEADER..end).unwrap_or_default());
        end + self.application(bytes, end)
    }

    fn udp(&mut self, segment: &Segment<'_>, bytes: &mut [u8]) -> usize {
        if bytes.len() < UDP_HEADER {
            return bytes.len();
        }
        if be16(bytes, 2) == VXLAN_PORT && !segment.in_parts {
            return self.after(bytes, UDP_HEADER + VXLAN_HEADER, Self::ethernet);
        }
        UDP_HEADER + self.application(bytes, UDP_HEADER)
    }

    /// How much of the data from `at` on is kept, names in it hidden.
    fn application(&mut self, bytes: &mut [u8], at: usize) -> usize {
        let naming = [be16(bytes, 0), be16(bytes, 2)].iter().any(|port| NAMING_PORTS.contains(port));
        let data = bytes.get_mut(at..).unwrap_or_default();
        match self.payload {
            Payload::Keep if !naming => data.len(),
            Payload::Headers if !naming => self.names.http_head(data),
            _ => 0,
        }
    }

    fn gre(&mut self, bytes: &mut [u8]) -> usize {
        const CHECKSUM: u16 = 0x8000;
        const ROUTING: u16 = 0x4000;
        /// Of version 1 only.
        const ACKNOWLEDGEMENT: u16 = 0x0080;
        let (flags, kind) = (be16(bytes, 0), be16(bytes, 2));
        let version = flags & 7;
        if bytes.len() < 4 || version > 1 || flags & ROUTING != 0 {
            return self.unknown();
        }
        let optional = if version == 1 { 0x3000 | ACKNOWLEDGEMENT } else { 0xb000 };
        if version == 0 && flags & CHECKSUM != 0 {
            put16(bytes, 4, 0);
        }
        let header = 4 + 4 * (flags & optional).count_ones() as usize;
        self.after(bytes, header, |scrub, rest| scrub.typed(kind, rest))
    }
}
