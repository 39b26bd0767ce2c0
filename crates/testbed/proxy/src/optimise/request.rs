//! From what a browser sent to what is asked of an origin, or why not.
//!
//! Reference: RFC 9112 §3.2 (forms of a target), §6.3 and §11.2 (request smuggling); RFC 9110 §7.6. A request that two
//! readers could take for different ones is refused. Left out: upgrades; https in the
//! absolute form, outside of tunnels.

use super::target::Place;
use crate::head;
use hyper::header::{CONTENT_LENGTH, COOKIE, HOST, HeaderValue, TRANSFER_ENCODING, VIA};
use hyper::{Method, Request, StatusCode, Uri, Version};

/// A request in the form in which it goes on.
#[derive(Debug)]
pub(crate) struct Asked<B> {
    /// Whom it is for.
    pub(crate) place: Place,
    /// The request with its target in origin form.
    pub(crate) request: Request<B>,
}

impl<B> Asked<B> {
    /// Its URL, the same for the same object.
    pub(crate) fn url(&self) -> String {
        let path = self.request.uri().path_and_query().map_or("/", |path| path.as_str());
        format!("{}://{}{path}", self.place.scheme(), self.place.authority())
    }

    /// Whether everybody would get the same: no person, part or condition in it.
    pub(crate) fn is_plain_get(&self) -> bool {
        let personal = [
            "cookie",
            "authorization",
            "range",
            "if-none-match",
            "if-modified-since",
            "if-match",
            "if-range",
        ];
        self.request.method() == Method::GET
            && personal.iter().all(|name| !self.request.headers().contains_key(*name))
    }
}

/// What a browser may write to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// A proxy that it knows of: the target is a whole URL.
    Proxy,
    /// What it takes for the origin, which has this port: `Host` says the rest.
    Origin(u16),
    /// What it takes for this origin: the inside of a tunnel.
    Within(Place),
}

/// Reads a request; the status with which to refuse it otherwise.
pub(crate) fn read<B>(mut request: Request<B>, door: &Door) -> Result<Asked<B>, StatusCode> {
    let fields = request.headers();
    let twice = |name| fields.get_all(name).iter().count() > 1;
    let framed_twice = fields.contains_key(TRANSFER_ENCODING) && fields.contains_key(CONTENT_LENGTH);
    if framed_twice || twice(HOST) || twice(CONTENT_LENGTH) {
        return Err(StatusCode::BAD_REQUEST);
    }
    let uri = request.uri();
    let host = || fields.get(HOST).and_then(|host| host.to_str().ok()).map(str::trim);
    let place = if let Door::Within(place) = door {
        let named = match uri.scheme_str() {
            Some(scheme) => uri.authority().and_then(|authority| Place::of(scheme, authority.as_str())),
            None if uri.authority().is_none() => host().and_then(|host| Place::of(place.scheme(), host)),
            None => None,
        };
        match named {
            Some(named) if named != *place => return Err(StatusCode::MISDIRECTED_REQUEST),
            named => named.filter(|_| request.method() != Method::CONNECT),
        }
    } else if request.method() == Method::CONNECT {
        uri.authority().and_then(|authority| Place::parse(authority.as_str(), None))
    } else {
        match (uri.scheme_str(), door) {
            (Some("http"), _) => {
                uri.authority().and_then(|authority| Place::parse(authority.as_str(), Some(80)))
            }
            (None, Door::Origin(port)) if uri.authority().is_none() => {
                host().and_then(|host| Place::parse(host, Some(*port)))
            }
            _ => None,
        }
    };
    let place = place.ok_or(StatusCode::BAD_REQUEST)?;
    if request.method() != Method::CONNECT {
        let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
        let target =
            if target.starts_with('/') || target == "*" { target.into() } else { format!("/{target}") };
        *request.uri_mut() = target.parse::<Uri>().map_err(|_| StatusCode::BAD_REQUEST)?;
    }
    head::strip(request.headers_mut());
    let crumbs: Vec<_> = request.headers().get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if crumbs.len() > 1
        && let Ok(cookies) = HeaderValue::from_bytes(&crumbs.join(&b"; "[..]))
    {
        request.headers_mut().insert(COOKIE, cookies); // RFC 9113 §8.2.3
    }
    let host = HeaderValue::try_from(place.authority()).map_err(|_| StatusCode::BAD_REQUEST)?;
    request.headers_mut().insert(HOST, host); // RFC 9112 §3.2.2: the target is right, whatever Host said
    request.headers_mut().append(VIA, HeaderValue::from_static("1.1 airperf"));
    *request.version_mut() = Version::HTTP_11;
    Ok(Asked { place, request })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(fields: &[(&str, &str)], method: &str, target: &str, door: Door) -> Option<StatusCode> {
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        read(request.body(()).unwrap(), &door).err()
    }

    #[test]
    fn the_target_decides_over_host_and_fields_of_one_hop_stay_here() {
        let request = Request::builder()
            .uri("http://A.test:80/x?y")
            .header("Host", "b.test")
            .header("Proxy-Connection", "keep-alive")
            .header("Connection", "X-One")
            .header("X-One", "1")
            .header("Cookie", "a=1")
            .header("Cookie", "b=2")
            .body(())
            .unwrap();
        let asked = read(request, &Door::Proxy).unwrap();
        assert_eq!(
            (asked.url().as_str(), asked.request.uri().to_string().as_str()),
            ("http://a.test/x?y", "/x?y")
        );
        let names: Vec<_> = asked.request.headers().keys().map(|name| name.as_str()).collect();
        assert_eq!(names, ["host", "cookie", "via"]);
        assert_eq!(asked.request.headers()[HOST], "a.test");
        assert_eq!(asked.request.headers()["cookie"], "a=1; b=2");
    }

    #[test]
    fn fault_37_a_request_that_could_be_read_in_two_ways_is_refused() {
        let bad = Some(StatusCode::BAD_REQUEST);
        let both = [("Content-Length", "4"), ("Transfer-Encoding", "chunked")];
        assert_eq!(refused(&both, "POST", "http://a.test/", Door::Proxy), bad);
        let hosts = [("Host", "a.test"), ("Host", "b.test")];
        assert_eq!(refused(&hosts, "GET", "/", Door::Origin(80)), bad);
        let lengths = [("Content-Length", "4"), ("Content-Length", "5")];
        assert_eq!(refused(&lengths, "POST", "http://a.test/", Door::Proxy), bad);
        assert_eq!(refused(&[("Host", "a.test")], "GET", "/", Door::Proxy), bad, "not an origin");
        assert_eq!(refused(&[], "GET", "/", Door::Origin(80)), bad, "whose?");
        for target in ["https://a.test/", "ftp://a.test/", "http://u:p@a.test/"] {
            assert_eq!(refused(&[], "GET", target, Door::Proxy), bad, "{target}");
        }
        assert_eq!(refused(&[], "CONNECT", "a.test", Door::Proxy), bad, "a tunnel has a port");
        assert_eq!(refused(&[], "CONNECT", "a.test:443", Door::Proxy), None);
        let within = || Door::Within(Place::of("https", "a.test").unwrap());
        assert_eq!(refused(&[("Host", "A.test:443")], "GET", "/", within()), None);
        assert_eq!(refused(&[], "GET", "https://a.test/", within()), None);
        let elsewhere = Some(StatusCode::MISDIRECTED_REQUEST);
        assert_eq!(refused(&[("Host", "b.test")], "GET", "/", within()), elsewhere);
        assert_eq!(refused(&[("Host", "a.test:444")], "GET", "/", within()), elsewhere);
        assert_eq!(refused(&[("Host", "a.test")], "GET", "http://a.test/", within()), elsewhere);
        assert_eq!(refused(&[], "GET", "/", within()), bad);
        assert_eq!(refused(&[("Host", "a.test")], "CONNECT", "a.test:443", within()), bad);
    }
}
