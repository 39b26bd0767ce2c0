//! Tunnels: IP in IP, GRE and VXLAN.
//!
//! Reference: RFC 2003 and RFC 4213 (IP in IP), RFC 2784, 2890 and 2637 (GRE), RFC 7348 (VXLAN), RFC 1701 §2 (bridged
//! Ethernet). Fragments of tunnel packets are not looked into before they are put together. Leaves out ERSPAN, GRE
//! source routes and VXLAN on other ports than its own.

use crate::view::anomaly::Anomaly;
use crate::view::bytes::{be16, be32, octets};
use crate::view::frame::Payload;
use crate::view::ip::{Ip, PROTOCOL_UDP, Transport};
use crate::view::layers::{Layer, Listener, Walk, ethertype};

const IPV4: u8 = 4;
const IPV6: u8 = 41;
const GRE: u8 = 47;
const VXLAN_PORT: u16 = 4789;
const ETHERNET_HEADER: usize = 14;

/// Whether a packet may carry another one.
#[inline]
pub(crate) fn may_carry(ip: &Ip<'_>) -> bool {
    match ip.protocol {
        IPV4 | IPV6 | GRE => ip.fragment.is_none(),
        PROTOCOL_UDP => ip.fragment.is_none() && be16(ip.payload(), 2) == Some(VXLAN_PORT),
        _ => false,
    }
}

/// The packet in `outer`, or `outer` itself where there is none to be read.
#[inline(never)]
pub(crate) fn open<'a, L: Listener<'a>>(walk: &mut Walk<L>, outer: Ip<'a>) -> Payload<'a> {
    let before = walk.missing;
    walk.missing = outer.payload_len().saturating_sub(outer.payload().len());
    let inner = inside(walk, &outer);
    walk.missing = before;
    match inner {
        Some(inner @ Payload::Ip(_)) => inner,
        _ => Payload::Ip(outer),
    }
}

fn inside<'a, L: Listener<'a>>(walk: &mut Walk<L>, outer: &Ip<'a>) -> Option<Payload<'a>> {
    if !walk.deeper() {
        return None;
    }
    let bytes = outer.payload();
    match outer.protocol {
        IPV4 | IPV6 => Some(walk.ip(bytes)),
        GRE => gre(walk, bytes),
        _ => match outer.transport() {
            Ok(Transport::Udp(udp)) => vxlan(walk, udp.payload()),
            _ => None,
        },
    }
}

fn gre<'a, L: Listener<'a>>(walk: &mut Walk<L>, bytes: &'a [u8]) -> Option<Payload<'a>> {
    const CHECKSUM: u16 = 0x8000;
    const ROUTING: u16 = 0x4000;
    const KEY: u16 = 0x2000;
    const SEQUENCE: u16 = 0x1000;
    /// Of version 1 only.
    const ACKNOWLEDGEMENT: u16 = 0x0080;
    const VERSION: u16 = 0x0007;
    let (Some(flags), Some(kind)) = (be16(bytes, 0), be16(bytes, 2)) else {
        walk.unreadable(Anomaly::Tunnel);
        return None;
    };
    let version = flags & VERSION;
    if version > 1 || flags & ROUTING != 0 {
        walk.anomalies.insert(Anomaly::Tunnel);
        return None;
    }
    let optional = if version == 1 { KEY | SEQUENCE | ACKNOWLEDGEMENT } else { CHECKSUM | KEY | SEQUENCE };
    let header = 4 + 4 * (flags & optional).count_ones() as usize;
    let Some(rest) = bytes.get(header..) else {
        walk.unreadable(Anomaly::Tunnel);
        return None;
    };
    walk.told(Layer::Gre(kind));
    match (version, kind) {
        // Acknowledgements of PPTP carry nothing.
        (1, _) if rest.is_empty() => None,
        (1, ethertype::PPP) => walk.ppp(rest.strip_prefix(&[0xff, 3]).unwrap_or(rest)),
        (0, ethertype::BRIDGED) => bridged(walk, rest),
        (0, _) => Some(walk.typed(kind, rest)),
        _ => None,
    }
}

fn vxlan<'a, L: Listener<'a>>(walk: &mut Walk<L>, bytes: &'a [u8]) -> Option<Payload<'a>> {
    const VALID_IDENTIFIER: u8 = 0x08;
    let (Some(flags), Some(identifier)) = (bytes.first(), be32(bytes, 4)) else {
        walk.unreadable(Anomaly::Tunnel);
        return None;
    };
    if flags & VALID_IDENTIFIER == 0 {
        walk.anomalies.insert(Anomaly::Tunnel);
        return None;
    }
    walk.told(Layer::Vxlan(identifier >> 8));
    bridged(walk, bytes.get(8..).unwrap_or_default())
}

fn bridged<'a, L: Listener<'a>>(walk: &mut Walk<L>, bytes: &'a [u8]) -> Option<Payload<'a>> {
    let (Some(addresses), Some(kind)) = (octets::<12>(bytes, 0), be16(bytes, 12)) else {
        walk.unreadable(Anomaly::Tunnel);
        return None;
    };
    walk.told(Layer::Bridged(addresses));
    Some(walk.typed(kind, bytes.get(ETHERNET_HEADER..).unwrap_or_default()))
}
