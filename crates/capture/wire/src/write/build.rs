//! Builds IPv4 packets with a TCP segment inside, checksums and all.
//!
//! Reference: RFC 791 §3.1, RFC 9293 §3.1, RFC 7323 appendix A (options laid out in whole words, as Linux
//! does). Leaves out IP options, fragments and urgent data.

use std::net::Ipv4Addr;

use crate::Flags;
use crate::view::checksum::{checksum, pseudo_header};
use crate::view::ip::PROTOCOL_TCP;
use crate::write::ip::{IP_HEADER, IpHeader};

/// Most octets of TCP options.
const MOST_OPTIONS: usize = 40;
const TCP_HEADER: usize = 20;

/// The options of a segment; all absent by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpOptions<'a> {
    /// Largest payload the sender accepts (SYN only).
    pub mss: Option<u16>,
    /// Whether SACK is understood (SYN only).
    pub sack_permitted: bool,
    /// The sender's clock and the echo of the receiver's.
    pub timestamps: Option<(u32, u32)>,
    /// Scale of the sender's windows (SYN only).
    pub window_scale: Option<u8>,
    /// Blocks received out of order, newest first; those that do not fit are left out.
    pub sack: &'a [(u32, u32)],
}

impl TcpOptions<'_> {
    /// Octets they take, padding included: 12 for timestamps alone, 20 for a SYN that has all.
    pub fn bytes(&self) -> usize {
        let mss = if self.mss.is_some() { 4 } else { 0 };
        let scale = if self.window_scale.is_some() { 4 } else { 0 };
        let sack = match self.blocks() {
            0 => 0,
            n => 4 + 8 * n,
        };
        self.stamps() + mss + scale + sack
    }

    fn stamps(&self) -> usize {
        match (self.timestamps.is_some(), self.sack_permitted) {
            (true, _) => 12,
            (false, true) => 4,
            (false, false) => 0,
        }
    }

    /// How many SACK blocks fit.
    fn blocks(&self) -> usize {
        let taken = self.stamps()
            + 4 * usize::from(self.mss.is_some())
            + 4 * usize::from(self.window_scale.is_some());
        self.sack.len().min(MOST_OPTIONS.saturating_sub(taken + 4) / 8)
    }

    fn write(&self, out: &mut Vec<u8>) {
        const NOP: u8 = 1;
        if let Some(mss) = self.mss {
            out.extend_from_slice(&[2, 4]);
            out.extend_from_slice(&mss.to_be_bytes());
        }
        match (self.timestamps.is_some(), self.sack_permitted) {
            (true, true) => out.extend_from_slice(&[4, 2]),
            (true, false) => out.extend_from_slice(&[NOP, NOP]),
            (false, true) => out.extend_from_slice(&[NOP, NOP, 4, 2]),
            (false, false) => {}
        }
        if let Some((value, echo)) = self.timestamps {
            out.extend_from_slice(&[8, 10]);
            out.extend_from_slice(&value.to_be_bytes());
            out.extend_from_slice(&echo.to_be_bytes());
        }
        if let Some(scale) = self.window_scale {
            out.extend_from_slice(&[NOP, 3, 3, scale]);
        }
        let blocks = &self.sack[..self.blocks()];
        if !blocks.is_empty() {
            out.extend_from_slice(&[NOP, NOP, 5, 2 + 8 * blocks.len() as u8]);
            for (first, after) in blocks {
                out.extend_from_slice(&first.to_be_bytes());
                out.extend_from_slice(&after.to_be_bytes());
            }
        }
    }
}

/// An IPv4 packet with a TCP segment, but for its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpPacket<'a> {
    /// Sender.
    pub source: Ipv4Addr,
    /// Receiver.
    pub destination: Ipv4Addr,
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's port.
    pub destination_port: u16,
    /// Sequence number of the first octet, or of the SYN.
    pub seq: u32,
    /// The next octet expected.
    pub ack: u32,
    /// Control bits.
    pub flags: Flags,
    /// Window, not scaled.
    pub window: u16,
    /// Options.
    pub options: TcpOptions<'a>,
    /// IP identification.
    pub identification: u16,
    /// Hops left.
    pub ttl: u8,
}

impl TcpPacket<'_> {
    /// Makes `out` the whole packet.
    ///
    /// # Panics
    /// If it would be longer than the 65,535 bytes of an IPv4 packet.
    pub fn write(&self, payload: &[u8], out: &mut Vec<u8>) {
        let segment = TCP_HEADER + self.options.bytes() + payload.len();
        IpHeader {
            source: self.source,
            destination: self.destination,
            protocol: PROTOCOL_TCP,
            identification: self.identification,
            ttl: self.ttl,
        }
        .write(segment, out);

        out.extend_from_slice(&self.source_port.to_be_bytes());
        out.extend_from_slice(&self.destination_port.to_be_bytes());
        out.extend_from_slice(&self.seq.to_be_bytes());
        out.extend_from_slice(&self.ack.to_be_bytes());
        let words = (TCP_HEADER + self.options.bytes()) / 4;
        out.extend_from_slice(&[(words << 4) as u8, self.flags.0]);
        out.extend_from_slice(&self.window.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        self.options.write(out);
        out.extend_from_slice(payload);
        let check =
            checksum(pseudo_header(self.source, self.destination, PROTOCOL_TCP, segment), &out[IP_HEADER..]);
        out[IP_HEADER + 16..IP_HEADER + 18].copy_from_slice(&check.to_be_bytes());
    }
}
