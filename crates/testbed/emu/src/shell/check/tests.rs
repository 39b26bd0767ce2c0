//! The check believes the model where it does what it states, and nobody who is too fast or too slow.

use airperf_link::access::{Access, AccessConfig, AccessStation, Capacity, Direction, OpportunitySize};
use airperf_link::trace::Trace;
use airperf_link::{Destination, Link, NETWORK, Outlet, Packet, StationId};
use airperf_scenario::LinkConfig;
use airperf_units::{Distribution, Rate, Stream, StreamKey};

use super::*;

/// Packets that came out: when, and which.
#[derive(Default)]
struct Out(Vec<(Time, usize)>);

impl Outlet<usize> for Out {
    fn delivered(&mut self, at: Time, _: StationId, packet: &Packet<usize>) {
        self.0.push((at, packet.payload));
    }
}

fn link(capacity: Capacity, delay: Distribution) -> AccessConfig {
    let down = Direction { capacity, delay, ..Direction::clean(Rate::mbps(1), 0) };
    let station = AccessStation { queue_packets: 50 };
    AccessConfig { stations: vec![station; 2], mtu: 1500, shared: false, rrc: None, up: down.clone(), down }
}

fn opportunities(lines: &str) -> Capacity {
    Capacity::of_trace(&Trace::parse(lines).unwrap(), OpportunitySize::Mahimahi)
}

/// What the check sees of a link that is sent packets at these times, if each comes out so much later.
fn seen(sent_over: &AccessConfig, stated_by: &AccessConfig, packets: &[(Time, u32)], late: u64) -> Seen {
    let mut model = Access::new(sent_over.clone(), StreamKey::new(1));
    let mut out = Out::default();
    for (number, &(at, bytes)) in packets.iter().enumerate() {
        model.poll(at, &mut out);
        model.arrive(at, NETWORK, Packet { to: Destination::Station(StationId(1)), bytes, payload: number });
    }
    model.poll(Time::from_ns(3_600_000_000_000), &mut out);
    let [stated, _] = Stated::of(&LinkConfig::Access(stated_by.clone()), false);
    let mut check = Check::new(Some(stated.expect("a clean link states what it does")));
    for (at, number) in out.0 {
        let (came, bytes) = packets[number];
        check.passed(came, at + Duration::from_ns(late), bytes);
    }
    check.seen()
}

/// Bursts of packets of many lengths, with pauses.
fn bursts() -> Vec<(Time, u32)> {
    let mut random: Stream = StreamKey::new(7).stream("bursts");
    let mut at = Time::ZERO;
    let mut packets = Vec::new();
    for _ in 0..200 {
        at += Duration::from_us(u64::from(random.up_to(400_000)));
        for _ in 0..random.up_to(40) {
            at += Duration::from_us(u64::from(random.up_to(3_000)));
            packets.push((at, 40 + random.up_to(1_460)));
        }
    }
    packets
}

/// Full packets, faster than the link for a time.
fn flood(seconds: u64, apart_us: u64) -> Vec<(Time, u32)> {
    (1..seconds * 1_000_000 / apart_us).map(|n| (Time::from_ns(n * apart_us * 1_000), 1500)).collect()
}

#[test]
fn a_stated_rate_and_delay_are_found_again_exactly() {
    let config = link(Capacity::constant(Rate::mbps(2)), Distribution::Fixed(30_000_000));
    let seen = seen(&config, &config, &bursts(), 0);
    assert!(seen.busy_packets > 500 && seen.alone > 100, "{seen:?}");
    assert!((seen.busy_octets / seen.busy_stated - 1.0).abs() < 1e-6, "{seen:?}");
    assert!((seen.alone_s - seen.alone_stated_s).abs() < 1e-6, "{seen:?}");
}

#[test]
fn a_link_that_is_faster_or_slower_than_stated_is_found_out() {
    let at = |kbps| link(Capacity::constant(Rate::kbps(kbps)), Distribution::Fixed(30_000_000));
    for (real, stated) in [(2_000, 2_040), (2_040, 2_000)] {
        let seen = seen(&at(real), &at(stated), &flood(5, 3_000), 0);
        let found = seen.busy_octets / seen.busy_stated;
        assert!((found / (real as f64 / stated as f64) - 1.0).abs() < 1e-3, "{found}");
    }
}

#[test]
fn a_delay_that_is_not_as_stated_is_found_out() {
    let with = |ms: u64| link(Capacity::constant(Rate::mbps(10)), Distribution::Fixed(ms * 1_000_000));
    let seen = seen(&with(32), &with(30), &[(Time::from_ns(5), 100), (Time::from_ns(900_000_000), 100)], 0);
    assert_eq!(seen.alone, 2);
    assert!((seen.alone_s - seen.alone_stated_s - 0.004).abs() < 1e-9);
}

/// A trace of 10 Mbit/s that is uneven, with a pause.
fn uneven() -> String {
    (1..3_000u64)
        .filter(|ms| !(1_400..1_650).contains(ms) && ms * 7 % 10 < 7)
        .map(|ms| format!("{ms}\n"))
        .chain([String::from("3000\n")])
        .collect()
}

#[test]
fn every_busy_second_of_a_trace_is_found_again_exactly_though_a_machine_is_late() {
    let config = link(opportunities(&uneven()), Distribution::Fixed(20_000_000));
    for late in [0, 300_000] {
        let seen = seen(&config, &config, &flood(9, 900), late);
        assert!(seen.seconds >= 7, "{seen:?}");
        assert_eq!(seen.worst_second, 0.0);
        assert_eq!(seen.busy_octets, seen.busy_stated);
    }
}

#[test]
fn a_second_that_carries_less_than_its_trace_is_found_out() {
    let whole = uneven();
    let missing = whole.replace("2110\n", "");
    assert_ne!(whole, missing);
    let of = |lines: &str| link(opportunities(lines), Distribution::Fixed(0));
    let seen = seen(&of(&missing), &of(&whole), &flood(9, 900), 0);
    assert!(seen.worst_second < -0.001, "{seen:?}");
}

#[test]
fn bursts_over_a_trace_are_not_taken_for_a_flood() {
    let config = link(opportunities(&uneven()), Distribution::Fixed(20_000_000));
    let seen = seen(&config, &config, &bursts(), 0);
    assert_eq!(seen.seconds, 0);
    assert!((seen.busy_octets - seen.busy_stated).abs() < seen.busy_grain, "{seen:?}");
    assert!((seen.alone_s - seen.alone_stated_s).abs() / (seen.alone as f64) < 1e-6, "{seen:?}");
}

#[test]
fn acknowledgements_over_a_slow_trace_are_not_taken_for_too_much() {
    let trace = include_str!("../../../../../../traces/synthetic-lte.up");
    let config = link(opportunities(trace), Distribution::Fixed(20_000_000));
    for most in [60, 300, 1_500] {
        let mut random: Stream = StreamKey::new(9).stream("acknowledgements");
        let mut at = Time::ZERO;
        let packets: Vec<_> = (0..20_000)
            .map(|_| {
                at += Duration::from_us(u64::from(random.up_to(4_000)));
                (at, 52 + random.up_to(most - 52))
            })
            .collect();
        let seen = seen(&config, &config, &packets, 100_000);
        assert!((seen.busy_octets - seen.busy_stated).abs() < seen.busy_grain, "{most}: {seen:?}");
    }
}
