//! Timelines written from IEEE 802.11-2020 clause 10.3: who sends when, to the nanosecond.

mod common;

use airperf_link::{Arrival, Destination, DropCause, FrameKind, Link, LossCause, Outcome, Packet, StationId};
use airperf_units::{Duration, StreamKey, Time};
use airperf_wifi::Domain;
use common::{Seen, config, domain, drain, packet, us};

/// 192 µs preamble and header + ⌈8 · (1000 + 36) / 11⌉ µs.
const DATA_1000: u64 = 192 + 754;
/// 192 µs + 14 bytes at 1 Mbit/s.
const ACK: u64 = 304;

#[test]
fn an_idle_medium_is_taken_at_once() {
    let mut link = domain(config(2));
    let mut seen = Seen::default();
    link.poll(us(5_003), &mut seen);
    assert_eq!(link.arrive(us(5_003), StationId(0), packet(1, 1000, 7)), Arrival::Queued);
    drain(&mut link, &mut seen, us(10_000));
    assert_eq!(seen.delivered, [(us(5_003 + DATA_1000), StationId(1), 7)]);
    let [data, ack] = &seen.frames[..] else { panic!("{:?}", seen.frames) };
    assert_eq!((data.start, data.end, data.attempt), (us(5_003), us(5_003 + DATA_1000), 1));
    assert_eq!((ack.start, ack.end), (us(5_003 + DATA_1000 + 10), us(5_003 + DATA_1000 + 10 + ACK)));
    assert_eq!((ack.kind, ack.from, ack.bytes), (FrameKind::Ack, StationId(1), 14));
    assert_eq!(seen.departed, [(ack.end, 7)]);
}

#[test]
fn inside_difs_a_station_waits_for_its_end() {
    let mut link = domain(config(3));
    let mut seen = Seen::default();
    link.poll(us(5_000), &mut seen);
    link.arrive(us(5_000), StationId(0), packet(1, 1000, 0));
    let silent = 5_000 + DATA_1000 + 10 + ACK;
    drain(&mut link, &mut seen, us(silent + 20));
    link.arrive(us(silent + 20), StationId(2), packet(1, 1000, 1));
    drain(&mut link, &mut seen, us(20_000));
    assert_eq!(seen.data()[1].start, us(silent + 50));
}

#[test]
fn a_busy_medium_means_backoff_in_whole_slots_after_difs() {
    let mut waits = Vec::new();
    for seed in 0..200 {
        let mut link = Domain::new(config(3), StreamKey::new(seed)).expect("a valid configuration");
        let mut seen = Seen::default();
        link.poll(us(5_000), &mut seen);
        link.arrive(us(5_000), StationId(0), packet(1, 1000, 0));
        link.poll(us(5_000 + 100), &mut seen);
        link.arrive(us(5_000 + 100), StationId(2), packet(1, 1000, 1));
        drain(&mut link, &mut seen, us(20_000));
        let after_difs = seen.data()[1].start - us(5_000 + DATA_1000 + 10 + ACK + 50);
        assert_eq!(after_difs.as_ns() % 20_000, 0);
        waits.push(after_difs.as_ns() / 20_000);
    }
    assert_eq!(waits.iter().min(), Some(&0));
    assert_eq!(waits.iter().max(), Some(&31));
}

#[test]
fn post_backoff_holds_the_next_frame_back() {
    // A frame that arrives right after its station's last one waits DIFS and the post-backoff; one that
    // arrives 31 slots later does not wait at all.
    let silent = 5_000 + DATA_1000 + 10 + ACK;
    let mut waited = 0;
    for (arrival, must_be_immediate) in [(silent + 60, false), (silent + 50 + 31 * 20, true)] {
        let mut link = domain(config(2));
        let mut seen = Seen::default();
        link.poll(us(5_000), &mut seen);
        link.arrive(us(5_000), StationId(0), packet(1, 1000, 0));
        drain(&mut link, &mut seen, us(arrival));
        link.arrive(us(arrival), StationId(0), packet(1, 1000, 1));
        drain(&mut link, &mut seen, us(20_000));
        let start = seen.data()[1].start;
        if must_be_immediate {
            assert_eq!(start, us(arrival));
        } else {
            waited = (start - us(arrival)).as_ns();
            assert_eq!((start - us(silent + 50)).as_ns() % 20_000, 0);
        }
    }
    assert!(waited > 0, "seed 1 draws a post-backoff above zero");
}

#[test]
fn starts_within_the_cca_time_collide_and_a_later_one_defers() {
    for (apart, collides) in [(0, true), (14, true), (15, false)] {
        let mut link = domain(config(3));
        let mut seen = Seen::default();
        link.poll(us(5_000), &mut seen);
        link.arrive(us(5_000), StationId(0), packet(2, 1000, 0));
        link.poll(us(5_000 + apart), &mut seen);
        link.arrive(us(5_000 + apart), StationId(1), packet(2, 1000, 1));
        drain(&mut link, &mut seen, us(50_000));
        assert_eq!(seen.count(FrameKind::Data, Outcome::Collided) > 0, collides, "{apart} us apart");
        assert_eq!(seen.delivered.len(), 2);
    }
}

/// Two frames collide, then a bystander gets a packet while it serves EIFS; data frames after the collision.
fn after_collision(seed: u64) -> (Time, Seen) {
    let mut link = Domain::new(config(4), StreamKey::new(seed)).expect("a valid configuration");
    let mut seen = Seen::default();
    link.poll(us(5_000), &mut seen);
    link.arrive(us(5_000), StationId(0), packet(2, 1000, 0));
    link.arrive(us(5_000), StationId(1), packet(2, 1000, 1));
    let end = us(5_000 + DATA_1000);
    drain(&mut link, &mut seen, end + Duration::from_us(1));
    link.arrive(end + Duration::from_us(1), StationId(3), packet(2, 1000, 2));
    drain(&mut link, &mut seen, us(50_000));
    assert_eq!(seen.delivered.len(), 3);
    (end, seen)
}

#[test]
fn colliders_wait_their_ack_timeout_and_bystanders_eifs() {
    let (mut collider_first, mut bystander_first) = (0, 0);
    for seed in 0..50 {
        let (end, seen) = after_collision(seed);
        let next = seen.data()[2];
        if next.from == StationId(3) {
            assert_eq!(next.start, end + Duration::from_us(10 + ACK + 50), "EIFS, then immediate access");
            bystander_first += 1;
        } else {
            let slots = next.start - (end + Duration::from_us(10 + 20 + 192 + 50));
            assert_eq!(slots.as_ns() % 20_000, 0, "slots after the ACK timeout and DIFS");
            collider_first += 1;
        }
    }
    assert!(collider_first > 0 && bystander_first > 0);
}

#[test]
fn an_unanswered_frame_is_sent_once_and_retried_up_to_the_limit() {
    let mut config = config(2);
    config.retry_limit = Some(16);
    config.stations[1].frame_error = 1.0;
    let mut link = domain(config);
    let mut seen = Seen::default();
    link.poll(us(5_000), &mut seen);
    link.arrive(us(5_000), StationId(0), packet(1, 1000, 9));
    drain(&mut link, &mut seen, us(1_000_000));
    assert_eq!(seen.frames.len(), 17);
    assert!(
        seen.frames.iter().all(|f| f.outcome == Outcome::Garbled && f.sequence == seen.frames[0].sequence)
    );
    assert_eq!(seen.frames.iter().map(|f| f.attempt).collect::<Vec<_>>(), (1..=17).collect::<Vec<_>>());
    assert_eq!(seen.lost, [(seen.frames[16].end, 9, LossCause::RetryLimit)]);
    // The n-th retry waits ACK timeout, DIFS and at most CW slots, CW = 63, 127 … 1023.
    for (n, pair) in seen.frames.windows(2).enumerate() {
        let slots = (pair[1].start - pair[0].end - Duration::from_us(222 + 50)).as_ns() / 20_000;
        assert!(slots < 64 << n.min(4), "retry {}: {slots} slots", n + 1);
    }
    assert!(link.queue(StationId(0)).lost == 1 && link.queue(StationId(0)).depth == 0);
}

#[test]
fn a_lost_ack_makes_a_duplicate_that_is_not_delivered_again() {
    let mut config = config(2);
    config.retry_limit = Some(3);
    config.stations[0].ack_error = 1.0;
    let mut link = domain(config);
    let mut seen = Seen::default();
    link.arrive(Time::ZERO, StationId(0), packet(1, 1000, 4));
    drain(&mut link, &mut seen, us(1_000_000));
    assert_eq!(seen.delivered.len(), 1);
    assert_eq!(seen.count(FrameKind::Data, Outcome::Received), 1);
    assert_eq!(seen.count(FrameKind::Data, Outcome::Duplicate), 3);
    assert_eq!(seen.count(FrameKind::Ack, Outcome::Garbled), 4);
    assert_eq!((seen.lost.len(), seen.departed.len()), (0, 1), "the packet got through");
}

#[test]
fn a_broadcast_goes_out_once_at_the_lowest_rate_to_everybody() {
    let mut link = domain(config(4));
    let mut seen = Seen::default();
    link.poll(us(1_000), &mut seen);
    link.arrive(us(1_000), StationId(1), Packet { to: Destination::Broadcast, bytes: 100, payload: 3 });
    drain(&mut link, &mut seen, us(100_000));
    let end = us(1_000 + 192 + 8 * 136);
    assert_eq!(seen.delivered, [0, 2, 3].map(|to| (end, StationId(to), 3)));
    assert_eq!(seen.frames.len(), 1);
}

#[test]
fn rts_and_cts_come_before_long_frames_only() {
    let mut config = config(2);
    config.rts_threshold = Some(500);
    let mut link = domain(config);
    let mut seen = Seen::default();
    link.poll(us(5_000), &mut seen);
    link.arrive(us(5_000), StationId(0), packet(1, 1000, 0));
    drain(&mut link, &mut seen, us(50_000));
    link.arrive(us(50_000), StationId(0), packet(1, 400, 1));
    drain(&mut link, &mut seen, us(90_000));
    let kinds: Vec<_> = seen.frames.iter().map(|f| f.kind).collect();
    use FrameKind::{Ack, Cts, Data, Rts};
    assert_eq!(kinds, [Rts, Cts, Data, Ack, Data, Ack]);
    // RTS 352 us and CTS 304 us at 1 Mbit/s, SIFS between all.
    assert_eq!(seen.frames[1].start, us(5_000 + 352 + 10));
    assert_eq!(seen.frames[2].start, us(5_000 + 352 + 10 + 304 + 10));
    assert_eq!(seen.delivered[0].0, us(5_000 + 352 + 10 + 304 + 10 + DATA_1000));
}

#[test]
fn beacons_come_every_hundred_time_units_and_take_about_one_percent() {
    let mut config = config(3);
    config.beacons = true;
    let mut link = domain(config);
    let mut seen = Seen::default();
    drain(&mut link, &mut seen, Time::from_ns(10_000_000_000));
    assert_eq!(seen.count(FrameKind::Beacon, Outcome::Received), 97);
    let beacon = link.airtime().into_iter().find(|(name, _)| *name == "beacon").map(|(_, d)| d.as_secs_f64());
    assert!((0.05..0.15).contains(&beacon.unwrap_or(0.0)), "{beacon:?} s of 10 s");
}

#[test]
fn the_queue_drops_at_its_tail_and_the_interface_holds_one_more() {
    let mut link = domain(config(2));
    let refused =
        (0..150).filter(|&i| link.arrive(Time::ZERO, StationId(0), packet(1, 500, i)) != Arrival::Queued);
    assert_eq!(refused.count(), 49);
    assert_eq!(
        link.arrive(Time::ZERO, StationId(0), packet(1, 1501, 0)),
        Arrival::Dropped(DropCause::TooLong)
    );
    assert_eq!(
        link.arrive(Time::ZERO, StationId(0), packet(0, 100, 0)),
        Arrival::Dropped(DropCause::NoSuchStation)
    );
    let stats = link.queue(StationId(0));
    assert_eq!((stats.depth, stats.max, stats.dropped), (100, 100, 49));
}

#[test]
fn a_host_gap_delays_only_the_station_that_has_it() {
    let mut config = config(2);
    config.stations[0].host_gap = Duration::from_us(150);
    let mut link = domain(config);
    let mut seen = Seen::default();
    link.poll(us(5_000), &mut seen);
    link.arrive(us(5_000), StationId(0), packet(1, 1000, 0));
    link.arrive(us(5_000), StationId(0), packet(1, 1000, 1));
    drain(&mut link, &mut seen, us(50_000));
    let wait = seen.data()[1].start - us(5_000 + DATA_1000 + 10 + ACK);
    assert_eq!((wait - Duration::from_us(150 + 50)).as_ns() % 20_000, 0);
    let gap = link.airtime().into_iter().find(|(name, _)| *name == "host_gap").map(|(_, d)| d);
    assert_eq!(gap, Some(Duration::from_us(150)));
}
