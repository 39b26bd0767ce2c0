//! Maps addresses one-to-one: two IP addresses that share their first n bits, and no more, still do.
//!
//! Model: Fan, Xu, Ammar and Moon, "Prefix-preserving IP address anonymization" (Computer Networks 46, 2004),
//! known as Crypto-PAn: whether a bit is flipped is a bit of AES over the bits before it. Ranges with a meaning
//! of their own (multicast, loopback …) map to themselves, for which the bits on the way to them are not flipped:
//! of an address, as many leading bits are told as it shares with one of [`V4`] or [`V6`], and one more.
//! MAC addresses go through a Feistel network of AES; the bits that say "group" and "locally administered" stay.
//!
//! Leaves out hiding how often an address occurs, and attacks that put known packets into a capture.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use aes::Aes128;
use aes::cipher::{BlockEncrypt, KeyInit};

use super::key::Key;
use crate::Mac;

/// Most addresses remembered: an IPv6 address takes 128 encryptions.
const MOST_REMEMBERED: usize = 1 << 16;
/// Rounds of the Feistel network; four make a strong permutation of good round functions, more make up for
/// halves of 23 bits.
const ROUNDS: u8 = 10;
const HALF: u32 = 23;

/// A range that maps to itself; `same` if each of its addresses does.
struct Range {
    /// Left-aligned in 128 bits.
    prefix: u128,
    length: u32,
    same: bool,
}

const fn v4(address: Ipv4Addr, length: u32) -> Range {
    Range { prefix: (address.to_bits() as u128) << 96, length, same: true }
}

const fn v6(prefix: u128, length: u32, same: bool) -> Range {
    Range { prefix, length, same }
}

/// Unspecified, loopback, multicast, broadcast.
const V4: &[Range] = &[
    v4(Ipv4Addr::UNSPECIFIED, 32),
    v4(Ipv4Addr::new(127, 0, 0, 0), 8),
    v4(Ipv4Addr::new(224, 0, 0, 0), 4),
    v4(Ipv4Addr::BROADCAST, 32),
];
/// Solicited-node multicast, whose last 24 bits are those of a host.
const SOLICITED_NODE: u128 = 0xff02_0000_0000_0000_0000_0001_ff00_0000;
/// Unspecified, loopback, link-local, multicast, solicited-node multicast.
const V6: &[Range] = &[
    v6(0, 128, true),
    v6(1, 128, true),
    v6(0xfe80 << 112, 64, false),
    v6(0xff << 120, 8, true),
    v6(SOLICITED_NODE, 104, false),
];

/// The first `length` of 128 bits.
fn leading(length: u32) -> u128 {
    u128::MAX.checked_shl(128 - length).unwrap_or(0)
}

/// A prefix-preserving mapping of numbers.
struct Prefixes {
    cipher: Aes128,
    padding: u128,
}

impl Prefixes {
    fn new(key: [u8; 32]) -> Self {
        let (key, padding) = key.split_at(16);
        let cipher = Aes128::new_from_slice(key).unwrap_or_else(|_| Aes128::new(&[0; 16].into()));
        let padding = u128::from_be_bytes(*padding.first_chunk().unwrap_or(&[0; 16]));
        let padding = encrypt(&cipher, padding);
        Self { cipher, padding }
    }

    /// Maps the first `bits` of `address`.
    fn map(&self, address: u128, bits: u32, ranges: &[Range]) -> u128 {
        let mut mapped = address;
        for at in 0..bits {
            if !stays(address, at, ranges) {
                let known = leading(at);
                let flip = encrypt(&self.cipher, address & known | self.padding & !known) >> 127;
                mapped ^= flip << (127 - at);
            }
        }
        mapped
    }
}

/// Whether the bit after the first `length` of `address` stays.
fn stays(address: u128, length: u32, ranges: &[Range]) -> bool {
    let (mut ahead, mut narrowest) = (false, None::<&Range>);
    for range in ranges {
        if (address ^ range.prefix) & leading(length.min(range.length)) != 0 {
            continue;
        }
        if range.length > length {
            ahead = true;
        } else if narrowest.is_none_or(|narrowest| narrowest.length < range.length) {
            narrowest = Some(range);
        }
    }
    ahead || narrowest.is_some_and(|range| range.same)
}

fn encrypt(cipher: &Aes128, block: u128) -> u128 {
    let mut block = block.to_be_bytes().into();
    cipher.encrypt_block(&mut block);
    u128::from_be_bytes(block.into())
}

/// The mapping of all addresses.
pub(super) struct Addresses {
    v4: Prefixes,
    v6: Prefixes,
    mac: Aes128,
    remembered: HashMap<IpAddr, IpAddr>,
}

impl Addresses {
    pub(super) fn new(key: &Key) -> Self {
        let mac = Prefixes::new(key.derive("mac")).cipher;
        let (v4, v6) = (Prefixes::new(key.derive("ipv4")), Prefixes::new(key.derive("ipv6")));
        Self { v4, v6, mac, remembered: HashMap::new() }
    }

    pub(super) fn ip(&mut self, address: IpAddr) -> IpAddr {
        if let Some(mapped) = self.remembered.get(&address) {
            return *mapped;
        }
        let mapped = match address {
            IpAddr::V4(a) => {
                let mapped = self.v4.map(u128::from(a.to_bits()) << 96, 32, V4);
                IpAddr::V4(Ipv4Addr::from_bits((mapped >> 96) as u32))
            }
            IpAddr::V6(a) => IpAddr::V6(Ipv6Addr::from_bits(self.v6.map(a.to_bits(), 128, V6))),
        };
        if self.remembered.len() >= MOST_REMEMBERED {
            self.remembered.clear();
        }
        self.remembered.insert(address, mapped);
        mapped
    }

    /// Maps the address that lies in `bytes`: 4 or 16 octets; others become zeros.
    pub(super) fn ip_at(&mut self, bytes: &mut [u8]) {
        let mapped = if let Ok(octets) = <[u8; 4]>::try_from(&*bytes) {
            self.ip(Ipv4Addr::from(octets).into())
        } else if let Ok(octets) = <[u8; 16]>::try_from(&*bytes) {
            self.ip(Ipv6Addr::from(octets).into())
        } else {
            return bytes.fill(0);
        };
        match mapped {
            IpAddr::V4(a) => bytes.copy_from_slice(&a.octets()),
            IpAddr::V6(a) => bytes.copy_from_slice(&a.octets()),
        }
    }

    pub(super) fn mac(&mut self, mac: Mac) -> Mac {
        let [a, b, c, d, e, f] = mac;
        if a & 1 == 0 {
            return self.station(mac);
        }
        if [a, b, c] != [0x33, 0x33, 0xff] {
            return mac;
        }
        // The group of a solicited node goes with its IPv6 address (RFC 2464 §7).
        let group = SOLICITED_NODE | u128::from(u32::from_be_bytes([0, d, e, f]));
        match self.ip(Ipv6Addr::from_bits(group).into()) {
            IpAddr::V6(mapped) => {
                let [.., d, e, f] = mapped.octets();
                [a, b, c, d, e, f]
            }
            IpAddr::V4(_) => mac,
        }
    }

    /// Maps the address that lies in `bytes`, if six octets do.
    pub(super) fn mac_at(&mut self, bytes: &mut [u8]) {
        match Mac::try_from(&*bytes) {
            Ok(mac) => bytes.copy_from_slice(&self.mac(mac)),
            Err(_) => bytes.fill(0),
        }
    }

    fn station(&self, mac: Mac) -> Mac {
        const MASK: u64 = (1 << HALF) - 1;
        let [first, b, c, d, e, f] = mac;
        let number = u64::from_be_bytes([0, 0, first >> 2, b, c, d, e, f]);
        let (mut left, mut right) = (number >> HALF, number & MASK);
        for round in 0..ROUNDS {
            let block = u128::from(round) << 64 | u128::from(right);
            let drawn = (encrypt(&self.mac, block) >> (128 - HALF)) as u64;
            (left, right) = (right, left ^ drawn);
        }
        let [_, _, top, b, c, d, e, f] = (left << HALF | right).to_be_bytes();
        [top << 2 | first & 3, b, c, d, e, f]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_mapping_is_that_of_crypto_pan() {
        // Key and addresses of the sample that comes with the authors' implementation.
        let key = [
            21, 34, 23, 141, 51, 164, 207, 128, 19, 10, 91, 22, 73, 144, 125, 16, 216, 152, 143, 131, 121,
            121, 101, 39, 98, 87, 76, 45, 42, 132, 34, 2,
        ];
        let prefixes = Prefixes::new(key);
        let map = |a: [u8; 4]| {
            let mapped = prefixes.map(u128::from(u32::from_be_bytes(a)) << 96, 32, &[]);
            ((mapped >> 96) as u32).to_be_bytes()
        };
        assert_eq!(map([128, 11, 68, 132]), [135, 242, 180, 132]);
        assert_eq!(map([129, 118, 74, 4]), [134, 136, 186, 123]);
        assert_eq!(map([130, 132, 252, 244]), [133, 68, 164, 234]);
        assert_eq!(map([141, 223, 7, 43]), [141, 167, 8, 160]);
    }

    #[test]
    fn addresses_with_a_meaning_of_their_own_stay() {
        let mut addresses = Addresses::new(&Key::from_secret(b"x"));
        for kept in
            ["0.0.0.0", "127.0.0.1", "224.0.0.251", "239.1.2.3", "255.255.255.255", "::", "::1", "ff02::fb"]
        {
            let kept: IpAddr = kept.parse().unwrap();
            assert_eq!(addresses.ip(kept), kept);
        }
        for mapped in ["10.0.0.1", "192.168.1.255", "fe80::1234", "2001:db8::1", "ff02::1:ff12:3456"] {
            let before: IpAddr = mapped.parse().unwrap();
            assert_ne!(addresses.ip(before), before);
        }
        let [local, group] =
            ["fe80::1:2:3:4", "ff02::1:ff12:3456"].map(|a| match addresses.ip(a.parse().unwrap()) {
                IpAddr::V6(a) => a,
                IpAddr::V4(a) => panic!("{a}"),
            });
        assert_eq!(local.segments()[..4], [0xfe80, 0, 0, 0]);
        assert_eq!(group.to_bits() >> 24, SOLICITED_NODE >> 24);
        let mac = addresses.mac([0x33, 0x33, 0xff, 0x12, 0x34, 0x56]);
        assert_eq!(mac[3..], group.octets()[13..], "the group's MAC address goes with it");
        for group in [[0xff; 6], [1, 0, 0x5e, 0, 0, 0xfb], [0x33, 0x33, 0, 0, 0, 1], [1, 0x80, 0xc2, 0, 0, 0]]
        {
            assert_eq!(addresses.mac(group), group);
        }
    }

    #[test]
    fn all_of_a_small_network_stays_apart() {
        let mut addresses = Addresses::new(&Key::from_secret(b"x"));
        let mapped: std::collections::HashSet<IpAddr> = (0..=u16::MAX)
            .map(|n| addresses.ip(Ipv4Addr::from_bits(10 << 24 | u32::from(n)).into()))
            .collect();
        assert_eq!(mapped.len(), 1 << 16);
        let macs: std::collections::HashSet<Mac> =
            (0..=u16::MAX).map(|n| addresses.mac([2, 0x41, 0x50, 0, (n >> 8) as u8, n as u8])).collect();
        assert_eq!(macs.len(), 1 << 16);
    }

    proptest! {
        #[test]
        fn shared_prefixes_stay_shared(a: u32, b: u32, cut in 0u32..32, secret: [u8; 8]) {
            let mut addresses = Addresses::new(&Key::from_secret(&secret));
            let mut map = |a: u32| match addresses.ip(Ipv4Addr::from_bits(a).into()) {
                IpAddr::V4(mapped) => mapped.to_bits(),
                IpAddr::V6(_) => unreachable!(),
            };
            let b = a ^ (b >> cut);
            prop_assert_eq!((map(a) ^ map(b)).leading_zeros(), (a ^ b).leading_zeros());
        }

        #[test]
        fn shared_prefixes_of_ipv6_stay_shared(a: u128, b: u128, cut in 0u32..128, kind in 0usize..4) {
            let mut addresses = Addresses::new(&Key::from_secret(b"x"));
            let a = [a, a >> 64 | 0xfe80 << 112, a >> 104 | SOLICITED_NODE, a >> 8 | 0xff << 120][kind];
            let mut map = |a: u128| match addresses.ip(Ipv6Addr::from_bits(a).into()) {
                IpAddr::V6(mapped) => mapped.to_bits(),
                IpAddr::V4(_) => unreachable!(),
            };
            let b = a ^ (b >> cut);
            prop_assert_eq!((map(a) ^ map(b)).leading_zeros(), (a ^ b).leading_zeros());
        }

        #[test]
        fn stations_keep_their_bits_and_stay_apart(a: [u8; 6], b: [u8; 6]) {
            let mut addresses = Addresses::new(&Key::from_secret(b"x"));
            let (ma, mb) = (addresses.mac(a), addresses.mac(b));
            prop_assert_eq!(ma[0] & 3, a[0] & 3);
            prop_assert_eq!(ma == mb, a == b);
        }
    }
}
