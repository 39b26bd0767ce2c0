//! Which recorded exchange answers a request.
//!
//! *Strict*: the same method and the same target. *Fuzzy*: the same path, and of those the target that has most of its
//! beginning in common with the request's, because queries hold times and random numbers that a browser makes anew. A target
//! recorded several times is answered in the order of recording; the last answer stays. Left out: bodies and
//! header fields of requests.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::site::Site;

/// How alike a request must be to one that was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matching {
    /// The same target.
    Strict,
    /// The same path.
    #[default]
    Fuzzy,
}

/// What was found for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The recorded exchange of this very target; its place in the site.
    Exact(usize),
    /// One of the same path.
    Similar(usize),
    /// Nothing.
    Missing,
}

#[derive(Debug, Default)]
struct Recorded {
    /// Places of the exchanges with this target, in the order of recording.
    places: Vec<usize>,
    /// How many have been given out.
    given: AtomicUsize,
}

impl Recorded {
    fn next(&self) -> usize {
        let last = self.places.len() - 1;
        let given =
            self.given.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| (n < last).then_some(n + 1));
        self.places[given.unwrap_or(last).min(last)]
    }
}

/// Origin, method and path; then the targets with that path, by query.
type Key = (usize, String, String);

/// The recorded exchanges of a site, to look requests up in.
#[derive(Debug)]
pub(crate) struct Index {
    matching: Matching,
    paths: HashMap<Key, Vec<(String, Recorded)>>,
}

impl Index {
    pub(crate) fn new(site: &Site, matching: Matching) -> Self {
        let mut paths: HashMap<Key, Vec<(String, Recorded)>> = HashMap::new();
        for (place, entry) in site.entries.iter().enumerate() {
            let (path, query) = split(&entry.target);
            let targets = paths.entry((entry.origin, entry.method.clone(), path.into())).or_default();
            match targets.iter_mut().find(|(known, _)| known == query) {
                Some((_, recorded)) => recorded.places.push(place),
                None => targets.push((query.into(), Recorded { places: vec![place], ..Default::default() })),
            }
        }
        Self { matching, paths }
    }

    /// Looks a request up. A HEAD without a record of its own is answered by the GET's (RFC 9110 §9.3.2).
    pub(crate) fn find(&self, origin: usize, method: &str, target: &str) -> Found {
        match self.find_as(origin, method, target) {
            Found::Missing if method == "HEAD" => self.find_as(origin, "GET", target),
            found => found,
        }
    }

    fn find_as(&self, origin: usize, method: &str, target: &str) -> Found {
        let (path, query) = split(target);
        let Some(targets) = self.paths.get(&(origin, method.to_owned(), path.to_owned())) else {
            return Found::Missing;
        };
        if let Some((_, recorded)) = targets.iter().find(|(known, _)| known == query) {
            return Found::Exact(recorded.next());
        }
        match self.matching {
            Matching::Strict => Found::Missing,
            // Of equals the first recorded: max_by_key would give the last.
            Matching::Fuzzy => targets
                .iter()
                .rev()
                .max_by_key(|(known, _)| common(known, query))
                .map_or(Found::Missing, |(_, recorded)| Found::Similar(recorded.next())),
        }
    }
}

fn split(target: &str) -> (&str, &str) {
    target.split_once('?').unwrap_or((target, ""))
}

fn common(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}
