//! From a request to the recorded response.
//!
//! Bodies were recorded as users saw them; one whose response said that it was compressed is kept as gzip and is unpacked for
//! a client that does not take gzip (RFC 9110 §12.5.3). Left out: ranges, conditional requests: they get the whole response, as
//! a first visit does.

use std::io::Read;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use http_body_util::Full;
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode};

use crate::matching::{Found, Index, Matching};
use crate::rewrite::{Rewriting, is_text};
use crate::serve::Tally;
use crate::site::Site;

/// Most octets that a compressed body may become: what unpacks to more is a bomb.
const MOST_UNPACKED: u64 = 1 << 28;

/// Everything that answers requests.
#[derive(Debug)]
pub(crate) struct Responder {
    site: Site,
    index: Index,
    rewriting: Option<Rewriting>,
    think: bool,
}

/// On which side a connection came in.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Door {
    /// At an address with names: the request says which host it wants.
    Named { tls: bool, port: u16 },
    /// At the place of one origin.
    Origin(usize),
}

impl Responder {
    pub(crate) fn new(
        mut site: Site,
        matching: Matching,
        think: bool,
        places: Option<&[SocketAddr]>,
    ) -> Self {
        let index = Index::new(&site, matching);
        let rewriting = places.and_then(|places| Rewriting::new(&site.origins, places));
        if let Some(rewriting) = &rewriting {
            site.change_bodies(|kind, packed, body| {
                if !is_text(kind) {
                    return None;
                }
                // Unpacked for good: the text has another length in any case.
                let text = if packed { unpacked(body)? } else { body.clone() };
                Some(Bytes::from(rewriting.text(&text)))
            });
        }
        Self { site, index, rewriting, think }
    }

    /// The response to a request, and how long the recorded server thought before it.
    pub(crate) fn respond<B>(
        &self,
        request: &Request<B>,
        door: Door,
        tally: &Tally,
    ) -> (Duration, Response<Full<Bytes>>) {
        let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
        let method = request.method().as_str();
        let (origin, host) = self.origin(request, door);
        let found = origin.map_or(Found::Missing, |origin| self.index.find(origin, method, target));
        let place = match found {
            Found::Exact(place) => {
                tally.exact();
                place
            }
            Found::Similar(place) => {
                tally.similar();
                place
            }
            Found::Missing => {
                tally.missing(format!("{method} {host}{target}"));
                return (Duration::ZERO, missing(method, &host, target));
            }
        };
        let takes_gzip = request
            .headers()
            .get_all(ACCEPT_ENCODING)
            .iter()
            .any(|value| value.to_str().is_ok_and(|value| value.contains("gzip") || value.contains('*')));
        let think =
            if self.think { Duration::from_nanos(self.site.entries[place].think_ns) } else { Duration::ZERO };
        (think, self.recorded(place, takes_gzip))
    }

    fn origin<B>(&self, request: &Request<B>, door: Door) -> (Option<usize>, String) {
        match door {
            Door::Origin(origin) => (Some(origin), self.site.origins[origin].to_string()),
            Door::Named { tls, port } => {
                // HTTP/2 has the authority in the target, HTTP/1.1 in Host (RFC 9113 §8.3.1).
                let named = request.uri().authority().map(|authority| authority.as_str());
                let named = named.or_else(|| request.headers().get(HOST).and_then(|host| host.to_str().ok()));
                let host = without_port(named.unwrap_or_default()).to_ascii_lowercase();
                let scheme = if tls { "https" } else { "http" };
                let wanted = |o: &crate::site::Origin| o.scheme == scheme && o.host == host && o.port == port;
                (self.site.origins.iter().position(wanted), format!("{scheme}://{host}"))
            }
        }
    }

    fn recorded(&self, place: usize, takes_gzip: bool) -> Response<Full<Bytes>> {
        let entry = &self.site.entries[place];
        let mut body = self.site.body(entry);
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::from_u16(entry.status).unwrap_or(StatusCode::OK);
        for (name, value) in &entry.headers {
            let kept = match &self.rewriting {
                Some(rewriting) => rewriting.field(name, value),
                None => Some(value.clone()),
            };
            let field = (HeaderName::try_from(name.as_str()), kept.map(HeaderValue::try_from));
            if let (Ok(name), Some(Ok(value))) = field {
                response.headers_mut().append(name, value);
            }
        }
        let gzip = response.headers().get(CONTENT_ENCODING).is_some_and(|coding| coding == "gzip");
        if gzip && !is_gzip(&body) {
            response.headers_mut().remove(CONTENT_ENCODING); // a text that was rewritten
        } else if gzip
            && !takes_gzip
            && let Some(plain) = unpacked(&body)
        {
            response.headers_mut().remove(CONTENT_ENCODING);
            body = plain;
        }
        *response.body_mut() = Full::new(body);
        response
    }
}

fn is_gzip(body: &[u8]) -> bool {
    body.starts_with(&[0x1f, 0x8b]) // RFC 1952 §2.3.1
}

fn unpacked(body: &[u8]) -> Option<Bytes> {
    let mut plain = Vec::new();
    MultiGzDecoder::new(body).take(MOST_UNPACKED + 1).read_to_end(&mut plain).ok()?;
    (plain.len() as u64 <= MOST_UNPACKED).then(|| Bytes::from(plain))
}

fn without_port(authority: &str) -> &str {
    let end = authority.rfind(']').map_or(0, |bracket| bracket + 1);
    match authority[end..].find(':') {
        Some(colon) => &authority[..end + colon],
        None => authority,
    }
}

fn missing(method: &str, host: &str, target: &str) -> Response<Full<Bytes>> {
    let text = format!("airperf: {method} {host}{target} was not recorded\n");
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
