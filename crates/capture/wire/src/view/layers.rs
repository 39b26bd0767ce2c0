//! From a frame's type field to the innermost IP packet: tags, labels, sessions and tunnels.
//!
//! Reference: IEEE 802.1Q-2022 §9.6 (tags), IEEE 802.2 and RFC 1042 (LLC, SNAP), RFC 3032 (MPLS), RFC 2516 (PPPoE).
//! At most [`MOST_LAYERS`] are taken off. Where the inside of a tunnel cannot be read the packet around it stays.
//! Leaves out pseudowires over MPLS and checks of any field that no packet depends on.

use crate::view::anomaly::{Anomalies, Anomaly};
use crate::view::bytes::{be16, be32, octets};
use crate::view::frame::Payload;
use crate::view::ip::Ip;
use crate::view::tunnel;

/// Most tags, labels and tunnels around a packet.
pub(crate) const MOST_LAYERS: u8 = 8;
/// Largest payload of an Ethernet frame (IEEE 802.3-2022 §3.2.7); above it frames are jumbo.
pub(crate) const ETHERNET_MTU: usize = 1_500;
/// No card sends longer jumbo frames; longer packets come from a host's offload.
const LONGEST_JUMBO: usize = 9_216;

/// EtherTypes (IEEE registration authority).
pub(crate) mod ethertype {
    pub(crate) const IPV4: u16 = 0x0800;
    pub(crate) const ARP: u16 = 0x0806;
    pub(crate) const BRIDGED: u16 = 0x6558;
    pub(crate) const VLAN: u16 = 0x8100;
    pub(crate) const IPV6: u16 = 0x86dd;
    pub(crate) const MPLS: u16 = 0x8847;
    pub(crate) const MPLS_MULTICAST: u16 = 0x8848;
    pub(crate) const PPPOE_SESSION: u16 = 0x8864;
    pub(crate) const SERVICE_VLAN: u16 = 0x88a8;
    pub(crate) const PPP: u16 = 0x880b;
    /// What was in use for outer tags before 0x88a8.
    pub(crate) const OLD_VLAN: u16 = 0x9100;
    /// Values up to here are lengths (IEEE 802.3-2022 §3.2.6).
    pub(crate) const LARGEST_LENGTH: u16 = 1_500;
    /// What [`super::Payload::Other`] says for LLC without SNAP.
    pub(crate) const LLC: u16 = 0;
}

/// A header on the way, for listings.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Layer<'a> {
    /// Tag control information.
    Vlan(u16),
    /// A label stack entry.
    Mpls(u32),
    /// A session.
    Pppoe(u16),
    /// DSAP, SSAP and control.
    Llc([u8; 3]),
    Ip(Ip<'a>),
    /// Type of what is inside.
    Gre(u16),
    /// Network identifier.
    Vxlan(u32),
    /// Destination and source of an Ethernet header within a tunnel.
    Bridged([u8; 12]),
}

/// Hears of every header on the way.
pub(crate) trait Listener<'a> {
    fn layer(&mut self, layer: Layer<'a>);
}

/// Hears nothing, at no cost.
impl Listener<'_> for () {
    #[inline]
    fn layer(&mut self, _: Layer<'_>) {}
}

impl<'a, F: FnMut(Layer<'a>)> Listener<'a> for F {
    fn layer(&mut self, layer: Layer<'a>) {
        self(layer);
    }
}

/// One way from a link's type field to a packet.
#[derive(Debug)]
pub(crate) struct Walk<L> {
    /// Octets of the frame sent but not captured.
    pub(crate) missing: usize,
    pub(crate) anomalies: Anomalies,
    depth: u8,
    listener: L,
}

impl<'a, L: Listener<'a>> Walk<L> {
    #[inline]
    pub(crate) fn new(missing: usize, listener: L) -> Self {
        Self { missing, anomalies: Anomalies::default(), depth: 0, listener }
    }

    #[inline]
    pub(crate) fn told(&mut self, layer: Layer<'a>) {
        self.listener.layer(layer);
    }

    /// Notes that `what` cannot be read: because it was cut, where it was.
    pub(crate) fn unreadable(&mut self, what: Anomaly) {
        self.anomalies.insert(if self.missing > 0 { Anomaly::CutHeader } else { what });
    }

    /// One layer further in, if that is allowed.
    pub(crate) fn deeper(&mut self) -> bool {
        let allowed = self.depth < MOST_LAYERS;
        if allowed {
            self.depth += 1;
        } else {
            self.anomalies.insert(Anomaly::TooManyLayers);
        }
        allowed
    }

    /// What follows a type or length field of this value.
    #[inline]
    pub(crate) fn typed(&mut self, kind: u16, bytes: &'a [u8]) -> Payload<'a> {
        match kind {
            ethertype::IPV4 | ethertype::IPV6 => self.ip(bytes),
            _ => self.other(kind, bytes),
        }
    }

    /// All types but IP itself.
    #[inline(never)]
    fn other(&mut self, mut kind: u16, mut bytes: &'a [u8]) -> Payload<'a> {
        loop {
            match kind {
                ethertype::IPV4 | ethertype::IPV6 => return self.ip(bytes),
                ethertype::VLAN | ethertype::SERVICE_VLAN | ethertype::OLD_VLAN => {
                    let (Some(tag), Some(inner)) = (be16(bytes, 0), be16(bytes, 2)) else {
                        self.unreadable(Anomaly::LinkHeader);
                        return Payload::None;
                    };
                    if !self.deeper() {
                        return Payload::Other(kind);
                    }
                    self.told(Layer::Vlan(tag));
                    (kind, bytes) = (inner, bytes.get(4..).unwrap_or_default());
                }
                ethertype::MPLS | ethertype::MPLS_MULTICAST => return self.mpls(kind, bytes),
                ethertype::PPPOE_SESSION => return self.pppoe(bytes),
                length if length <= ethertype::LARGEST_LENGTH => {
                    return self.llc(bytes.get(..usize::from(length)).unwrap_or(bytes));
                }
                _ => return Payload::Other(kind),
            }
        }
    }

    /// LLC and, behind it, SNAP.
    pub(crate) fn llc(&mut self, bytes: &'a [u8]) -> Payload<'a> {
        const SNAP_SAP: u8 = 0xaa;
        const UNNUMBERED_INFORMATION: u8 = 3;
        /// No organisation (RFC 1042) and bridges' (IEEE 802.1H).
        const ETHERNET: [[u8; 3]; 2] = [[0, 0, 0], [0, 0, 0xf8]];
        let Some(llc @ [dsap, ssap, control]) = octets(bytes, 0) else {
            self.unreadable(Anomaly::LinkHeader);
            return Payload::None;
        };
        self.told(Layer::Llc(llc));
        if [dsap & 0xfe, ssap & 0xfe, control] != [SNAP_SAP, SNAP_SAP, UNNUMBERED_INFORMATION] {
            return Payload::Other(ethertype::LLC);
        }
        let (Some(organisation), Some(kind)) = (octets(bytes, 3), be16(bytes, 6)) else {
            self.unreadable(Anomaly::LinkHeader);
            return Payload::None;
        };
        if !ETHERNET.contains(&organisation) || kind <= ethertype::LARGEST_LENGTH {
            return Payload::Other(ethertype::LLC);
        }
        self.typed(kind, bytes.get(8..).unwrap_or_default())
    }

    fn mpls(&mut self, kind: u16, mut bytes: &'a [u8]) -> Payload<'a> {
        const BOTTOM: u32 = 0x100;
        loop {
            let Some(entry) = be32(bytes, 0) else {
                self.unreadable(Anomaly::LinkHeader);
                return Payload::None;
            };
            if !self.deeper() {
                return Payload::Other(kind);
            }
            self.told(Layer::Mpls(entry));
            bytes = bytes.get(4..).unwrap_or_default();
            if entry & BOTTOM != 0 {
                break;
            }
        }
        // No field says what is inside; RFC 4928 keeps 4 and 6 for IP.
        match bytes.first().map(|first| first >> 4) {
            Some(4 | 6) => self.ip(bytes),
            _ => Payload::Other(kind),
        }
    }

    fn pppoe(&mut self, bytes: &'a [u8]) -> Payload<'a> {
        let (Some(session), Some(length)) = (be16(bytes, 2), be16(bytes, 4)) else {
            self.unreadable(Anomaly::LinkHeader);
            return Payload::None;
        };
        if !self.deeper() {
            return Payload::Other(ethertype::PPPOE_SESSION);
        }
        self.told(Layer::Pppoe(session));
        let rest = bytes.get(6..).unwrap_or_default();
        self.ppp(rest.get(..usize::from(length)).unwrap_or(rest))
            .unwrap_or(Payload::Other(ethertype::PPPOE_SESSION))
    }

    /// PPP without address and control, its protocol in one octet or two (RFC 1661 §6.5).
    pub(crate) fn ppp(&mut self, bytes: &'a [u8]) -> Option<Payload<'a>> {
        match *bytes {
            [0, 0x21 | 0x57, ref rest @ ..] | [0x21 | 0x57, ref rest @ ..] => Some(self.ip(rest)),
            _ => None,
        }
    }

    /// An IP packet and what is tunnelled in it.
    #[inline]
    pub(crate) fn ip(&mut self, bytes: &'a [u8]) -> Payload<'a> {
        let mut ip = match Ip::parse(bytes, self.missing, &mut self.anomalies) {
            Ok(ip) => ip,
            Err(error) => {
                let anomaly = error.anomaly();
                if anomaly == Anomaly::CutHeader {
                    self.unreadable(Anomaly::Ip)
                } else {
                    self.anomalies.insert(anomaly)
                }
                return Payload::None;
            }
        };
        ip.depth = self.depth;
        self.told(Layer::Ip(ip));
        if tunnel::may_carry(&ip) { tunnel::open(self, ip) } else { Payload::Ip(ip) }
    }

    /// Flags a packet too long for Ethernet; on other links its length says nothing.
    #[inline]
    pub(crate) fn check_mtu(&mut self, payload: &Payload<'a>) {
        if let Payload::Ip(ip) = payload
            && ip.total_len() > ETHERNET_MTU
        {
            let anomaly = if ip.total_len() > LONGEST_JUMBO { Anomaly::Offload } else { Anomaly::Jumbo };
            self.anomalies.insert(anomaly);
        }
    }
}
