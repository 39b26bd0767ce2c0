//! A fade: while it lasts the frames to and from its station are garbled, and nobody else's.

mod common;

use airperf_link::{Link, StationId};
use airperf_units::{Rate, StreamKey, Time};
use airperf_wifi::{Config, Domain, Fade, StationConfig};
use common::{Seen, domain, packet, us};

/// Three stations, of which 2 fades between 10 and 20 s with this error rate.
fn fading(error: f64) -> Config {
    let mut stations = vec![StationConfig::at(Rate::mbps(11)); 3];
    stations[2].fade = Some(Fade { from: us(10_000_000), until: us(20_000_000), error });
    Config { retry_limit: Some(3), ..Config::dot11b(stations) }
}

/// Sends a packet every 100 ms for 30 s; which of them arrived.
fn arrived(config: Config, from: u16, to: u16) -> Vec<u32> {
    let mut link = domain(config);
    let mut seen = Seen::default();
    for n in 0..300 {
        let now = us(50_000 + 100_000 * u64::from(n));
        link.poll(now, &mut seen);
        link.arrive(now, StationId(from), packet(to, 500, n));
    }
    link.poll(us(31_000_000), &mut seen);
    assert_eq!(seen.delivered.len() + seen.lost.len(), 300);
    seen.delivered.iter().map(|(_, _, n)| *n).collect()
}

#[test]
fn nothing_gets_through_a_total_fade_in_either_direction() {
    let outside: Vec<u32> = (0..100).chain(200..300).collect();
    assert_eq!(arrived(fading(1.0), 0, 2), outside);
    assert_eq!(arrived(fading(1.0), 2, 0), outside);
    assert_eq!(arrived(fading(1.0), 0, 1).len(), 300, "it is not their fade");
}

#[test]
fn the_fade_s_error_is_per_attempt_and_beside_the_others() {
    // Attempts fail with 1 - (1 - 0.5)(1 - 0.4) = 0.7, so packets with 0.7^4; outside with 0.4^4.
    let mut config = fading(0.5);
    config.stations[2].frame_error = 0.4;
    let (mut inside, mut outside) = (0, 0);
    for seed in 0..30 {
        let mut link = Domain::<u32>::new(config.clone(), StreamKey::new(seed)).expect("a configuration");
        let mut seen = Seen::default();
        for n in 0..300 {
            let now = us(50_000 + 100_000 * u64::from(n));
            link.poll(now, &mut seen);
            link.arrive(now, StationId(0), packet(2, 500, n));
        }
        link.poll(us(31_000_000), &mut seen);
        let within = |n: u32| (100..200).contains(&n);
        inside += seen.lost.iter().filter(|(_, n, _)| within(*n)).count();
        outside += seen.lost.iter().filter(|(_, n, _)| !within(*n)).count();
    }
    let (inside, outside) = (inside as f64 / 3000.0, outside as f64 / 6000.0);
    assert!((inside - 0.2401).abs() < 4.0 * 0.0078, "{inside} lost within the fade");
    assert!((outside - 0.0256).abs() < 4.0 * 0.0021, "{outside} lost outside it");
}

#[test]
fn a_fade_that_ends_before_it_begins_is_refused() {
    let mut config = fading(0.5);
    config.stations[2].fade = Some(Fade { from: us(2), until: us(1), error: 0.5 });
    assert!(config.check().is_err());
    config.stations[2].fade = Some(Fade { from: Time::ZERO, until: us(1), error: 1.5 });
    assert!(config.check().is_err());
}
