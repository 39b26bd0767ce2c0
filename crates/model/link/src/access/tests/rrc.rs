//! Getting a channel and losing it, in UMTS and LTE.

use super::*;

/// When packets of the given octets, all downward, are delivered, in milliseconds.
fn with_rrc(rrc: RrcConfig, arrivals: &[(u64, u32)]) -> Vec<u64> {
    let way = || Direction::clean(Rate::mbps(1), 0);
    let mut link = link(AccessConfig { rrc: Some(rrc), ..config(way(), way()) });
    let mut seen = Seen::default();
    for (number, &(at, bytes)) in (0..).zip(arrivals) {
        link.poll(Time::from_ns(at * MS), &mut seen);
        assert_eq!(link.arrive(Time::from_ns(at * MS), NETWORK, packet(1, bytes, number)), Arrival::Queued);
    }
    while let Some(at) = link.next_event() {
        link.poll(at, &mut seen);
    }
    seen.delivered.iter().map(|(at, ..)| at / MS).collect()
}

#[test]
fn lte_waits_for_its_connection_and_keeps_it_for_a_while() {
    let lte = RrcConfig::lte();
    // 1250 octets take 10 ms. 900 ms from idle; within 11.6 s of the end nothing; then 900 ms again.
    assert_eq!(
        with_rrc(lte, &[(0, 1250), (100, 1250), (5_000, 1250), (16_609, 1250), (30_000, 1250)]),
        [910, 920, 5_010, 16_619, 30_910]
    );
}

#[test]
fn umts_goes_down_in_two_steps_and_sends_a_little_on_the_shared_channel() {
    let umts = RrcConfig::umts();
    assert_eq!(
        with_rrc(
            umts,
            &[
                (0, 1250),      // 2320 ms from idle: sent by 2330
                (7_329, 1250),  // one millisecond before the 5 s are over: by 7339
                (12_339, 400),  // shared: 400 octets at 32 kbit/s take 100 ms
                (24_438, 400),  // one before the 12 s since are over
                (30_000, 1250), // shared and above the threshold: 1500 ms
                (48_511, 1250), // 5 + 12 s and 1 ms later: idle
            ]
        ),
        [2_330, 7_339, 12_439, 24_538, 31_510, 50_841]
    );
}

#[test]
fn both_directions_share_a_mobiles_channel_and_mobiles_have_their_own() {
    let way = || Direction::clean(Rate::mbps(1), 0);
    let mut config = AccessConfig { rrc: Some(RrcConfig::lte()), ..config(way(), way()) };
    config.stations = vec![AccessStation { queue_packets: 10 }; 3];
    let mut link = link(config);
    link.arrive(Time::ZERO, StationId(1), packet(0, 1250, 0));
    // The mobile is being promoted already: 260 ms, as its own packet waits, not 900.
    link.arrive(Time::from_ns(100 * MS), NETWORK, packet(1, 1250, 1));
    link.arrive(Time::from_ns(100 * MS), NETWORK, packet(2, 1250, 2));
    let delivered: Vec<_> = drain(&mut link).delivered.iter().map(|&(at, _, n)| (at / MS, n)).collect();
    assert_eq!(delivered, [(270, 0), (270, 1), (1_010, 2)]);
}
