//! Hides names in place: as many hexadecimal digits as the name had octets, the same for the same name.
//!
//! Of an HTTP head, request targets and all header values are hidden but for those that say how a message is
//! framed and handled ([`SHOWN`]). Leaves out heads that begin in an earlier segment: they are cut.

use sha2::{Digest, Sha256};

use super::key::Key;

/// Header fields whose values stay.
const SHOWN: &[&str] = &[
    "accept-encoding",
    "accept-ranges",
    "age",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "date",
    "expect",
    "keep-alive",
    "pragma",
    "range",
    "transfer-encoding",
    "upgrade",
    "vary",
];

/// Hides names with a key.
pub(super) struct Names([u8; 32]);

impl Names {
    pub(super) fn new(key: &Key) -> Self {
        Self(key.derive("names"))
    }

    /// Puts hexadecimal digits in place of a name.
    pub(super) fn hide(&self, name: &mut [u8]) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let inner = Sha256::new().chain_update(self.0).chain_update(&*name).finalize();
        for (n, digits) in name.chunks_mut(64).enumerate() {
            let block = Sha256::new().chain_update(self.0).chain_update(inner).chain_update(n.to_be_bytes());
            let nibbles = block.finalize().into_iter().flat_map(|octet| [octet >> 4, octet & 15]);
            for (digit, nibble) in digits.iter_mut().zip(nibbles) {
                *digit = DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'0');
            }
        }
    }

    /// Hides what names anybody or anything in the HTTP head that `payload` begins with; returns how much of
    /// it is head. Nothing where it begins with something else.
    pub(super) fn http_head(&self, payload: &mut [u8]) -> usize {
        if !self.start_line(line(payload, 0)) {
            return 0;
        }
        let mut at = 0;
        while let Some(end) = payload.get(at..).and_then(|rest| rest.iter().position(|octet| *octet == b'\n'))
        {
            let after = at + end + 1;
            if at > 0 {
                let field = line(payload, at);
                if field.is_empty() {
                    return after;
                }
                self.field(field);
            }
            at = after;
        }
        // The last line goes on in another segment.
        at
    }

    /// Hides the target of a request; false where the line is neither of a request nor of a response.
    fn start_line(&self, line: &mut [u8]) -> bool {
        if let Some((status, reason)) = line.split_at_mut_checked(12)
            && is_status(status)
        {
            return match reason {
                // A phrase says nothing that its code does not (RFC 9110 §15).
                [b' ', phrase @ ..] => {
                    phrase.fill(b'-');
                    true
                }
                rest => rest.is_empty(),
            };
        }
        let space = |line: &[u8]| line.iter().position(|octet| *octet == b' ');
        let (Some(first), Some(last)) = (space(line), line.iter().rposition(|octet| *octet == b' ')) else {
            return false;
        };
        let method = line.get(..first).unwrap_or_default();
        let version = line.get(last + 1..).unwrap_or_default();
        if !method.iter().all(u8::is_ascii_uppercase) || method.len() > 16 || !is_version(version) {
            return false;
        }
        match line.get_mut(first + 1..last) {
            Some([b'*']) => {}
            Some([b'/', path @ ..]) => self.hide(path),
            Some(target) => self.hide(target),
            None => return false,
        }
        true
    }

    fn field(&self, line: &mut [u8]) {
        let colon = line.iter().position(|octet| *octet == b':');
        let Some((name, value)) = colon.and_then(|colon| line.split_at_mut_checked(colon)) else {
            // A folded value, or no field at all.
            return self.hide(line);
        };
        if SHOWN.iter().any(|shown| name.eq_ignore_ascii_case(shown.as_bytes())) {
            return;
        }
        let is_token = |octet: &u8| octet.is_ascii_alphanumeric() || *octet == b'-' || *octet == b'_';
        if !name.iter().all(is_token) || name.len() > 40 {
            self.hide(name);
        }
        let blank = |octet: &u8| matches!(octet, b':' | b' ' | b'\t');
        let start = value.iter().position(|octet| !blank(octet)).unwrap_or(value.len());
        self.hide(value.get_mut(start..).unwrap_or_default());
    }
}

fn is_version(word: &[u8]) -> bool {
    matches!(word, [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'0'..=b'9'])
}

/// Whether this is a version, a space and a code.
fn is_status(start: &[u8]) -> bool {
    let (version, code) = start.split_at_checked(8).unwrap_or_default();
    is_version(version) && matches!(code, [b' ', digits @ ..] if digits.iter().all(u8::is_ascii_digit))
}

/// The line that begins at `at`, without its end.
fn line(bytes: &mut [u8], at: usize) -> &mut [u8] {
    let rest = bytes.get_mut(at..).unwrap_or_default();
    let end = rest.iter().position(|octet| *octet == b'\n').unwrap_or(rest.len());
    let line = rest.get_mut(..end).unwrap_or_default();
    match line {
        [line @ .., b'\r'] => line,
        line => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(text: &str) -> (String, usize) {
        let mut bytes = text.as_bytes().to_vec();
        let head = Names::new(&Key::from_secret(b"x")).http_head(&mut bytes);
        (String::from_utf8(bytes).unwrap(), head)
    }

    #[test]
    fn a_request_shows_its_shape_and_no_name() {
        let request =
            "GET /who?name=ann HTTP/1.1\r\nHost: ann.example\r\nContent-Length: 3\r\nCookie: id=7\r\n\r\nann";
        let (text, head) = hidden(request);
        assert_eq!((text.len(), head), (request.len(), request.len() - 3));
        let lines: Vec<&str> = text.split("\r\n").collect();
        assert!(lines[0].starts_with("GET /") && lines[0].ends_with(" HTTP/1.1"), "{text}");
        assert!(lines[1].starts_with("Host: ") && lines[3].starts_with("Cookie: "), "{text}");
        assert_eq!(lines[2], "Content-Length: 3");
        for secret in ["who", "ann", "id=7", "example"] {
            assert!(!text[..head].contains(secret), "{text}");
        }
        assert_eq!(hidden(request).0, text, "the same for the same name");
    }

    #[test]
    fn a_response_shows_its_code() {
        let (text, head) =
            hidden("HTTP/1.1 200 For Ann\r\nServer: ann\nSet-Cookie: a=b\r\n folded\r\n\r\nbody");
        assert!(text.starts_with("HTTP/1.1 200 -------\r\nServer: "), "{text}");
        assert!(!text[..head].contains("folded") && text.ends_with("\r\n\r\nbody"), "{text}");
    }

    #[test]
    fn what_is_no_head_is_cut() {
        for other in [
            "",
            "hello",
            "get / HTTP/1.1\r\n\r\n",
            "GET /\r\n\r\n",
            "\u{16}\u{3}\u{1}\0\0 HTTP/1.1\r\n",
            "HTTP/1.secret\r\n\r\n",
            "HTTP/1.1 200secret\r\n\r\n",
            "GET / HTTP/1.1secret\r\n\r\n",
        ] {
            assert_eq!(hidden(other).1, 0, "{other:?}");
        }
        let (text, head) = hidden("GET / HTTP/1.1\r\nHost: a\r\nCookie: secr");
        assert_eq!(&text[head..], "Cookie: secr", "an unfinished line is not part of what is kept");
        assert_eq!(hidden("OPTIONS * HTTP/1.1\r\n\r\n").0, "OPTIONS * HTTP/1.1\r\n\r\n");
    }
}
