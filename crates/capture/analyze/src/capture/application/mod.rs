//! What is spoken over a transport, told by its content and never by its port.
//!
//! TCP: [`tls`] reads the hellos that `http` finds at the beginning of a stream. UDP: [`quic`] reads the
//! first flight of QUIC connections. Leaves out everything encrypted with keys that only the ends have.

mod cursor;
pub(crate) mod quic;
pub(crate) mod tls;
