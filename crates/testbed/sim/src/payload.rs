//! What the simulated testbed sends over a link: a segment's numbers and whose it is.

use airperf_tcp::Segment;

/// A TCP segment on a link, without its octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The segment.
    pub segment: Segment,
    /// Number of its connection in the run, from 0 in order of opening; `u32::MAX` for a datagram, which has none.
    pub connection: u32,
    /// Number of this packet in the run, from 0 in order of offering to a transmit queue.
    pub packet: u32,
    /// Where the connection's state is; valid while `connection` stands there.
    pub(crate) slot: u32,
    /// Whether it goes to the server.
    pub to_server: bool,
}
