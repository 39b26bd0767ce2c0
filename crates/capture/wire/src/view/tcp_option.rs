//! Options of TCP headers.
//!
//! Reference: RFC 9293 §3.2 (MSS), RFC 7323 (window scale, timestamps), RFC 2018 (SACK), RFC 7413 and RFC 6994 (fast
//! open), RFC 8684 (MPTCP), RFC 2385 and RFC 5925 (authentication), RFC 5482 (user timeout). Leaves out what an
//! extension's own fields mean.

use crate::view::bytes::{be16, be32};

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
    /// Fast open: the cookie, or nothing to ask for one.
    FastOpen(&'a [u8]),
    /// Signature of the segment (MD5).
    Md5(&'a [u8]),
    /// Authentication of the segment: key identifiers and code.
    Authentication(&'a [u8]),
    /// How long the sender keeps trying to send data.
    UserTimeout {
        /// How long.
        value: u16,
        /// Whether in minutes, else in seconds.
        minutes: bool,
    },
    /// Anything else, multipath TCP (kind 30) included.
    Other {
        /// Option kind.
        kind: u8,
        /// What follows kind and length.
        data: &'a [u8],
    },
}

/// The blocks of a [`TcpOption::Sack`]: first octet and the one after the last.
pub fn sack_blocks(data: &[u8]) -> impl Iterator<Item = (u32, u32)> {
    data.chunks_exact(8).filter_map(|block| Some((be32(block, 0)?, be32(block, 4)?)))
}

/// Iterator over options; ends at the first that is malformed.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    rest: &'a [u8],
}

impl<'a> Options<'a> {
    /// The options in the octets between the fixed part of a header and the payload.
    pub const fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = TcpOption<'a>;

    #[inline]
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
        Some(read(kind, option.get(2..)?))
    }
}

#[inline]
fn read(kind: u8, data: &[u8]) -> TcpOption<'_> {
    /// Experiment of fast open within the shared kinds 253 and 254.
    const FAST_OPEN_EXPERIMENT: [u8; 2] = [0xf9, 0x89];
    match (kind, data) {
        (8, &[a, b, c, d, e, f, g, h]) => TcpOption::Timestamps {
            value: u32::from_be_bytes([a, b, c, d]),
            echo: u32::from_be_bytes([e, f, g, h]),
        },
        (2, &[a, b]) => TcpOption::Mss(u16::from_be_bytes([a, b])),
        (3, &[scale]) => TcpOption::WindowScale(scale),
        (4, []) => TcpOption::SackPermitted,
        (5, blocks) if blocks.len() % 8 == 0 => TcpOption::Sack(blocks),
        (19, digest) if digest.len() == 16 => TcpOption::Md5(digest),
        (28, [_, _]) => {
            let word = be16(data, 0).unwrap_or_default();
            TcpOption::UserTimeout { value: word & 0x7fff, minutes: word & 0x8000 != 0 }
        }
        (29, data) if data.len() >= 2 => TcpOption::Authentication(data),
        (34, cookie) => TcpOption::FastOpen(cookie),
        (253 | 254, [a, b, cookie @ ..]) if [*a, *b] == FAST_OPEN_EXPERIMENT => TcpOption::FastOpen(cookie),
        _ => TcpOption::Other { kind, data },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read() {
        let mut bytes = vec![2, 4, 5, 0xb4, 1, 3, 3, 7, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        bytes.extend([5, 10, 0, 0, 0, 10, 0, 0, 0, 20, 34, 4, 0xab, 0xcd, 30, 4, 0x21, 0, 28, 4, 0x80, 5]);
        bytes.extend([254, 6, 0xf9, 0x89, 1, 2, 29, 4, 9, 8, 77, 3, 1]);
        bytes.extend([19, 18]);
        bytes.extend([7; 16]);
        bytes.extend([0, 2, 4]);
        let read: Vec<_> = Options::new(&bytes).collect();
        let sack = [0, 0, 0, 10, 0, 0, 0, 20];
        assert_eq!(
            read,
            [
                TcpOption::Mss(1460),
                TcpOption::WindowScale(7),
                TcpOption::SackPermitted,
                TcpOption::Timestamps { value: 1, echo: 2 },
                TcpOption::Sack(&sack),
                TcpOption::FastOpen(&[0xab, 0xcd]),
                TcpOption::Other { kind: 30, data: &[0x21, 0] },
                TcpOption::UserTimeout { value: 5, minutes: true },
                TcpOption::FastOpen(&[1, 2]),
                TcpOption::Authentication(&[9, 8]),
                TcpOption::Other { kind: 77, data: &[1] },
                TcpOption::Md5(&[7; 16]),
            ]
        );
        assert_eq!(sack_blocks(&sack).collect::<Vec<_>>(), [(10, 20)]);
    }

    #[test]
    fn options_of_a_wrong_length_are_others() {
        for bytes in [[2, 3, 9], [3, 2, 9], [4, 3, 9], [5, 3, 9], [8, 3, 9], [28, 3, 9]] {
            let read: Vec<_> = Options::new(&bytes).collect();
            assert!(matches!(read.first(), Some(TcpOption::Other { .. })), "{bytes:?}");
        }
    }
}
