//! What a link reports: who sent which frame when, and what became of it.

use airperf_units::{Rate, Time};

/// Index of a station on a link, dense from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StationId(pub u16);

impl StationId {
    /// The index as a subscript.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Whom a packet or frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Destination {
    /// One station.
    Station(StationId),
    /// Every other station: sent once, at a basic rate, without acknowledgement.
    Broadcast,
}

impl Destination {
    /// The one station, if it is one.
    pub const fn station(self) -> Option<StationId> {
        match self {
            Self::Station(station) => Some(station),
            Self::Broadcast => None,
        }
    }
}

/// Why a transmit queue refused a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropCause {
    /// The queue was full (drop-tail).
    QueueFull,
    /// Longer than the link's MTU.
    TooLong,
    /// The destination is not a station of this link.
    NoSuchStation,
}

/// Why a link gave up a packet it had accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LossCause {
    /// The retry limit was reached without an acknowledgement.
    RetryLimit,
    /// A broadcast or unacknowledged frame collided or was garbled.
    NotReceived,
}

impl LossCause {
    /// The word for it in records.
    pub const fn word(self) -> &'static str {
        match self {
            Self::RetryLimit => "retry_limit",
            Self::NotReceived => "not_received",
        }
    }
}

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameKind {
    /// Carries a packet.
    Data,
    /// Acknowledges a data frame.
    Ack,
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// IBSS or AP beacon.
    Beacon,
}

impl FrameKind {
    /// The word for it in records.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Ack => "ack",
            Self::Rts => "rts",
            Self::Cts => "cts",
            Self::Beacon => "beacon",
        }
    }
}

/// What became of a frame at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Decoded by whom it was for.
    Received,
    /// Decoded, but the receiver already had the packet: acknowledged, not delivered again.
    Duplicate,
    /// Overlapped with another frame.
    Collided,
    /// Garbled by the channel.
    Garbled,
}

impl Outcome {
    /// The word for it in records.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Duplicate => "duplicate",
            Self::Collided => "collided",
            Self::Garbled => "garbled",
        }
    }
}

/// How the sniffer heard a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Heard {
    /// With a good frame check sequence.
    Good,
    /// With a bad frame check sequence.
    BadFcs,
    /// Not at all.
    Missed,
}

impl Heard {
    /// The word for it in records.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::BadFcs => "bad_fcs",
            Self::Missed => "missed",
        }
    }
}

/// One frame on the air (or wire).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameEvent {
    /// First instant of the preamble.
    pub start: Time,
    /// Last instant of the frame.
    pub end: Time,
    /// Sender.
    pub from: StationId,
    /// Receiver.
    pub to: Destination,
    /// What it is.
    pub kind: FrameKind,
    /// Rate of its body.
    pub rate: Rate,
    /// Length in bytes from MAC header to frame check sequence.
    pub bytes: u32,
    /// MAC sequence number, 0..4096; 0 for frames that have none.
    pub sequence: u16,
    /// Which attempt this is, from 1; 802.11 sets the Retry bit from the second on.
    pub attempt: u8,
    /// What became of it at its receiver.
    pub outcome: Outcome,
    /// How the sniffer heard it.
    pub sniffer: Heard,
}
