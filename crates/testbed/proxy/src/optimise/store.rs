//! Bodies kept by their content, and the latest of each URL.
//!
//! Freshness is not its business: every request goes to the origin, and only octets that the other side has are not
//! sent again. Oldest in use goes first when it is full. Left out: keeping it after the program's end.

use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::str::FromStr;

/// Half of SHA-256: nobody finds two bodies with the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Hash([u8; 16]);

impl Hash {
    pub(crate) fn of(body: &[u8]) -> Self {
        let digest = Sha256::digest(body);
        Self(std::array::from_fn(|place| digest[place]))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Hash {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let valid = text.len() == 32 && text.bytes().all(|octet| octet.is_ascii_hexdigit());
        let value = u128::from_str_radix(text, 16).map_err(drop)?;
        if valid { Ok(Self(value.to_be_bytes())) } else { Err(()) }
    }
}

/// A store of at most so many octets.
#[derive(Debug)]
pub(crate) struct Store {
    most: usize,
    octets: usize,
    clock: u64,
    bodies: HashMap<Hash, (u64, Bytes)>,
    by_use: BTreeMap<u64, Hash>,
    latest: HashMap<String, Hash>,
}

/// URLs whose latest body is remembered; beyond, all are forgotten.
const MOST_URLS: usize = 20_000;

impl Store {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            octets: 0,
            clock: 0,
            bodies: HashMap::new(),
            by_use: BTreeMap::new(),
            latest: HashMap::new(),
        }
    }

    /// The body with this hash.
    pub(crate) fn get(&mut self, hash: Hash) -> Option<Bytes> {
        let (used, body) = self.bodies.get_mut(&hash)?;
        self.clock += 1;
        self.by_use.remove(used);
        self.by_use.insert(self.clock, hash);
        *used = self.clock;
        Some(body.clone())
    }

    /// The hash of the latest body of this URL, if it is here.
    pub(crate) fn latest(&self, url: &str) -> Option<Hash> {
        self.latest.get(url).copied().filter(|hash| self.bodies.contains_key(hash))
    }

    /// Keeps a body, unless it is empty or a quarter of all that fits.
    pub(crate) fn keep(&mut self, url: &str, hash: Hash, body: Bytes) {
        if body.is_empty() || body.len() > self.most / 4 {
            return;
        }
        if self.latest.len() >= MOST_URLS {
            self.latest.clear();
        }
        self.latest.insert(url.to_owned(), hash);
        if self.get(hash).is_some() {
            return;
        }
        self.clock += 1;
        self.octets += body.len();
        self.bodies.insert(hash, (self.clock, body));
        self.by_use.insert(self.clock, hash);
        while self.octets > self.most
            && let Some((_, oldest)) = self.by_use.pop_first()
            && let Some((_, body)) = self.bodies.remove(&oldest)
        {
            self.octets -= body.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_body_goes_first_and_its_url_with_it() {
        let mut store = Store::new(100);
        let body = |octet: u8| Bytes::from(vec![octet; 25]);
        let hash = |octet: u8| Hash::of(&body(octet));
        for octet in 0..4 {
            store.keep(&octet.to_string(), hash(octet), body(octet));
        }
        assert_eq!(store.get(hash(0)), Some(body(0)));
        store.keep("4", hash(4), body(4));
        assert_eq!((store.latest("1"), store.get(hash(1))), (None, None));
        assert_eq!((store.latest("0"), store.latest("4")), (Some(hash(0)), Some(hash(4))));
        store.keep("large", Hash::of(&[1; 26]), Bytes::from(vec![1; 26]));
        assert_eq!(store.latest("large"), None);
    }

    #[test]
    fn a_hash_is_read_as_it_is_written_and_nothing_else_is() {
        let hash = Hash::of(b"abc");
        // FIPS 180-4, the example of one block.
        assert_eq!(hash.to_string(), "ba7816bf8f01cfea414140de5dae2223");
        assert_eq!(hash.to_string().parse(), Ok(hash));
        for bad in ["", "ba78", "+a7816bf8f01cfea414140de5dae2223", "zz7816bf8f01cfea414140de5dae2223"] {
            assert!(bad.parse::<Hash>().is_err(), "{bad}");
        }
    }
}
