//! Recovery by what the peer reports, and taking needless recoveries back.
//!
//! Reference: RFC 6675 §5 (recovery with a scoreboard; what it allows goes out with the next [`Endpoint::push`]) and, for
//! what was needless, the Eifel detection algorithm (RFC 3522 §3.2): an acknowledgement that echoes a time before the
//! first retransmission was sent for the original. The response is Linux's (`tcp_undo_cwnd_reduction`): both windows
//! are as before, and what was thought lost counts as under way again.
//!
//! Leaves out the times of sending (RACK and tail loss probes, RFC 8985), F-RTO (RFC 5682), duplicate SACK (RFC 2883)
//! and the response's change of the timeout (RFC 4015 §3.3).

use super::pressure::Wants;
use super::{Endpoint, Transmit};
use crate::cc::Window;
use crate::segment::Segment;
use crate::stack::Stack;
use airperf_units::Time;

/// What a retransmission took, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    window: Window,
    /// The time stamp of the first retransmission.
    stamp: u32,
}

impl Endpoint {
    /// Begins recovery when the scoreboard or duplicate acknowledgements tell of a loss (RFC 6675 §5 steps 2 to 4). What
    /// was sent before a timeout is sent again in slow start instead (§5.1).
    pub(super) fn detect_loss(&mut self, now: Time, stack: &Stack) {
        if self.recovering || self.snd_una < self.recover {
            return;
        }
        let (threshold, payload) = (stack.config().duplicate_acks, stack.segment_payload_bytes());
        if self.duplicates < threshold && self.scoreboard.lost_below(threshold, payload) <= self.snd_una {
            return;
        }
        self.note_taken(now, stack);
        self.window.enter_recovery((self.snd_max - self.snd_una).div_ceil(payload), 0);
        self.recovering = true;
        self.recover = self.snd_max;
        self.scoreboard.resent = 0;
    }

    /// Sends what the estimate of the network's content allows: the first hole in any case, then lost holes, new data,
    /// and other holes (RFC 6675 §4 NextSeg).
    pub(super) fn push_in_recovery(&mut self, now: Time, stack: &Stack, out: &mut impl Transmit) {
        let (threshold, payload) = (stack.config().duplicate_acks, stack.segment_payload_bytes());
        let allowed = u64::from(self.window.cwnd) * u64::from(payload);
        loop {
            let first = self.scoreboard.resent == 0;
            let lost = self.scoreboard.lost_below(threshold, payload);
            let pipe = self.scoreboard.pipe(self.snd_una, self.snd_max, lost);
            if !first && u64::from(pipe) + u64::from(payload) > allowed {
                break;
            }
            let hole = self.scoreboard.hole(self.scoreboard.resent.max(self.snd_una));
            if !first && hole >= lost {
                if self.push_one(now, stack, out, false) {
                    continue;
                }
                if hole >= self.scoreboard.highest() {
                    break;
                }
            }
            if self.waits_for_room(stack, Wants::DATA, out) {
                break;
            }
            let Some(end) = self.resend(now, stack, out, hole) else { break };
            self.scoreboard.resent = end;
            if first {
                self.arm(now, stack);
            }
        }
    }

    /// Notes what the retransmission that follows takes from the window, unless an earlier one may still be taken back.
    pub(super) fn note_taken(&mut self, now: Time, stack: &Stack) {
        let config = stack.config();
        if config.undo_spurious && config.timestamps && self.taken.is_none() {
            self.taken = Some(Taken { window: self.window, stamp: stack.timestamp(now) });
        }
    }

    /// After a new acknowledgement: undoes the retransmissions that it shows to have been needless (RFC 3522 §3.2).
    #[inline]
    pub(super) fn take_back(&mut self, segment: &Segment) {
        let Some(taken) = self.taken else { return };
        if segment.ts_ecr < taken.stamp {
            self.window.restore(taken.window);
            self.recovering = false;
            self.recover = self.snd_una;
            self.snd_nxt = self.snd_max;
            self.taken = None;
        } else if self.snd_una >= self.recover {
            self.taken = None;
        }
    }
}
