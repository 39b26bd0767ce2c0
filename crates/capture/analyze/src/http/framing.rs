//! How long an HTTP/1 message is: what its head says about its body.
//!
//! Reference: RFC 9112 §6.3, in its order; §3 and §4 for the first lines, which also decide whether a
//! stream is HTTP/1 at all. Where the RFC lets an implementation choose how to repair a length, nothing
//! is guessed: the length is ambiguous.

use super::head::{Fields, Lengths};

/// What a request asks for, as far as the length of its response depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// The response has no body whatever it says.
    Head,
    /// The stream is no longer HTTP after a good response.
    Connect,
    /// Any other, or one that was not seen.
    Other,
}

/// What follows a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// So many octets.
    Octets(u64),
    /// So many octets, or none if the request was a HEAD: it was not seen.
    OctetsIfAny(u64),
    /// Chunks and a trailer.
    Chunked,
    /// Everything until the sender closes.
    UntilClose,
    /// Another head: this one was only interim.
    Interim,
    /// Another protocol: HTTP/2 or something else.
    Switched { http2: bool },
    /// A length nobody can be sure of.
    Ambiguous,
}

/// The first line of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestLine<'a> {
    pub(super) method: &'a [u8],
    pub(super) target: &'a [u8],
}

impl<'a> RequestLine<'a> {
    /// Reads the first line of `head`; `None` when it is no HTTP/1 request. Unknown methods are requests.
    pub(super) fn parse(head: &'a [u8]) -> Option<Self> {
        let line = first_line(head);
        let (first, last) = (memchr::memchr(b' ', line)?, memchr::memrchr(b' ', line)?);
        let (method, target, version) = (&line[..first], line.get(first + 1..last)?, &line[last + 1..]);
        let is_request = is_version(version) && is_token(method) && !target.is_empty();
        (is_request && memchr::memchr(b' ', target).is_none()).then_some(Self { method, target })
    }

    /// What the length of the response depends on.
    pub(super) fn kind(&self) -> Method {
        match self.method {
            b"HEAD" => Method::Head,
            b"CONNECT" => Method::Connect,
            _ => Method::Other,
        }
    }

    /// What follows the head of this request.
    pub(super) fn body(fields: &Fields<'_>) -> Body {
        match fields.lengths {
            Lengths::Absent => Body::Octets(0),
            Lengths::Octets(length) => Body::Octets(length),
            Lengths::Chunked => Body::Chunked,
            Lengths::Ambiguous | Lengths::OtherCoding => Body::Ambiguous,
        }
    }
}

/// The first line of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StatusLine {
    /// Minor version.
    pub(super) version: u8,
    pub(super) status: u16,
}

impl StatusLine {
    /// Reads the first line of `head`; `None` when it is no HTTP/1 response.
    pub(super) fn parse(head: &[u8]) -> Option<Self> {
        let rest = head.strip_prefix(b"HTTP/1.")?;
        let (minor, space, digits, after) = (*rest.first()?, *rest.get(1)?, rest.get(2..5)?, rest.get(5));
        let ends = after.is_none_or(|b| matches!(b, b' ' | b'\r' | b'\n'));
        if space != b' ' || !ends || !minor.is_ascii_digit() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let status = digits.iter().fold(0, |sum, d| sum * 10 + u16::from(d - b'0'));
        Some(Self { version: minor - b'0', status })
    }

    /// What follows the head of this response to a request of `method`.
    pub(super) fn body(&self, method: Method, fields: &Fields<'_>) -> Body {
        match (self.status, method) {
            (101, _) => Body::Switched { http2: fields.upgrades_to_http2 },
            (100..200, _) => Body::Interim,
            (_, Method::Head) | (204 | 304, _) => Body::Octets(0),
            (200..300, Method::Connect) => Body::Switched { http2: false },
            _ => match fields.lengths {
                Lengths::Absent | Lengths::OtherCoding => Body::UntilClose,
                Lengths::Octets(length) => Body::Octets(length),
                Lengths::Chunked => Body::Chunked,
                Lengths::Ambiguous => Body::Ambiguous,
            },
        }
    }
}

/// Size of a chunk, without its extensions; no larger than any stream can be.
pub(super) fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|b| *b == b';').next()?.trim_ascii();
    // `from_str_radix` would take a sign.
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let text = std::str::from_utf8(digits).ok()?;
    u64::from_str_radix(text, 16).ok().filter(|size| *size < 1 << 48)
}

fn first_line(head: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'\n', head).unwrap_or(head.len());
    head[..end].trim_ascii_end()
}

fn is_version(word: &[u8]) -> bool {
    word.strip_prefix(b"HTTP/1.").is_some_and(|minor| minor.len() == 1 && minor[0].is_ascii_digit())
}

/// Whether it is a token (RFC 9110 §5.6.2).
fn is_token(word: &[u8]) -> bool {
    !word.is_empty() && word.iter().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b))
}

/// Whether a segment that begins like this begins a request, as far as it was captured: a whole first
/// line, or the beginning of one with a method of RFC 9110, RFC 5789 or RFC 4918.
pub(super) fn begins_request(data: &[u8]) -> bool {
    const METHODS: [&[u8]; 11] = [
        b"GET ",
        b"HEAD ",
        b"POST ",
        b"PUT ",
        b"DELETE ",
        b"CONNECT ",
        b"OPTIONS ",
        b"TRACE ",
        b"PATCH ",
        b"PROPFIND ",
        b"REPORT ",
    ];
    match data.first() {
        // The longest line that is looked for: what is longer begins with a known method or is not found.
        Some(first) if first.is_ascii_uppercase() => {
            let line = &data[..data.len().min(2_048)];
            METHODS.iter().any(|m| data.starts_with(m)) && !line.contains(&0)
                || line.contains(&b'\n') && RequestLine::parse(line).is_some()
        }
        _ => false,
    }
}

/// Whether a segment that begins like this begins a response.
pub(super) fn begins_response(data: &[u8]) -> bool {
    StatusLine::parse(data).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: &str, fields: &str) -> Body {
        let head = format!("HTTP/1.1 {status}\r\n{fields}\r\n");
        StatusLine::parse(head.as_bytes()).unwrap().body(Method::Other, &Fields::parse(head.as_bytes()).0)
    }

    #[test]
    fn first_lines_decide_what_is_http() {
        let request = |head: &'static str| RequestLine::parse(head.as_bytes());
        assert_eq!(request("GET /a HTTP/1.1\r\n\r\n").map(|r| r.target), Some(&b"/a"[..]));
        assert_eq!(request("BREW /pot HTTP/1.0\n\n").map(|r| r.method), Some(&b"BREW"[..]));
        assert_eq!(request("HEAD / HTTP/1.1\r\n\r\n").map(|r| r.kind()), Some(Method::Head));
        for no in [
            "PRI * HTTP/2.0\r\n",
            "GET /\r\n",
            "hello\r\n",
            "GET / / HTTP/1.1\r\n",
            "\r\n",
            "G@T / HTTP/1.1\r\n",
        ] {
            assert_eq!(RequestLine::parse(no.as_bytes()), None, "{no:?}");
        }
        assert_eq!(
            StatusLine::parse(b"HTTP/1.0 404 Not Found\r\n"),
            Some(StatusLine { version: 0, status: 404 })
        );
        for no in
            ["HTTP/2 200\r\n", "HTTP/1.1 20\r\n", "HTTP/1.1\r\n", "ICY 200 OK\r\n", "HTTP/1.1 2000 OK\r\n"]
        {
            assert_eq!(StatusLine::parse(no.as_bytes()), None, "{no:?}");
        }
    }

    #[test]
    fn fault_37_lengths_follow_rfc_9112() {
        assert_eq!(answer("200 OK", "Content-Length: 12\r\n"), Body::Octets(12));
        assert_eq!(answer("200 OK", "content-LENGTH:12\r\nContent-Length: 12\r\n"), Body::Octets(12));
        assert_eq!(answer("200 OK", "Content-Length: 12, 12\r\n"), Body::Octets(12));
        assert_eq!(answer("200 OK", "Transfer-Encoding: chunked\r\n"), Body::Chunked);
        assert_eq!(answer("200 OK", "Transfer-Encoding: gzip, Chunked\r\n"), Body::Chunked);
        assert_eq!(
            answer("200 OK", "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"),
            Body::Chunked
        );
        assert_eq!(answer("200 OK", "Transfer-Encoding: gzip\r\n"), Body::UntilClose);
        assert_eq!(answer("200 OK", ""), Body::UntilClose);
        assert_eq!(answer("204 No", "Content-Length: 12\r\n"), Body::Octets(0));
        assert_eq!(answer("304 Same", "Content-Length: 12\r\n"), Body::Octets(0));
        assert_eq!(answer("100 Continue", ""), Body::Interim);
        assert_eq!(answer("101 Switching", "Upgrade: websocket\r\n"), Body::Switched { http2: false });
        assert_eq!(answer("101 Switching", "Upgrade: h2c\r\n"), Body::Switched { http2: true });
        let (fields, _) = Fields::parse(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
        let line = StatusLine { version: 1, status: 200 };
        assert_eq!(line.body(Method::Head, &fields), Body::Octets(0));
        assert_eq!(line.body(Method::Connect, &fields), Body::Switched { http2: false });
        assert_eq!(StatusLine { status: 403, ..line }.body(Method::Connect, &fields), Body::Octets(5));
    }

    #[test]
    fn fault_37_conflicting_lengths_are_ambiguous() {
        for ambiguous in [
            "Content-Length: 1\r\nContent-Length: 2\r\n",
            "Content-Length: 1, 2\r\n",
            "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n",
            "Transfer-Encoding: chunked, gzip\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Content-Length: -1\r\n",
            "Content-Length: +1\r\n",
            "Content-Length:\r\n",
            "Content-Length: 99999999999999999999\r\n",
            "Content-Length: 1\r\n 2\r\n",
            "Content-Length : 1\r\n",
        ] {
            assert_eq!(answer("200 OK", ambiguous), Body::Ambiguous, "{ambiguous:?}");
        }
        let (request, _) = Fields::parse(b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n");
        assert_eq!(
            RequestLine::body(&request),
            Body::Ambiguous,
            "a request cannot end where its sender closes"
        );
    }

    #[test]
    fn fault_37_chunk_sizes() {
        assert_eq!(chunk_size(b"1aF"), Some(0x1af));
        assert_eq!(chunk_size(b"5 ;name=\"x\""), Some(5));
        for no in ["-5", "+5", "ffffffffffffffff", "10000000000000000", "", "0x5", "5 5", ";x"] {
            assert_eq!(chunk_size(no.as_bytes()), None, "{no:?}");
        }
    }

    #[test]
    fn beginnings_of_messages_are_told_from_the_middle_of_bodies() {
        assert!(begins_request(b"GET /cut"));
        assert!(begins_request(b"BREW /pot HTTP/1.1\r\n"));
        assert!(begins_response(b"HTTP/1.1 200"));
        for no in [&b"GETTING there"[..], b"BREW /pot", b"", b"<html>", b"GET \0"] {
            assert!(!begins_request(no), "{no:?}");
        }
        assert!(!begins_response(b"HTTP is a protocol"));
    }
}
