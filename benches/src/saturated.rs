//! The whole 802.11b medium under saturated stations: frame exchanges per second of wall time.
//!
//! 1500-byte packets at 11 Mbit/s, acknowledgements at 1 Mbit/s, retry limit 7. Left out: transport.

use crate::{Figures, counting};
use airperf_tests::saturation::saturate;
use airperf_units::{Rate, StreamKey};
use airperf_wifi::{Config, Domain, StationConfig};
use std::time::Instant;

const UDP_PAYLOAD_BYTES: u32 = 1500;
const UDP_IP_BYTES: u32 = 28;

/// Runs `stations` saturated senders for so many simulated seconds.
pub(crate) fn measure(stations: u16, seconds: u64) -> Figures {
    let mut config = Config::dot11b(vec![StationConfig::at(Rate::mbps(11)); usize::from(stations) + 1]);
    config.mtu = UDP_PAYLOAD_BYTES + UDP_IP_BYTES;
    let mut domain = Domain::new(config, StreamKey::new(1)).expect("a valid configuration");
    let clock = Instant::now();
    let seen = saturate(&mut domain, stations, stations, UDP_PAYLOAD_BYTES + UDP_IP_BYTES, seconds);
    let wall = clock.elapsed().as_secs_f64();
    vec![
        ("stations", f64::from(stations)),
        ("wall_s", wall),
        ("simulated_per_wall", seconds as f64 / wall),
        ("exchanges_per_second", seen.seizures as f64 / wall),
        ("mbps", seen.mbps(UDP_PAYLOAD_BYTES)),
        ("collision_probability", seen.collision_share()),
        ("peak_mib", counting::peak_mib()),
    ]
}
