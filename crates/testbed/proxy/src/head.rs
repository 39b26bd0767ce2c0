//! What an intermediary does to the head of a message: fields that are for one hop only go no further.
//!
//! Reference: RFC 9110 §7.6.1 (Connection), §7.6.3 (Via), RFC 9112 §3.2 (forms of a target). Left out: upgrades, which
//! are not passed on.

use hyper::header::{CONNECTION, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING, VIA};
use hyper::{Method, Request, Uri};

/// Fields of one hop whether or not `Connection` names them (RFC 9110 §7.6.1).
const ONE_HOP: [&str; 6] = ["keep-alive", "proxy-connection", "te", "trailer", "upgrade", "connection"];

/// The members of a field's list (RFC 9110 §5.6.1).
pub(crate) fn members<'a>(fields: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let lines = fields.get_all(name).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim).filter(|member| !member.is_empty())
}

/// Takes out what is for one hop only.
pub(crate) fn strip(fields: &mut HeaderMap) {
    let named: Vec<HeaderName> = members(fields, &CONNECTION).filter_map(|name| name.parse().ok()).collect();
    for name in named {
        fields.remove(name);
    }
    for name in ONE_HOP {
        fields.remove(name);
    }
    // The body is framed anew on the next hop.
    fields.remove(TRANSFER_ENCODING);
}

/// Makes a request ready for the upstream; false for one that is meant for a forward proxy (an absolute target or
/// CONNECT), which this is not.
pub(crate) fn prepare<B>(request: &mut Request<B>) -> bool {
    if request.method() == Method::CONNECT || request.uri().authority().is_some() {
        return false;
    }
    if request.uri().path().is_empty() {
        *request.uri_mut() = Uri::from_static("/");
    }
    strip(request.headers_mut());
    request.headers_mut().append(VIA, HeaderValue::from_static("1.1 airperf"));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(target: &str) -> Request<()> {
        Request::builder()
            .uri(target)
            .header("Host", "here")
            .header("Connection", "close, X-Secret")
            .header("X-Secret", "1")
            .header("Transfer-Encoding", "chunked")
            .header("Accept", "*/*")
            .body(())
            .unwrap()
    }

    #[test]
    fn fields_of_one_hop_go_no_further_and_the_hop_is_named() {
        let mut request = request("/o?x=1");
        assert!(prepare(&mut request));
        let names: Vec<_> = request.headers().keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["host", "accept", "via"]);
        assert_eq!(request.uri(), "/o?x=1");
    }

    #[test]
    fn it_is_no_open_proxy() {
        for target in ["http://elsewhere/", "http://127.0.0.1:1/x"] {
            assert!(!prepare(&mut request(target)), "{target}");
        }
        let connect = Request::builder().method("CONNECT").uri("elsewhere:443").body(()).unwrap();
        assert!(!prepare(&mut { connect }));
    }
}
