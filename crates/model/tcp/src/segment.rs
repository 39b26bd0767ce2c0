//! A TCP segment as the model sees it: numbers, no octets.
//!
//! Sequence numbers count from the initial one (SYN is 0, the first octet of data 1), so they never wrap
//! within [`MAX_STREAM_BYTES`]; whoever writes real headers adds the initial sequence number.
//! Reference: RFC 9293 §3.1, RFC 7323 (timestamps), RFC 2018 (SACK blocks).

use crate::config::{Config, TIMESTAMP_OPTION_BYTES};

/// Most octets one direction of a connection can carry.
pub const MAX_STREAM_BYTES: u64 = u32::MAX as u64 - 2;

/// Most out-of-order ranges a segment reports: what fits beside no other option (RFC 2018 §3).
pub(crate) const SACK_BLOCKS: usize = 4;

/// Octets of an IPv4 header without options.
pub const IP_HEADER_BYTES: u32 = 20;
/// Octets of a TCP header without options (RFC 9293 §3.1).
const TCP_HEADER_BYTES: u8 = 20;
/// MSS and window scale with its padding, the options of a SYN beside SACK permitted and timestamps.
const SYN_OPTION_BYTES: u8 = 8;

/// Control bits; the lower ones as in RFC 9293 §3.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// The acknowledgement number is valid.
    pub const ACK: Self = Self(0x10);
    /// Not on the wire: these octets (or this SYN or FIN) were sent before.
    pub const AGAIN: Self = Self(0x80);

    /// Whether every bit of `other` is set.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets of bits.
    #[inline]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// `self`, and `other` too where `when` holds.
    #[inline]
    pub const fn with_if(self, other: Self, when: bool) -> Self {
        if when { self.with(other) } else { self }
    }

    /// The bits that stand in the header.
    pub const fn on_wire(self) -> u8 {
        self.0 & 0x3f
    }
}

/// A TCP segment without its octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first octet, counted from the initial one.
    pub seq: u32,
    /// Acknowledgement number, counted from the peer's initial one.
    pub ack: u32,
    /// Receive window in octets, scale applied.
    pub window: u32,
    /// Timestamp value, in ticks of the sender's timestamp clock.
    pub ts_val: u32,
    /// Timestamp echo.
    pub ts_ecr: u32,
    /// Out-of-order ranges it reports, for a sender that recovers by them; the others are (0, 0).
    pub sack: [(u32, u32); SACK_BLOCKS],
    /// Octets of payload.
    pub len: u16,
    /// Octets of TCP header with options.
    pub header: u8,
    /// Control bits.
    pub flags: Flags,
}

impl Segment {
    /// Length of the IPv4 packet that carries this segment.
    #[inline]
    pub const fn ip_bytes(&self) -> u32 {
        IP_HEADER_BYTES + self.header as u32 + self.len as u32
    }

    /// Sequence number after this segment; SYN and FIN count as one octet each.
    #[inline]
    pub const fn end(&self) -> u32 {
        self.seq + self.len as u32 + self.flags.has(Flags::SYN) as u32 + self.flags.has(Flags::FIN) as u32
    }

    /// How many out-of-order ranges its SACK option has room for.
    pub fn sack_blocks(&self, config: &Config) -> u8 {
        let plain = header_bytes(config, false, 0);
        if self.flags.has(Flags::SYN) || self.header <= plain { 0 } else { (self.header - plain - 4) / 8 }
    }
}

/// Octets of header for a segment with or without SYN, reporting `sack_blocks` ranges (RFC 2018 §3).
#[inline]
pub(crate) fn header_bytes(config: &Config, syn: bool, sack_blocks: u8) -> u8 {
    let timestamps = if config.timestamps { TIMESTAMP_OPTION_BYTES as u8 } else { 0 };
    if syn {
        // SACK permitted fits into the padding of the timestamps (RFC 7323 appendix A).
        let sack_permitted = if config.sack && !config.timestamps { 4 } else { 0 };
        return TCP_HEADER_BYTES + SYN_OPTION_BYTES + timestamps + sack_permitted;
    }
    let sack = if sack_blocks == 0 { 0 } else { 4 + 8 * sack_blocks.min(sack_room(config) as u8) };
    TCP_HEADER_BYTES + timestamps + sack
}

/// How many ranges fit into the options of a segment (RFC 2018 §3).
pub(crate) const fn sack_room(config: &Config) -> usize {
    if config.timestamps { 3 } else { SACK_BLOCKS }
}

/// Octets of a reset's header: no options.
pub(crate) const RST_HEADER_BYTES: u8 = TCP_HEADER_BYTES;
