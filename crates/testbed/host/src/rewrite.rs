//! Rewritten addresses: where a site is hosted without names, what it says of its own origins must say where they are.
//!
//! In bodies of text and in `Location`, every spelling of an origin (`https://host`, `http://host`, `//host`, and the same with
//! the slashes escaped as JSON does) becomes `http://ADDRESS:PORT`. Left out: addresses that scripts put together at run
//! time, which therefore miss; the report of misses names them.

use std::net::SocketAddr;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::site::Origin;

/// Response header fields that name origins and would forbid the rewritten ones.
const FORBIDDING: [&str; 3] =
    ["content-security-policy", "content-security-policy-report-only", "strict-transport-security"];

/// Finds a site's origins in texts and puts their places there.
#[derive(Debug)]
pub(crate) struct Rewriting {
    searcher: AhoCorasick,
    replacements: Vec<String>,
}

impl Rewriting {
    /// For origins, each served in plain HTTP at its place.
    pub(crate) fn new(origins: &[Origin], places: &[SocketAddr]) -> Option<Self> {
        let mut patterns = Vec::new();
        let mut replacements = Vec::new();
        for (origin, place) in origins.iter().zip(places) {
            let plain = (origin.scheme == "http" && origin.port == 80)
                || (origin.scheme == "https" && origin.port == 443);
            let host = if plain { origin.host.clone() } else { format!("{}:{}", origin.host, origin.port) };
            let spellings = [format!("{}://{host}", origin.scheme), format!("//{host}")];
            for spelling in spellings {
                let to =
                    if spelling.starts_with("//") { format!("//{place}") } else { format!("http://{place}") };
                patterns.push(spelling.replace('/', "\\/"));
                replacements.push(to.replace('/', "\\/"));
                patterns.push(spelling);
                replacements.push(to);
            }
        }
        // Of two names that begin alike the longer one is meant.
        let searcher = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .ascii_case_insensitive(true)
            .build(patterns)
            .ok()?;
        Some(Self { searcher, replacements })
    }

    /// The text with places for origins. A name that goes on (`//host.example.org` for `//host.example`) is left alone.
    pub(crate) fn text(&self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        self.searcher.replace_all_with_bytes(text, &mut out, |found, seen, out| {
            let goes_on = text.get(found.end()).is_some_and(|&next| {
                next.is_ascii_alphanumeric()
                    || next == b'-'
                    || (next == b'.' && text.get(found.end() + 1).is_some_and(u8::is_ascii_alphanumeric))
                    || (next == b':' && text.get(found.end() + 1).is_some_and(u8::is_ascii_digit))
            });
            out.extend_from_slice(if goes_on {
                seen
            } else {
                self.replacements[found.pattern().as_usize()].as_bytes()
            });
            true
        });
        out
    }

    /// A header field with places for origins; `None` for one that has to go.
    pub(crate) fn field(&self, name: &str, value: &str) -> Option<String> {
        if FORBIDDING.contains(&name) {
            return None;
        }
        Some(
            if matches!(
                name,
                "location" | "content-location" | "refresh" | "link" | "access-control-allow-origin"
            ) {
                String::from_utf8_lossy(&self.text(value.as_bytes())).into_owned()
            } else {
                value.to_owned()
            },
        )
    }
}

/// Whether a body of this type names origins.
pub(crate) fn is_text(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind.starts_with("text/")
        || ["javascript", "json", "xml", "x-mpegurl", "manifest"].iter().any(|word| kind.contains(word))
}
