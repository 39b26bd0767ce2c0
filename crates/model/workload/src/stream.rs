//! How well a flow of datagrams was served: loss, delay, delay variation, and whether a stream could be played.
//!
//! Delay is from the instant a datagram was offered to its sender's transmit queue to its arrival. Its variation is
//! told in two ways: the interarrival estimate of RFC 3550 §6.4.1 (gain 1/16), and the spread of the delays
//! themselves (RFC 5481 §4.2: percentiles less the minimum). A player begins so long after the first datagram came
//! ([`Playout::delay`]) and from then on needs each one at its place; what comes later is as good as lost. A stream
//! is playable when the share of datagrams missing then is at most [`Playout::loss_limit`].
//!
//! Left out: concealment, adaptive playout, and which datagrams a decoder can spare.

use airperf_units::{Duration, Time};

/// When a stream counts as playable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Playout {
    /// How long the player waits after the first arrival.
    pub delay: Duration,
    /// Largest share of datagrams that may be missing or late.
    pub loss_limit: f64,
}

/// What became of a flow's datagrams. Times are zero when nothing arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quality {
    /// Datagrams handed to the transmit queue.
    pub offered: u64,
    /// Of those, refused by it.
    pub refused: u64,
    /// Given up by the link.
    pub lost: u64,
    /// Arrived.
    pub delivered: u64,
    /// Arrived after their place in the playout.
    pub late: u64,
    /// Octets of payload handed to the transmit queue.
    pub bytes_offered: u64,
    /// Octets of payload that arrived.
    pub bytes_delivered: u64,
    /// Of those, before the flow's end.
    pub bytes_in_time: u64,
    /// Mean delay.
    pub delay_mean: Duration,
    /// Smallest delay.
    pub delay_min: Duration,
    /// Largest delay.
    pub delay_max: Duration,
    /// Delays at the 50th, 95th and 99th percentile, to within 0.4%.
    pub delay_percentiles: [Duration; 3],
    /// Mean over all arrivals of RFC 3550's estimate of the delay variation.
    pub variation_mean: Duration,
    /// Its largest value.
    pub variation_max: Duration,
}

impl Quality {
    /// The share of datagrams that a player missed; 1 when none arrived, 0 when none was offered. Those still on
    /// their way at the end of the run count neither way.
    pub fn missing_share(&self) -> f64 {
        let known = self.refused + self.lost + self.delivered;
        match (self.offered, self.delivered) {
            (0, _) => 0.0,
            (_, 0) => 1.0,
            _ => (self.refused + self.lost + self.late) as f64 / known as f64,
        }
    }
}

/// Follows a flow's datagrams; see the module.
#[derive(Clone, Debug)]
pub struct Meter {
    end: Time,
    playout: Option<Playout>,
    quality: Quality,
    delays: Delays,
    sum_ns: u128,
    first: Option<Duration>,
    last: Duration,
    last_arrival: Option<Time>,
    variation_ns: f64,
    variation_sum_ns: f64,
    variation_max_ns: f64,
}

impl Meter {
    /// A meter for a flow that ends at `end`.
    pub fn new(end: Time, playout: Option<Playout>) -> Self {
        Self {
            end,
            playout,
            quality: Quality::default(),
            delays: Delays::default(),
            sum_ns: 0,
            first: None,
            last: Duration::ZERO,
            last_arrival: None,
            variation_ns: 0.0,
            variation_sum_ns: 0.0,
            variation_max_ns: 0.0,
        }
    }

    /// A datagram of `bytes` octets was offered to the transmit queue, which took it or not.
    #[inline]
    pub fn offered(&mut self, bytes: u32, queued: bool) {
        self.quality.offered += 1;
        self.quality.refused += u64::from(!queued);
        self.quality.bytes_offered += u64::from(bytes);
    }

    /// The link gave a datagram up.
    pub fn lost(&mut self) {
        self.quality.lost += 1;
    }

    /// A datagram of `bytes` octets offered at `sent` arrived at `now`.
    #[inline]
    pub fn arrived(&mut self, sent: Time, now: Time, bytes: u32) {
        let delay = now - sent;
        let q = &mut self.quality;
        q.delivered += 1;
        q.bytes_delivered += u64::from(bytes);
        q.bytes_in_time += if now <= self.end { u64::from(bytes) } else { 0 };
        q.delay_max = q.delay_max.max(delay);
        self.sum_ns += u128::from(delay.as_ns());
        self.delays.add(delay.as_ns());
        match self.first {
            None => {
                self.first = Some(delay);
                q.delay_min = delay;
            }
            Some(first) => {
                q.delay_min = q.delay_min.min(delay);
                // RFC 3550 §6.4.1: J += (|D| - J) / 16.
                let change = delay.as_ns().abs_diff(self.last.as_ns()) as f64;
                self.variation_ns += (change - self.variation_ns) / 16.0;
                if let Some(playout) = self.playout {
                    q.late += u64::from(delay > first + playout.delay);
                }
            }
        }
        self.last = delay;
        self.last_arrival = Some(now);
        self.variation_sum_ns += self.variation_ns;
        self.variation_max_ns = self.variation_max_ns.max(self.variation_ns);
    }

    /// When the latest datagram arrived.
    pub fn last_arrival(&self) -> Option<Time> {
        self.last_arrival
    }

    /// What became of the flow so far.
    pub fn quality(&self) -> Quality {
        let n = self.quality.delivered.max(1);
        let ns = |value: f64| Duration::from_ns(libm::round(value) as u64);
        Quality {
            delay_mean: Duration::from_ns((self.sum_ns / u128::from(n)) as u64),
            delay_percentiles: [0.5, 0.95, 0.99].map(|p| self.delays.quantile(p)),
            variation_mean: ns(self.variation_sum_ns / n as f64),
            variation_max: ns(self.variation_max_ns),
            ..self.quality
        }
    }

    /// Whether the stream could be played; `None` for a flow that nobody plays.
    pub fn playable(&self) -> Option<bool> {
        let playout = self.playout?;
        Some(self.quality.delivered > 0 && self.quality.missing_share() <= playout.loss_limit)
    }
}

/// Bits of a delay that its bin keeps: bins are 1/128 wide, their middle within 0.4%.
const KEPT: u32 = 7;

/// Counts of delays in bins whose width grows with the delay, so that memory does not grow with the flow.
#[derive(Clone, Debug, Default)]
struct Delays {
    bins: Vec<u32>,
    count: u64,
}

impl Delays {
    #[inline]
    fn add(&mut self, ns: u64) {
        let bin = Self::bin(ns);
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
        self.count += 1;
    }

    #[inline]
    fn bin(ns: u64) -> usize {
        let shift = (63 - (ns | 1).leading_zeros()).saturating_sub(KEPT);
        ((u64::from(shift) << KEPT) + (ns >> shift)) as usize
    }

    /// The middle of a bin.
    fn middle(bin: usize) -> u64 {
        let shift = (bin as u64 >> KEPT).saturating_sub(1);
        let kept = bin as u64 - (shift << KEPT);
        (kept << shift) + ((1 << shift) >> 1)
    }

    /// The smallest delay that at least the share `p` does not exceed; zero of no delays.
    fn quantile(&self, p: f64) -> Duration {
        let rank = libm::ceil(p * self.count as f64) as u64;
        let mut seen = 0;
        for (bin, &count) in self.bins.iter().enumerate() {
            seen += u64::from(count);
            if seen >= rank && seen > 0 {
                return Duration::from_ns(Self::middle(bin));
            }
        }
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_ms(n)
    }

    /// A flow with these delays in ms, one datagram every 20 ms.
    fn meter(delays: &[u64], playout: Option<Playout>) -> Meter {
        let mut meter = Meter::new(Time::MAX, playout);
        for (i, &delay) in (0..).zip(delays) {
            let sent = Time::ZERO + ms(20) * i;
            meter.offered(100, true);
            meter.arrived(sent, sent + ms(delay), 100);
        }
        meter
    }

    #[test]
    fn a_constant_delay_varies_by_nothing() {
        let q = meter(&[5; 100], None).quality();
        assert_eq!((q.variation_mean, q.variation_max), (Duration::ZERO, Duration::ZERO));
        assert_eq!((q.delay_mean, q.delay_min, q.delay_max), (ms(5), ms(5), ms(5)));
    }

    #[test]
    fn the_estimate_of_rfc_3550_settles_at_the_mean_change() {
        // Delays in turn 5 and 9 ms: |D| = 4 ms always, so J tends to 4 ms; after n steps 4 (1 - (15/16)^n).
        let delays: Vec<u64> = (0..17).map(|i| 5 + 4 * (i % 2)).collect();
        let q = meter(&delays, None).quality();
        let expected = 4e6 * (1.0 - (15.0f64 / 16.0).powi(16));
        assert!((q.variation_max.as_ns() as f64 - expected).abs() < 1.0, "{}", q.variation_max);
    }

    #[test]
    fn percentiles_are_within_their_bin() {
        let delays: Vec<u64> = (1..=1000).collect();
        let q = meter(&delays, None).quality();
        for (got, expected) in q.delay_percentiles.iter().zip([500.0, 950.0, 990.0]) {
            let got = got.as_ns() as f64 / 1e6;
            assert!((got / expected - 1.0).abs() < 0.004, "{got} for {expected}");
        }
        for ns in [0, 1, 127, 128, 255, 256, 300, 1_000_000, u64::from(u32::MAX), 1 << 50] {
            let middle = Delays::middle(Delays::bin(ns));
            assert!(middle.abs_diff(ns) as f64 <= 0.004 * ns as f64, "{middle} for {ns}");
        }
    }

    #[test]
    fn what_comes_after_its_place_is_missing() {
        let playout = |delay, loss_limit| Some(Playout { delay: ms(delay), loss_limit });
        let mut delays = vec![5; 99];
        delays.push(40);
        assert_eq!(meter(&delays, playout(30, 0.01)).playable(), Some(true), "1% is just allowed");
        assert_eq!(meter(&delays, playout(30, 0.009)).playable(), Some(false));
        assert_eq!(meter(&delays, playout(35, 0.0)).playable(), Some(true));
        assert_eq!(meter(&delays, None).playable(), None);
        assert_eq!(meter(&[], playout(30, 0.01)).playable(), Some(false), "silence is no stream");
        let mut refused = meter(&delays, playout(100, 0.01));
        refused.offered(100, false);
        refused.lost();
        assert_eq!(refused.playable(), Some(false));
        assert!((refused.quality().missing_share() - 2.0 / 102.0).abs() < 1e-12);
    }
}
