//! A page: objects on several hosts, and where each is found.
//!
//! Left out: what objects say; redirects; objects that a script asks for at a time of its own.

use airperf_units::{ConfigError, Duration};

/// A page with everything that it embeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The hosts, in the order of their first object.
    pub hosts: Vec<Host>,
    /// The objects; the first is the page itself.
    pub objects: Vec<Object>,
}

/// A host that serves objects of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Whether it is spoken to over TLS.
    pub tls: bool,
}

impl Host {
    /// Octets of the question for its address and of the answer: header, name, type and class, and in the answer one
    /// record with a compressed name (RFC 1035 §4.1).
    pub fn look_up_bytes(&self) -> (u32, u32) {
        let name = self.name.rsplit_once(':').map_or(self.name.as_str(), |(name, _)| name);
        let question = 12 + name.len() as u32 + 2 + 4;
        (question, question + 16)
    }
}

/// An object of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its host, a place in [`Page::hosts`].
    pub host: u32,
    /// Octets of its body.
    pub bytes: u32,
    /// Octets of its body compressed; as many as [`Self::bytes`] where that brings nothing.
    pub packed_bytes: u32,
    /// The object that names it, an earlier one; `None` for the page itself.
    pub found_in: Option<u32>,
    /// After how many octets of that object's body.
    pub found_at: u32,
    /// How long its host thinks before it answers.
    pub think: Duration,
}

impl Page {
    /// Most hosts and most objects of a page.
    pub const MOST: usize = 10_000;
    /// Longest object: the octets of all of them fit one connection.
    pub const MAX_OBJECT_BYTES: u32 = 64 << 20;

    /// Octets of all bodies.
    pub fn bytes(&self) -> u64 {
        self.objects.iter().map(|object| u64::from(object.bytes)).sum()
    }

    /// Finds what no page could be.
    ///
    /// # Errors
    /// The first impossible value, named.
    pub fn check(&self) -> Result<(), ConfigError> {
        let objects = || (0u32..).zip(&self.objects);
        let earlier = |(place, object): (u32, &Object)| match object.found_in {
            None => place == 0,
            Some(other) => other < place && object.found_at <= self.objects[other as usize].bytes,
        };
        let rules = [
            ((1..=Self::MOST).contains(&self.objects.len()), "a page has 1 to 10000 objects"),
            (self.hosts.len() <= Self::MOST, "a page has at most 10000 hosts"),
            (objects().all(|(_, o)| (o.host as usize) < self.hosts.len()), "every object has a host"),
            (objects().all(|(_, o)| o.bytes <= Self::MAX_OBJECT_BYTES), "an object has at most 64MiB"),
            (self.bytes() <= 1 << 30, "a page has at most 1GiB"),
            (objects().all(|(_, o)| o.packed_bytes <= o.bytes), "compressed is not longer than plain"),
            (objects().all(earlier), "every object but the first is found within an earlier one"),
        ];
        ConfigError::check("page", &rules)
    }
}
