//! Saturation throughput and collision probability by Bianchi's model.
//!
//! Bianchi, "Performance analysis of the IEEE 802.11 distributed coordination function", IEEE JSAC 18(3),
//! 2000: its FHSS parameter set (table II) and figures 6 to 9; and the reference tables that ns-3 keeps for
//! its `wifi-bianchi` example, 802.11b with 1536-byte MPDUs and ACKs at 2 Mbit/s (1 at 1 Mbit/s), where a
//! collision costs as much as a success. Neither model has a retry limit or a bystander's EIFS that differs
//! from the colliders' wait.

use crate::close;
use airperf_tests::saturation::{Saturation, saturate};
use airperf_units::{Duration, Rate, StreamKey};
use airperf_wifi::phy::{BodyTiming, Phy};
use airperf_wifi::{Config, Domain, StationConfig};

const ONE: [Rate; 1] = [Rate::mbps(1)];

fn fhss(n: u16, cw_min: u16, doublings: u32) -> Config {
    let mut config = Config::dot11b(vec![StationConfig::at(Rate::mbps(1)); usize::from(n) + 1]);
    config.phy = Phy {
        slot: Duration::from_us(50),
        sifs: Duration::from_us(28),
        difs: Duration::from_us(128),
        preamble: Duration::from_us(128 + 1), // PHY header of 128 bits, and 1 us of propagation
        lowest_rate_preamble: Duration::from_us(128 + 1),
        cw_min,
        cw_max: (cw_min + 1) * (1 << doublings) - 1,
        cca: Duration::from_us(1),
        body: BodyTiming::Exact,
        rates: &ONE,
    };
    config.mac_bytes = 34;
    config.llc_bytes = 0;
    equal_waits(&mut config, Duration::ZERO);
    config
}

/// After a collision everybody resumes together, `answer` after the frames ended.
fn equal_waits(config: &mut Config, answer: Duration) {
    config.retry_limit = None;
    config.ack_timeout = Some(answer);
    config.eifs = Some(answer + config.phy.difs);
}

fn run(config: Config, n: u16, bytes: u32, seconds: u64) -> Saturation {
    let mut domain = Domain::new(config, StreamKey::new(1)).expect("a valid configuration");
    saturate(&mut domain, n, n, bytes, seconds)
}

/// CWmin + 1, doublings, then n = 5, 10, 20, 50: basic access and RTS/CTS.
type Row = (u16, u32, [(f64, f64); 4]);

pub(crate) const THROUGHPUT: [Row; 3] = [
    (32, 3, [(0.8097, 0.8342), (0.7532, 0.8371), (0.6788, 0.8356), (0.5529, 0.8270)]),
    (32, 5, [(0.8102, 0.8342), (0.7579, 0.8370), (0.6975, 0.8362), (0.6109, 0.8317)]),
    (128, 3, [(0.8250, 0.7979), (0.8263, 0.8217), (0.7981, 0.8327), (0.7252, 0.8363)]),
];

/// Stations, conditional collision probability at CWmin + 1 = 32 and 5 doublings.
pub(crate) const COLLISIONS: [(u16, f64); 7] =
    [(2, 0.0570), (3, 0.1046), (4, 0.1444), (5, 0.1781), (10, 0.2898), (20, 0.3988), (50, 0.5324)];

#[test]
fn normalised_throughput_matches_bianchi() {
    for (w, m, row) in THROUGHPUT {
        for (n, (basic, rts)) in [5, 10, 20, 50].into_iter().zip(row) {
            let seen = run(fhss(n, w - 1, m), n, 1023, 4000);
            close(&format!("basic access, W {w}, m {m}, {n} stations"), seen.mbps(1023), basic, 0.02);
            let mut config = fhss(n, w - 1, m);
            config.rts_threshold = Some(0);
            let seen = run(config, n, 1023, 4000);
            close(&format!("RTS/CTS, W {w}, m {m}, {n} stations"), seen.mbps(1023), rts, 0.02);
        }
    }
}

#[test]
fn collision_probability_matches_bianchi() {
    for (n, p) in COLLISIONS.into_iter().filter(|&(n, _)| n > 2) {
        let seen = run(fhss(n, 31, 5), n, 1023, 20_000);
        close(&format!("collision probability, {n} stations"), seen.collision_share(), p, 0.02);
    }
}

/// Two stations are where the model's approximation shows: it takes one's window as independent of the other's,
/// which gives .0570 (see `bianchi_equations`). Two stations that collide double their windows together; walking
/// every slot gives a share of .0304 of seizures (see `dcf_table`), which is .0590 of attempts.
#[test]
fn two_stations_collide_as_a_walk_over_slots_says_not_as_bianchi_does() {
    let exact = 2.0 * 0.0304 / (1.0 + 0.0304);
    let seen = run(fhss(2, 31, 5), 2, 1023, 20_000);
    close("collision probability, 2 stations", seen.collision_share(), exact, 0.02);
}

#[test]
fn throughput_of_802_11b_matches_the_ns3_reference_tables() {
    const TABLE: [(Rate, [f64; 4]); 3] = [
        (Rate::mbps(1), [0.8418, 0.7831, 0.7186, 0.6285]),
        (Rate::kbps(5_500), [3.8565, 3.6170, 3.3339, 2.9266]),
        (Rate::mbps(11), [6.3821, 6.0269, 5.5765, 4.9103]),
    ];
    for (rate, row) in TABLE {
        for (n, published) in [5, 10, 20, 50].into_iter().zip(row) {
            let mut config = Config::dot11b(vec![StationConfig::at(rate); usize::from(n) + 1]);
            config.control_rate = Rate::mbps(2);
            let ack = config.phy.airtime(14, rate.min(Rate::mbps(2)));
            let sifs = config.phy.sifs;
            equal_waits(&mut config, sifs + ack);
            let seen = run(config, n, 1500, 2000);
            close(&format!("{n} stations at {rate}"), seen.mbps(1500), published, 0.02);
        }
    }
}
