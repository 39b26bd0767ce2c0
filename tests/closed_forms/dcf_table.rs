//! The DCF alone: collision share and idle slots per transmission of saturated stations.
//!
//! CW 31…1023, no retry limit, the same interframe space after success and collision. The anchors were
//! measured with a per-slot reference that walks every slot: collision share of seizures of the medium
//! ±0.002, idle slots per seizure ±1%.

use crate::close;
use airperf_link::Link;
use airperf_tests::saturation::saturate;
use airperf_units::{Duration, Rate, StreamKey};
use airperf_wifi::{Config, Domain, StationConfig};

/// Stations, share of transmissions that collide, idle slots per transmission.
const TABLE: [(u16, f64, f64); 6] = [
    (1, 0.0, 15.50),
    (2, 0.0304, 8.52),
    (3, 0.0558, 6.21),
    (10, 0.1598, 3.03),
    (50, 0.3242, 1.79),
    (200, 0.4985, 1.34),
];

#[test]
fn collisions_and_idle_slots_match_the_per_slot_reference() {
    for (n, share, idle) in TABLE {
        let mut config = Config::dot11b(vec![StationConfig::at(Rate::mbps(11)); usize::from(n) + 1]);
        config.retry_limit = None;
        config.eifs = Some(config.phy.difs);
        config.ack_timeout = Some(Duration::ZERO);
        let slot = config.phy.slot.as_secs_f64();
        let mut domain = Domain::new(config, StreamKey::new(3)).expect("a valid configuration");
        let seen = saturate(&mut domain, n, n, 100, 1200);
        let backoff = domain
            .airtime()
            .iter()
            .find(|(name, _)| *name == "backoff")
            .map_or(0.0, |(_, d)| d.as_secs_f64());
        let ours = seen.collisions as f64 / seen.seizures as f64;
        assert!((ours - share).abs() <= 0.002, "{n} stations: collision share {ours:.4}, anchor {share}");
        close(&format!("{n} stations, idle slots"), backoff / slot / seen.seizures as f64, idle, 0.01);
    }
}
