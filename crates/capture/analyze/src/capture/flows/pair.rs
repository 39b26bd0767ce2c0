//! The two ends of a connection, and how pairs are spread and looked up.
//!
//! Two hashes: a fixed one chooses the shard, so that results do not depend on chance; a secret one finds
//! the connection in its shard, so that nobody can make a capture whose connections all collide.

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr};

use airperf_wire::checksum;

/// How many shards connections are spread over, whatever the number of threads.
pub(crate) const SHARDS: usize = 8;

/// Address and port.
pub(crate) type Endpoint = (IpAddr, u16);

/// Bits of an address; those of IPv4 are the lowest.
type Bits = [u64; 2];

#[inline]
fn bits(address: IpAddr) -> Bits {
    match address {
        IpAddr::V4(v4) => [0, u64::from(v4.to_bits())],
        IpAddr::V6(v6) => [(v6.to_bits() >> 64) as u64, v6.to_bits() as u64],
    }
}

/// Two endpoints of one kind, the lower first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    low: Bits,
    high: Bits,
    low_port: u16,
    high_port: u16,
    is_v6: bool,
}

impl Pair {
    /// The pair that a packet goes between, and whether its sender is the lower end.
    #[inline]
    pub(crate) fn of(from: Endpoint, to: Endpoint) -> (Self, bool) {
        if let (IpAddr::V4(source), IpAddr::V4(destination)) = (from.0, to.0) {
            return Self::of_v4((source, from.1), (destination, to.1));
        }
        let is_v6 = from.0.is_ipv6();
        let (from, to) = ((bits(from.0), from.1), (bits(to.0), to.1));
        let from_low = from <= to;
        let ((low, low_port), (high, high_port)) = if from_low { (from, to) } else { (to, from) };
        (Self { low, high, low_port, high_port, is_v6 }, from_low)
    }

    /// As [`Self::of`], for what nearly all are.
    #[inline]
    pub(crate) fn of_v4(from: (Ipv4Addr, u16), to: (Ipv4Addr, u16)) -> (Self, bool) {
        let word = |end: (Ipv4Addr, u16)| u64::from(end.0.to_bits()) << 16 | u64::from(end.1);
        let (from, to) = (word(from), word(to));
        let (low, high) = (from.min(to), from.max(to));
        let pair = Self {
            low: [0, low >> 16],
            high: [0, high >> 16],
            low_port: low as u16,
            high_port: high as u16,
            is_v6: false,
        };
        (pair, from <= to)
    }

    /// Ones' complement sum of both ends, as in the checksum of a segment between them.
    pub(crate) fn sum(&self) -> u16 {
        // The zeros before an IPv4 address add nothing.
        let octets = |half: u64| !checksum(0, &half.to_be_bytes());
        let address = |bits: Bits| add(octets(bits[0]), octets(bits[1]));
        let addresses = add(address(self.low), address(self.high));
        add(addresses, add(self.low_port, self.high_port))
    }

    /// The lower end, or the other one.
    pub(crate) fn end(&self, low: bool) -> Endpoint {
        let (bits, port) = if low { (self.low, self.low_port) } else { (self.high, self.high_port) };
        let address = if self.is_v6 {
            IpAddr::from((u128::from(bits[0]) << 64 | u128::from(bits[1])).to_be_bytes())
        } else {
            IpAddr::from((bits[1] as u32).to_be_bytes())
        };
        (address, port)
    }

    #[inline]
    fn hash(&self, seed: [u64; 2]) -> u64 {
        let ports = u64::from(self.low_port) << 16 | u64::from(self.high_port);
        let halves = |bits: Bits| fold(bits[0] ^ seed[1], bits[1] ^ seed[0]);
        let (low, high) =
            if self.is_v6 { (halves(self.low), halves(self.high)) } else { (self.low[1], self.high[1]) };
        fold(fold(low ^ seed[0], high ^ seed[1]) ^ ports, seed[0] | 1)
    }

    /// Which shard the pair's connections belong to.
    #[inline]
    pub(crate) fn shard(&self) -> usize {
        // The first digits of π and of e.
        (self.hash([0x243f_6a88_85a3_08d3, 0xb7e1_5162_8aed_2a6b]) >> 32) as usize % SHARDS
    }
}

/// Ones' complement addition (RFC 1071).
#[inline]
pub(crate) fn add(a: u16, b: u16) -> u16 {
    let sum = u32::from(a) + u32::from(b);
    (sum & 0xffff) as u16 + (sum >> 16) as u16
}

/// A product of which both halves count.
#[inline]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The secret of one analysis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Secret([u64; 2]);

impl Secret {
    pub(crate) fn new() -> Self {
        let random = RandomState::new();
        Self([random.hash_one(0), random.hash_one(1)])
    }

    /// Hash of a pair within its shard.
    #[inline]
    pub(crate) fn hash(&self, pair: &Pair) -> u64 {
        pair.hash(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(i: u16) -> (Endpoint, Endpoint) {
        let client = IpAddr::from([10, 0, (i >> 8) as u8, i as u8]);
        ((client, 40_000 + i), (IpAddr::from([10, 77, 0, 1]), 80))
    }

    #[test]
    fn both_directions_are_one_pair_in_one_shard() {
        let secret = Secret::new();
        let mut shards = [0; SHARDS];
        for i in 0..4_000 {
            let (client, server) = ends(i);
            let (up, down) = (Pair::of(client, server), Pair::of(server, client));
            assert_eq!((up.0, up.1), (down.0, !down.1));
            assert_eq!((up.0.end(up.1), up.0.end(!up.1)), (client, server));
            assert_eq!(secret.hash(&up.0), secret.hash(&down.0));
            shards[up.0.shard()] += 1;
        }
        assert!(shards.iter().all(|n| (400..600).contains(n)), "{shards:?}");
    }
}
