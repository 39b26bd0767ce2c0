//! The octets of a connection's streams, at any offset: requests and replies that parse as HTTP/1.1.
//!
//! The simulation counts octets and never makes them; a capture needs them. Reference: RFC 9112 §3, §4.
//! Leaves out what real programs say in their headers: an `X-Fill` header makes up the length.

use std::io::Write;

/// Repeated through the body of every object: readable, and 64 octets so that offsets can be seen.
const BODY: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.\n";

/// The octets of one kind of request and its reply.
#[derive(Clone, Debug)]
pub(super) struct Octets {
    object_bytes: u32,
    request: Vec<u8>,
    reply_header: Vec<u8>,
}

impl Octets {
    /// Requests of `request_bytes` for an object of `object_bytes`, replies with headers of
    /// `reply_header_bytes`.
    pub(super) fn new(request_bytes: u32, reply_header_bytes: u32, object_bytes: u32) -> Self {
        let request = format!("GET /{object_bytes} HTTP/1.1\r\nHost: s");
        let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {object_bytes}\r\nServer: a");
        Self {
            object_bytes,
            request: filled(request, request_bytes as usize),
            reply_header: filled(reply, reply_header_bytes as usize),
        }
    }

    pub(super) fn are_for(&self, request_bytes: u32, reply_header_bytes: u32, object_bytes: u32) -> bool {
        self.object_bytes == object_bytes
            && self.request.len() == request_bytes as usize
            && self.reply_header.len() == reply_header_bytes as usize
    }

    /// Makes `out` the `len` octets from `offset` on of the client's or the server's stream.
    pub(super) fn read(&self, to_server: bool, offset: u64, len: usize, out: &mut Vec<u8>) {
        let (header, body) =
            if to_server { (&self.request, 0) } else { (&self.reply_header, u64::from(self.object_bytes)) };
        let message = header.len() as u64 + body;
        out.clear();
        let mut at = offset % message;
        while out.len() < len {
            let missing = len - out.len();
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

    #[test]
    fn heads_have_the_length_asked_for() {
        for (request, reply) in [(40, 60), (41, 61), (74, 259), (52, 72), (53, 73), (500, 500)] {
            let octets = Octets::new(request, reply, 1 << 31);
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
        let octets = Octets::new(74, 259, 1000);
        let mut whole = Vec::new();
        octets.read(false, 0, 3 * 1259, &mut whole);
        assert_eq!(&whole[1259..1259 + 15], b"HTTP/1.1 200 OK");
        let (mut pieces, mut piece) = (Vec::new(), Vec::new());
        let mut sizes = [1448, 7, 1, 1300, 800].into_iter().cycle();
        while pieces.len() < whole.len() {
            let len = sizes.next().unwrap().min(whole.len() - pieces.len());
            octets.read(false, pieces.len() as u64, len, &mut piece);
            pieces.extend_from_slice(&piece);
        }
        assert_eq!(pieces, whole);
    }
}
