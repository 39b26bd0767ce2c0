//! Arriving segments (RFC 9293 §3.10.7).

use super::pressure::Wants;
use super::{Endpoint, NEVER, Signals, State, Transmit};
use crate::cc::Recovery;
use crate::segment::{Flags, Segment};
use crate::stack::Stack;
use airperf_units::{Duration, Time};

impl Endpoint {
    /// Takes in a segment of the peer's.
    ///
    /// A listening host hands SYNs for a closed endpoint to [`Self::accept`] instead, and withholds
    /// acknowledgements from half-open endpoints while its accept queue is full
    /// ([`Self::note_ignored_ack`]).
    pub fn receive(
        &mut self,
        now: Time,
        stack: &Stack,
        segment: &Segment,
        out: &mut impl Transmit,
    ) -> Signals {
        let mut signals = Signals::NONE;
        let flags = segment.flags;
        match self.state {
            State::Closed => {
                Self::refuse(segment, out);
                return signals;
            }
            State::SynSent => {
                self.receive_synack(now, stack, segment, out, &mut signals);
                return signals;
            }
            _ => {}
        }
        if flags.has(Flags::RST) {
            self.end();
            signals.add(Signals::RESET);
            signals.add(Signals::ENDED);
            return signals;
        }
        if flags.has(Flags::SYN) {
            if self.answers_too_often(now, stack) {
                return signals;
            }
            if self.state == State::SynReceived {
                self.repeat_synack(now, stack, out);
            } else {
                self.send_ack(now, stack, out); // a repeated SYN-ACK: our acknowledgement was lost
            }
            return signals;
        }
        if self.state == State::SynReceived {
            self.complete_handshake(now, stack, segment, &mut signals);
        }
        // RFC 7323 §4.3: the echo follows the last segment that covers the left edge.
        if segment.seq <= self.rcv_acked {
            self.ts_recent = segment.ts_val;
        }
        self.receive_ack(now, stack, segment, out);
        if self.fin_acknowledged() {
            self.advance_close(now, stack, &mut signals);
            if self.state == State::Closed {
                return signals;
            }
        }
        if segment.end() > segment.seq {
            self.receive_data(now, stack, segment, out, &mut signals);
        }
        if self.state != State::Closed {
            self.push(now, stack, out);
        }
        signals
    }

    /// The listening host ignored an acknowledgement because its accept queue is full.
    pub fn note_ignored_ack(&mut self) {
        self.acknowledged_syn = true;
    }

    fn receive_synack(
        &mut self,
        now: Time,
        stack: &Stack,
        segment: &Segment,
        out: &mut impl Transmit,
        signals: &mut Signals,
    ) {
        let flags = segment.flags;
        if flags.has(Flags::RST) {
            if flags.has(Flags::ACK) && segment.ack == 1 {
                self.end();
                signals.add(Signals::RESET);
                signals.add(Signals::ENDED);
            }
            return;
        }
        if !flags.has(Flags::SYN.with(Flags::ACK)) || segment.ack != 1 {
            return;
        }
        self.sample(now, stack, segment);
        self.snd_una = 1;
        self.rcv_nxt = 1;
        self.peer_window = segment.window;
        self.ts_recent = segment.ts_val;
        self.state = State::Established;
        self.timer = NEVER;
        self.backoff = 0;
        self.send_ack(now, stack, out);
        signals.add(Signals::ESTABLISHED);
    }

    fn repeat_synack(&mut self, now: Time, stack: &Stack, out: &mut impl Transmit) {
        let timer = self.timer;
        let _ = self.send_syn(now, stack, out, Flags::ACK); // tcp_check_req ignores the result
        if !stack.config().synack_timer_restarts {
            self.timer = timer;
        }
    }

    /// Whether a repeated SYN or SYN-ACK comes too soon after the last one that was answered.
    fn answers_too_often(&mut self, now: Time, stack: &Stack) -> bool {
        let interval = stack.config().answer_interval;
        if self.answered != NEVER && now - self.answered < interval {
            return true;
        }
        self.answered = now;
        false
    }

    fn complete_handshake(&mut self, now: Time, stack: &Stack, segment: &Segment, signals: &mut Signals) {
        self.sample(now, stack, segment);
        self.snd_una = 1;
        self.peer_window = segment.window;
        self.state = State::Established;
        self.timer = NEVER;
        self.backoff = 0;
        signals.add(Signals::ESTABLISHED);
    }

    /// Measures the round trip: by the echoed timestamp, or by the one segment being timed (RFC 6298 §3).
    #[inline]
    fn sample(&mut self, now: Time, stack: &Stack, segment: &Segment) {
        let config = stack.config();
        if config.timestamps {
            let ticks = stack.timestamp(now).saturating_sub(segment.ts_ecr).max(1);
            let rtt = config.timestamp_tick * u64::from(ticks);
            self.rtt.sample(rtt, config, segment.ack, self.snd_nxt);
        } else if self.timed_at != NEVER && segment.ack >= self.timed_end {
            let rtt = (now - self.timed_at).max(Duration::from_us(1));
            self.rtt.sample(rtt, config, segment.ack, self.snd_nxt);
            self.timed_at = NEVER;
        }
    }

    fn receive_ack(&mut self, now: Time, stack: &Stack, segment: &Segment, out: &mut impl Transmit) {
        let ack = segment.ack;
        if !segment.flags.has(Flags::ACK) || ack > self.snd_max || ack < self.snd_una {
            return;
        }
        let same_window = std::mem::replace(&mut self.peer_window, segment.window) == segment.window;
        let by_sack = stack.config().recovers_by_sack();
        let news = segment.sack[0].1 > 0 && by_sack && self.scoreboard.report(segment, ack, self.snd_max);
        if ack == self.snd_una && by_sack {
            self.duplicates = self.duplicates.saturating_add(u8::from(news));
            self.detect_loss(now, stack);
            return;
        }
        if ack == self.snd_una {
            let outstanding = self.snd_max > self.snd_una;
            if outstanding && same_window && segment.end() == segment.seq && self.state != State::SynReceived
            {
                self.duplicate_ack(now, stack, out);
            }
            return;
        }
        let payload = stack.segment_payload_bytes();
        let acked = (ack - self.snd_una).div_ceil(payload);
        let flight = self.flight(stack);
        self.sample(now, stack, segment);
        self.snd_una = ack;
        self.scoreboard.acknowledge(ack);
        self.take_back(segment);
        self.snd_nxt = self.snd_nxt.max(ack);
        self.duplicates = 0;
        self.backoff = 0;
        self.wants.remove(Wants::TIMEOUT);
        if self.snd_una == self.snd_nxt {
            self.timer = NEVER;
        } else {
            self.arm(now, stack);
        }
        if self.recovering && by_sack {
            self.recovering = ack < self.recover; // RFC 6675 §5: what is missing next follows from the scoreboard
        } else if self.recovering {
            let partial = ack < self.recover;
            let left = self.flight(stack);
            match self.window.recovery_ack(stack.config().congestion, acked, left, partial) {
                Recovery::Over => self.recovering = false,
                Recovery::NextHole => {
                    self.resend_first(now, stack, out);
                }
            }
        } else if flight >= self.window.cwnd {
            self.window.grow(); // only a window in full use says anything about the path
        }
        if news {
            self.detect_loss(now, stack);
        }
    }

    fn duplicate_ack(&mut self, now: Time, stack: &Stack, out: &mut impl Transmit) {
        let threshold = stack.config().duplicate_acks;
        self.duplicates = self.duplicates.saturating_add(1);
        if self.recovering {
            self.window.inflate();
        } else if self.duplicates == threshold && self.snd_una >= self.recover {
            // RFC 6582 §3.2 step 2.
            self.note_taken(now, stack);
            let flight = (self.snd_max - self.snd_una).div_ceil(stack.segment_payload_bytes());
            self.window.enter_recovery(flight, threshold);
            self.recovering = true;
            self.recover = self.snd_max;
            self.resend_first(now, stack, out);
            self.arm(now, stack);
        }
    }

    /// Our FIN is acknowledged.
    fn advance_close(&mut self, now: Time, stack: &Stack, signals: &mut Signals) {
        match self.state {
            State::FinWait1 => {
                self.state = State::FinWait2;
                self.timer = now + stack.config().fin_wait;
            }
            State::Closing => self.enter_time_wait(now, stack, signals),
            State::LastAck => {
                self.end();
                signals.add(Signals::ENDED);
            }
            _ => {}
        }
    }

    fn enter_time_wait(&mut self, now: Time, stack: &Stack, signals: &mut Signals) {
        self.state = State::TimeWait;
        self.ack_policy.due = NEVER;
        self.timer = now + stack.config().time_wait;
        signals.add(Signals::ENDED);
    }

    fn receive_data(
        &mut self,
        now: Time,
        stack: &Stack,
        segment: &Segment,
        out: &mut impl Transmit,
        signals: &mut Signals,
    ) {
        let len = u32::from(segment.len);
        let data_end = segment.seq + len;
        if segment.end() <= self.rcv_nxt || segment.seq > self.rcv_edge.max(self.rcv_nxt) {
            // Seen before, or beyond the window: say where we are (RFC 9293 §3.10.7.4).
            if self.state == State::TimeWait {
                self.timer = now + stack.config().time_wait;
            }
            self.send_ack(now, stack, out);
            return;
        }
        if self.closing && data_end > self.rcv_nxt && len > 0 {
            // The program has closed and will never read this (RFC 9293 §3.6.1).
            Self::refuse(segment, out);
            self.end();
            signals.add(Signals::RESET);
            signals.add(Signals::ENDED);
            return;
        }
        if segment.flags.has(Flags::FIN) {
            self.peer_fin = data_end;
        }
        if segment.seq > self.rcv_nxt {
            self.reorder.insert(segment.seq, segment.end(), stack.config().reorder_ranges.into());
            self.send_ack(now, stack, out); // a duplicate acknowledgement, RFC 5681 §4.2
            return;
        }
        let before = self.rcv_nxt;
        let had_hole = !self.reorder.is_empty();
        self.rcv_nxt = self.reorder.advance(segment.end());
        let fin = self.rcv_nxt > self.peer_fin;
        if self.rcv_nxt - u32::from(fin) > before {
            let rto = self.rtt.timeout(stack.config());
            self.rcv_window =
                self.ack_policy.data_received(now, segment.len, self.rcv_window, rto, stack.config());
            signals.add(Signals::READABLE);
        }
        if fin {
            self.receive_fin(now, stack, out, signals);
            return;
        }
        let unacknowledged = self.rcv_nxt - self.rcv_acked;
        if had_hole
            || self.ack_policy.at_once(unacknowledged)
            || self.ack_policy.delay(now, self.rtt.smoothed(), stack.config())
        {
            self.send_ack(now, stack, out);
        }
    }

    fn receive_fin(&mut self, now: Time, stack: &Stack, out: &mut impl Transmit, signals: &mut Signals) {
        signals.add(Signals::PEER_CLOSED);
        match self.state {
            State::Established => {
                self.state = State::CloseWait;
                self.ack_policy.peer_closed();
                if self.ack_policy.delay(now, self.rtt.smoothed(), stack.config()) {
                    self.send_ack(now, stack, out);
                }
            }
            State::FinWait1 => {
                self.send_ack(now, stack, out);
                self.state = State::Closing;
            }
            State::FinWait2 => {
                self.send_ack(now, stack, out);
                self.enter_time_wait(now, stack, signals);
            }
            _ => {}
        }
    }
}
