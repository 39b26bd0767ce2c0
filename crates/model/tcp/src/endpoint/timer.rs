//! Timers: retransmission, delayed acknowledgement, TIME-WAIT.
//!
//! Reference: RFC 6298 §5, RFC 9293 §3.10.8.

use super::pressure::Wants;
use super::{Endpoint, NEVER, Signals, State, Transmit};
use crate::stack::Stack;
use airperf_units::Time;

/// What a half-open connection's timer did, for the [`crate::Listener`]'s counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HalfOpen {
    /// Nothing that concerns the listener.
    Unchanged,
    /// The SYN-ACK was sent again for the first time.
    Aged,
}

impl Endpoint {
    /// Does what is due at `now`.
    ///
    /// `synack_retries` is how often a half-open connection's SYN-ACK may be repeated at present
    /// ([`crate::Listener::synack_retries`]).
    pub fn on_timer(
        &mut self,
        now: Time,
        stack: &Stack,
        synack_retries: u8,
        out: &mut impl Transmit,
    ) -> (Signals, HalfOpen) {
        if self.ack_policy.due != NEVER && stack.tick(self.ack_policy.due) <= now {
            self.ack_policy.due = NEVER;
            self.ack_policy.timer_fired(self.rtt.timeout(stack.config()), stack.config());
            self.send_ack(now, stack, out);
        }
        if self.timer == NEVER || stack.tick(self.timer) > now {
            return (Signals::NONE, HalfOpen::Unchanged);
        }
        self.timer = NEVER;
        match self.state {
            State::Closed => (Signals::NONE, HalfOpen::Unchanged),
            State::TimeWait | State::FinWait2 => {
                self.end();
                (Signals::ENDED, HalfOpen::Unchanged)
            }
            State::SynSent => {
                if self.backoff >= stack.config().syn_retries {
                    return (self.give_up(), HalfOpen::Unchanged);
                }
                self.backoff += 1;
                if !self.send_syn(now, stack, out, crate::Flags::default()) {
                    self.backoff -= 1;
                    self.retry_refused(now, stack);
                }
                (Signals::NONE, HalfOpen::Unchanged)
            }
            State::SynReceived => {
                let most = if self.acknowledged_syn { stack.config().synack_retries } else { synack_retries };
                if self.backoff >= most {
                    return (self.give_up(), HalfOpen::Unchanged);
                }
                self.backoff += 1;
                if !self.send_syn(now, stack, out, crate::Flags::ACK) && stack.config().refused_synack_ends {
                    return (self.give_up(), HalfOpen::Unchanged);
                }
                (Signals::NONE, if self.backoff == 1 { HalfOpen::Aged } else { HalfOpen::Unchanged })
            }
            _ => (self.retransmit(now, stack, out), HalfOpen::Unchanged),
        }
    }

    fn give_up(&mut self) -> Signals {
        self.end();
        let mut signals = Signals::GIVEN_UP;
        signals.add(Signals::ENDED);
        signals
    }

    pub(super) fn retransmit(&mut self, now: Time, stack: &Stack, out: &mut impl Transmit) -> Signals {
        if self.snd_una == self.snd_max {
            // Nothing is outstanding: the own transmit queue had refused new data.
            self.push(now, stack, out);
            return Signals::NONE;
        }
        let config = stack.config();
        let retries = if self.closing { config.orphan_retries } else { config.data_retries };
        if self.backoff >= retries {
            return self.give_up();
        }
        if self.waits_for_room(stack, Wants::TIMEOUT, out) {
            return Signals::NONE; // perhaps the acknowledgement comes before there is room
        }
        self.note_taken(now, stack);
        let flight = (self.snd_max - self.snd_una).div_ceil(stack.segment_payload_bytes());
        self.window.timeout(flight, self.backoff == 0);
        self.recovering = false;
        self.duplicates = 0;
        self.recover = self.snd_max;
        self.snd_nxt = self.snd_una;
        if self.resend_first(now, stack, out) {
            self.backoff += 1;
            self.arm(now, stack);
        } else {
            self.retry_refused(now, stack);
        }
        Signals::NONE
    }

    /// The own transmit queue refused a retransmission, or new data again: try soon, without backing off
    /// (`tcp_retransmit_timer`, `tcp_send_probe0`, `TCP_RESOURCE_PROBE_INTERVAL`).
    pub(super) fn retry_refused(&mut self, now: Time, stack: &Stack) {
        let config = stack.config();
        self.timer = now + self.rtt.timeout(config).min(config.local_drop_retry);
    }
}
