//! One proxy between browsers and origins: bodies compressed as the browser takes them, and none sent that it has.
//!
//! Reference: RFC 9110 §7.7 (what a proxy may change), §8.4 (content codings), §8.8.3 (of two codings only weak tags are equal),
//! §12.5.5 (Vary), §13.1 (conditions), §15.4.5 (304); RFC 9111 §4.3 (validation). What `no-transform` forbids, parts, replies without
//! a body, what is coded already, short bodies and packed kinds pass as they are. Left out: other changes of what bodies hold.

use super::accepted;
use super::coding::{Compression, MOST_WHOLE, THOROUGH};
use super::counts::Sums;
use super::flow::{Flow, Gathered, flow, gather, resumed, whole};
use super::origin::Origins;
use super::packing::Packing;
use super::request::Asked;
use super::shared::{Shared, says};
use super::store::Hash;
use super::write::is_packed;
use crate::head::{self, members};
use bytes::Bytes;
use http_body_util::Empty;
use hyper::header::{
    ACCEPT_ENCODING, ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_TYPE, ETAG,
    HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, VARY,
};
use hyper::{Method, Response, StatusCode};
use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

/// Longest wait for the whole of a body that is to be known by its content.
const PATIENCE: Duration = Duration::from_secs(1);
/// And of one that is only to be compressed: better compressed whole, but not much later.
const SOON: Duration = Duration::from_millis(50);
/// Shorter bodies stay as they are: the field that names a coding and gzip's own head are 44 octets.
const SHORT: u64 = 200;
/// Digests of a content that is not the browser's any more (RFC 1864, RFC 3230, RFC 9530).
const DIGESTS: [&str; 4] = ["content-md5", "digest", "content-digest", "repr-digest"];

/// The only proxy.
pub(crate) struct Single {
    pub(crate) origins: Rc<Origins>,
    compress: Option<Compression>,
    shared: Option<RefCell<Shared>>,
    sums: Rc<Sums>,
}

/// What matters of a request when its reply comes.
struct Wish {
    get: bool,
    head: bool,
    /// Whether everybody would get the same.
    anybodys: bool,
    may_change: bool,
    coding: Option<Compression>,
    /// The browser's conditions.
    fields: HeaderMap,
    /// Its URL, and what codings it asks for.
    key: String,
}

impl Wish {
    fn of(asked: &Asked<Flow>, favourite: Option<Compression>) -> Self {
        let fields = asked.request.headers();
        let personal = ["cookie", "authorization", "range", "if-match", "if-range", "if-unmodified-since"];
        let get = *asked.request.method() == Method::GET;
        let codings: Vec<_> = members(fields, &ACCEPT_ENCODING).collect();
        let mut conditions = HeaderMap::new();
        for name in [IF_NONE_MATCH, IF_MODIFIED_SINCE] {
            fields.get_all(&name).iter().for_each(|value| {
                conditions.append(&name, value.clone());
            });
        }
        Self {
            get,
            head: *asked.request.method() == Method::HEAD,
            anybodys: get
                && !says(fields, "no-store")
                && personal.iter().all(|name| !fields.contains_key(*name)),
            may_change: !says(fields, "no-transform"),
            coding: favourite.and_then(|favourite| accepted::wanted(fields, favourite)),
            fields: conditions,
            key: format!("{}\n{}", asked.url(), codings.join(",")),
        }
    }

    /// Whether the browser has this reply's content (RFC 9110 §13.2.2; of dates only the same one is known to be as good).
    fn has(&self, reply: &HeaderMap) -> bool {
        if self.fields.contains_key(IF_NONE_MATCH) {
            let Some(tag) = text(reply, &ETAG) else { return false };
            return members(&self.fields, &IF_NONE_MATCH)
                .any(|known| known == "*" || opaque(known) == opaque(tag));
        }
        let since = self.fields.get(IF_MODIFIED_SINCE);
        since.is_some() && since == reply.get(LAST_MODIFIED)
    }
}

fn text<'a>(fields: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    fields.get(name)?.to_str().ok()
}

/// A tag without its weakness: all that counts in the weak comparison.
fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

/// Says of a tag that other octets may have it, too.
fn weaken(fields: &mut HeaderMap) {
    if let Some(tag) = text(fields, &ETAG)
        && !tag.starts_with("W/")
        && let Ok(weak) = HeaderValue::try_from(format!("W/{tag}"))
    {
        fields.insert(ETAG, weak);
    }
}

impl Single {
    pub(crate) fn new(
        origins: Rc<Origins>,
        compress: Option<Compression>,
        cache: bool,
        sums: Rc<Sums>,
    ) -> Self {
        Self { origins, compress, shared: cache.then(|| RefCell::new(Shared::new())), sums }
    }

    /// The reply to a request; `at` is where its browser took the origin to be. The status to answer with otherwise.
    pub(crate) async fn answer(
        &self,
        mut asked: Asked<Flow>,
        at: Option<SocketAddr>,
    ) -> Result<Response<Flow>, StatusCode> {
        let address = self.origins.find(&asked.place, at).await?;
        let wish = Wish::of(&asked, self.compress);
        let copy = self.shared.as_ref().filter(|_| wish.anybodys);
        let copy = copy.and_then(|shared| shared.borrow_mut().find(&wish.key));
        if let Some(copy) = &copy {
            copy.ask_for_changes(asked.request.headers_mut());
        }
        let mut reply = self.origins.ask(&asked.place, address, asked.request).await?;
        head::strip(reply.headers_mut());
        let reply = match copy {
            Some(copy) if reply.status() == StatusCode::NOT_MODIFIED => {
                let copy = copy.renewed(reply.headers());
                self.sums.add(|counts| {
                    counts.validated += 1;
                    counts.validated_bytes += copy.body.len() as u64;
                });
                copy.head.map(|()| whole(copy.body))
            }
            _ => reply,
        };
        self.write(&wish, reply).await
    }

    /// The reply as the browser gets it.
    async fn write(&self, wish: &Wish, reply: Response<Flow>) -> Result<Response<Flow>, StatusCode> {
        let (parts, body) = reply.into_parts();
        let mut reply = Response::from_parts(parts, ());
        let (status, fields) = (reply.status(), reply.headers());
        let may_change = wish.may_change && !says(fields, "no-transform");
        let told = text(fields, &CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
        let packable = may_change
            && self.compress.is_some()
            && status != StatusCode::PARTIAL_CONTENT
            && !is_packed(&reply)
            && told.is_none_or(|length| length >= SHORT);
        if packable || (status == StatusCode::NOT_MODIFIED && self.compress.is_some()) {
            vary(reply.headers_mut());
        }
        if status == StatusCode::NOT_MODIFIED {
            // The browser knows it by the weak tag that it got, and would not find it by a strong one (RFC 9111 §4.3.4).
            let weak = text(reply.headers(), &ETAG).map(|tag| format!("W/{tag}"));
            if members(&wish.fields, &IF_NONE_MATCH).any(|known| Some(known) == weak.as_deref()) {
                weaken(reply.headers_mut());
            }
        }
        if wish.head || body.is_end_stream() {
            return Ok(reply.map(|()| body));
        }
        let known = self.shared.as_ref().filter(|_| wish.get && status == StatusCode::OK);
        let coding = wish.coding.filter(|_| packable);
        let (most, patience) = if known.is_some() { (MOST_WHOLE, PATIENCE) } else { (THOROUGH, SOON) };
        if known.is_none() && coding.is_none() {
            return Ok(reply.map(|()| body));
        }
        let long = told.is_some_and(|length| length > most as u64);
        let gathered = if long {
            Gathered::Part(Bytes::new(), body)
        } else {
            gather(body, most, patience).await.map_err(|_| StatusCode::BAD_GATEWAY)?
        };
        let plain = match (gathered, coding) {
            (Gathered::Whole(plain), _) => plain,
            (Gathered::Part(start, rest), None) => return Ok(reply.map(|()| resumed(start, rest))),
            (Gathered::Part(start, rest), Some(how)) => {
                let packed = Packing::new(resumed(start, rest), how, self.tell_packed());
                let packed = packed.map_err(|_| StatusCode::BAD_GATEWAY)?;
                coded(reply.headers_mut(), how);
                return Ok(reply.map(|()| flow(packed)));
            }
        };
        let mut hash = None;
        if let Some(shared) = known {
            let found = Hash::of(&plain);
            hash = Some(found);
            if wish.anybodys {
                shared.borrow_mut().keep(&wish.key, &reply, found, plain.clone());
            }
            if may_change
                && !reply.headers().contains_key(ETAG)
                && !says(reply.headers(), "no-store")
                && let Ok(tag) = HeaderValue::try_from(format!("W/\"{found}\""))
            {
                reply.headers_mut().insert(ETAG, tag);
            }
            if wish.has(reply.headers()) {
                return Ok(self.unchanged(reply, plain.len(), coding.is_some()));
            }
        }
        let packed = coding.and_then(|how| Some((how, self.compress(how, hash, &plain)?)));
        let Some((how, octets)) = packed else { return Ok(reply.map(|()| whole(plain))) };
        (self.tell_packed())(plain.len() as u64, octets.len() as u64);
        coded(reply.headers_mut(), how);
        Ok(reply.map(|()| whole(octets)))
    }

    /// The reply to a browser that has its content.
    fn unchanged(&self, mut reply: Response<()>, octets: usize, is_coded: bool) -> Response<Flow> {
        self.sums.add(|counts| {
            counts.same += 1;
            counts.same_plain_bytes += octets as u64;
        });
        *reply.status_mut() = StatusCode::NOT_MODIFIED;
        let fields = reply.headers_mut();
        for name in [CONTENT_LENGTH, CONTENT_TYPE, CONTENT_LANGUAGE, CONTENT_ENCODING, ACCEPT_RANGES] {
            fields.remove(name);
        }
        if is_coded {
            weaken(fields);
        }
        reply.map(|()| flow(Empty::new()))
    }

    fn compress(&self, how: Compression, hash: Option<Hash>, plain: &[u8]) -> Option<Bytes> {
        if (plain.len() as u64) < SHORT {
            return None;
        }
        match (&self.shared, hash) {
            (Some(shared), Some(hash)) => shared.borrow_mut().compress(how, hash, plain),
            _ => super::coding::compress(how, plain),
        }
    }

    fn tell_packed(&self) -> impl FnMut(u64, u64) + use<> {
        let sums = self.sums.clone();
        move |plain, packed| {
            sums.add(|counts| {
                counts.compressed += 1;
                counts.compressed_plain_bytes += plain;
                counts.compressed_link_bytes += packed;
            });
        }
    }
}

/// Says of a reply that browsers which take other codings get other octets.
fn vary(fields: &mut HeaderMap) {
    if !members(fields, &VARY).any(|name| name == "*" || name.eq_ignore_ascii_case("accept-encoding")) {
        fields.append(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
}

/// The head of what is coded now.
fn coded(fields: &mut HeaderMap, how: Compression) {
    fields.remove(CONTENT_LENGTH);
    fields.remove(ACCEPT_RANGES); // parts of these octets are not to be had
    DIGESTS.iter().for_each(|name| {
        fields.remove(*name);
    });
    fields.insert(CONTENT_ENCODING, HeaderValue::from_static(how.token()));
    weaken(fields);
}
