//! HTTP/1 exchanges of a capture.

use std::borrow::Cow;
use std::net::IpAddr;

use compact_str::CompactString;

use crate::table::table;

/// Words of `exchanges.error`.
pub const EXCHANGE_ERRORS: &[&str] = &["connect", "send", "reply", "receive", "reset", "cut", "ambiguous"];

table! {
    /// One HTTP/1 exchange of a capture; rows are in the order in which their outcomes became known.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ExchangeRow in "exchanges.parquet" {
        /// Connection it ran on.
        pub connection: u64,
        /// Its place on that connection, from 0.
        pub index: u32,
        /// Client's address.
        pub client: IpAddr,
        /// Server's address.
        pub server: IpAddr,
        /// Server's port.
        pub server_port: u16,
        /// Method as sent; unknown ones too. Null when the request was not captured.
        pub method: Option<Cow<'static, str>>,
        /// Target as sent, at most 1,024 octets of it, with what is not printable escaped.
        pub target: Option<CompactString>,
        /// Host field.
        pub host: Option<CompactString>,
        /// Minor version of the response: 0 or 1.
        pub version: Option<u8>,
        /// Status code of the final response; null when there was none.
        pub status: Option<u16>,
        /// Media type of the response, without parameters.
        pub content_type: Option<Cow<'static, str>>,
        /// First octet of the request.
        pub sent_ns: Option<u64> = "ns",
        /// Last octet of the request.
        pub asked_ns: Option<u64> = "ns",
        /// First octet of the response: the exchange has a response from here on.
        pub first_byte_ns: Option<u64> = "ns",
        /// Last octet of the response; null when it was not complete. Service time is `done_ns - sent_ns`.
        pub done_ns: Option<u64> = "ns",
        /// Octets of the request.
        pub request_bytes: u64 = "B",
        /// Octets of the response seen, header included.
        pub response_bytes: u64 = "B",
        /// Octets of the response's body seen, chunk framing included. Octets that the capture lacks count where
        /// the headers tell how many there were.
        pub body_bytes: u64 = "B",
        /// Whether the client had the whole response.
        pub complete: bool,
        /// Null when complete, else what the client was waiting for when it ended (`connect`, `send`, `reply`, `receive`),
        /// `reset` by the server, `cut` where the capture lacks octets that it takes to tell, or `ambiguous` where
        /// nobody can be sure how long a message is.
        pub error: Option<&'static str> => EXCHANGE_ERRORS,
    }
}
