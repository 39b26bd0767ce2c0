//! Congestion control: the window, and one file for each controller's way through recovery.
//!
//! Reference: RFC 5681 §3.1 (slow start, congestion avoidance), §3.2 (fast retransmit and recovery). The
//! window counts segments, as Linux does; in congestion avoidance it grows by one segment per window.
//! Leaves out Linux's proportional rate reduction during recovery.

mod newreno;
mod reno;

/// Which congestion controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// Fast recovery ends with the first new acknowledgement (RFC 5681 §3.2).
    Reno,
    /// Fast recovery ends when all that was outstanding is acknowledged (RFC 6582).
    NewReno,
}

/// What a new acknowledgement during fast recovery asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// Recovery is over.
    Over,
    /// The next segment is missing too: send it again.
    NextHole,
}

/// Smallest slow start threshold (RFC 5681 equation 4).
const MIN_THRESHOLD: u32 = 2;

/// A sender's congestion window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Congestion window, segments.
    pub(crate) cwnd: u32,
    /// Slow start threshold, segments.
    pub(crate) ssthresh: u32,
    /// Acknowledgements since the window last grew in congestion avoidance.
    count: u32,
}

impl Window {
    pub(crate) const fn new(initial: u32) -> Self {
        Self { cwnd: initial, ssthresh: u32::MAX, count: 0 }
    }

    /// The window of a connection that takes over what others found.
    pub(crate) const fn inherited(cwnd: u32, ssthresh: u32) -> Self {
        Self { cwnd, ssthresh, count: 0 }
    }

    /// A new acknowledgement outside recovery, while the window was in full use.
    #[inline]
    pub(crate) fn grow(&mut self) {
        if self.cwnd < self.ssthresh {
            self.cwnd += 1;
        } else if self.count + 1 >= self.cwnd {
            self.cwnd += 1;
            self.count = 0;
        } else {
            self.count += 1;
        }
    }

    /// Fast retransmit with `flight` segments outstanding and `duplicates` that left the network; none where a
    /// scoreboard knows which did (RFC 6675 §5 step 4.2).
    pub(crate) fn enter_recovery(&mut self, flight: u32, duplicates: u8) {
        self.ssthresh = (flight / 2).max(MIN_THRESHOLD);
        self.cwnd = self.ssthresh + u32::from(duplicates);
        self.count = 0;
    }

    /// Gives back what a needless retransmission took (`tcp_undo_cwnd_reduction`).
    pub(crate) fn restore(&mut self, before: Self) {
        self.cwnd = self.cwnd.max(before.cwnd);
        self.ssthresh = self.ssthresh.max(before.ssthresh);
    }

    /// One more segment left the network during recovery.
    pub(crate) fn inflate(&mut self) {
        self.cwnd += 1;
    }

    /// A new acknowledgement of `acked` segments during recovery, with `flight` left; `partial` when not
    /// all that was outstanding at its start is acknowledged.
    pub(crate) fn recovery_ack(
        &mut self,
        kind: Congestion,
        acked: u32,
        flight: u32,
        partial: bool,
    ) -> Recovery {
        match kind {
            Congestion::Reno => reno::recovery_ack(self),
            Congestion::NewReno => newreno::recovery_ack(self, acked, flight, partial),
        }
    }

    /// The retransmission timer expired with `flight` segments outstanding (RFC 5681 §3.1).
    pub(crate) fn timeout(&mut self, flight: u32, first: bool) {
        if first {
            self.ssthresh = (flight / 2).max(MIN_THRESHOLD);
        }
        self.cwnd = 1;
        self.count = 0;
    }

    /// The own host's transmit queue refused a segment with `flight` outstanding (`tcp_enter_cwr`).
    pub(crate) fn local_drop(&mut self, flight: u32) {
        self.ssthresh = (self.cwnd / 2).max(MIN_THRESHOLD);
        self.cwnd = self.cwnd.min(flight + 1);
        self.count = 0;
    }

    /// Nothing was sent for longer than a timeout (RFC 5681 §4.1).
    pub(crate) fn restart(&mut self, initial: u32) {
        self.cwnd = self.cwnd.min(initial);
        self.count = 0;
    }
}
