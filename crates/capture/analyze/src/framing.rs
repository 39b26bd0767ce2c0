//! How long an HTTP/1 message is: what its head says about its body.
//!
//! Reference: RFC 9112 §6.3, in its order; §3 and §4 for the first lines, which also decide whether a
//! stream is HTTP/1 at all. Ambiguous lengths are not guessed at.

/// What a request asks for, as far as the length of its response depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// The response has no body whatever it says.
    Head,
    /// The stream is no longer HTTP after a good response.
    Connect,
    /// Any other.
    Other,
}

/// What follows a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// So many octets.
    Octets(u64),
    /// Chunks and a trailer.
    Chunked,
    /// Everything until the sender closes.
    UntilClose,
    /// Another head: this one was only interim.
    Interim,
    /// Something that is no HTTP/1 message, or a length nobody can be sure of.
    Unknown,
}

/// The method of a request and what follows its head; `None` when it is no HTTP/1 request.
pub(crate) fn request(head: &[u8]) -> Option<(Method, Body)> {
    let line = first_line(head);
    let mut words = line.split(|b| *b == b' ');
    let (method, _target, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !version.starts_with(b"HTTP/1.") || method.is_empty() {
        return None;
    }
    let method = match method {
        b"HEAD" => Method::Head,
        b"CONNECT" => Method::Connect,
        _ => Method::Other,
    };
    let body = match lengths(head) {
        Lengths::Absent => Body::Octets(0),
        Lengths::Octets(length) => Body::Octets(length),
        Lengths::Chunked => Body::Chunked,
        Lengths::Ambiguous => Body::Unknown,
    };
    Some((method, body))
}

/// What follows the head of a response to a request of `method`; `None` when it is no HTTP/1 response.
pub(crate) fn response(head: &[u8], method: Method) -> Option<Body> {
    let line = first_line(head);
    let rest = line.strip_prefix(b"HTTP/1.")?;
    let status = rest.get(2..5)?;
    if rest[1] != b' ' || !status.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(match (status, method) {
        (b"101", _) => Body::Unknown,
        ([b'1', ..], _) => Body::Interim,
        (_, Method::Head) | (b"204" | b"304", _) => Body::Octets(0),
        ([b'2', ..], Method::Connect) => Body::Unknown,
        _ => match lengths(head) {
            Lengths::Absent => Body::UntilClose,
            Lengths::Octets(length) => Body::Octets(length),
            Lengths::Chunked => Body::Chunked,
            Lengths::Ambiguous => Body::Unknown,
        },
    })
}

enum Lengths {
    Absent,
    Octets(u64),
    Chunked,
    /// Both kinds of length, different lengths, or one that is no number.
    Ambiguous,
}

fn lengths(head: &[u8]) -> Lengths {
    let mut found = Lengths::Absent;
    for line in head.split(|b| *b == b'\n').skip(1) {
        let Some(colon) = line.iter().position(|b| *b == b':') else { continue };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
            let length = std::str::from_utf8(value).ok().filter(|_| digits).and_then(|v| v.parse().ok());
            found = match (found, length) {
                (Lengths::Absent, Some(length)) => Lengths::Octets(length),
                (Lengths::Octets(before), Some(length)) if before == length => Lengths::Octets(length),
                _ => return Lengths::Ambiguous,
            };
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            found = match found {
                Lengths::Absent if value.eq_ignore_ascii_case(b"chunked") => Lengths::Chunked,
                _ => return Lengths::Ambiguous,
            };
        }
    }
    found
}

fn first_line(head: &[u8]) -> &[u8] {
    head.split(|b| *b == b'\n').next().unwrap_or_default().trim_ascii_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: &str, fields: &str) -> Option<Body> {
        response(format!("HTTP/1.1 {status}\r\n{fields}\r\n").as_bytes(), Method::Other)
    }

    #[test]
    fn first_lines_decide_what_is_http() {
        assert_eq!(request(b"GET / HTTP/1.1\r\n\r\n"), Some((Method::Other, Body::Octets(0))));
        assert_eq!(request(b"BREW /pot HTTP/1.0\n\n"), Some((Method::Other, Body::Octets(0))));
        assert_eq!(request(b"HEAD / HTTP/1.1\r\n\r\n").map(|r| r.0), Some(Method::Head));
        for no in ["PRI * HTTP/2.0\r\n", "GET /\r\n", "hello\r\n", "GET / / HTTP/1.1\r\n", "\r\n"] {
            assert_eq!(request(no.as_bytes()), None, "{no:?}");
        }
        for no in ["HTTP/2 200\r\n", "HTTP/1.1 20\r\n", "HTTP/1.1\r\n", "ICY 200 OK\r\n"] {
            assert_eq!(response(no.as_bytes(), Method::Other), None, "{no:?}");
        }
    }

    #[test]
    fn fault_37_lengths_follow_rfc_9112() {
        assert_eq!(answer("200 OK", "Content-Length: 12\r\n"), Some(Body::Octets(12)));
        assert_eq!(answer("200 OK", "content-LENGTH:12\r\nContent-Length: 12\r\n"), Some(Body::Octets(12)));
        assert_eq!(answer("200 OK", "Transfer-Encoding: chunked\r\n"), Some(Body::Chunked));
        assert_eq!(answer("200 OK", ""), Some(Body::UntilClose));
        assert_eq!(answer("204 No", "Content-Length: 12\r\n"), Some(Body::Octets(0)));
        assert_eq!(answer("304 Same", "Content-Length: 12\r\n"), Some(Body::Octets(0)));
        assert_eq!(answer("100 Continue", ""), Some(Body::Interim));
        assert_eq!(answer("101 Switching", ""), Some(Body::Unknown));
        for ambiguous in [
            "Content-Length: 1\r\nContent-Length: 2\r\n",
            "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Content-Length: -1\r\n",
            "Content-Length: 99999999999999999999\r\n",
        ] {
            assert_eq!(answer("200 OK", ambiguous), Some(Body::Unknown), "{ambiguous:?}");
        }
        let head = response(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", Method::Head);
        assert_eq!(head, Some(Body::Octets(0)));
    }
}
