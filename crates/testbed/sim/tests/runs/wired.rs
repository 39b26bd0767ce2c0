//! The study's wired baseline, and its experiments 3 and 4 where the network is not what limits.

use airperf_sim::{Totals, simulate};
use airperf_units::StreamKey;

use crate::scenario;

const SECONDS: f64 = 20.0;

/// The scenario of the wired baseline with other values.
fn totals(overrides: &[(&str, &str)]) -> Totals {
    let text = include_str!("../../../../../scenarios/wired-10mbit.toml");
    let overrides = overrides.iter().chain(&[("duration", "20s"), ("drain", "10s")]);
    let overrides: Vec<_> = overrides.copied().collect();
    simulate(&scenario(text, &overrides), StreamKey::new(1), ()).expect("a link").totals
}

fn carried(totals: &Totals) -> f64 {
    totals.exchanges_in_time as f64 / SECONDS
}

fn response_ms(totals: &Totals) -> f64 {
    totals.response_time.as_secs_f64() * 1e3 / totals.exchanges as f64
}

const SWITCHED: [(&str, &str); 2] = [("link.kind", "switch"), ("link.rate", "100Mbit/s")];

#[test]
fn the_wired_pair_carries_380_connections_a_second_whatever_the_wire() {
    // bai2006: 380/s on 10 Mbit/s Ethernet. It is the server's processor that limits, so a faster wire gains nothing.
    for link in [&[][..], &SWITCHED] {
        let at = |rate: &'static str| carried(&totals(&[link, &[("client.rate", rate)]].concat()));
        assert!((at("375/s") - 375.0).abs() < 1.0, "{}", at("375/s"));
        // At the end each of the 150 processes may have replied and still owe the processor what comes after.
        let most = 1.0 / 0.00263 + 150.0 / SECONDS;
        assert!((250.0..most).contains(&at("420/s")), "{}", at("420/s"));
    }
}

#[test]
fn experiment_3_goes_on_rising_where_802_11b_is_full() {
    // On the air 320/s is the end, at 32 requests per connection; the wire carries 600/s at 60.
    for (k, expected) in [("1", 10.0), ("32", 320.0), ("60", 600.0)] {
        let totals = totals(&[("client.rate", "10/s"), ("client.requests_per_connection", k)]);
        assert!((carried(&totals) / expected - 1.0).abs() < 0.01, "k = {k}: {}", carried(&totals));
        assert_eq!(totals.failed(), 0);
    }
}

#[test]
fn experiment_4_carries_64_kb_without_thrashing() {
    // On the air 10 transfers/s of 64 KB are past saturation. On the wire they take 5.4 of 10 Mbit/s: each at least the
    // 55 ms of 46 frames, and on 100 Mbit/s switched a tenth and the round trips of slow start.
    let points = |link: &[(&'static str, &'static str)]| {
        ["8KiB", "32KiB", "64KiB"].map(|size| {
            let totals = totals(&[link, &[("client.rate", "10/s"), ("client.size", size)]].concat());
            assert_eq!((carried(&totals), totals.failed()), (10.0, 0), "{size}");
            response_ms(&totals)
        })
    };
    let shared = points(&[]);
    assert!(shared.is_sorted() && (55.0..75.0).contains(&shared[2]), "{shared:?} ms on 10 Mbit/s");
    let switched = points(&SWITCHED);
    assert!(switched.is_sorted() && (5.5..12.0).contains(&switched[2]), "{switched:?} ms on 100 Mbit/s");
}
