//! What one proxy keeps for all its browsers.
//!
//! A copy is never assumed to be fresh: the origin is asked whether it still holds (RFC 9111 §4.3), and what is kept is its
//! content, once, whatever URLs it has. Kept is what anybody may have (§3, §3.5) and an origin can say this of. Left out: freshness,
//! that is answers without asking; variants beside codings.

use super::coding::{Compression, compress};
use super::store::{Hash, Store};
use crate::head::members;
use bytes::Bytes;
use hyper::Response;
use hyper::header::{
    CACHE_CONTROL, ETAG, HeaderMap, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, SET_COOKIE, VARY,
};
use std::collections::HashMap;

/// Octets of bodies kept, and as many again of bodies compressed.
const KEPT: usize = 1 << 27;
/// URLs whose head is remembered; beyond, all are forgotten.
const MOST_URLS: usize = 20_000;

/// A reply that was kept.
#[derive(Clone, Debug)]
pub(crate) struct Copy {
    pub(crate) head: Response<()>,
    pub(crate) body: Bytes,
}

/// Bodies by their content, and the replies that they belong to.
pub(crate) struct Shared {
    replies: HashMap<String, (Response<()>, Hash)>,
    bodies: Store,
    coded: Store,
}

impl Shared {
    pub(crate) fn new() -> Self {
        Self { replies: HashMap::new(), bodies: Store::new(KEPT), coded: Store::new(KEPT) }
    }

    /// The reply kept for a URL.
    pub(crate) fn find(&mut self, url: &str) -> Option<Copy> {
        let (head, hash) = self.replies.get(url)?;
        Some(Copy { head: head.clone(), body: self.bodies.get(*hash)? })
    }

    /// Keeps a reply if everybody may have it and its origin can say whether it still holds.
    pub(crate) fn keep(&mut self, url: &str, head: &Response<()>, hash: Hash, body: Bytes) {
        let fields = head.headers();
        let lasting = fields.contains_key(ETAG) || fields.contains_key(LAST_MODIFIED);
        let personal = fields.contains_key(SET_COOKIE) || says(fields, "no-store") || says(fields, "private");
        let varies = members(fields, &VARY).any(|name| !name.eq_ignore_ascii_case("accept-encoding"));
        if !lasting || personal || varies {
            self.replies.remove(url);
            return;
        }
        if self.replies.len() >= MOST_URLS {
            self.replies.clear();
        }
        self.replies.insert(url.to_owned(), (head.clone(), hash));
        self.bodies.keep(url, hash, body);
    }

    /// A body compressed, once for all who want it so.
    pub(crate) fn compress(&mut self, how: Compression, hash: Hash, body: &[u8]) -> Option<Bytes> {
        let name = Hash::of(format!("{hash} {}", how.token()).as_bytes());
        let known = self.coded.get(name);
        known.or_else(|| {
            let octets = compress(how, body)?;
            self.coded.keep("", name, octets.clone());
            Some(octets)
        })
    }
}

impl Copy {
    /// Asks in place of the browser whether this still holds.
    pub(crate) fn ask_for_changes(&self, request: &mut HeaderMap) {
        request.remove(IF_NONE_MATCH);
        request.remove(IF_MODIFIED_SINCE);
        let fields = self.head.headers();
        let validators = [(ETAG, IF_NONE_MATCH), (LAST_MODIFIED, IF_MODIFIED_SINCE)];
        for (validator, condition) in validators {
            if let Some(value) = fields.get(validator) {
                request.insert(condition, value.clone());
            }
        }
    }

    /// The reply as it is now that the origin has said that it holds (RFC 9111 §3.2).
    pub(crate) fn renewed(mut self, by: &HeaderMap) -> Self {
        let fields = self.head.headers_mut();
        for name in by.keys().filter(|name| !name.as_str().starts_with("content-")) {
            fields.remove(name);
            by.get_all(name).iter().for_each(|value| {
                fields.append(name, value.clone());
            });
        }
        self
    }
}

/// Whether `Cache-Control` has this directive, with an argument or without (RFC 9111 §5.2).
pub(crate) fn says(fields: &HeaderMap, directive: &str) -> bool {
    let name = |member: &str| member.split('=').next().unwrap_or_default().trim().to_owned();
    members(fields, &CACHE_CONTROL).any(|member| name(member).eq_ignore_ascii_case(directive))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(fields: &[(&str, &str)]) -> Response<()> {
        let mut head = Response::builder();
        for (name, value) in fields {
            head = head.header(*name, *value);
        }
        head.body(()).unwrap()
    }

    #[test]
    fn only_what_anybody_may_have_and_an_origin_can_vouch_for_is_kept() {
        let mut shared = Shared::new();
        let body = Bytes::from_static(b"text");
        let mut kept = |fields: &[(&str, &str)]| {
            shared.keep("/", &head(fields), Hash::of(&body), body.clone());
            shared.find("/").is_some()
        };
        assert!(kept(&[
            ("ETag", "\"1\""),
            ("Vary", "Accept-Encoding"),
            ("Cache-Control", "no-cache, max-age=0")
        ]));
        assert!(!kept(&[("ETag", "\"1\""), ("Set-Cookie", "a=b")]), "and what was kept before is gone");
        assert!(kept(&[("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")]));
        for personal in
            [("Cache-Control", "max-age=9, Private=\"x\""), ("Cache-Control", "NO-STORE"), ("Vary", "*")]
        {
            assert!(!kept(&[("ETag", "\"1\""), personal]), "{personal:?}");
        }
        assert!(!kept(&[("Vary", "Cookie"), ("ETag", "\"1\"")]));
        assert!(!kept(&[]), "nobody could say whether it still holds");
    }

    #[test]
    fn a_copy_that_holds_has_the_new_fields_and_its_own_body() {
        let copy = Copy {
            head: head(&[("ETag", "\"1\""), ("Date", "then"), ("Content-Type", "text/html"), ("X", "1")]),
            body: Bytes::from_static(b"text"),
        };
        let new = head(&[("Date", "now"), ("Content-Type", "other"), ("X", "2"), ("X", "3")]);
        let copy = copy.renewed(new.headers());
        let of =
            |name| copy.head.headers().get_all(name).iter().map(|v| v.to_str().unwrap()).collect::<Vec<_>>();
        assert_eq!(
            (of("date"), of("content-type"), of("x")),
            (vec!["now"], vec!["text/html"], vec!["2", "3"])
        );
    }
}
