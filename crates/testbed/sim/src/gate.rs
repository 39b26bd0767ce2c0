//! Where a connection stands with the server's admission control: which octets of its requests the process may see.
//!
//! A request is octets that came after the one before was answered; until it is admitted, the process that holds
//! the connection sees none of them. It is served until the last octet of the reply is acknowledged. Policy:
//! [`airperf_http::Admission`]. Left out: requests sent before the reply to the one before count as one with it.

use airperf_units::Time;

/// A connection's standing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// There is no admission control, or the connection was refused: everything may be seen.
    Open,
    /// Every request among the `seen` octets was answered.
    Idle { seen: u32 },
    /// A request waits for its admission until `until`.
    Waiting { seen: u32, until: Time },
    /// A request has been served since `since`; `answered` is how many octets were there when it was answered.
    Serving { since: Time, answered: Option<u32> },
}

impl Gate {
    /// When a waiting request is to be refused; [`Time::MAX`] for never.
    #[inline]
    pub(crate) fn deadline(self) -> Time {
        match self {
            Self::Waiting { until, .. } => until,
            _ => Time::MAX,
        }
    }

    /// How many of `received` octets the process may see.
    #[inline]
    pub(crate) fn visible(self, received: u32) -> u32 {
        match self {
            Self::Idle { seen } | Self::Waiting { seen, .. } => seen.min(received),
            Self::Open | Self::Serving { .. } => received,
        }
    }

    /// The process writes a reply, `received` octets being there.
    #[inline]
    pub(crate) fn answer(&mut self, received: u32) {
        if let Self::Serving { answered, .. } = self {
            *answered = Some(received);
        }
    }
}
