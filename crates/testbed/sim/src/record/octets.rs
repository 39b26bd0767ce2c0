//! The octets of a connection's streams, at any offset: requests and replies that parse as HTTP/1.1.
//!
//! The simulation counts octets and never makes them; a capture needs them. Reference: RFC 9112 §3, §4.
//! Leaves out what real programs say in their headers: an `X-Fill` header makes up the length.

use std::io::Write;

/// Repeated through the body of every object: readable, and 64 octets so that offsets can be seen.
pub(super) const BODY: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.\n";

/// Most kinds of messages kept; a workload with more has random sizes, and its messages are made again.
const KINDS: usize = 64;

/// The lengths of a request and its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) request_head: u32,
    pub(super) request_body: u32,
    pub(super) reply_head: u32,
    pub(super) reply_body: u32,
}

/// The messages of a connection, in order: equal ones that follow each other are counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Messages(Vec<(Message, u64)>);

impl Messages {
    pub(super) fn push(&mut self, message: Message) {
        match self.0.last_mut() {
            Some((last, count)) if *last == message => *count += 1,
            _ => self.0.push((message, 1)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Makes `out` the `len` octets from `offset` on of the client's or the server's stream.
    pub(super) fn read(
        &self,
        kinds: &mut Kinds,
        to_server: bool,
        offset: u64,
        len: usize,
        out: &mut Vec<u8>,
    ) {
        out.clear();
        let mut at = offset;
        for (message, count) in &self.0 {
            let (head, body) = message.sides(to_server);
            let one = u64::from(head) + u64::from(body);
            if at >= one * count {
                at -= one * count;
                continue;
            }
            let part = (one * count - at).min((len - out.len()) as u64);
            kinds.of(message).read(to_server, at, part as usize, out);
            if out.len() == len {
                return;
            }
            at = 0;
        }
    }
}

impl Message {
    /// Header and body of the client's or the server's half.
    const fn sides(&self, to_server: bool) -> (u32, u32) {
        if to_server { (self.request_head, self.request_body) } else { (self.reply_head, self.reply_body) }
    }
}

/// The octets of the messages in use.
#[derive(Clone, Debug, Default)]
pub(super) struct Kinds {
    kinds: Vec<Octets>,
    next: usize,
}

impl Kinds {
    fn of(&mut self, message: &Message) -> &Octets {
        if let Some(place) = self.kinds.iter().position(|kind| kind.message == *message) {
            return &self.kinds[place];
        }
        let octets = Octets::new(*message);
        let place = self.next;
        self.next = (self.next + 1) % KINDS;
        match self.kinds.get_mut(place) {
            Some(kind) => *kind = octets,
            None => self.kinds.push(octets),
        }
        &self.kinds[place]
    }
}

/// The octets of one kind of request and its reply.
#[derive(Clone, Debug)]
struct Octets {
    message: Message,
    request: Vec<u8>,
    reply_header: Vec<u8>,
}

impl Octets {
    fn new(message: Message) -> Self {
        let Message { request_head, request_body, reply_head, reply_body } = message;
        let request = match request_body {
            0 => format!("GET /{reply_body} HTTP/1.1\r\nHost: s"),
            _ => format!("POST /{reply_body} HTTP/1.1\r\nContent-Length: {request_body}\r\nHost: s"),
        };
        let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {reply_body}\r\nServer: a");
        Self {
            message,
            request: filled(request, request_head as usize),
            reply_header: filled(reply, reply_head as usize),
        }
    }

    /// Adds `len` octets to `out`, from `offset` on of this message repeated.
    fn read(&self, to_server: bool, offset: u64, len: usize, out: &mut Vec<u8>) {
        let header = if to_server { &self.request } else { &self.reply_header };
        let message = header.len() as u64 + u64::from(self.message.sides(to_server).1);
        let end = out.len() + len;
        let mut at = offset % message;
        while out.len() < end {
            let missing = end - out.len();
            if at < header.len() as u64 {
                let part = &header[at as usize..];
                out.extend_from_slice(&part[..part.len().min(missing)]);
                at = header.len() as u64;
            } else {
                let place = at - header.len() as u64;
                let part = &BODY[(place % BODY.len() as u64) as usize..];
                let part = &part[..part.len().min(missing).min((message - at) as usize)];
                out.extend_from_slice(part);
                at += part.len() as u64;
            }
            if at == message {
                at = 0;
            }
        }
    }
}

/// `lines`, whose last may be prolonged, made into a message head of exactly `bytes` octets.
fn filled(lines: String, bytes: usize) -> Vec<u8> {
    const FILL: &str = "\r\nX-Fill: ";
    let mut head = lines.into_bytes();
    let missing = bytes.saturating_sub(head.len() + 4);
    if missing > FILL.len() {
        head.extend_from_slice(FILL.as_bytes());
    }
    let missing = bytes.saturating_sub(head.len() + 4);
    head.resize(head.len() + missing, b'-');
    head.write_all(b"\r\n\r\n").expect("memory takes what it is given");
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn message(request_head: u32, request_body: u32, reply_head: u32, reply_body: u32) -> Message {
        Message { request_head, request_body, reply_head, reply_body }
    }

    #[test]
    fn heads_have_the_length_asked_for() {
        for (request, upload, reply) in
            [(40, 0, 60), (41, 0, 61), (74, 0, 259), (52, 0, 72), (70, 1 << 31, 73), (500, 1, 500)]
        {
            let octets = Octets::new(message(request, upload, reply, 1 << 31));
            assert_eq!(octets.request.len(), request as usize);
            assert_eq!(octets.reply_header.len(), reply as usize);
            for head in [&octets.request, &octets.reply_header] {
                assert!(head.ends_with(b"\r\n\r\n"));
                assert_eq!(head.windows(4).filter(|w| *w == b"\r\n\r\n").count(), 1);
            }
        }
    }

    #[test]
    fn pieces_make_up_the_whole_stream() {
        let mut messages = Messages::default();
        for body in [1000, 1000, 7, 20_000] {
            messages.push(message(74, 0, 259, body));
        }
        let (mut kinds, mut whole) = (Kinds::default(), Vec::new());
        messages.read(&mut kinds, false, 0, 2 * 1259 + 266 + 20_259, &mut whole);
        for start in [0, 1259, 2 * 1259, 2 * 1259 + 266] {
            assert_eq!(&whole[start..start + 15], b"HTTP/1.1 200 OK");
        }
        let (mut pieces, mut piece) = (Vec::new(), Vec::new());
        let mut sizes = [1448, 7, 1, 1300, 800].into_iter().cycle();
        while pieces.len() < whole.len() {
            let len = sizes.next().unwrap().min(whole.len() - pieces.len());
            messages.read(&mut kinds, false, pieces.len() as u64, len, &mut piece);
            pieces.extend_from_slice(&piece);
        }
        assert_eq!(pieces, whole);
    }

    #[test]
    fn more_kinds_than_are_kept_are_made_again() {
        let (mut kinds, mut out) = (Kinds::default(), Vec::new());
        for round in 0..2 {
            for body in 0..2 * KINDS as u32 {
                let mut messages = Messages::default();
                messages.push(message(100, body + 1, 259, body));
                messages.read(&mut kinds, true, 0, 101 + body as usize, &mut out);
                assert_eq!(out.len(), 101 + body as usize, "round {round}");
                assert!(out.starts_with(
                    format!("POST /{body} HTTP/1.1\r\nContent-Length: {}\r\n", body + 1).as_bytes()
                ));
            }
        }
        assert_eq!(kinds.kinds.len(), KINDS);
    }
}
