//! Heads of requests and replies as they are on the link: ours beside the browser's and the origin's.
//!
//! Fields that begin with `airperf-` are the link's; they come from the other half only, never from a browser or origin.
//! `Content-Length` is the plain body's and goes as `airperf-length`, for the octets on the link are fewer.

use super::ITSELF;
use crate::head;
use crate::optimise::coding::{Coding, MOST_WHOLE};
use crate::optimise::request::Asked;
use crate::optimise::store::Hash;
use crate::optimise::target::Place;
use hyper::header::{ACCEPT_ENCODING, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use std::net::SocketAddr;
use std::str::FromStr;

const CODING: HeaderName = HeaderName::from_static("airperf-coding");
const LENGTH: HeaderName = HeaderName::from_static("airperf-length");
const HASH: HeaderName = HeaderName::from_static("airperf-hash");
const BASE: HeaderName = HeaderName::from_static("airperf-base");
const AT: HeaderName = HeaderName::from_static("airperf-at");

/// What a reply's head says of its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Coded {
    pub(crate) coding: Coding,
    /// Octets of the plain body, if known before its end.
    pub(crate) length: Option<u64>,
    /// Of the plain body; it is to be kept.
    pub(crate) hash: Option<Hash>,
    /// What a difference is from.
    pub(crate) base: Option<Hash>,
}

impl Coded {
    pub(crate) const PLAIN: Self = Self { coding: Coding::Plain, length: None, hash: None, base: None };

    /// Writes itself into a head.
    pub(crate) fn write(&self, fields: &mut HeaderMap) {
        let mut put = |name, value: Option<String>| {
            if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
                fields.insert(name, value);
            }
        };
        put(CODING, self.coding.name().map(str::to_owned));
        put(LENGTH, self.length.map(|length| length.to_string()));
        put(HASH, self.hash.map(|hash| hash.to_string()));
        put(BASE, self.base.map(|hash| hash.to_string()));
    }

    /// Reads a head; `None` when it makes no sense.
    pub(crate) fn read(fields: &HeaderMap) -> Option<Self> {
        let coding = match text(fields, &CODING) {
            None => Coding::Plain,
            Some(name) => Coding::named(name)?,
        };
        let coded = Self {
            coding,
            length: parsed(fields, &LENGTH),
            hash: parsed(fields, &HASH),
            base: parsed(fields, &BASE),
        };
        let whole = coded.length.is_some_and(|length| length <= MOST_WHOLE as u64);
        let sound = match coding {
            Coding::Plain => coded.hash.is_none() || whole,
            Coding::Compressed(_) => whole,
            Coding::Same => whole && coded.hash.is_some(),
            Coding::Delta => whole && coded.hash.is_some() && coded.base.is_some(),
        };
        sound.then_some(coded)
    }
}

fn text<'a>(fields: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    fields.get(name)?.to_str().ok()
}

fn parsed<T: FromStr>(fields: &HeaderMap, name: &HeaderName) -> Option<T> {
    text(fields, name)?.parse().ok()
}

/// Takes out what is the link's.
fn take_ours(fields: &mut HeaderMap) {
    let ours: Vec<_> = fields.keys().filter(|name| name.as_str().starts_with("airperf-")).cloned().collect();
    for name in ours {
        fields.remove(name);
    }
}

/// A browser's request as it goes over the link; `None` for one that the server half would take for the client half's own.
pub(crate) fn outward<B>(
    asked: &Asked<B>,
    at: Option<SocketAddr>,
    base: Option<Hash>,
) -> Option<Request<()>> {
    let uri: Uri = asked.url().parse().ok().filter(|_| asked.place.host != ITSELF)?;
    let mut request = Request::new(());
    *request.method_mut() = asked.request.method().clone();
    *request.uri_mut() = uri;
    *request.version_mut() = Version::HTTP_2;
    let fields = request.headers_mut();
    fields.clone_from(asked.request.headers());
    take_ours(fields);
    fields.remove(HOST); // it is in the URL
    fields.remove(CONTENT_LENGTH); // the stream's end says it
    fields.remove(EXPECT); // waiting for leave costs a round trip
    fields.remove(hyper::header::VIA); // the server half says it
    let mut put = |name, value: Option<String>| {
        value.and_then(|value| HeaderValue::try_from(value).ok()).map(|value| fields.insert(name, value))
    };
    put(AT, at.map(|at| at.to_string()));
    put(BASE, base.map(|base| base.to_string()));
    Some(request)
}

/// The request for a tunnel (RFC 9113 §8.5).
pub(crate) fn tunnel_outward(place: &Place, at: Option<SocketAddr>) -> Option<Request<()>> {
    let host = if place.host.contains(':') { format!("[{}]", place.host) } else { place.host.clone() };
    let mut request = Request::connect(format!("{host}:{}", place.port));
    if let Some(at) = at {
        request = request.header(AT, at.to_string());
    }
    request.body(()).ok()
}

/// What the link brought.
#[derive(Debug)]
pub(crate) struct Inward<B> {
    pub(crate) asked: Asked<B>,
    /// Where the client half found the origin to be.
    pub(crate) at: Option<SocketAddr>,
    /// What the client half has of this URL.
    pub(crate) base: Option<Hash>,
}

/// A request off the link as it goes to the origin.
pub(crate) fn inward<B>(request: Request<B>) -> Option<Inward<B>> {
    let (mut parts, body) = request.into_parts();
    let (at, base) = (parsed(&parts.headers, &AT), parsed(&parts.headers, &BASE));
    take_ours(&mut parts.headers);
    head::strip(&mut parts.headers);
    let authority = parts.uri.authority()?.as_str();
    let place = if parts.method == Method::CONNECT {
        Place::parse(authority, None)?
    } else {
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let place = Place::of(parts.uri.scheme_str()?, authority)?;
        parts.uri = path.parse().ok()?;
        place
    };
    let mut request = Request::new(body);
    *request.method_mut() = parts.method;
    *request.uri_mut() = parts.uri;
    *request.headers_mut() = parts.headers;
    let fields = request.headers_mut();
    fields.insert(HOST, HeaderValue::try_from(place.authority()).ok()?);
    fields.append(hyper::header::VIA, HeaderValue::from_static("1.1 airperf"));
    Some(Inward { asked: Asked { place, request }, at, base })
}

/// Asks the origin for the body as it is: the halves code it better, knowing what was there before.
pub(crate) fn want_plain(fields: &mut HeaderMap) {
    fields.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
}

/// An origin's reply head as it goes over the link.
pub(crate) fn reply_outward<B>(reply: &Response<B>, coded: &Coded) -> Response<()> {
    let mut out = Response::new(());
    *out.status_mut() = reply.status();
    *out.version_mut() = Version::HTTP_2;
    let fields = out.headers_mut();
    fields.clone_from(reply.headers());
    head::strip(fields);
    take_ours(fields);
    let length = coded.length.or_else(|| parsed(fields, &CONTENT_LENGTH));
    fields.remove(CONTENT_LENGTH);
    Coded { length, ..*coded }.write(fields);
    out
}

/// A reply head off the link as the browser gets it, and what it says of the body; 502 when it makes no sense.
pub(crate) fn reply_inward<B>(mut reply: Response<B>) -> Result<(Response<B>, Coded), StatusCode> {
    let coded = Coded::read(reply.headers()).ok_or(StatusCode::BAD_GATEWAY)?;
    take_ours(reply.headers_mut());
    reply.headers_mut().remove(CONTENT_LENGTH);
    if let Some(length) = coded.length {
        reply.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    *reply.version_mut() = Version::HTTP_11;
    Ok((reply, coded))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimise::coding::Compression;
    use crate::optimise::request::{Door, read};

    fn asked(url: &str) -> Asked<()> {
        let request = Request::get(url)
            .header("Airperf-Base", "ba7816bf8f01cfea414140de5dae2223")
            .header("Content-Length", "0")
            .header("Accept", "*/*");
        read(request.body(()).unwrap(), &Door::Proxy).unwrap()
    }

    #[test]
    fn a_request_crosses_the_link_with_what_the_client_half_says_and_nothing_that_a_browser_says_for_it() {
        let (at, base) = ("10.78.0.2:80".parse().unwrap(), Hash::of(b"abc"));
        let there = inward(outward(&asked("http://a.test/x"), None, None).unwrap()).unwrap();
        assert_eq!((there.at, there.base), (None, None));
        let there = inward(outward(&asked("http://a.test/x"), Some(at), Some(base)).unwrap()).unwrap();
        assert_eq!((there.at, there.base), (Some(at), Some(base)));
        assert_eq!(there.asked.url(), "http://a.test/x");
        let names: Vec<_> = there.asked.request.headers().keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["accept", "host", "via"]);
    }

    #[test]
    fn fault_a_browser_cannot_speak_as_the_client_half() {
        assert!(outward(&asked("http://link.invalid/pushes"), None, None).is_none());
        assert!(
            outward(&asked("http://LINK.invalid./body/ba7816bf8f01cfea414140de5dae2223"), None, None)
                .is_none()
        );
    }

    #[test]
    fn fault_a_reply_that_says_too_little_or_too_much_of_its_body_is_refused() {
        let whole =
            Coded { length: Some(9), hash: Some(Hash::of(b"x")), base: Some(Hash::of(b"y")), ..Coded::PLAIN };
        let read = |coded: Coded| {
            let mut fields = HeaderMap::new();
            coded.write(&mut fields);
            Coded::read(&fields)
        };
        let all = [Coding::Plain, Coding::Same, Coding::Delta, Coding::Compressed(Compression::Zstd)];
        for coding in all {
            let coded = Coded { coding, ..whole };
            assert_eq!(read(coded), Some(coded));
            assert_eq!(
                read(Coded { length: Some(MOST_WHOLE as u64 + 1), ..coded }),
                None,
                "{coding:?}: a bomb"
            );
        }
        for coded in
            [Coded { length: None, ..whole }, Coded { hash: None, ..whole }, Coded { base: None, ..whole }]
        {
            assert_eq!(read(Coded { coding: Coding::Delta, ..coded }), None);
        }
        let mut fields = HeaderMap::new();
        fields.insert(CODING, HeaderValue::from_static("?"));
        assert_eq!(Coded::read(&fields), None);
    }
}
