//! What can be chosen about an endpoint.
//!
//! Left out: different settings for the two ends; each has its own configuration.

use airperf_units::{ConfigError, Duration, Rate};

/// Configuration of one end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Octets of the stream in a full datagram.
    pub datagram_bytes: u16,
    /// Rate of IP packets that this end never exceeds: that of the link in its direction.
    pub rate: Rate,
    /// Octets of the stream that may be sent and neither acknowledged nor given up as lost.
    pub window_bytes: u64,
    /// Round trip before the first sample.
    pub round_trip: Duration,
    /// Datagrams that one acknowledgement answers at most.
    pub ack_every: u8,
    /// How long an acknowledgement waits for more to answer.
    pub ack_delay: Duration,
    /// Repair datagrams, if there are any.
    pub fec: Option<Fec>,
    /// Timeouts in a row after which the peer is taken for gone.
    pub give_up_after: u8,
}

/// Repair datagrams behind groups of data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fec {
    /// Data datagrams of a group, up to [`Self::MOST_DATA`].
    pub data: u8,
    /// Repair datagrams behind a full group; where they are adapted, until loss is known.
    pub repair: u8,
    /// The share of groups that may have more losses than repair datagrams, from which with the share of datagrams lost
    /// their number follows; `None` keeps the number.
    pub target: Option<f64>,
    /// How long a group that is not full waits for more data before its repair datagrams go, from its first datagram; while
    /// data is ready it fills at the link's rate, however long that takes.
    pub hold: Duration,
}

impl Fec {
    /// Most data datagrams of a group.
    pub const MOST_DATA: u8 = 16;
    /// Most repair datagrams of a group.
    pub const MOST_REPAIR: u8 = 16;
}

impl Config {
    /// An end over a link of this rate and round trip, without repair datagrams: datagrams that fill 1500 octets, a
    /// window of two bandwidth-delay products, acknowledgements as TCP delays them (RFC 9002 §6.2: 25 ms; RFC 9000 §13.2.2:
    /// every second).
    pub fn over(rate: Rate, round_trip: Duration) -> Self {
        let product = u128::from(rate.as_bps()) * u128::from(round_trip.as_ns()) / 8_000_000_000;
        Self {
            datagram_bytes: 1500 - crate::HEADER_BYTES,
            rate,
            window_bytes: (2 * product as u64).max(8 * 1500),
            round_trip,
            ack_every: 2,
            ack_delay: Duration::from_ms(25),
            fec: None,
            give_up_after: 10,
        }
    }

    /// Finds what no endpoint could be.
    ///
    /// # Errors
    /// The first rule that does not hold.
    pub fn check(&self) -> Result<(), ConfigError> {
        let fec = |fec: Fec| {
            (1..=Fec::MOST_DATA).contains(&fec.data)
                && fec.repair <= Fec::MOST_REPAIR
                && fec.target.is_none_or(|target| target > 0.0 && target < 1.0)
        };
        ConfigError::check(
            "reliable UDP",
            &[
                (self.datagram_bytes > 0, "a datagram carries something"),
                (self.rate.as_bps() > 0, "a link has a rate"),
                (self.window_bytes >= self.datagram_bytes.into(), "the window holds a datagram"),
                (self.round_trip > Duration::ZERO, "a round trip takes time"),
                (self.ack_every > 0, "an acknowledgement answers something"),
                (self.fec.is_none_or(fec), "a group has 1 to 16 data and up to 16 repair datagrams"),
                (self.give_up_after > 0, "a peer gets a second chance"),
            ],
        )
    }
}
