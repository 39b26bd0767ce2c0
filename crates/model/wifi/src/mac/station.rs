//! One station's MAC state: its transmit queue and what it remembers of the frame at its head.
//!
//! It does not know who hears it; a medium tells it how each attempt went.
//! Reference: IEEE 802.11-2020 §10.3.3 (contention window and retry counters). Leaves out: separate
//! short and long retry counters (the study sets one limit), fragmentation.

use super::config::{Config, Fade, StationConfig};
use super::timing::Control;
use airperf_link::{Packet, QueueMeter};
use airperf_units::{Duration, Rate, Stream, Time};
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(crate) struct Station<P> {
    pub(crate) rate: Rate,
    /// Which table of frame times is for its rate.
    pub(crate) times: usize,
    pub(crate) control: Control,
    pub(crate) frame_error: f64,
    pub(crate) ack_error: f64,
    fade: Option<Fade>,
    host_gap: Duration,
    host_gap_spread: f64,
    places: usize,
    interface: usize,
    queue: VecDeque<Packet<P>>,
    pub(crate) meter: QueueMeter,
    cw: u32,
    cw_min: u32,
    cw_max: u32,
    /// Attempts made for the head frame, saturating.
    attempts: u32,
    /// Sequence number of the head frame.
    pub(crate) sequence: u16,
    /// The receiver has the head frame although the sender may not know (its ACK was lost).
    pub(crate) head_delivered: bool,
    backoff: Stream,
    gap: Stream,
}

impl<P> Station<P> {
    pub(crate) fn new(
        config: &StationConfig,
        link: &Config,
        times: usize,
        backoff: Stream,
        gap: Stream,
    ) -> Self {
        let places = (config.queue_packets + config.interface_frames) as usize;
        Self {
            rate: config.rate,
            times,
            control: Control::of(link, config.rate),
            frame_error: config.frame_error,
            ack_error: config.ack_error,
            fade: config.fade,
            host_gap: config.host_gap,
            host_gap_spread: config.host_gap_spread,
            places,
            interface: config.interface_frames as usize,
            queue: VecDeque::with_capacity(places),
            meter: QueueMeter::default(),
            cw: u32::from(link.phy.cw_min),
            cw_min: u32::from(link.phy.cw_min),
            cw_max: u32::from(link.phy.cw_max),
            attempts: 0,
            sequence: 0,
            head_delivered: false,
            backoff,
            gap,
        }
    }

    /// What its fade adds to the probability that a data frame ending at `at` is garbled.
    pub(crate) fn fade_error(&self, at: Time) -> f64 {
        self.fade.filter(|fade| (fade.from..fade.until).contains(&at)).map_or(0.0, |fade| fade.error)
    }

    #[inline]
    pub(crate) fn head(&self) -> Option<&Packet<P>> {
        self.queue.front()
    }

    /// Queues a packet; false when the queue is full.
    #[inline]
    pub(crate) fn push(&mut self, now: Time, packet: Packet<P>) -> bool {
        self.meter.offered();
        if self.queue.len() >= self.places {
            self.meter.dropped();
            return false;
        }
        self.queue.push_back(packet);
        self.read_depth(now);
        true
    }

    /// Takes the head frame out: it was acknowledged, or given up.
    #[inline]
    pub(crate) fn finish(&mut self, now: Time, lost: bool) -> Packet<P> {
        let packet = self.queue.pop_front().expect("a station that sends has a head frame");
        self.meter.departed(lost);
        self.read_depth(now);
        self.cw = self.cw_min;
        self.attempts = 0;
        self.sequence = (self.sequence + 1) % 4096;
        self.head_delivered = false;
        packet
    }

    #[inline]
    fn read_depth(&mut self, now: Time) {
        let waiting = self.queue.len().saturating_sub(self.interface);
        self.meter.set_depth(now, waiting as u32);
    }

    /// The next attempt's number, from 1, as it is made.
    #[inline]
    pub(crate) fn attempt(&mut self) -> u32 {
        self.attempts = self.attempts.saturating_add(1);
        self.attempts
    }

    /// The attempt failed: the window doubles. True when the frame must be given up.
    #[inline]
    pub(crate) fn fail(&mut self, retry_limit: Option<u8>) -> bool {
        self.cw = (2 * self.cw + 1).min(self.cw_max);
        retry_limit.is_some_and(|limit| self.attempts > u32::from(limit))
    }

    /// A fresh backoff in slots, uniform in 0..=CW.
    #[inline]
    pub(crate) fn draw_backoff(&mut self) -> u32 {
        self.backoff.up_to(self.cw)
    }

    #[inline]
    pub(crate) fn draw_host_gap(&mut self) -> Duration {
        self.gap.spread(self.host_gap, self.host_gap_spread)
    }
}
