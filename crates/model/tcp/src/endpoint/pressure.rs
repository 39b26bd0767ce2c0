//! Back-pressure: an endpoint asks for room in its host's transmit queue and waits for it.
//!
//! Nothing is refused and lost on the own host then: no segment exists before the queue has a place for it. What
//! would have been sent is noted as a want, not as a segment, so a wait merges acknowledgements, keeps data
//! in the socket's buffer, and starts no timer for what has not left. The idea is Linux's own for data (since 3.6 a
//! socket keeps only a little in the queue, `tcp_small_queue_check`), here for every segment but resets.
//!
//! Left out: who wakes whom; that is the host's, which calls [`Endpoint::on_room`] in the order of the asking.

use super::{Endpoint, NEVER, Signals, State, Transmit};
use crate::segment::Flags;
use crate::stack::Stack;
use airperf_units::Time;

/// What waits for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wants(u8);

impl Wants {
    pub(super) const NOTHING: Self = Self(0);
    /// SYN or SYN-ACK.
    pub(super) const SYN: Self = Self(1);
    /// An acknowledgement alone.
    pub(super) const ACK: Self = Self(2);
    /// Data or FIN not sent before.
    pub(super) const DATA: Self = Self(4);
    /// The oldest unacknowledged segment, in recovery.
    pub(super) const RESEND: Self = Self(8);
    /// The retransmission timer's expiry is yet to be acted on.
    pub(super) const TIMEOUT: Self = Self(16);
    /// The endpoint asked, and was not woken since; it may want nothing any more.
    const ASKED: Self = Self(32);

    fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub(super) fn remove(&mut self, other: Self) {
        self.0 &= !other.0;
    }
}

impl Endpoint {
    /// Whether what is wanted has to wait; it is noted then.
    #[inline]
    pub(super) fn waits_for_room(&mut self, stack: &Stack, wanted: Wants, out: &mut impl Transmit) -> bool {
        stack.config().back_pressure && self.must_wait(wanted, out)
    }

    fn must_wait(&mut self, wanted: Wants, out: &mut impl Transmit) -> bool {
        // Whoever waits already keeps its place and does not ask again.
        if !self.wants.has(Wants::ASKED) {
            if out.has_room() {
                return false;
            }
            self.wants.add(Wants::ASKED);
        }
        self.wants.add(wanted);
        true
    }

    /// The host's transmit queue has room for at least one packet, and it is this endpoint's turn.
    pub fn on_room(&mut self, now: Time, stack: &Stack, out: &mut impl Transmit) -> Signals {
        let wants = std::mem::replace(&mut self.wants, Wants::NOTHING);
        if wants.has(Wants::SYN) {
            match self.state {
                State::SynSent => _ = self.send_syn(now, stack, out, Flags::default()),
                State::SynReceived => _ = self.send_syn(now, stack, out, Flags::ACK),
                _ => {}
            }
            return Signals::NONE;
        }
        if self.state == State::Closed {
            return Signals::NONE;
        }
        // An acknowledgement that waits rides on whatever goes before it.
        if wants.has(Wants::ACK) {
            self.wants.add(Wants::ACK);
        }
        let mut signals = Signals::NONE;
        if wants.has(Wants::TIMEOUT) && self.timer == NEVER {
            signals = self.retransmit(now, stack, out);
        } else if wants.has(Wants::RESEND) && self.recovering {
            self.resend_first(now, stack, out);
        }
        if self.state != State::Closed {
            self.push(now, stack, out);
        }
        if self.wants.has(Wants::ACK) && !self.wants.has(Wants::ASKED) {
            self.wants.remove(Wants::ACK);
            self.send_ack(now, stack, out);
        }
        signals
    }
}
