//! Which coding of a body a browser wants.
//!
//! Reference: RFC 9110 §12.5.3 (Accept-Encoding), §12.4.2 (weights). Who names no coding gets none, for many a client that says
//! nothing can read none. Left out: deflate and compress, which nobody needs beside gzip.

use super::coding::Compression;
use crate::head::members;
use hyper::header::{ACCEPT_ENCODING, HeaderMap};

/// Ours, the first of equals first.
const KNOWN: [Compression; 3] = [Compression::Zstd, Compression::Brotli, Compression::Gzip];

/// The coding with the greatest weight; of equals `favourite`, or else the one that makes bodies shortest.
pub(crate) fn wanted(fields: &HeaderMap, favourite: Compression) -> Option<Compression> {
    let listed: Vec<(String, f32)> = members(fields, &ACCEPT_ENCODING).filter_map(member).collect();
    let named = |name: &str| listed.iter().find(|(known, _)| known == name).map(|(_, weight)| *weight);
    let plain = named("identity").unwrap_or(0.0);
    let weight = |how: Compression| {
        let alias = if how == Compression::Gzip { named("x-gzip") } else { None };
        named(how.token()).or(alias).or_else(|| named("*")).unwrap_or(0.0)
    };
    let mut best: Option<Compression> = None;
    for how in [favourite].into_iter().chain(KNOWN) {
        if weight(how) > best.map_or(0.0, weight) {
            best = Some(how);
        }
    }
    best.filter(|how| weight(*how) >= plain)
}

/// A coding's name and weight; `None` for what is neither.
fn member(text: &str) -> Option<(String, f32)> {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().filter(|name| !name.is_empty())?.to_ascii_lowercase();
    let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    let weight = weight.map_or(Ok(1.0), str::parse::<f32>).ok()?;
    (0.0..=1.0).contains(&weight).then_some((name, weight))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Compression::{Brotli, Gzip, Zstd};

    #[test]
    fn the_browsers_weights_decide_and_of_equals_the_favourite() {
        let of = |lines: &[&str], favourite| {
            let mut fields = HeaderMap::new();
            lines.iter().for_each(|line| {
                fields.append(ACCEPT_ENCODING, line.parse().unwrap());
            });
            wanted(&fields, favourite)
        };
        // As Chromium and Firefox write them, over TLS and without.
        assert_eq!(of(&["gzip, deflate, br, zstd"], Brotli), Some(Brotli));
        assert_eq!(of(&["gzip, deflate"], Zstd), Some(Gzip));
        assert_eq!(of(&["gzip, br"], Zstd), Some(Brotli), "the next best of equals");
        // The examples of RFC 9110 §12.5.3, and its rules.
        assert_eq!(of(&["compress, gzip"], Zstd), Some(Gzip));
        assert_eq!(of(&["compress;q=0.5, gzip;q=1.0"], Zstd), Some(Gzip));
        assert_eq!(of(&["gzip;q=1.0, identity; q=0.5, *;q=0"], Zstd), Some(Gzip));
        assert_eq!(of(&["*"], Brotli), Some(Brotli));
        assert_eq!(of(&["gzip;q=0.9", "zstd;q=0.8"], Zstd), Some(Gzip), "two lines are one list");
        assert_eq!(of(&["x-gzip"], Zstd), Some(Gzip));
        for none in
            ["", "identity", "deflate", "gzip;q=0", "gzip;q=0.5, identity", "*;q=0", "gzip;q=x", "gzip;q=9"]
        {
            assert_eq!(of(&[none], Zstd), None, "{none:?}");
        }
        assert_eq!(of(&[], Zstd), None, "who says nothing may read nothing");
    }
}
