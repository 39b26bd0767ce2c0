//! Finds where HTTP/1 messages begin and end in one direction of a connection, by their content.
//!
//! Heads are kept until they are complete and no longer than [`MOST_HEAD`]; bodies are only counted.
//! Reference: RFC 9112 §2 (messages), §7.1 (chunks); lengths are `framing`'s. A stream that turns out to
//! be something else is left alone from there on.

use std::collections::VecDeque;

use crate::framing::{Body, Method, request, response};
use crate::reassembly::Reader;

/// Longest head, or line of a chunked body, that is looked at.
const MOST_HEAD: usize = 64 * 1024;

/// Something found in the stream; places are offsets from the first octet of payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A message begins here.
    Start(u64),
    /// The method of the request that began last.
    Asks(Method),
    /// The message that began last was interim; the one that counts follows.
    Interim,
    /// The message that began last ends before this place.
    End(u64),
    /// It ends where the sender closes.
    EndsAtClose,
    /// From here on it is no HTTP/1, or nobody can tell.
    Opaque,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Between messages or in a head.
    Head,
    Body(u64),
    ChunkSize,
    ChunkData(u64),
    /// The line end after a chunk's data.
    ChunkEnd,
    Trailer,
    UntilClose,
    Opaque,
}

/// Reads one direction.
#[derive(Clone, Debug)]
pub(crate) struct Parser {
    requests: bool,
    state: State,
    at: u64,
    line: Vec<u8>,
    /// Where the last line of the head begins in `line`.
    line_start: usize,
    /// Methods of the requests whose responses are still to come; for a parser of responses.
    pub(crate) asked: VecDeque<Method>,
    marks: VecDeque<Mark>,
}

impl Parser {
    /// A parser of requests, or of responses.
    pub(crate) fn new(requests: bool) -> Self {
        Self {
            requests,
            state: State::Head,
            at: 0,
            line: Vec::new(),
            line_start: 0,
            asked: VecDeque::new(),
            marks: VecDeque::new(),
        }
    }

    /// What was found, oldest first.
    pub(crate) fn next_mark(&mut self) -> Option<Mark> {
        self.marks.pop_front()
    }

    /// Whether nothing more will be found.
    pub(crate) fn is_opaque(&self) -> bool {
        self.state == State::Opaque
    }

    /// Looks at no more of the stream.
    pub(crate) fn give_up(&mut self) {
        if !self.is_opaque() {
            self.opaque();
        }
    }

    fn opaque(&mut self) {
        self.state = State::Opaque;
        self.line = Vec::new();
        self.marks.push_back(Mark::Opaque);
    }

    /// Takes octets up to the end of a line into `line`; says how many, and whether the line is complete.
    fn take_line(&mut self, data: &[u8]) -> (usize, bool) {
        let end = data.iter().position(|b| *b == b'\n');
        let taken = end.map_or(data.len(), |e| e + 1);
        self.line.extend_from_slice(&data[..taken]);
        self.at += taken as u64;
        (taken, end.is_some())
    }

    /// Reads some octets; says how many.
    fn step(&mut self, data: &[u8]) -> usize {
        match self.state {
            State::Opaque => data.len(),
            State::UntilClose => {
                self.at += data.len() as u64;
                data.len()
            }
            State::Body(left) | State::ChunkData(left) => {
                let taken = left.min(data.len() as u64);
                self.pass(taken);
                taken as usize
            }
            State::Head => self.head(data),
            State::ChunkSize | State::ChunkEnd | State::Trailer => self.chunk_line(data),
        }
    }

    /// Goes on by octets of a body that need not be seen.
    fn pass(&mut self, octets: u64) {
        self.at += octets;
        match &mut self.state {
            State::Body(left) => {
                *left -= octets;
                if *left == 0 {
                    self.end();
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

    fn end(&mut self) {
        self.state = State::Head;
        self.marks.push_back(Mark::End(self.at));
    }

    fn head(&mut self, data: &[u8]) -> usize {
        if self.line.is_empty() {
            // Empty lines before a message are passed over (§2.2).
            let blank = data.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
            if blank > 0 {
                self.at += blank as u64;
                return blank;
            }
            // A token begins a request, `HTTP` a response: anything else is known at once.
            let first = data[0];
            if if self.requests { !first.is_ascii_alphabetic() } else { first != b'H' } {
                self.opaque();
                return data.len();
            }
            self.marks.push_back(Mark::Start(self.at));
        }
        let (taken, complete) = self.take_line(data);
        if self.line.len() > MOST_HEAD {
            self.opaque();
        } else if complete {
            let last = &self.line[self.line_start..];
            let is_end = last.trim_ascii().is_empty();
            let is_first = self.line_start == 0;
            self.line_start = self.line.len();
            // The first line is looked at on its own: what is no HTTP need not be gathered.
            if is_end || is_first && !self.is_http() {
                self.head_done();
            }
        }
        taken
    }

    fn is_http(&self) -> bool {
        if self.requests {
            request(&self.line).is_some()
        } else {
            response(&self.line, Method::Other).is_some()
        }
    }

    fn head_done(&mut self) {
        let head = std::mem::take(&mut self.line);
        self.line_start = 0;
        let body = if self.requests {
            request(&head).map(|(method, body)| {
                self.marks.push_back(Mark::Asks(method));
                body
            })
        } else {
            // A response nobody asked for is not paired with anything.
            let method = self.asked.front().copied();
            method.and_then(|m| response(&head, m))
        };
        if !self.requests && !matches!(body, Some(Body::Interim)) {
            self.asked.pop_front();
        }
        match body {
            Some(Body::Octets(0)) => self.end(),
            Some(Body::Octets(length)) => self.state = State::Body(length),
            Some(Body::Chunked) => self.state = State::ChunkSize,
            Some(Body::UntilClose) => {
                self.state = State::UntilClose;
                self.marks.push_back(Mark::EndsAtClose);
            }
            Some(Body::Interim) => self.marks.push_back(Mark::Interim),
            Some(Body::Unknown) | None => self.opaque(),
        }
    }

    fn chunk_line(&mut self, data: &[u8]) -> usize {
        let (taken, complete) = self.take_line(data);
        if !complete {
            if self.line.len() > MOST_HEAD {
                self.opaque();
            }
            return taken;
        }
        let line = std::mem::take(&mut self.line);
        let text = line.trim_ascii();
        match self.state {
            State::ChunkEnd if text.is_empty() => self.state = State::ChunkSize,
            State::Trailer if text.is_empty() => self.end(),
            State::Trailer => {}
            State::ChunkSize => match chunk_size(text) {
                Some(0) => self.state = State::Trailer,
                Some(size) => self.state = State::ChunkData(size),
                None => self.opaque(),
            },
            _ => self.opaque(),
        }
        taken
    }

    /// Notes that the request with this method awaits its response.
    pub(crate) fn expect(&mut self, method: Method) {
        self.asked.push_back(method);
    }
}

impl Reader for Parser {
    fn octets(&mut self, mut data: &[u8]) {
        while !data.is_empty() {
            let taken = self.step(data);
            data = &data[taken..];
        }
    }

    fn hole(&mut self, length: u64) {
        match self.state {
            State::Body(left) | State::ChunkData(left) if length <= left => self.pass(length),
            State::UntilClose => self.at += length,
            State::Opaque => {}
            // A head or a chunk's size may have been in it.
            _ => self.opaque(),
        }
    }
}

/// Size of a chunk, without its extensions; no larger than any stream can be.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|b| *b == b';').next()?.trim_ascii();
    let text = std::str::from_utf8(digits).ok()?;
    // `from_str_radix` would take a sign.
    if !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u64::from_str_radix(text, 16).ok().filter(|size| *size < 1 << 48)
}

#[cfg(test)]
mod tests;
