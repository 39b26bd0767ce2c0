//! The Internet checksum.
//!
//! Reference: RFC 1071; pseudo headers of RFC 9293 §3.1 and RFC 8200 §8.1. Leaves out when a wrong one matters:
//! cards that compute it themselves make outgoing ones wrong (checksum offload).

use std::net::IpAddr;

/// The checksum of `bytes`, continued from an unfolded `sum`; odd lengths are padded.
pub fn checksum(sum: u32, bytes: &[u8]) -> u16 {
    !fold(add(sum, bytes))
}

/// Adds 16-bit words to an unfolded sum; only the last part of a sum may have an odd length.
pub(crate) fn add(sum: u32, bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(2);
    let odd = words.remainder().first().map_or(0, |last| u64::from(*last) << 8);
    let total = words.fold(u64::from(sum) + odd, |sum, w| sum + u64::from(u16::from_be_bytes([w[0], w[1]])));
    // Folding early keeps every sum small and changes nothing (RFC 1071 §2).
    ((total & 0xffff) + ((total >> 16) & 0xffff) + (total >> 32)) as u32
}

fn fold(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

/// Sum of the pseudo header before a TCP segment or UDP datagram of `length` octets.
pub(crate) fn pseudo_header(
    source: impl Into<IpAddr>,
    destination: impl Into<IpAddr>,
    protocol: u8,
    length: usize,
) -> u32 {
    let address = |sum, address| match address {
        IpAddr::V4(a) => add(sum, &a.octets()),
        IpAddr::V6(a) => add(sum, &a.octets()),
    };
    let sum = address(address(0, source.into()), destination.into());
    sum + u32::from(protocol) + (length as u32 & 0xffff) + (length as u32 >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071_sums_up() {
        // RFC 1071 §3: 0001 f203 f4f5 f6f7 sum to ddf2 after folding.
        assert_eq!(checksum(0, &[0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(checksum(0, &[0xff; 65_535]), checksum(0, &[0xff, 0x00]));
    }
}
