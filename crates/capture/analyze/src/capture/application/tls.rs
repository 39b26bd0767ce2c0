//! The hellos of TLS: which server the client names, and which application protocol.
//!
//! Reference: RFC 8446 §4.1.2, §4.1.3, §5.1; RFC 6066 §3 (SNI); RFC 7301 §3.1 (ALPN). A hello that was cut
//! is read as far as it goes. Since TLS 1.3 the server's choice is encrypted: then only the client's offer
//! is known. Leaves out hellos that are themselves encrypted (ECH: the name is the outer one).

use compact_str::CompactString;

use super::cursor::Cursor;
use crate::http::printable;

/// Content type of handshake records.
pub(crate) const HANDSHAKE: u8 = 22;
/// Longest handshake message that is looked at: key shares after quantum computers take 1 to 2 KiB.
pub(crate) const MOST_HELLO: usize = 16 * 1024;
/// Longest name told: the longest of DNS.
const MOST_NAME: usize = 255;
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const SERVER_NAME: u16 = 0;
const ALPN: u16 = 16;

/// Whether a segment that begins like this begins with a record of TLS 1.0 to 1.3 (RFC 8446 §5.1, §5.2).
pub(crate) fn is_record(data: &[u8]) -> bool {
    matches!(data, [20..=23, 3, 0..=4, high, low, ..]
        if (1..=(1 << 14) + 2048).contains(&u16::from_be_bytes([*high, *low])))
}

/// What hellos say in the clear.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hello {
    /// Name the client asked for.
    pub(crate) server_name: Option<CompactString>,
    /// Application protocol that the server chose, or that the client offered first.
    pub(crate) alpn: Option<CompactString>,
}

impl Hello {
    /// Reads a handshake message as far as it is there.
    pub(crate) fn parse(message: &[u8]) -> Self {
        let mut hello = Self::default();
        hello.read(message);
        hello
    }

    /// Adds what the other side said: `server` chooses, the client offers.
    pub(crate) fn merge(&mut self, other: Self, server: bool) {
        self.server_name = other.server_name.or(self.server_name.take());
        let mine = self.alpn.take();
        self.alpn = if server { other.alpn.or(mine) } else { mine.or(other.alpn) };
    }

    fn read(&mut self, message: &[u8]) -> Option<()> {
        let mut message = Cursor(message);
        let kind = message.u8()?;
        // Length, version and random.
        message.take(3 + 2 + 32)?;
        message.short_vector()?;
        match kind {
            CLIENT_HELLO => {
                message.vector()?;
                message.short_vector()?;
            }
            SERVER_HELLO => drop(message.take(2 + 1)?),
            _ => return None,
        }
        let mut extensions = Cursor(message.vector_so_far()?);
        loop {
            let kind = extensions.u16()?;
            let mut list = Cursor(extensions.vector()?);
            match kind {
                SERVER_NAME if self.server_name.is_none() => {
                    // A server that took the name answers with an empty list.
                    let mut names = Cursor(list.vector().unwrap_or_default());
                    if names.u8() == Some(0) {
                        self.server_name = names.vector().map(|name| printable(name, MOST_NAME));
                    }
                }
                ALPN if self.alpn.is_none() => {
                    let mut protocols = Cursor(list.vector().unwrap_or_default());
                    self.alpn = protocols.short_vector().map(|name| printable(name, MOST_NAME));
                }
                _ => {}
            }
        }
    }
}

/// The first handshake message of one direction, out of its records.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gather {
    message: Vec<u8>,
    header: [u8; 5],
    header_length: usize,
    record_left: usize,
    /// There was a record.
    is_tls: bool,
    /// There is no message.
    failed: bool,
}

impl Gather {
    /// The next octets of the stream; says whether more are of no use.
    pub(crate) fn octets(&mut self, data: &[u8]) -> bool {
        let mut data = Cursor(data);
        while !data.0.is_empty() && !self.is_done() {
            if self.record_left > 0 {
                let length = self.record_left.min(data.0.len()).min(MOST_HELLO - self.message.len());
                self.message.extend_from_slice(data.take(length).unwrap_or_default());
                self.record_left -= length;
            } else {
                self.header[self.header_length] = data.u8().unwrap_or_default();
                self.header_length += 1;
                if self.header_length == self.header.len() {
                    self.is_tls |= is_record(&self.header);
                    self.failed = !is_record(&self.header) || self.header[0] != HANDSHAKE;
                    self.record_left = usize::from(u16::from_be_bytes([self.header[3], self.header[4]]));
                    self.header_length = 0;
                }
            }
        }
        self.is_done()
    }

    fn is_done(&self) -> bool {
        self.failed || self.message.len() >= MOST_HELLO || is_whole(&self.message)
    }

    /// Whether it turned out to be no TLS before any message.
    pub(crate) fn is_no_tls(&self) -> bool {
        self.failed && !self.is_tls
    }

    /// What the message says, as far as it is there.
    pub(crate) fn hello(&self) -> Hello {
        Hello::parse(&self.message)
    }
}

/// Whether a handshake message is complete.
pub(crate) fn is_whole(message: &[u8]) -> bool {
    let [_, a, b, c, rest @ ..] = message else { return false };
    rest.len() >= usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c)
}

#[cfg(test)]
pub(crate) mod tests;
