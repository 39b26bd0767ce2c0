//! The words that stand in the tables, and which of them a segment is.

use crate::Payload;
use airperf_http::Failure;
use airperf_link::{Destination, FrameKind, Heard, LossCause, Outcome};
use airperf_tcp::Flags;

/// Kinds of packets, as subscripts of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Syn,
    SynAck,
    Ack,
    Request,
    Data,
    Fin,
    FinAck,
    Rst,
}

impl Kind {
    pub(super) const ALL: [Self; 8] =
        [Self::Syn, Self::SynAck, Self::Ack, Self::Request, Self::Data, Self::Fin, Self::FinAck, Self::Rst];

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Syn => "syn",
            Self::SynAck => "syn_ack",
            Self::Ack => "ack",
            Self::Request => "request",
            Self::Data => "data",
            Self::Fin => "fin",
            Self::FinAck => "fin_ack",
            Self::Rst => "rst",
        }
    }

    /// What a segment is; `first_fin` when no FIN of the other side came before.
    pub(super) fn of(payload: &Payload, first_fin: bool) -> Self {
        let flags = payload.segment.flags;
        if flags.has(Flags::RST) {
            Self::Rst
        } else if flags.has(Flags::SYN) {
            if flags.has(Flags::ACK) { Self::SynAck } else { Self::Syn }
        } else if payload.segment.len > 0 {
            if payload.to_server { Self::Request } else { Self::Data }
        } else if flags.has(Flags::FIN) {
            if first_fin { Self::Fin } else { Self::FinAck }
        } else {
            Self::Ack
        }
    }
}

pub(super) const fn frame_kind(kind: FrameKind) -> &'static str {
    match kind {
        FrameKind::Data => "data",
        FrameKind::Ack => "ack",
        FrameKind::Rts => "rts",
        FrameKind::Cts => "cts",
        FrameKind::Beacon => "beacon",
    }
}

pub(super) const fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Received => "received",
        Outcome::Duplicate => "duplicate",
        Outcome::Collided => "collided",
        Outcome::Garbled => "garbled",
    }
}

pub(super) const fn heard(heard: Heard) -> &'static str {
    match heard {
        Heard::Good => "good",
        Heard::BadFcs => "bad_fcs",
        Heard::Missed => "missed",
    }
}

pub(super) const fn loss(cause: LossCause) -> &'static str {
    match cause {
        LossCause::RetryLimit => "retry_limit",
        LossCause::NotReceived => "not_received",
    }
}

pub(super) const fn failure(failure: Failure) -> &'static str {
    match failure {
        Failure::Connect => "connect",
        Failure::Reply => "reply",
        Failure::Receive => "receive",
        Failure::Reset => "reset",
    }
}

pub(super) fn station(to: Destination) -> Option<u16> {
    match to {
        Destination::Station(station) => Some(station.0),
        Destination::Broadcast => None,
    }
}
