//! The two ends of a connection, and how pairs are spread and looked up.
//!
//! Two hashes: a fixed one chooses the shard, so that results do not depend on chance; a secret one finds
//! the connection in its shard, so that nobody can make a capture whose connections all collide.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;

use airperf_wire::checksum;

/// How many shards connections are spread over, whatever the number of threads.
pub(crate) const SHARDS: usize = 8;

/// Address and port.
pub(crate) type Endpoint = (IpAddr, u16);

/// Two endpoints, the lower first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    low: IpAddr,
    high: IpAddr,
    low_port: u16,
    high_port: u16,
}

impl Pair {
    /// The pair that a packet goes between, and whether its sender is the lower end.
    #[inline]
    pub(crate) fn of(from: Endpoint, to: Endpoint) -> (Self, bool) {
        let from_low = match (from.0, to.0) {
            // What nearly all are is compared at once.
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                let number = |address: u32, port: u16| u64::from(address) << 16 | u64::from(port);
                number(a.to_bits(), from.1) <= number(b.to_bits(), to.1)
            }
            _ => from <= to,
        };
        let ((low, low_port), (high, high_port)) = if from_low { (from, to) } else { (to, from) };
        (Self { low, high, low_port, high_port }, from_low)
    }

    /// Ones' complement sum of both ends, as in the checksum of a segment between them.
    pub(crate) fn sum(&self) -> u16 {
        let address = |address: IpAddr| match address {
            IpAddr::V4(v4) => !checksum(0, &v4.octets()),
            IpAddr::V6(v6) => !checksum(0, &v6.octets()),
        };
        let addresses = add(address(self.low), address(self.high));
        add(addresses, add(self.low_port, self.high_port))
    }

    /// The lower end, or the other one.
    pub(crate) fn end(&self, low: bool) -> Endpoint {
        if low { (self.low, self.low_port) } else { (self.high, self.high_port) }
    }

    #[inline]
    fn hash(&self, seed: [u64; 2]) -> u64 {
        let ports = u64::from(self.low_port) << 16 | u64::from(self.high_port);
        let (low, high) = match (self.low, self.high) {
            (IpAddr::V4(low), IpAddr::V4(high)) => (u64::from(low.to_bits()), u64::from(high.to_bits())),
            (low, high) => (halves(low, seed), halves(high, seed)),
        };
        fold(fold(low ^ seed[0], high ^ seed[1]) ^ ports, seed[0] | 1)
    }

    /// Which shard the pair's connections belong to.
    #[inline]
    pub(crate) fn shard(&self) -> usize {
        // The first digits of π and of e.
        (self.hash([0x243f_6a88_85a3_08d3, 0xb7e1_5162_8aed_2a6b]) >> 32) as usize % SHARDS
    }
}

fn halves(address: IpAddr, seed: [u64; 2]) -> u64 {
    let bits = match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    };
    fold((bits >> 64) as u64 ^ seed[1], bits as u64 ^ seed[0])
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
