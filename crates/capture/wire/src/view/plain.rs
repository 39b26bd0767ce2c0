//! The frame that most captures are full of, read in one step: a whole TCP segment in an IPv4 packet without options, in
//! an untagged Ethernet frame or bare.
//!
//! What it tells is what [`Decoder::decode`](crate::Decoder::decode) would; where that would have anything else to say,
//! there is none. Leaves out everything else.

use std::net::Ipv4Addr;

use crate::container::Record;
use crate::view::bytes::octets;
use crate::view::ip::PROTOCOL_TCP;
use crate::view::ipv4::{u16_at, u32_at};
use crate::view::layers::{ETHERNET_MTU, ethertype};
use crate::{LinkType, Mac, Tcp};

const ETHERNET_HEADER: usize = 14;
const IPV4_HEADER: usize = 20;
/// Version 4, five words.
const NO_OPTIONS: u8 = 0x45;
/// More fragments, and the offset.
const FRAGMENT: u16 = 0x3fff;

/// A frame with a segment and nothing odd about it.
#[derive(Clone, Copy, Debug)]
pub struct PlainTcp<'a> {
    /// Transmitter and receiver, unless the packet is bare.
    pub link: Option<(Mac, Mac)>,
    /// Sender.
    pub source: Ipv4Addr,
    /// Receiver.
    pub destination: Ipv4Addr,
    /// Identification of the packet.
    pub identification: u16,
    /// Octets of the packet as sent.
    pub total_len: u32,
    /// Where the segment begins in the record.
    pub at: usize,
    /// The segment; all of its header was captured.
    pub tcp: Tcp<'a>,
}

impl<'a> PlainTcp<'a> {
    /// Reads the captured `bytes` of `record`; `None` where it takes the decoder to read them.
    #[inline]
    pub fn read(record: &Record, bytes: &'a [u8]) -> Option<Self> {
        let (at, longest) = match record.link {
            LinkType::ETHERNET => (ETHERNET_HEADER, ETHERNET_MTU),
            LinkType::RAW | LinkType::IPV4 => (0, usize::from(u16::MAX)),
            _ => return None,
        };
        if at > 0 && u16_at(bytes.first_chunk::<ETHERNET_HEADER>()?, 12) != ethertype::IPV4 {
            return None;
        }
        let ip = bytes.get(at..)?;
        let head: &[u8; IPV4_HEADER] = ip.first_chunk()?;
        let total = usize::from(u16_at(head, 2));
        let sent = ip.len() + record.original.saturating_sub(record.captured) as usize;
        let is_plain = head[0] == NO_OPTIONS
            && head[9] == PROTOCOL_TCP
            && u16_at(head, 6) & FRAGMENT == 0
            && total <= sent.min(longest)
            && record.fcs_octets.unwrap_or(0) == 0;
        if !is_plain {
            return None;
        }
        let payload = ip.get(IPV4_HEADER..total.min(ip.len()))?;
        let tcp = Tcp::parse(payload, total - IPV4_HEADER).ok()?;
        let link =
            (at > 0).then(|| (octets(bytes, 6).unwrap_or_default(), octets(bytes, 0).unwrap_or_default()));
        tcp.is_header_whole().then_some(Self {
            link,
            source: Ipv4Addr::from_bits(u32_at(head, 12)),
            destination: Ipv4Addr::from_bits(u32_at(head, 16)),
            identification: u16_at(head, 4),
            total_len: total as u32,
            at: at + IPV4_HEADER,
            tcp,
        })
    }
}
