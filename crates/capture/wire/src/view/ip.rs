//! IPv4 and IPv6 packets behind one type.
//!
//! Reference: RFC 791, RFC 8200. Lengths come from the header, never from what happens to follow the packet in its
//! frame; the transport protocol is the one after any extension headers. Leaves out reassembly of fragments, but
//! reads a packet put together again ([`Ip::reassembled`]).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::view::anomaly::{Anomalies, Anomaly};
use crate::view::bytes::{be16, be32, octets};
use crate::view::checksum::checksum;
use crate::view::ipv4::{Ipv4, Ipv4Error};
use crate::view::ipv6::{self, Ipv6Error};
use crate::view::tcp::{Tcp, TcpError};
use crate::view::udp::{Udp, UdpError};

/// Protocol number of TCP.
pub const PROTOCOL_TCP: u8 = 6;
/// Protocol number of UDP.
pub const PROTOCOL_UDP: u8 = 17;

/// Why bytes are no IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IpError {
    /// No IPv4 packet.
    #[error(transparent)]
    V4(#[from] Ipv4Error),
    /// No IPv6 packet.
    #[error(transparent)]
    V6(#[from] Ipv6Error),
}

impl IpError {
    /// Under what name it is counted.
    pub fn anomaly(self) -> Anomaly {
        match self {
            Self::V4(Ipv4Error::Cut { .. }) | Self::V6(Ipv6Error::Cut { .. }) => Anomaly::CutHeader,
            _ => Anomaly::Ip,
        }
    }
}

/// Where a fragment belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Number that all fragments of a packet share (with both addresses and, in IPv4, the protocol).
    pub id: u32,
    /// Where its payload stands in that of the whole packet, in octets.
    pub offset: u32,
    /// Whether more fragments follow.
    pub more: bool,
}

/// An IP packet, or a fragment of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip<'a> {
    /// From the header on, as far as captured, without what follows the packet.
    pub(crate) bytes: &'a [u8],
    /// Octets of headers, all of them within `bytes`.
    pub(crate) header: u32,
    pub(crate) total: u32,
    pub(crate) fragment: Option<Fragment>,
    pub(crate) protocol: u8,
    pub(crate) v6: bool,
    pub(crate) depth: u8,
}

impl<'a> Ip<'a> {
    /// The packet at the beginning of `bytes`; `missing` octets after them were sent but not captured. What is odd but
    /// readable goes to `anomalies`.
    ///
    /// # Errors
    /// [`IpError`]; the payload may be cut, the headers not.
    #[inline]
    pub fn parse(bytes: &'a [u8], missing: usize, anomalies: &mut Anomalies) -> Result<Self, IpError> {
        if bytes.first().is_some_and(|first| first >> 4 == 6) {
            return Ok(ipv6::parse(bytes, missing, anomalies)?);
        }
        let ip = Ipv4::parse_cut(bytes, missing)?;
        let have = bytes.len() + missing;
        if ip.total_len() > have {
            anomalies.insert(Anomaly::IpTooLong);
        }
        let offloaded = bytes.get(2..4) == Some(&[0, 0]);
        if offloaded {
            anomalies.insert(Anomaly::Offload);
        }
        let fragment =
            ip.fragment().map(|(offset, more)| Fragment { id: u32::from(ip.identification()), offset, more });
        let header = ip.header().len();
        Ok(Self {
            bytes: ip.bytes(),
            header: header as u32,
            total: ip.total_len() as u32,
            fragment,
            protocol: ip.protocol(),
            v6: false,
            depth: 0,
        })
    }

    /// A packet put together from fragments: `bytes` are the [`Self::header`] of the first one and then all of the
    /// payload. IPv6 extension headers within the payload are followed.
    ///
    /// # Errors
    /// [`IpError`] where the payload's own headers are cut.
    pub fn reassembled(first: &Ip<'_>, bytes: &'a [u8], anomalies: &mut Anomalies) -> Result<Self, IpError> {
        let total = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let header = first.header.min(total);
        let whole = Ip {
            bytes,
            header,
            total,
            fragment: None,
            protocol: first.protocol,
            v6: first.v6,
            depth: first.depth,
        };
        if whole.v6 { Ok(ipv6::follow(whole, anomalies)?) } else { Ok(whole) }
    }

    /// Sender.
    #[inline]
    pub fn source(&self) -> IpAddr {
        if self.v6 { self.v6_address(8) } else { self.v4_address(12) }
    }

    /// Receiver, as the header says (a routing header may know a later one).
    #[inline]
    pub fn destination(&self) -> IpAddr {
        if self.v6 { self.v6_address(24) } else { self.v4_address(16) }
    }

    #[inline]
    fn v4_address(&self, at: usize) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from_bits(be32(self.bytes, at).unwrap_or_default()))
    }

    #[inline]
    fn v6_address(&self, at: usize) -> IpAddr {
        IpAddr::V6(Ipv6Addr::from(octets::<16>(self.bytes, at).unwrap_or_default()))
    }

    /// Whether it is IPv6.
    #[inline]
    pub fn is_v6(&self) -> bool {
        self.v6
    }

    /// Number of the protocol after all extension headers; of a fragment, of what is fragmented.
    #[inline]
    pub fn protocol(&self) -> u8 {
        self.protocol
    }

    /// Identification (IPv4), or that of the fragment header (IPv6), or 0.
    #[inline]
    pub fn identification(&self) -> u32 {
        match self.fragment {
            Some(fragment) => fragment.id,
            None if self.v6 => 0,
            None => u32::from(be16(self.bytes, 4).unwrap_or_default()),
        }
    }

    /// Hops left.
    #[inline]
    pub fn ttl(&self) -> u8 {
        self.bytes.get(if self.v6 { 7 } else { 8 }).copied().unwrap_or_default()
    }

    /// Octets of the packet as sent, headers included.
    #[inline]
    pub fn total_len(&self) -> usize {
        self.total as usize
    }

    /// Octets of payload as sent, extension headers left out.
    #[inline]
    pub fn payload_len(&self) -> usize {
        (self.total - self.header) as usize
    }

    /// All headers before the payload.
    #[inline]
    pub fn header(&self) -> &'a [u8] {
        self.bytes.get(..self.header as usize).unwrap_or_default()
    }

    /// The payload as far as it was captured.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.bytes.get(self.header as usize..).unwrap_or_default()
    }

    /// The packet as far as it was captured.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Where it belongs; `None` for a whole packet.
    #[inline]
    pub fn fragment(&self) -> Option<Fragment> {
        self.fragment
    }

    /// Tags, labels and tunnels around it.
    #[inline]
    pub fn depth(&self) -> u8 {
        self.depth
    }

    /// What it carries; a later fragment carries [`Transport::Other`].
    ///
    /// # Errors
    /// [`TransportError`]
    #[inline]
    pub fn transport(&self) -> Result<Transport<'a>, TransportError> {
        if self.fragment.is_some_and(|f| f.offset > 0) {
            return Ok(Transport::Other);
        }
        match self.protocol {
            PROTOCOL_TCP => Ok(Transport::Tcp(Tcp::parse(self.payload(), self.payload_len())?)),
            // The first fragment of a datagram tells the length of the whole.
            PROTOCOL_UDP if self.fragment.is_some() => Ok(Transport::Other),
            PROTOCOL_UDP => Ok(Transport::Udp(Udp::parse(self.payload(), self.payload_len())?)),
            _ => Ok(Transport::Other),
        }
    }

    /// Whether the header's checksum is right; IPv6 has none.
    pub fn header_checksum_is_right(&self) -> Option<bool> {
        let words = usize::from(self.bytes.first()? & 15) * 4;
        let header = self.bytes.get(..words)?;
        (!self.v6).then(|| checksum(0, header) == 0)
    }

    /// Whether the checksum of the TCP segment or UDP datagram is right; `None` for fragments, cut packets and other
    /// protocols. Cards that compute checksums make outgoing ones wrong in captures of their own host.
    pub fn transport_checksum_is_right(&self) -> Option<bool> {
        if self.fragment.is_some() {
            return None;
        }
        match self.transport().ok()? {
            Transport::Tcp(tcp) => tcp.checksum_is_right(self.source(), self.destination()),
            Transport::Udp(udp) => udp.checksum_is_right(self.source(), self.destination()),
            Transport::Other => None,
        }
    }
}

/// What an IP packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport<'a> {
    /// A TCP segment.
    Tcp(Tcp<'a>),
    /// A UDP datagram.
    Udp(Udp<'a>),
    /// Another protocol, or a fragment without a transport header.
    Other,
}

/// Why a transport header cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// No TCP segment.
    #[error(transparent)]
    Tcp(#[from] TcpError),
    /// No UDP datagram.
    #[error(transparent)]
    Udp(#[from] UdpError),
}

impl TransportError {
    /// Under what name it is counted.
    pub fn anomaly(self) -> Anomaly {
        match self {
            Self::Tcp(TcpError::Cut { .. }) | Self::Udp(UdpError::Cut { .. }) => Anomaly::CutHeader,
            _ => Anomaly::Transport,
        }
    }
}
