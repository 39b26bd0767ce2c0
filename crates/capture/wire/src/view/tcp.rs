//! Views of TCP headers and options, where they lie.
//!
//! Reference: RFC 9293 §3.1. A cut segment keeps its length, which the IP header tells. Leaves out any meaning of the
//! numbers.

use std::net::IpAddr;

use crate::view::checksum::{checksum, pseudo_header};
use crate::view::ip::PROTOCOL_TCP;
use crate::view::ipv4::{u16_at, u32_at};
use crate::view::tcp_option::Options;

const SHORTEST_HEADER: usize = 20;

/// The control bits of a segment.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Hand the data to the application now.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement number is valid.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer is valid.
    pub const URG: Self = Self(0x20);

    /// Whether every bit of `other` is set.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits of both.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl std::fmt::Debug for Flags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
        let set: Vec<&str> = (0..8).filter(|bit| self.0 >> bit & 1 == 1).map(|bit| names[bit]).collect();
        f.write_str(&set.join("+"))
    }
}

/// Why bytes are no TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TcpError {
    /// The capture ends within the first 20 bytes of the header.
    #[error("TCP header needs 20 bytes, {have} were captured")]
    Cut {
        /// Bytes captured.
        have: usize,
    },
    /// The header claims to be shorter than the shortest or longer than the segment.
    #[error("TCP header length of {header} bytes in a segment of {length}")]
    HeaderLength {
        /// Length claimed for the header.
        header: usize,
        /// Length of the segment as sent.
        length: usize,
    },
}

/// A TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp<'a> {
    /// What every header has.
    head: &'a [u8; SHORTEST_HEADER],
    bytes: &'a [u8],
    header: usize,
    length: usize,
}

impl<'a> Tcp<'a> {
    /// The segment in the payload of an IP packet: `bytes` as far as captured, of `length` octets sent. Check the
    /// protocol number, and that the packet is no later fragment, first.
    ///
    /// # Errors
    /// [`TcpError`]; options and payload may be cut.
    #[inline]
    pub fn parse(bytes: &'a [u8], length: usize) -> Result<Self, TcpError> {
        let Some(head) = bytes.first_chunk() else {
            return Err(TcpError::Cut { have: bytes.len() });
        };
        let header = usize::from(head[12] >> 4) * 4;
        if header < SHORTEST_HEADER || header > length {
            return Err(TcpError::HeaderLength { header, length });
        }
        Ok(Self { head, bytes, header, length })
    }

    /// Sender's port.
    #[inline]
    pub fn source_port(&self) -> u16 {
        u16_at(self.head, 0)
    }

    /// Receiver's port.
    #[inline]
    pub fn destination_port(&self) -> u16 {
        u16_at(self.head, 2)
    }

    /// Sequence number of the first octet, or of the SYN.
    #[inline]
    pub fn seq(&self) -> u32 {
        u32_at(self.head, 4)
    }

    /// The next octet expected; valid with [`Flags::ACK`].
    #[inline]
    pub fn ack(&self) -> u32 {
        u32_at(self.head, 8)
    }

    /// Control bits.
    #[inline]
    pub fn flags(&self) -> Flags {
        Flags(self.head[13])
    }

    /// Where urgent data ends, from the sequence number; valid with [`Flags::URG`].
    #[inline]
    pub fn urgent(&self) -> u16 {
        u16_at(self.head, 18)
    }

    /// Its checksum, right or wrong.
    #[inline]
    pub fn checksum(&self) -> u16 {
        u16_at(self.head, 16)
    }

    /// Window, not scaled.
    #[inline]
    pub fn window(&self) -> u16 {
        u16_at(self.head, 14)
    }

    /// Octets of payload as sent.
    #[inline]
    pub fn payload_len(&self) -> usize {
        self.length - self.header
    }

    /// The payload as far as it was captured.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.bytes.get(self.header..).unwrap_or_default()
    }

    /// The header as far as it was captured.
    #[inline]
    pub fn header(&self) -> &'a [u8] {
        self.bytes.get(..self.header).unwrap_or(self.bytes)
    }

    /// Whether all of the header was captured.
    #[inline]
    pub(crate) fn is_header_whole(&self) -> bool {
        self.bytes.len() >= self.header
    }

    /// Octets of the segment as sent, header included.
    #[inline]
    pub fn total_len(&self) -> usize {
        self.length
    }

    /// The options, as far as they were captured and well-formed.
    pub fn options(&self) -> Options<'a> {
        Options::new(self.option_bytes())
    }

    /// The octets of the options as far as they were captured.
    #[inline]
    pub fn option_bytes(&self) -> &'a [u8] {
        self.bytes.get(SHORTEST_HEADER..self.header.min(self.bytes.len())).unwrap_or_default()
    }

    /// Whether the checksum is right; `None` when the segment was cut and nobody can tell.
    pub fn checksum_is_right(
        &self,
        source: impl Into<IpAddr>,
        destination: impl Into<IpAddr>,
    ) -> Option<bool> {
        let whole = self.bytes.len() == self.length;
        let pseudo = || pseudo_header(source, destination, PROTOCOL_TCP, self.length);
        whole.then(|| checksum(pseudo(), self.bytes) == 0)
    }
}
