//! When to acknowledge: at once, or later in the hope of company.
//!
//! Reference: RFC 1122 §4.2.3.2, RFC 5681 §4.2 for the rules, Linux (`tcp_event_data_recv`,
//! `__tcp_ack_snd_check`, `tcp_grow_window`, `tcp_send_delayed_ack`) for quick mode: while a credit lasts
//! and the connection is not a conversation, every segment is acknowledged at once. The credit starts
//! with the first data and is topped up by every full segment that enlarges the receive window, so the
//! first part of a transfer is acknowledged segment by segment.
//!
//! Leaves out memory pressure and acknowledgements sent by the program's read.

use crate::config::Config;
use airperf_units::{Duration, Time};

/// Largest estimate of the peer's segment before any was seen (`TCP_MIN_RCVMSS`).
const FIRST_PEER_MSS: u16 = 536;
/// Segments shorter than this do not enlarge the window (`tcp_event_data_recv`).
const GROWING_SEGMENT_BYTES: u16 = 128;

/// State of the acknowledgement policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckPolicy {
    /// When the delayed acknowledgement is due; [`Time::MAX`] when none is.
    pub(crate) due: Time,
    last_data: Option<Time>,
    /// Delay of the next delayed acknowledgement, adapted to the gaps between segments.
    delay_us: u32,
    /// Largest segment the peer has sent.
    peer_mss: u16,
    quick: u8,
    conversing: bool,
}

impl AckPolicy {
    pub(crate) const fn new() -> Self {
        Self {
            due: Time::MAX,
            last_data: None,
            delay_us: 0,
            peer_mss: FIRST_PEER_MSS,
            quick: 0,
            conversing: false,
        }
    }

    /// Data of `len` octets arrived in order; returns what the receive window grows to.
    #[inline]
    pub(crate) fn data_received(
        &mut self,
        now: Time,
        len: u16,
        window: u32,
        rto: Duration,
        config: &Config,
    ) -> u32 {
        self.peer_mss = self.peer_mss.max(len);
        let min = us(config.delayed_ack_min);
        match self.last_data {
            None => {
                self.grant(window, config);
                self.delay_us = min;
            }
            Some(last) => {
                let gap = (now - last).as_ns() / 1_000;
                if gap <= u64::from(min / 2) {
                    self.delay_us = self.delay_us / 2 + min / 2;
                } else if gap < u64::from(self.delay_us) {
                    self.delay_us = (self.delay_us / 2 + gap as u32).min(us(rto));
                } else if gap > u64::from(us(rto)) {
                    // The sender has probably restarted from a small window.
                    self.grant(window, config);
                }
            }
        }
        self.last_data = Some(now);
        let full = u32::from(len) >= config.segment_payload_bytes().min(u32::from(self.peer_mss));
        if full && len >= GROWING_SEGMENT_BYTES && window < config.receive_window_max_bytes {
            self.quick |= 1;
            return (window + 2 * config.segment_payload_bytes()).min(config.receive_window_max_bytes);
        }
        window
    }

    fn grant(&mut self, window: u32, config: &Config) {
        let credit = (window / (2 * u32::from(self.peer_mss))).max(2);
        let credit = credit.min(u32::from(config.quick_ack_max)) as u8;
        self.quick = self.quick.max(credit);
    }

    /// Data was sent: shortly after data was received that makes the connection a conversation.
    #[inline]
    pub(crate) fn data_sent(&mut self, now: Time) {
        if let Some(last) = self.last_data
            && (now - last).as_ns() / 1_000 < u64::from(self.delay_us)
        {
            self.conversing = true;
        }
    }

    /// The peer has closed: our own FIN is expected soon and can carry the acknowledgement.
    pub(crate) fn peer_closed(&mut self) {
        self.conversing = true;
    }

    /// Whether `unacknowledged` octets are to be acknowledged at once.
    #[inline]
    pub(crate) fn at_once(&self, unacknowledged: u32) -> bool {
        unacknowledged > u32::from(self.peer_mss) || (self.quick > 0 && !self.conversing)
    }

    /// Puts the acknowledgement off; true when it must go at once after all.
    #[inline]
    pub(crate) fn delay(&mut self, now: Time, srtt: Option<Duration>, config: &Config) -> bool {
        let mut delay = Duration::from_us(u64::from(self.delay_us)).max(config.delayed_ack_min);
        let mut longest = config.delayed_ack_max;
        if let Some(srtt) = srtt {
            longest = longest.min(srtt.max(config.delayed_ack_min));
        }
        delay = delay.min(longest);
        if self.due != Time::MAX && self.due <= now + delay / 4 {
            return true;
        }
        self.due = self.due.min(now + delay);
        false
    }

    /// The delayed acknowledgement's time came without company.
    pub(crate) fn timer_fired(&mut self, rto: Duration, config: &Config) {
        if self.conversing {
            self.conversing = false;
            self.delay_us = us(config.delayed_ack_min);
        } else {
            self.delay_us = (self.delay_us * 2).min(us(rto));
        }
    }

    /// A segment with an acknowledgement left.
    #[inline]
    pub(crate) fn acknowledged(&mut self, config: &Config) {
        self.due = Time::MAX;
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.delay_us = us(config.delayed_ack_min);
            }
        }
    }
}

#[inline]
fn us(span: Duration) -> u32 {
    (span.as_ns() / 1_000).min(u64::from(u32::MAX / 4)) as u32
}
