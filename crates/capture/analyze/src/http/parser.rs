//! Finds where HTTP/1 messages begin and end in one direction of a connection, by their content.
//!
//! A head that lies whole in a segment is read where it lies; others are gathered, up to [`MOST_HEAD`].
//! Bodies are only counted. After a hole that may have held the end of a message, the next message is
//! looked for where segments begin: programs send a head at the beginning of one. Reference: RFC 9112 §2
//! (messages), §7.1 (chunks). What a head means is the listener's to say.

use super::framing::{self, Body, RequestLine, StatusLine};
use super::head::Fields;
use super::reassembly::Seen;

/// Longest head, or line of a chunked body, that is looked at.
const MOST_HEAD: usize = 64 * 1024;

/// Why a stream is left alone from some place on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opaque {
    /// It is no HTTP/1.
    Foreign,
    /// It begins with HTTP/2's preface.
    Http2,
    /// Nobody can tell where the message ends.
    Ambiguous,
    /// The ends agreed on another protocol.
    Switched { http2: bool },
}

/// Is told of the messages in one direction; places are octets from the first of the stream.
pub(super) trait Listener {
    /// Whether the messages are requests.
    const REQUESTS: bool;
    /// A message begins at `at`; `lost` says that others may have been missed just before.
    fn begins(&mut self, at: u64, seen: Seen, lost: bool);
    /// The message has this head with these fields, and it ends at `end`; says what follows, or `None` if it
    /// is no HTTP/1.
    fn head(&mut self, head: &[u8], fields: &Fields<'_>, end: u64) -> Option<Body>;
    /// Only so much of the head is known.
    fn cut_head(&mut self, head: &[u8]);
    /// The message is no more than its head.
    fn has_no_body(&mut self);
    /// The message ends before `at`.
    fn ends(&mut self, at: u64, seen: Seen);
    /// It ends where the sender closes.
    fn ends_at_close(&mut self);
    /// Nobody knows where it ends: octets are missing.
    fn is_lost(&mut self);
    /// Nothing more will be told.
    fn is_opaque(&mut self, why: Opaque);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Between messages.
    Between,
    Head,
    Body(u64),
    /// A body of so many octets, or none at all if the request, which was not seen, was a HEAD.
    Unsure(u64),
    ChunkSize,
    ChunkData(u64),
    /// The line end after a chunk's data.
    ChunkEnd,
    Trailer,
    UntilClose,
    /// Looking for the next message.
    Lost,
    Opaque,
}

/// Reads one direction.
#[derive(Clone, Debug)]
pub(super) struct Parser {
    state: State,
    at: u64,
    /// A head or line that is not complete yet.
    line: Vec<u8>,
    /// Where the last line of the head begins in `line`.
    line_start: usize,
}

impl Parser {
    /// A parser of a stream; a `whole` one begins with a message.
    pub(super) fn new(whole: bool) -> Self {
        let state = if whole { State::Between } else { State::Lost };
        Self { state, at: 0, line: Vec::new(), line_start: 0 }
    }

    /// Where it stands, if that is all there is to know: between two messages.
    pub(super) fn at_rest(&self) -> Option<u64> {
        (self.state == State::Between && self.line.is_empty()).then_some(self.at)
    }

    /// A parser between two messages.
    pub(super) fn resume(at: u64) -> Self {
        Self { state: State::Between, at, line: Vec::new(), line_start: 0 }
    }

    /// Whether nothing more will be found.
    pub(super) fn is_opaque(&self) -> bool {
        self.state == State::Opaque
    }

    /// Whether nothing was read yet.
    pub(super) fn is_fresh(&self) -> bool {
        self.state == State::Between && self.at == 0
    }

    /// Whether it is looking for a message.
    pub(super) fn is_lost(&self) -> bool {
        self.state == State::Lost
    }

    /// Looks at no more of the stream.
    pub(super) fn give_up(&mut self) {
        self.state = State::Opaque;
        self.forget_line();
    }

    /// How many of the next octets need not be seen.
    pub(super) fn indifferent_to(&self) -> u64 {
        match self.state {
            State::Body(left) | State::Unsure(left) | State::ChunkData(left) => left,
            State::UntilClose | State::Opaque => u64::MAX,
            _ => 0,
        }
    }

    /// How many of the next octets are of a kind of which only the last one matters.
    pub(super) fn ahead(&self) -> Option<u64> {
        match self.state {
            State::Body(left) | State::ChunkData(left) => Some(left),
            State::UntilClose => Some(u64::MAX),
            _ => None,
        }
    }

    /// Some of these were passed over, and not the last.
    pub(super) fn passed(&mut self, octets: u64) {
        self.at += octets;
        if let State::Body(left) | State::ChunkData(left) = &mut self.state {
            *left -= octets;
        }
    }

    /// The next octets.
    pub(super) fn octets<L: Listener>(&mut self, seen: Seen, mut data: &[u8], to: &mut L) {
        let begins = if L::REQUESTS { framing::begins_request } else { framing::begins_response };
        match self.state {
            State::Lost if begins(data) => self.begin(seen, true, to),
            State::Unsure(_) if begins(data) => {
                to.has_no_body();
                self.state = State::Between;
            }
            State::Unsure(left) => self.state = State::Body(left),
            _ => {}
        }
        while !data.is_empty() {
            let taken = self.step(seen, data, to);
            data = data.get(taken..).unwrap_or_default();
        }
    }

    /// So many octets are missing.
    pub(super) fn hole(&mut self, seen: Seen, mut length: u64, to: &mut impl Listener) {
        if let State::Unsure(left) = self.state {
            self.state = State::Body(left);
        }
        if let State::Body(left) | State::ChunkData(left) = self.state {
            let within = left.min(length);
            self.pass(seen, within, to);
            length -= within;
        }
        if length == 0 {
            return;
        }
        self.at += length;
        match self.state {
            State::UntilClose | State::Opaque | State::Lost => return,
            // The hole may hold whole messages, but none had begun.
            State::Between => {}
            State::Head => {
                to.cut_head(&self.line);
                to.is_lost();
            }
            _ => to.is_lost(),
        }
        self.forget_line();
        self.state = State::Lost;
    }

    /// Nothing more comes: a head that is not complete is told as far as it is known.
    pub(super) fn finish(&mut self, to: &mut impl Listener) {
        if self.state == State::Head {
            to.cut_head(&self.line);
        }
    }

    fn forget_line(&mut self) {
        self.line = Vec::new();
        self.line_start = 0;
    }

    /// Takes octets up to the end of a line into `line`; says how many, and whether the line is complete.
    fn take_line(&mut self, data: &[u8]) -> (usize, bool) {
        let end = memchr::memchr(b'\n', data);
        let taken = end.map_or(data.len(), |e| e + 1);
        self.line.extend_from_slice(&data[..taken]);
        self.at += taken as u64;
        (taken, end.is_some())
    }

    /// Reads some octets; says how many.
    fn step<L: Listener>(&mut self, seen: Seen, data: &[u8], to: &mut L) -> usize {
        match self.state {
            State::UntilClose | State::Lost | State::Opaque => {
                self.at += data.len() as u64;
                data.len()
            }
            State::Body(left) | State::Unsure(left) | State::ChunkData(left) => {
                let taken = left.min(data.len() as u64);
                self.pass(seen, taken, to);
                taken as usize
            }
            State::Between => {
                // Empty lines before a message are passed over (§2.2).
                let blank = data.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
                self.at += blank as u64;
                if let Some(first) = data.get(blank) {
                    self.begin(seen, false, to);
                    // A token begins a request, `HTTP` a response: anything else is known at once.
                    if if L::REQUESTS { !first.is_ascii_alphabetic() } else { *first != b'H' } {
                        self.opaque(Opaque::Foreign, to);
                    }
                }
                blank
            }
            State::Head => self.head(seen, data, to),
            State::ChunkSize | State::ChunkEnd | State::Trailer => self.chunk_line(seen, data, to),
        }
    }

    /// Goes on by octets of a body that need not be seen.
    fn pass(&mut self, seen: Seen, octets: u64, to: &mut impl Listener) {
        self.at += octets;
        if let State::Unsure(left) = self.state {
            self.state = State::Body(left);
        }
        match &mut self.state {
            State::Body(left) => {
                *left -= octets;
                if *left == 0 {
                    self.end(seen, to);
                }
            }
            State::ChunkData(left) => {
                *left -= octets;
                if *left == 0 {
                    self.state = State::ChunkEnd;
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, seen: Seen, lost: bool, to: &mut impl Listener) {
        self.state = State::Head;
        to.begins(self.at, seen, lost);
    }

    fn end(&mut self, seen: Seen, to: &mut impl Listener) {
        self.state = State::Between;
        to.ends(self.at, seen);
    }

    fn opaque(&mut self, why: Opaque, to: &mut impl Listener) {
        self.give_up();
        to.is_opaque(why);
    }

    fn head<L: Listener>(&mut self, seen: Seen, data: &[u8], to: &mut L) -> usize {
        if self.line.is_empty()
            && let (fields, Some(end)) = Fields::parse(data)
        {
            self.at += end as u64;
            if end > MOST_HEAD {
                self.opaque(Opaque::Ambiguous, to);
            } else {
                self.head_done(seen, &data[..end], &fields, to);
            }
            return end;
        }
        let (taken, complete) = self.take_line(data);
        if self.line.len() > MOST_HEAD {
            let http = is_first_line::<L>(&self.line);
            self.opaque(if http { Opaque::Ambiguous } else { Opaque::Foreign }, to);
        } else if complete {
            let is_end = matches!(&self.line[self.line_start..], b"\n" | b"\r\n");
            let is_first = self.line_start == 0;
            self.line_start = self.line.len();
            // The first line is looked at on its own: what is no HTTP need not be gathered.
            if is_end || is_first && !is_first_line::<L>(&self.line) {
                let head = std::mem::take(&mut self.line);
                self.line_start = 0;
                self.head_done(seen, &head, &Fields::parse(&head).0, to);
            }
        }
        taken
    }

    fn head_done(&mut self, seen: Seen, head: &[u8], fields: &Fields<'_>, to: &mut impl Listener) {
        match to.head(head, fields, self.at) {
            Some(Body::Octets(0)) => self.end(seen, to),
            Some(Body::Octets(length)) => self.state = State::Body(length),
            Some(Body::OctetsIfAny(length)) => self.state = State::Unsure(length),
            Some(Body::Chunked) => self.state = State::ChunkSize,
            Some(Body::UntilClose) => {
                self.state = State::UntilClose;
                to.ends_at_close();
            }
            Some(Body::Interim) => self.state = State::Between,
            Some(Body::Switched { http2 }) => {
                to.ends(self.at, seen);
                self.opaque(Opaque::Switched { http2 }, to);
            }
            Some(Body::Ambiguous) => self.opaque(Opaque::Ambiguous, to),
            None if head.starts_with(b"PRI * HTTP/2.0\r\n") => self.opaque(Opaque::Http2, to),
            None => self.opaque(Opaque::Foreign, to),
        }
    }

    fn chunk_line(&mut self, seen: Seen, data: &[u8], to: &mut impl Listener) -> usize {
        let (taken, complete) = self.take_line(data);
        if !complete {
            if self.line.len() > MOST_HEAD {
                self.opaque(Opaque::Ambiguous, to);
            }
            return taken;
        }
        let line = std::mem::take(&mut self.line);
        let text = line.trim_ascii();
        match self.state {
            State::ChunkEnd if text.is_empty() => self.state = State::ChunkSize,
            State::Trailer if text.is_empty() => self.end(seen, to),
            State::Trailer => {}
            State::ChunkSize => match framing::chunk_size(text) {
                Some(0) => self.state = State::Trailer,
                Some(size) => self.state = State::ChunkData(size),
                None => self.opaque(Opaque::Ambiguous, to),
            },
            _ => self.opaque(Opaque::Ambiguous, to),
        }
        taken
    }
}

fn is_first_line<L: Listener>(line: &[u8]) -> bool {
    if L::REQUESTS { RequestLine::parse(line).is_some() } else { StatusLine::parse(line).is_some() }
}

#[cfg(test)]
mod tests;
