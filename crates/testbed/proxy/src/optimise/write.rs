//! Bodies on the link, as short as they get.
//!
//! The first of these that holds: a hash if the client half has the body, its difference from what the client half has of
//! the same URL, itself compressed. Left out: bodies that came in parts.

use super::coding::{Coding, compress, delta};
use super::flow::Flow;
use super::link::{Coded, reply_outward};
use super::server::{ServerHalf, Session};
use super::store::Hash;
use bytes::Bytes;
use hyper::Response;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE};

/// A reply ready for the link.
pub(crate) struct Ready {
    pub(crate) head: Response<()>,
    pub(crate) body: Written,
    /// What the client half then has.
    pub(super) hash: Option<Hash>,
    /// The plain body, where it was taken whole.
    pub(crate) plain: Option<Bytes>,
}

/// A body as it is on the link.
pub(crate) enum Written {
    Whole(Bytes),
    Passing(Bytes, Flow),
}

impl ServerHalf {
    /// Writes a whole body as short as it gets.
    pub(super) fn write(
        &self,
        session: &Session,
        url: &str,
        reply: &Response<()>,
        plain: Bytes,
        base: Option<Hash>,
        keep: bool,
    ) -> Ready {
        if plain.is_empty() {
            let head = reply_outward(reply, &Coded::PLAIN);
            return Ready { head, body: Written::Whole(plain), hash: None, plain: None };
        }
        let mut coded = Coded { length: Some(plain.len() as u64), ..Coded::PLAIN };
        let mut octets = None;
        if keep {
            let hash = Hash::of(&plain);
            coded.hash = Some(hash);
            if session.wants.cache && (base == Some(hash) || session.known.borrow().contains(&hash)) {
                coded.coding = Coding::Same;
                octets = Some(Bytes::new());
                self.sums.add(|counts| {
                    counts.same += 1;
                    counts.same_plain_bytes += plain.len() as u64;
                });
            } else if session.wants.delta {
                octets = self.difference(session, url, &plain, base, &mut coded);
            }
            session.store.borrow_mut().keep(url, hash, plain.clone());
        }
        let octets = octets.unwrap_or_else(|| {
            let (coding, octets) = if is_packed(reply) {
                (Coding::Plain, plain.clone())
            } else {
                self.compressed(session, plain.clone())
            };
            coded.coding = coding;
            octets
        });
        let head = reply_outward(reply, &coded);
        Ready { head, body: Written::Whole(octets), hash: coded.hash, plain: Some(plain) }
    }

    fn difference(
        &self,
        session: &Session,
        url: &str,
        plain: &Bytes,
        base: Option<Hash>,
        coded: &mut Coded,
    ) -> Option<Bytes> {
        let mut store = session.store.borrow_mut();
        // A push was not asked for, so that nobody said what is there: what was sent last is.
        let base = base.or_else(|| store.latest(url).filter(|hash| session.known.borrow().contains(hash)))?;
        let octets = delta(&store.get(base)?, plain)?;
        coded.coding = Coding::Delta;
        coded.base = Some(base);
        self.sums.add(|counts| {
            counts.deltas += 1;
            counts.delta_plain_bytes += plain.len() as u64;
            counts.delta_link_bytes += octets.len() as u64;
        });
        Some(octets)
    }

    /// The body compressed as this client half wants it, if that makes it shorter.
    pub(crate) fn compressed(&self, session: &Session, plain: Bytes) -> (Coding, Bytes) {
        let how = session.wants.compress;
        let Some((how, octets)) = how.and_then(|how| Some((how, compress(how, &plain)?))) else {
            return (Coding::Plain, plain);
        };
        self.sums.add(|counts| {
            counts.compressed += 1;
            counts.compressed_plain_bytes += plain.len() as u64;
            counts.compressed_link_bytes += octets.len() as u64;
        });
        (Coding::Compressed(how), octets)
    }
}

/// Whether the octets are no text any more.
pub(super) fn is_packed(reply: &Response<()>) -> bool {
    let field = |name| reply.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = field(CONTENT_TYPE);
    let packed = ["image/", "video/", "audio/", "font/woff", "application/zip", "application/gzip"];
    let text = ["image/svg", "image/bmp", "image/x-icon", "image/vnd.microsoft.icon"];
    reply.headers().contains_key(CONTENT_ENCODING)
        || packed.iter().any(|start| kind.starts_with(start))
            && !text.iter().any(|start| kind.starts_with(start))
}
