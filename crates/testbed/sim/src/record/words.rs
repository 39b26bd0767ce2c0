//! The words that stand in the tables, and which of them a segment is.

use crate::Payload;
use airperf_http::Failure;
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
    Other,
}

impl Kind {
    pub(super) const ALL: [Self; 9] = [
        Self::Syn,
        Self::SynAck,
        Self::Ack,
        Self::Request,
        Self::Data,
        Self::Fin,
        Self::FinAck,
        Self::Rst,
        Self::Other,
    ];

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
            Self::Other => "other",
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
            // A transfer of bulk asks for nothing: its data is data whichever way it goes.
            if payload.to_server && payload.flow().is_none() { Self::Request } else { Self::Data }
        } else if flags.has(Flags::FIN) {
            if first_fin { Self::Fin } else { Self::FinAck }
        } else {
            Self::Ack
        }
    }
}

pub(super) const fn failure(failure: Failure) -> &'static str {
    match failure {
        Failure::Connect => "connect",
        Failure::Send => "send",
        Failure::Reply => "reply",
        Failure::Receive => "receive",
        Failure::Reset => "reset",
    }
}
