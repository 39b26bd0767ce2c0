//! The round-trip estimator and the retransmission timeout.
//!
//! Reference: RFC 6298 §2 with Linux's lower bound on the variance term instead of on the sum
//! (`TCP_RTO_MIN`, so RTO = SRTT + max(200 ms, 4 RTTVAR)), gains 1/8 and 1/4 in integers (Jacobson 1988,
//! appendix A). With `variance_peak` RTTVAR is what `tcp_rtt_estimator` makes of it: never less than the largest
//! deviation of the present round trip, a quarter closer to it with each, and a round trip shorter than
//! expected counts for an eighth, so that a queue that drains enlarges no timeout.

use crate::config::Config;
use airperf_units::Duration;

/// Smoothed round trip and its variance, microseconds scaled by 8 and 4.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rtt {
    srtt_times_8: u32,
    rttvar_times_4: u32,
    /// The smoothed deviation, and its largest value in this round trip (with `variance_peak` only).
    deviation_times_4: u32,
    peak_times_4: u32,
    /// This round trip ends when this sequence number is acknowledged.
    round_end: u32,
}

impl Rtt {
    /// Takes in one measurement, of a segment up to `acknowledged` while `sent` is the next to be sent.
    #[inline]
    pub(crate) fn sample(&mut self, rtt: Duration, config: &Config, acknowledged: u32, sent: u32) {
        // A round trip beyond 100 s says only that something is broken.
        let rtt = (rtt.as_ns() / 1_000).clamp(1, 100_000_000) as u32;
        if self.srtt_times_8 == 0 {
            self.srtt_times_8 = rtt * 8; // RFC 6298 §2.2
            self.rttvar_times_4 = rtt * 2;
            self.deviation_times_4 = rtt * 2;
            self.peak_times_4 = rtt * 2;
            self.round_end = sent;
            return;
        }
        let srtt = self.srtt_times_8 / 8;
        let error = srtt.abs_diff(rtt);
        self.srtt_times_8 = self.srtt_times_8 - srtt + rtt;
        if config.variance_peak {
            self.follow_peak(error, rtt < srtt, config, acknowledged, sent);
        } else {
            self.rttvar_times_4 = self.rttvar_times_4 - self.rttvar_times_4 / 4 + error; // RFC 6298 §2.3
        }
    }

    #[inline(never)]
    fn follow_peak(&mut self, error: u32, shorter: bool, config: &Config, acknowledged: u32, sent: u32) {
        let quarter = self.deviation_times_4 / 4;
        self.deviation_times_4 = match error.checked_sub(quarter) {
            Some(more) if shorter => self.deviation_times_4 + more / 8,
            _ => self.deviation_times_4 - quarter + error,
        };
        self.peak_times_4 = self.peak_times_4.max(self.deviation_times_4);
        self.rttvar_times_4 = self.rttvar_times_4.max(self.peak_times_4);
        if acknowledged > self.round_end {
            self.rttvar_times_4 -= (self.rttvar_times_4 - self.peak_times_4) / 4;
            self.round_end = sent;
            self.peak_times_4 = (config.min_rto.as_ns() / 1_000) as u32;
        }
    }

    /// The mean of two estimates, of which one may be none.
    pub(crate) fn merged(self, other: Self) -> Self {
        match (self.srtt_times_8, other.srtt_times_8) {
            (0, _) => other,
            (_, 0) => self,
            (a, b) => Self {
                srtt_times_8: a.midpoint(b),
                rttvar_times_4: self.rttvar_times_4.midpoint(other.rttvar_times_4),
                deviation_times_4: self.deviation_times_4.midpoint(other.deviation_times_4),
                peak_times_4: self.peak_times_4.midpoint(other.peak_times_4),
                round_end: 0,
            },
        }
    }

    /// The smoothed round trip, once there was a sample.
    pub(crate) fn smoothed(&self) -> Option<Duration> {
        (self.srtt_times_8 > 0).then(|| Duration::from_us(u64::from(self.srtt_times_8 / 8)))
    }

    /// The timeout without backoff.
    #[inline]
    pub(crate) fn timeout(&self, config: &Config) -> Duration {
        if self.srtt_times_8 == 0 {
            return config.initial_rto; // RFC 6298 §2.1
        }
        let srtt = Duration::from_us(u64::from(self.srtt_times_8 / 8));
        let variance = Duration::from_us(u64::from(self.rttvar_times_4));
        (srtt + variance.max(config.min_rto)).min(config.max_rto)
    }

    /// The timeout after `backoff` doublings (RFC 6298 §5.5).
    #[inline]
    pub(crate) fn backed_off(&self, config: &Config, backoff: u8) -> Duration {
        let timeout = self.timeout(config);
        Duration::from_ns(timeout.as_ns().saturating_mul(1 << backoff.min(16))).min(config.max_rto)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(config: &Config, round_trips_ms: &[u64]) -> Rtt {
        let mut rtt = Rtt::default();
        // One segment of 100 octets in each round trip.
        for (round, &ms) in (0..).zip(round_trips_ms) {
            rtt.sample(Duration::from_ms(ms), config, 100 * round + 101, 100 * round + 101);
        }
        rtt
    }

    fn plain() -> Config {
        Config { variance_peak: false, ..Config::linux_2_4_18() }
    }

    #[test]
    fn first_sample_sets_both_and_the_floor_is_on_the_variance() {
        let config = plain();
        assert_eq!(Rtt::default().timeout(&config), Duration::from_secs(3));
        assert_eq!(sampled(&config, &[10]).timeout(&config), Duration::from_ms(210));
        // RFC 6298 §2.2: RTTVAR = R/2
        assert_eq!(sampled(&config, &[400]).timeout(&config), Duration::from_ms(400 + 4 * 200));
    }

    #[test]
    fn later_samples_move_by_an_eighth_and_a_quarter() {
        let config = Config { min_rto: Duration::from_ms(10), ..plain() };
        let rtt = sampled(&config, &[80, 160]);
        // SRTT 90, RTTVAR = 3/4 · 40 + 1/4 · 80 = 50.
        assert_eq!(rtt.timeout(&config), Duration::from_ms(90 + 200));
        assert_eq!(rtt.backed_off(&config, 2), Duration::from_ms(4 * 290));
        assert_eq!(rtt.backed_off(&config, 15), config.max_rto);
    }

    #[test]
    fn the_peak_of_the_variance_is_forgotten_by_a_quarter_in_a_round_trip() {
        // tcp_rtt_estimator by hand, floor 200 ms. 800: deviation and peak 1600. 1600: SRTT 900, deviation
        // 1600 − 400 + 800 = 2000, peak and RTTVAR with it, and the peak starts anew. 900 twice: deviation 1500, 1125;
        // RTTVAR 2000 − (2000 − 1500)/4 = 1875, then 1875 − (1875 − 1125)/4.
        let config = Config::linux_6();
        assert_eq!(sampled(&config, &[800, 1600]).timeout(&config), Duration::from_ms(900 + 2000));
        assert_eq!(sampled(&config, &[800, 1600, 900]).timeout(&config), Duration::from_ms(900 + 1875));
        let last = sampled(&config, &[800, 1600, 900, 900]).timeout(&config);
        assert_eq!(last, Duration::from_us(900_000 + 1_687_500));
        let plain = Config { variance_peak: false, ..config };
        assert_eq!(sampled(&plain, &[800, 1600, 900, 900]).timeout(&plain), Duration::from_ms(900 + 1125));
    }

    #[test]
    fn a_round_trip_much_shorter_than_expected_counts_for_an_eighth() {
        // 1600: deviation 3200. 100: error 1500, 700 beyond a quarter of 3200: 3200 + 87.5; plainly 3200 − 800 + 1500.
        let config = Config::linux_6();
        let srtt = Duration::from_us(1_412_500); // 1600 − 1500/8
        let rtt = sampled(&config, &[1600, 100]);
        assert_eq!(rtt.timeout(&config), srtt + Duration::from_us(3_287_500));
        let plain = Config { variance_peak: false, ..config };
        assert_eq!(sampled(&plain, &[1600, 100]).timeout(&plain), srtt + Duration::from_ms(3_900));
    }
}
