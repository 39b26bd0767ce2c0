//! The round-trip estimator and the retransmission timeout.
//!
//! Reference: RFC 6298 §2 with Linux's lower bound on the variance term instead of on the sum
//! (`TCP_RTO_MIN`, so RTO = SRTT + max(200 ms, 4 RTTVAR)), gains 1/8 and 1/4 in integers (Jacobson 1988,
//! appendix A). Leaves out Linux's `mdev_max`, which forgets the variance's peak once per round trip.

use crate::config::Config;
use airperf_units::Duration;

/// Smoothed round trip and its variance, microseconds scaled by 8 and 4.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rtt {
    srtt_times_8: u32,
    rttvar_times_4: u32,
}

impl Rtt {
    /// Takes in one measurement.
    #[inline]
    pub(crate) fn sample(&mut self, rtt: Duration) {
        // A round trip beyond 100 s says only that something is broken.
        let rtt = (rtt.as_ns() / 1_000).clamp(1, 100_000_000) as u32;
        if self.srtt_times_8 == 0 {
            self.srtt_times_8 = rtt * 8; // RFC 6298 §2.2
            self.rttvar_times_4 = rtt * 2;
            return;
        }
        let srtt = self.srtt_times_8 / 8;
        let error = srtt.abs_diff(rtt);
        self.rttvar_times_4 = self.rttvar_times_4 - self.rttvar_times_4 / 4 + error; // RFC 6298 §2.3
        self.srtt_times_8 = self.srtt_times_8 - srtt + rtt;
    }

    /// The mean of two estimates, of which one may be none.
    pub(crate) fn merged(self, other: Self) -> Self {
        match (self.srtt_times_8, other.srtt_times_8) {
            (0, _) => other,
            (_, 0) => self,
            (a, b) => Self {
                srtt_times_8: a.midpoint(b),
                rttvar_times_4: self.rttvar_times_4.midpoint(other.rttvar_times_4),
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

    #[test]
    fn first_sample_sets_both_and_the_floor_is_on_the_variance() {
        let config = Config::linux_2_4_18();
        let mut rtt = Rtt::default();
        assert_eq!(rtt.timeout(&config), Duration::from_secs(3));
        rtt.sample(Duration::from_ms(10));
        assert_eq!(rtt.timeout(&config), Duration::from_ms(210));
        rtt = Rtt::default();
        rtt.sample(Duration::from_ms(400));
        assert_eq!(rtt.timeout(&config), Duration::from_ms(400 + 4 * 200)); // RFC 6298 §2.2: RTTVAR = R/2
    }

    #[test]
    fn later_samples_move_by_an_eighth_and_a_quarter() {
        let config = Config { min_rto: Duration::from_ms(10), ..Config::linux_2_4_18() };
        let mut rtt = Rtt::default();
        rtt.sample(Duration::from_ms(80));
        rtt.sample(Duration::from_ms(160));
        // SRTT 90, RTTVAR = 3/4 · 40 + 1/4 · 80 = 50.
        assert_eq!(rtt.timeout(&config), Duration::from_ms(90 + 200));
        assert_eq!(rtt.backed_off(&config, 2), Duration::from_ms(4 * 290));
        assert_eq!(rtt.backed_off(&config, 15), config.max_rto);
    }
}
