//! HTTP/1 as seen in the packets of one connection: messages, exchanges, and what else was spoken.
//!
//! [`Exchanges`] is told of every piece of payload and gives an [`Outcome`] per exchange, from which the
//! rows of a run and of a capture are made. Reference: RFC 9110, RFC 9112. Leaves out bodies, header
//! fields but the few the records name, and the inside of HTTP/2, TLS and QUIC.
//!
//! In the order of the data: `reassembly` puts octets in order, `parser` tells messages apart by what
//! `framing` and `head` read, `book` pairs them, `exchange` is the whole of one connection, `outcome` its rows.

mod ahead;
mod book;
mod counts;
mod exchange;
mod framing;
mod head;
mod instant;
mod outcome;
mod parser;
mod reassembly;
mod rest;
mod side;

pub use counts::{ANOMALIES, HttpCounts};
pub(crate) use exchange::Exchanges;
pub(crate) use head::printable;
pub(crate) use instant::Maybe;
pub(crate) use outcome::{Ends, Outcome};

/// What is watched, and how much of it is to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// Packets at the hosts of a run: none is missing, and responses that nobody asked for are not exchanges.
    Run,
    /// Packets that a sniffer saw.
    Capture {
        /// The SYN of at least one side was seen: the first octets are the first of a message.
        whole: bool,
        /// Methods, targets, hosts and media types are wanted.
        words: bool,
    },
}

/// Payload that one segment carried, perhaps none; places are octets from the first of its direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Octets<'a> {
    /// When it was seen.
    pub(crate) time_ns: u64,
    /// Place of the first one.
    pub(crate) start: u64,
    /// How many, from the IP header.
    pub(crate) length: u64,
    /// The first of them, as far as they were captured.
    pub(crate) captured: &'a [u8],
    /// Octets of the other direction that the segment acknowledges; `None` when that is not known.
    pub(crate) acked: Option<u64>,
}

/// What a connection's payload turned out to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Application {
    /// Not known: no payload, or not enough of it.
    #[default]
    Unknown,
    /// HTTP/1, perhaps switched to something that is not HTTP.
    Http1,
    /// HTTP/2, from its preface or by upgrade.
    Http2,
    /// TLS.
    Tls,
    /// HTTP/1 whose messages nobody can tell apart any more.
    Ambiguous,
    /// Anything else.
    Other,
}

impl Application {
    /// The word of `connections.application`; `None` when not known.
    pub(crate) fn word(self) -> Option<&'static str> {
        Some(match self {
            Self::Unknown => return None,
            Self::Http1 => "http/1",
            Self::Http2 => "http/2",
            Self::Tls => "tls",
            Self::Ambiguous => "ambiguous",
            Self::Other => "other",
        })
    }
}

#[cfg(test)]
mod tests;
