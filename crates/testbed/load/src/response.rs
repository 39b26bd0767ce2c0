//! Where a response ends: the framing of HTTP/1.x, octet by octet, nothing kept.
//!
//! Reference: RFC 9112 §4 (status line), §5 (fields), §6.3 (message body length, in its order) and §7.1
//! (chunked). Bodies are counted and dropped; of the head only the fields that frame it are looked at. What
//! is ambiguous (conflicting lengths, length with chunks) is a framing error, as §6.3 advises: a measurement
//! must not guess. Lines that are cut by the end of a read are kept until the rest comes, up to
//! [`LONGEST_LINE`]; no claim of the peer allocates anything.
//!
//! Left out: checking what a generator has no use for (field syntax, trailers' meaning).

use memchr::memchr;

/// Longest line of a head, octets.
const LONGEST_LINE: usize = 16 * 1024;
/// Longest head with its interim responses, and longest trailer section, octets.
const LONGEST_HEAD: u64 = 256 * 1024;

/// Why a response cannot be told from what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// The first line is no status line of HTTP/1.x.
    NotHttp,
    /// A line or head beyond all measure.
    TooLong,
    /// A Content-Length that is no number.
    BadLength,
    /// Lengths that contradict each other.
    Conflict,
    /// A chunk's size that is no number, or a chunk that does not end.
    BadChunk,
    /// The peer switched to another protocol.
    Switched,
}

/// What became of the octets given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fed {
    /// All belong to a response that goes on.
    More,
    /// The response ended after so many of them.
    Done(usize),
    /// It makes no sense.
    Wrong(Framing),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Status,
    Fields,
    Body(u64),
    UntilClose,
    ChunkSize,
    Chunk(u64),
    ChunkEnd,
    Trailers,
}

/// Which field a continuation line would continue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Other,
    Framing,
}

/// What a head said about the length of its body.
#[derive(Clone, Copy, Debug, Default)]
struct Lengths {
    content: Option<u64>,
    encoded: bool,
    chunked: bool,
}

/// A parser of one response after the other.
#[derive(Clone, Debug)]
pub(crate) struct Parser {
    state: State,
    /// The begun line of an earlier read.
    line: Vec<u8>,
    head_request: bool,
    /// Status of the response, 0 before its status line.
    pub(crate) status: u16,
    /// Octets of head and framing so far.
    pub(crate) head_bytes: u64,
    /// Octets of body so far.
    pub(crate) body_bytes: u64,
    /// Whether the connection cannot be used after this response.
    pub(crate) closes: bool,
    /// Octets of the head or trailer section so far.
    section_bytes: u64,
    lengths: Lengths,
    last: Last,
}

impl Default for Parser {
    fn default() -> Self {
        Self {
            state: State::Status,
            line: Vec::new(),
            head_request: false,
            status: 0,
            head_bytes: 0,
            body_bytes: 0,
            closes: false,
            section_bytes: 0,
            lengths: Lengths::default(),
            last: Last::Other,
        }
    }
}

impl Parser {
    /// Makes ready for the next response, that to a HEAD request if `head_request`.
    #[inline]
    pub(crate) fn next(&mut self, head_request: bool) {
        self.line.clear();
        self.state = State::Status;
        self.head_request = head_request;
        (self.status, self.head_bytes, self.body_bytes, self.closes) = (0, 0, 0, false);
        (self.section_bytes, self.lengths, self.last) = (0, Lengths::default(), Last::Other);
    }

    /// Takes the octets that came; they begin where the last ones ended.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Fed {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let step = match self.state {
                State::Body(left) => self.skip(rest, left, State::Body, None),
                State::Chunk(left) => self.skip(rest, left, State::Chunk, Some(State::ChunkEnd)),
                State::UntilClose => {
                    self.body_bytes += rest.len() as u64;
                    return Fed::More;
                }
                _ => self.take_line(rest),
            };
            match step {
                Ok((used, over)) => {
                    at += used;
                    if over {
                        return Fed::Done(at);
                    }
                }
                Err(wrong) => return Fed::Wrong(wrong),
            }
        }
        Fed::More
    }

    /// The peer has closed: whether that ended the response as it should.
    pub(crate) fn end_of_stream(&self) -> bool {
        self.state == State::UntilClose
    }

    fn skip(
        &mut self,
        rest: &[u8],
        left: u64,
        now: fn(u64) -> State,
        then: Option<State>,
    ) -> Result<(usize, bool), Framing> {
        let used = left.min(rest.len() as u64);
        self.body_bytes += used;
        let over = used == left;
        self.state = if over { then.unwrap_or(State::Status) } else { now(left - used) };
        Ok((used as usize, over && then.is_none()))
    }

    /// Takes octets up to the end of a line; how many, and whether the response is over.
    fn take_line(&mut self, rest: &[u8]) -> Result<(usize, bool), Framing> {
        let end = memchr(b'\n', rest);
        let used = end.map_or(rest.len(), |end| end + 1);
        self.head_bytes += used as u64;
        self.section_bytes += used as u64;
        if self.line.len() + used > LONGEST_LINE || self.section_bytes > LONGEST_HEAD {
            return Err(Framing::TooLong);
        }
        let Some(end) = end else {
            // What can no longer become a status line need not be waited for.
            self.line.extend_from_slice(rest);
            let like = self.line.len().min(STATUS_LINE.len());
            if self.state == State::Status && self.line[..like] != STATUS_LINE[..like] {
                return Err(Framing::NotHttp);
            }
            return Ok((used, false));
        };
        let over = if self.line.is_empty() {
            self.line_done(trimmed(&rest[..end]))?
        } else {
            let mut line = std::mem::take(&mut self.line);
            line.extend_from_slice(&rest[..end]);
            let over = self.line_done(trimmed(&line));
            line.clear();
            self.line = line; // its memory is used again
            over?
        };
        Ok((used, over))
    }

    fn line_done(&mut self, line: &[u8]) -> Result<bool, Framing> {
        match self.state {
            State::Status => self.status_line(line),
            State::Fields if line.is_empty() => self.head_done(),
            State::Fields => self.field(line).map(|()| false),
            State::ChunkSize => self.chunk_size(line),
            State::ChunkEnd if line.is_empty() => {
                self.state = State::ChunkSize;
                Ok(false)
            }
            State::ChunkEnd => Err(Framing::BadChunk),
            State::Trailers => Ok(line.is_empty()),
            State::Body(_) | State::Chunk(_) | State::UntilClose => Ok(false),
        }
    }

    fn status_line(&mut self, line: &[u8]) -> Result<bool, Framing> {
        // RFC 9112 §2.2 lets an empty line before a message pass.
        if line.is_empty() && self.status == 0 && self.head_bytes <= 2 {
            return Ok(false);
        }
        let parts = line.strip_prefix(STATUS_LINE).and_then(|rest| {
            let (&[minor, b' ', a, b, c], after) = rest.split_first_chunk::<5>()? else { return None };
            let digits = [a, b, c].iter().all(u8::is_ascii_digit) && minor.is_ascii_digit();
            let status =
                digits.then(|| [a, b, c].iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0')))?;
            let ended = after.first().is_none_or(|&b| b == b' ');
            (ended && status >= 100).then_some((minor, status))
        });
        let (minor, status) = parts.ok_or(Framing::NotHttp)?;
        self.status = status;
        self.closes = minor == b'0';
        self.lengths = Lengths::default();
        self.last = Last::Other;
        self.state = State::Fields;
        Ok(false)
    }

    fn field(&mut self, line: &[u8]) -> Result<(), Framing> {
        // obs-fold, RFC 9112 §5.2: harmless unless it continues what frames the message.
        if matches!(line[0], b' ' | b'\t') {
            return if self.last == Last::Framing { Err(Framing::Conflict) } else { Ok(()) };
        }
        self.last = Last::Other;
        // Three fields matter, and their first letters are two.
        if !matches!(line[0] | 0x20, b'c' | b't') {
            return Ok(());
        }
        let Some(colon) = memchr(b':', line) else { return Ok(()) };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            self.last = Last::Framing;
            for part in value.split(|&b| b == b',') {
                let length = number(part.trim_ascii(), 10).ok_or(Framing::BadLength)?;
                if self.lengths.content.is_some_and(|earlier| earlier != length) {
                    return Err(Framing::Conflict);
                }
                self.lengths.content = Some(length);
            }
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.last = Last::Framing;
            self.lengths.encoded = true;
            let coding = value.rsplit(|&b| b == b',').next().unwrap_or_default().trim_ascii();
            self.lengths.chunked = coding.eq_ignore_ascii_case(b"chunked");
        } else if name.eq_ignore_ascii_case(b"connection") {
            for option in value.split(|&b| b == b',').map(<[u8]>::trim_ascii) {
                if option.eq_ignore_ascii_case(b"close") {
                    self.closes = true;
                } else if option.eq_ignore_ascii_case(b"keep-alive") {
                    self.closes = false;
                }
            }
        }
        Ok(())
    }

    /// RFC 9112 §6.3, in its order.
    fn head_done(&mut self) -> Result<bool, Framing> {
        let Lengths { content, encoded, chunked } = self.lengths;
        if self.status == 101 {
            return Err(Framing::Switched);
        }
        if self.status < 200 {
            self.state = State::Status; // interim: the final one follows
            return Ok(false);
        }
        if self.head_request || self.status == 204 || self.status == 304 {
            return Ok(true);
        }
        if encoded && content.is_some() {
            return Err(Framing::Conflict);
        }
        self.state = match content {
            _ if chunked => State::ChunkSize,
            Some(0) => return Ok(true),
            Some(length) => State::Body(length),
            None => {
                self.closes = true;
                State::UntilClose
            }
        };
        Ok(false)
    }

    fn chunk_size(&mut self, line: &[u8]) -> Result<bool, Framing> {
        let size = line.split(|&b| b == b';').next().unwrap_or_default().trim_ascii();
        let size = number(size, 16).ok_or(Framing::BadChunk)?;
        self.state = if size == 0 { State::Trailers } else { State::Chunk(size) };
        self.section_bytes = 0;
        Ok(false)
    }
}

/// How every status line of HTTP/1.x begins.
const STATUS_LINE: &[u8] = b"HTTP/1.";

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A number of digits only, below 2^63: neither sign nor space.
fn number(text: &[u8], radix: u32) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |sum, &byte| {
        let digit = char::from(byte).to_digit(radix)?;
        let next = sum.checked_mul(u64::from(radix))?.checked_add(u64::from(digit))?;
        (next <= i64::MAX as u64).then_some(next)
    })
}

#[cfg(test)]
mod tests;
