//! Theoretical maximum throughput of one saturated, error-free 802.11b station.
//!
//! 8x/(ax + b) Mbit/s for an MSDU of x bytes: DIFS 50 µs, mean backoff 310 µs, PLCP 192 µs, SIFS 10 µs,
//! ACK 304 µs and 34 bytes of MAC framing (Jun, Peddabachagari & Sichitiu, "Theoretical maximum
//! throughput of IEEE 802.11 and its applications", NCA 2003, table 4).

use crate::close;
use airperf_tests::saturation::saturate;
use airperf_units::{Rate, StreamKey};
use airperf_wifi::phy::BodyTiming;
use airperf_wifi::{Config, Domain, StationConfig};

/// Rate, a, b without and with RTS/CTS.
const TABLE: [(Rate, f64, f64, f64); 4] = [
    (Rate::mbps(1), 8.0, 1138.0, 1814.0),
    (Rate::mbps(2), 4.0, 1002.0, 1678.0),
    (Rate::kbps(5_500), 1.45455, 915.45, 1591.45),
    (Rate::mbps(11), 0.72727, 890.73, 1566.73),
];

fn measured(rate: Rate, msdu: u32, rts: bool) -> f64 {
    let mut config = Config::dot11b(vec![StationConfig::at(rate); 2]);
    config.phy.body = BodyTiming::Exact; // the closed form does not round to microseconds
    config.mac_bytes = 34; // it counts a four-address header
    config.llc_bytes = 0; // and its MSDU includes LLC
    config.rts_threshold = rts.then_some(0);
    let mut domain = Domain::new(config, StreamKey::new(1)).expect("a valid configuration");
    saturate(&mut domain, 1, 1, msdu, 120).mbps(msdu)
}

#[test]
fn one_saturated_station_reaches_the_theoretical_maximum() {
    for (rate, a, b, b_rts) in TABLE {
        for msdu in [1500, 512, 100] {
            let x = f64::from(msdu);
            close(&format!("{rate}, {msdu} B"), measured(rate, msdu, false), 8.0 * x / (a * x + b), 0.005);
        }
        let x = 1500.0;
        close(&format!("{rate}, RTS/CTS"), measured(rate, 1500, true), 8.0 * x / (a * x + b_rts), 0.005);
    }
}

/// One slow station takes everybody down to its share (Heusse, Rousseau, Berger-Sabbatel & Duda,
/// "Performance anomaly of 802.11b", INFOCOM 2003, table in section IV).
#[test]
fn a_slow_station_slows_everybody() {
    // Stations, then Mbit/s per station: all at 11, one at 5.5, one at 2, one at 1.
    const SHARES: [(u16, [f64; 4]); 4] = [
        (2, [4.06, 2.91, 1.46, 0.81]),
        (3, [2.67, 2.09, 1.19, 0.70]),
        (5, [1.54, 1.31, 0.86, 0.55]),
        (10, [0.70, 0.64, 0.49, 0.35]),
    ];
    for (n, shares) in SHARES {
        for (slow, share) in
            [Rate::mbps(11), Rate::kbps(5_500), Rate::mbps(2), Rate::mbps(1)].into_iter().zip(shares)
        {
            let ours = heusse(n, slow);
            let mean = ours.iter().sum::<f64>() / f64::from(n);
            for each in &ours {
                close(&format!("equal shares, {n} stations, one at {slow}"), *each, mean, 0.05);
            }
            close(&format!("{n} stations, one at {slow}"), mean, share, 0.10);
        }
    }
}

fn heusse(n: u16, slow: Rate) -> Vec<f64> {
    let mut stations = vec![StationConfig::at(Rate::mbps(11)); usize::from(n) + 1];
    stations[0].rate = slow;
    let mut config = Config::dot11b(stations);
    config.control_rate = Rate::mbps(11); // the paper answers at the data rate
    config.phy = airperf_wifi::phy::dsss::hr_dsss(airperf_wifi::phy::dsss::Preamble::Short);
    let mut domain = Domain::new(config, StreamKey::new(1)).expect("a valid configuration");
    let seen = saturate(&mut domain, n, n, 1500, 1200);
    seen.delivered.iter().map(|&d| d as f64 * 12_000.0 / seen.seconds / 1e6).collect()
}

/// UDP datagrams of 1472 bytes, long preamble: DIFS 50, backoff 310, data 192 + ⌈8 · 1536 / 11⌉, SIFS 10 and
/// the ACK, in microseconds, for 1472 bytes.
#[test]
fn saturated_udp_reaches_what_the_arithmetic_says() {
    for (ack_rate, published) in [(Rate::mbps(1), 5.94), (Rate::mbps(2), 6.11)] {
        let mut config = Config::dot11b(vec![StationConfig::at(Rate::mbps(11)); 2]);
        config.control_rate = ack_rate;
        let mut domain = Domain::new(config, StreamKey::new(1)).expect("a valid configuration");
        let ours = saturate(&mut domain, 1, 1, 1500, 120).mbps(1472);
        close(&format!("UDP, ACK at {ack_rate}"), ours, published, 0.005);
    }
}
