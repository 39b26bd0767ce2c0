//! Views of TCP headers and options, where they lie.
//!
//! Reference: RFC 9293 §3.1, options of RFC 7323 (window scale, timestamps) and RFC 2018 (SACK). A cut
//! segment keeps its length, which the IP header tells. Leaves out any meaning of the numbers.

use std::net::Ipv4Addr;

use crate::ip::{Ipv4, checksum, pseudo_header, u16_at, u32_at};

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
    bytes: &'a [u8],
    header: usize,
    length: usize,
}

impl<'a> Tcp<'a> {
    /// The segment that `packet` carries; check the protocol number and
    /// [`Ipv4::is_later_fragment`] first.
    ///
    /// # Errors
    /// [`TcpError`]; options and payload may be cut.
    pub fn parse(packet: &Ipv4<'a>) -> Result<Self, TcpError> {
        let (bytes, length) = (packet.payload(), packet.payload_len());
        if bytes.len() < SHORTEST_HEADER {
            return Err(TcpError::Cut { have: bytes.len() });
        }
        let header = usize::from(bytes[12] >> 4) * 4;
        if header < SHORTEST_HEADER || header > length {
            return Err(TcpError::HeaderLength { header, length });
        }
        Ok(Self { bytes, header, length })
    }

    /// Sender's port.
    pub fn source_port(&self) -> u16 {
        u16_at(self.bytes, 0)
    }

    /// Receiver's port.
    pub fn destination_port(&self) -> u16 {
        u16_at(self.bytes, 2)
    }

    /// Sequence number of the first octet, or of the SYN.
    pub fn seq(&self) -> u32 {
        u32_at(self.bytes, 4)
    }

    /// The next octet expected; valid with [`Flags::ACK`].
    pub fn ack(&self) -> u32 {
        u32_at(self.bytes, 8)
    }

    /// Control bits.
    pub fn flags(&self) -> Flags {
        Flags(self.bytes[13])
    }

    /// Window, not scaled.
    pub fn window(&self) -> u16 {
        u16_at(self.bytes, 14)
    }

    /// Octets of payload as sent.
    pub fn payload_len(&self) -> usize {
        self.length - self.header
    }

    /// The payload as far as it was captured.
    pub fn payload(&self) -> &'a [u8] {
        self.bytes.get(self.header..).unwrap_or_default()
    }

    /// The options, as far as they were captured and well-formed.
    pub fn options(&self) -> Options<'a> {
        Options { rest: &self.bytes[SHORTEST_HEADER..self.header.min(self.bytes.len())] }
    }

    /// Whether the checksum is right; `None` when the segment was cut and nobody can tell.
    pub fn checksum_is_right(&self, source: Ipv4Addr, destination: Ipv4Addr) -> Option<bool> {
        let whole = self.bytes.len() == self.length;
        whole.then(|| checksum(pseudo_header(source, destination, self.length), self.bytes) == 0)
    }
}

/// An option of a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpOption<'a> {
    /// Largest payload the sender accepts.
    Mss(u16),
    /// The sender's windows count units of 2 to this power.
    WindowScale(u8),
    /// The sender understands SACK.
    SackPermitted,
    /// Blocks received out of order: pairs of 32-bit numbers, first octet and the one after the last.
    Sack(&'a [u8]),
    /// The sender's clock and the echo of the receiver's.
    Timestamps {
        /// The sender's clock.
        value: u32,
        /// What the receiver's clock last said.
        echo: u32,
    },
    /// Anything else.
    Other {
        /// Option kind.
        kind: u8,
        /// What follows kind and length.
        data: &'a [u8],
    },
}

/// Iterator over options; ends at the first that is malformed.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Options<'a> {
    type Item = TcpOption<'a>;

    fn next(&mut self) -> Option<TcpOption<'a>> {
        // No-operation.
        while let [1, rest @ ..] = self.rest {
            self.rest = rest;
        }
        let [kind, length, ..] = *self.rest else { return None };
        // End of options; and a length that does not cover itself could loop for ever.
        if kind == 0 || length < 2 {
            return None;
        }
        let (option, rest) = self.rest.split_at_checked(usize::from(length))?;
        self.rest = rest;
        let data = &option[2..];
        Some(match (kind, data.len()) {
            (2, 2) => TcpOption::Mss(u16_at(data, 0)),
            (3, 1) => TcpOption::WindowScale(data[0]),
            (4, 0) => TcpOption::SackPermitted,
            (5, n) if n % 8 == 0 => TcpOption::Sack(data),
            (8, 8) => TcpOption::Timestamps { value: u32_at(data, 0), echo: u32_at(data, 4) },
            _ => TcpOption::Other { kind, data },
        })
    }
}
