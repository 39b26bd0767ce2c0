//! The few header fields that matter: what tells lengths, and what the records name.
//!
//! Reference: RFC 9112 §5 (field lines), §6.1 and §6.2 (lengths); RFC 9110 §5.6.1 (lists). Lines end with
//! LF, with or without CR (RFC 9112 §2.2); a line that begins with white space continues the one before.

use std::borrow::Cow;
use std::fmt::Write;

use compact_str::CompactString;

/// Most fields of one head; more are ambiguous.
const MOST_FIELDS: usize = 1_000;
/// Most octets of a target that are told.
const MOST_TARGET: usize = 1_024;
/// Most octets of a method, host or media type that are told.
const MOST_WORD: usize = 255;

/// Methods and media types that need no memory of their own, most frequent first.
const COMMON: [&str; 13] = [
    "GET",
    "text/html",
    "POST",
    "HEAD",
    "text/plain",
    "text/css",
    "image/png",
    "image/jpeg",
    "image/gif",
    "application/json",
    "text/javascript",
    "application/javascript",
    "application/octet-stream",
];

/// What the fields of a head say about the length of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lengths {
    Absent,
    Octets(u64),
    /// The last transfer coding is `chunked`.
    Chunked,
    /// The last transfer coding is another one.
    OtherCoding,
    /// Both kinds of length, different lengths, or one that is no number.
    Ambiguous,
}

/// What was read of the fields of a head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    pub(super) lengths: Lengths,
    pub(super) host: Option<&'a [u8]>,
    /// Without parameters.
    pub(super) content_type: Option<&'a [u8]>,
    pub(super) upgrades_to_http2: bool,
}

impl<'a> Fields<'a> {
    /// Reads the lines after the first of the head at the beginning of `data`, as far as they are there, and
    /// says where the head ends, if it does.
    pub(super) fn parse(data: &'a [u8]) -> (Self, Option<usize>) {
        let mut fields =
            Self { lengths: Lengths::Absent, host: None, content_type: None, upgrades_to_http2: false };
        let mut tells_length = false;
        let mut ends = memchr::memchr_iter(b'\n', data);
        let Some(mut start) = ends.next().map(|end| end + 1) else { return (fields, None) };
        for (number, end) in ends.enumerate() {
            let line = data.get(start..end).unwrap_or_default();
            start = end + 1;
            tells_length = match line {
                [] | [b'\r'] => return (fields, Some(start)),
                _ if number >= MOST_FIELDS => {
                    fields.lengths = Lengths::Ambiguous;
                    false
                }
                [b' ' | b'\t', ..] => {
                    if tells_length && !line.trim_ascii().is_empty() {
                        fields.lengths = Lengths::Ambiguous;
                    }
                    tells_length
                }
                // The first letter spares most lines a closer look.
                [b'c' | b'C' | b't' | b'T' | b'h' | b'H' | b'u' | b'U', ..] => fields.line(line),
                _ => false,
            };
        }
        (fields, None)
    }

    /// Reads one line; says whether it tells the length.
    fn line(&mut self, line: &'a [u8]) -> bool {
        let Some(colon) = line.iter().position(|b| *b == b':') else { return false };
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
        match name.len() {
            4 if is(b"host") => self.host = self.host.or(Some(value.trim_ascii())),
            7 if is(b"upgrade") => self.upgrades_to_http2 |= value.trim_ascii().eq_ignore_ascii_case(b"h2c"),
            12 if is(b"content-type") => {
                let media = value.split(|b| *b == b';').next().unwrap_or_default().trim_ascii();
                self.content_type = self.content_type.or(Some(media));
            }
            14 if is(b"content-length") => {
                self.lengths = content_length(self.lengths, value.trim_ascii());
                return true;
            }
            17 if is(b"transfer-encoding") => {
                self.lengths = transfer_encoding(self.lengths, value.trim_ascii());
                return true;
            }
            // White space before the colon hides a field from some readers (RFC 9112 §5.1).
            _ if matches!(name, [.., b' ' | b'\t']) => {
                let name = name.trim_ascii_end();
                let hidden = [&b"content-length"[..], b"transfer-encoding"];
                if hidden.iter().any(|known| name.eq_ignore_ascii_case(known)) {
                    self.lengths = Lengths::Ambiguous;
                    return true;
                }
            }
            _ => {}
        }
        false
    }
}

fn content_length(before: Lengths, value: &[u8]) -> Lengths {
    value.split(|b| *b == b',').map(<[u8]>::trim_ascii).fold(before, |before, digits| {
        // `parse` would take a sign.
        let all = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        let length = std::str::from_utf8(digits).ok().filter(|_| all).and_then(|v| v.parse().ok());
        match (before, length.filter(|length| *length < 1 << 60)) {
            (Lengths::Absent, Some(length)) => Lengths::Octets(length),
            (Lengths::Octets(before), Some(length)) if before == length => Lengths::Octets(length),
            _ => Lengths::Ambiguous,
        }
    })
}

fn transfer_encoding(before: Lengths, value: &[u8]) -> Lengths {
    value.split(|b| *b == b',').map(<[u8]>::trim_ascii).fold(before, |before, coding| match before {
        Lengths::Absent | Lengths::OtherCoding if coding.eq_ignore_ascii_case(b"chunked") => Lengths::Chunked,
        Lengths::Absent | Lengths::OtherCoding if !coding.is_empty() => Lengths::OtherCoding,
        _ => Lengths::Ambiguous,
    })
}

/// What the records name of an exchange.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Words {
    pub(crate) method: Option<Cow<'static, str>>,
    pub(crate) target: Option<CompactString>,
    pub(crate) host: Option<CompactString>,
    pub(crate) content_type: Option<Cow<'static, str>>,
}

impl Words {
    pub(super) fn ask(&mut self, method: &[u8], target: &[u8], host: Option<&[u8]>) {
        self.method = Some(word(method));
        self.target = Some(printable(target, MOST_TARGET)).filter(|t| !t.is_empty());
        self.host = host.map(|h| printable(h, MOST_WORD));
    }

    pub(super) fn answer(&mut self, content_type: Option<&[u8]>) {
        self.content_type = content_type.map(word);
    }
}

/// A method or media type.
fn word(octets: &[u8]) -> Cow<'static, str> {
    match COMMON.iter().find(|common| common.as_bytes() == octets) {
        Some(common) => Cow::Borrowed(common),
        None => Cow::Owned(printable(octets, MOST_WORD).into_string()),
    }
}

/// The first `most` octets, with what is not printable ASCII, and the backslash, as `\xHH`.
pub(crate) fn printable(octets: &[u8], most: usize) -> CompactString {
    let octets = &octets[..octets.len().min(most)];
    let plain = |b: &u8| matches!(b, 0x20..=0x7e) && *b != b'\\';
    // Looking at all octets is faster than stopping at the first.
    match std::str::from_utf8(octets) {
        Ok(text) if octets.iter().fold(true, |all, b| all & plain(b)) => text.into(),
        _ => {
            let mut text = CompactString::with_capacity(octets.len() + 16);
            for b in octets {
                if plain(b) {
                    text.push(char::from(*b));
                } else {
                    let _ = write!(text, "\\x{b:02x}");
                }
            }
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_fields_are_found_and_bounded() {
        let (fields, _) = Fields::parse(
            b"GET / HTTP/1.1\nX: y\r\nHOST:  a.example \r\nContent-Type: text/html ; charset=utf-8\r\nhost: b\r\n\r\n",
        );
        assert_eq!(fields.host, Some(&b"a.example"[..]));
        assert_eq!(fields.content_type, Some(&b"text/html"[..]));
        let endless = format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(MOST_FIELDS + 1));
        let (fields, end) = Fields::parse(endless.as_bytes());
        assert_eq!((fields.lengths, end), (Lengths::Ambiguous, Some(endless.len())));
    }

    #[test]
    fn fault_37_a_continued_line_belongs_to_its_field() {
        let folded = b"GET / HTTP/1.1\r\nX: y\r\n Content-Length: 5\r\n\tmore\r\n\r\n";
        assert_eq!(Fields::parse(folded).0.lengths, Lengths::Absent);
    }

    #[test]
    fn what_is_not_printable_is_escaped() {
        assert_eq!(printable(b"/a?b=c d", 100), "/a?b=c d");
        assert_eq!(printable(b"/\x1b[2J\\\xff\xc3\xa9", 100), r"/\x1b[2J\x5c\xff\xc3\xa9");
        assert_eq!(printable(&[b'a'; 2_000], MOST_TARGET).len(), MOST_TARGET);
    }
}
