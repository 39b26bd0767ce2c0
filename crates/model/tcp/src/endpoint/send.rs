//! Sending: what may leave now, and what happens when the own transmit queue refuses it.

use super::pressure::Wants;
use super::{Endpoint, State, Transmit};
use crate::segment::{Flags, SACK_BLOCKS, Segment, sack_room};
use crate::stack::Stack;
use airperf_units::Time;

impl Endpoint {
    /// Sends a SYN or SYN-ACK; false when refused locally. The first is lost then (`tcp_connect` ignores the result).
    pub(super) fn send_syn(&mut self, now: Time, stack: &Stack, out: &mut impl Transmit, ack: Flags) -> bool {
        if self.waits_for_room(stack, Wants::SYN, out) {
            self.timer = super::NEVER; // it runs from the sending
            return true; // not refused, only later
        }
        let again = self.snd_max > 0;
        self.snd_nxt = 1;
        self.snd_max = 1;
        self.rcv_acked = self.rcv_nxt;
        let accepted = out.transmit(&Segment {
            seq: 0,
            ack: self.rcv_nxt,
            window: self.rcv_window.min(65_535), // the window of a SYN is never scaled, RFC 7323 §2.2
            ts_val: stack.timestamp(now),
            ts_ecr: self.ts_recent,
            sack: [(0, 0); SACK_BLOCKS],
            len: 0,
            header: self.header(stack, true),
            flags: Flags::SYN.with(ack).with_if(Flags::AGAIN, again),
        });
        let config = stack.config();
        let wait = if self.state == State::SynSent {
            let doublings = self.backoff.saturating_sub(config.syn_linear_timeouts);
            self.rtt.backed_off(config, doublings)
        } else {
            self.rtt.backed_off(config, self.backoff)
        };
        self.timer = stack.expiry(now, wait);
        if self.state == State::SynReceived {
            self.timer = stack.synack_scan(self.timer);
        } else if !again {
            self.timed_at = now;
            self.timed_end = 1;
        }
        if again {
            self.timed_at = super::NEVER; // Karn's rule, RFC 6298 §3
        }
        accepted || !stack.config().local_drop_feedback
    }

    /// Sends what the windows allow: data, and a FIN after the last octet.
    pub(super) fn push(&mut self, now: Time, stack: &Stack, out: &mut impl Transmit) {
        if self.recovering && stack.config().recovers_by_sack() {
            self.push_in_recovery(now, stack, out);
        } else {
            while self.snd_nxt < self.data_end + u32::from(self.closing)
                && self.push_one(now, stack, out, true)
            {}
        }
    }

    /// Sends the next segment that the peer has not reported, if there is one and the windows allow it, the congestion
    /// window where `congestion` holds.
    #[inline(always)]
    pub(super) fn push_one(
        &mut self,
        now: Time,
        stack: &Stack,
        out: &mut impl Transmit,
        congestion: bool,
    ) -> bool {
        if !self.scoreboard.is_empty() {
            self.snd_nxt = self.scoreboard.hole(self.snd_nxt);
        }
        if self.snd_nxt >= self.data_end + u32::from(self.closing) {
            return false;
        }
        let payload = stack.segment_payload_bytes();
        let window = self.peer_window.min(stack.config().window_clamp_bytes.unwrap_or(u32::MAX));
        let left = self.data_end.saturating_sub(self.snd_nxt);
        let len = self.scoreboard.missing(self.snd_nxt, left.min(payload));
        let flight = self.snd_nxt - self.snd_una;
        if flight == 0 && len > 0 && self.snd_nxt == self.snd_max {
            self.restart_after_idle(now, stack);
        }
        // A lone FIN may pass the congestion window (tcp_snd_test). What was reported has left the network, so
        // reports let new data go (RFC 3042).
        let in_network = flight - self.scoreboard.reported(self.snd_una, self.snd_nxt);
        if congestion
            && (len > 0 || stack.config().fin_waits_for_window)
            && u64::from(in_network) > u64::from(self.window.cwnd - 1) * u64::from(payload)
        {
            return false;
        }
        if flight + len > window && flight > 0 {
            return false;
        }
        if self.waits_for_room(stack, Wants::DATA, out) {
            return false;
        }
        let fin = self.closing && len == left;
        let seq = self.snd_nxt;
        if !self.transmit_data(now, stack, out, seq, len, fin) {
            self.refused_locally(now, stack);
            return false;
        }
        self.refused = false;
        self.snd_nxt += len + u32::from(fin);
        if self.snd_nxt > self.snd_max {
            self.snd_max = self.snd_nxt;
            if !stack.config().timestamps && self.timed_at == super::NEVER {
                self.timed_at = now;
                self.timed_end = self.snd_nxt;
            }
        }
        if self.timer == super::NEVER {
            self.arm(now, stack);
        }
        true
    }

    fn restart_after_idle(&mut self, now: Time, stack: &Stack) {
        let config = stack.config();
        let idle = self.last_sent != Time::ZERO && now - self.last_sent > self.rtt.timeout(config);
        if idle && config.slow_start_after_idle {
            self.window.restart(config.initial_window);
        }
    }

    /// Sends the oldest unacknowledged segment again; false when refused locally.
    pub(super) fn resend_first(&mut self, now: Time, stack: &Stack, out: &mut impl Transmit) -> bool {
        if self.waits_for_room(stack, Wants::RESEND, out) {
            return true; // not refused, only later
        }
        self.resend(now, stack, out, self.snd_una).is_some()
    }

    /// Sends what begins at `seq` again, up to what the peer has reported; where it ends, none when refused locally.
    pub(super) fn resend(
        &mut self,
        now: Time,
        stack: &Stack,
        out: &mut impl Transmit,
        seq: u32,
    ) -> Option<u32> {
        let left = self.data_end.saturating_sub(seq);
        let sent = self.snd_max - seq;
        let len = self.scoreboard.missing(seq, left.min(stack.segment_payload_bytes()).min(sent));
        let fin = self.closing && len == left && sent > len;
        if self.timed_end > seq {
            self.timed_at = super::NEVER;
        }
        if !self.transmit_data(now, stack, out, seq, len, fin) {
            return None;
        }
        self.refused = false;
        let end = seq + len + u32::from(fin);
        self.snd_nxt = self.snd_nxt.max(end);
        Some(end)
    }

    fn transmit_data(
        &mut self,
        now: Time,
        stack: &Stack,
        out: &mut impl Transmit,
        seq: u32,
        len: u32,
        fin: bool,
    ) -> bool {
        let segment = Segment {
            seq,
            ack: self.rcv_nxt,
            window: self.advertise(),
            ts_val: stack.timestamp(now),
            ts_ecr: self.ts_recent,
            sack: self.report(stack),
            len: len as u16,
            header: self.header(stack, false),
            flags: Flags::ACK.with_if(Flags::FIN, fin).with_if(Flags::AGAIN, seq < self.snd_max),
        };
        // An emulated kernel's TCP does not learn of refusals; neither does ours with feedback off.
        let accepted = out.transmit(&segment) || !stack.config().local_drop_feedback;
        if accepted {
            self.wants.remove(Wants::ACK); // it rides on this
            self.last_sent = now;
            self.rcv_acked = self.rcv_nxt;
            self.ack_policy.acknowledged(stack.config());
            if len > 0 {
                self.ack_policy.data_sent(now);
            }
        }
        accepted
    }

    /// Sends an acknowledgement alone; refused locally it is simply lost.
    pub(super) fn send_ack(&mut self, now: Time, stack: &Stack, out: &mut impl Transmit) {
        if self.waits_for_room(stack, Wants::ACK, out) {
            self.ack_policy.due = super::NEVER; // as soon as there is room
            return;
        }
        out.transmit(&Segment {
            seq: self.snd_nxt,
            ack: self.rcv_nxt,
            window: self.advertise(),
            ts_val: stack.timestamp(now),
            ts_ecr: self.ts_recent,
            sack: self.report(stack),
            len: 0,
            header: self.header(stack, false),
            flags: Flags::ACK,
        });
        self.rcv_acked = self.rcv_nxt;
        self.ack_policy.acknowledged(stack.config());
    }

    /// The ranges to report, as many as there is room for.
    #[inline]
    fn report(&self, stack: &Stack) -> [(u32, u32); SACK_BLOCKS] {
        let config = stack.config();
        if self.reorder.is_empty() || !config.recovers_by_sack() {
            return [(0, 0); SACK_BLOCKS];
        }
        let mut blocks = self.reorder.blocks();
        blocks[sack_room(config)..].fill((0, 0));
        blocks
    }

    /// The window to advertise: its right edge never moves left (RFC 9293 §3.8.6.2.2).
    fn advertise(&mut self) -> u32 {
        self.rcv_edge = self.rcv_edge.max(self.rcv_nxt + self.rcv_window);
        self.rcv_edge - self.rcv_nxt
    }

    pub(super) fn arm(&mut self, now: Time, stack: &Stack) {
        self.timer = stack.expiry(now, self.rtt.backed_off(stack.config(), self.backoff));
    }

    /// The own transmit queue refused a segment that was never sent: TCP keeps it, narrows its window and
    /// tries again with the next acknowledgement, or after a timeout if none is expected.
    fn refused_locally(&mut self, now: Time, stack: &Stack) {
        let flight = self.flight(stack);
        self.window.local_drop(flight);
        if self.timer == super::NEVER && self.refused {
            self.retry_refused(now, stack);
        } else if self.timer == super::NEVER {
            self.timer = now + self.rtt.timeout(stack.config());
        }
        self.refused = true;
    }
}
