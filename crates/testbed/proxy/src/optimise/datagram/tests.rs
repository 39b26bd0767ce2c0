//! Two endpoints over a path in virtual time: everything arrives in order whatever the path does, and repair pays.

use super::packet::Ack;
use super::repair::{Block, Shard, protect};
use super::*;
use airperf_units::{Duration, Time};
use proptest::prelude::*;
use std::collections::BTreeMap;

const PATH: Path = Path { rate_bps: 1_000_000, rtt_ms: 200 };

/// What a path does with the datagrams put on it, one way and the other, numbered as they come.
struct Run {
    octets: usize,
    repair: Repair,
    path: Path,
    /// Lost, by direction (0 away from who sends) and number.
    lost: Box<dyn FnMut(usize, u64) -> bool>,
    /// Further delay, by number.
    late: Box<dyn Fn(u64) -> Duration>,
}

impl Run {
    fn new(octets: usize, repair: Repair) -> Self {
        Self {
            octets,
            repair,
            path: PATH,
            lost: Box::new(|_, _| false),
            late: Box::new(|_| Duration::from_ns(0)),
        }
    }

    /// Losses drawn one by one, the same for the same seed.
    fn losing(mut self, share: f64, seed: u64) -> Self {
        let mut state = seed | 1;
        self.lost = Box::new(move |_, _| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) as f64) / f64::from(1u32 << 31) < share
        });
        self
    }

    /// Sends all; when the last octet was there, and what both ends did.
    fn go(mut self) -> (Time, Stats, Stats) {
        let config = Config { path: self.path, repair: self.repair, mark: None };
        let mut ends = [Endpoint::new(7, config), Endpoint::answering(7, config)];
        let data: Vec<u8> = (0..self.octets).map(|n| (n % 251) as u8).collect();
        let (mut written, mut read) = (0, Vec::new());
        let mut air: BTreeMap<(Time, u64), (usize, Vec<u8>)> = BTreeMap::new();
        let mut now = Time::from_ns(0);
        let mut number = 0;
        while read.len() < data.len() {
            assert!(now < Time::from_ns(3_600_000_000_000), "an hour, {} of {}", read.len(), data.len());
            let more = ends[0].room().min(data.len() - written);
            ends[0].write(&data[written..written + more]);
            written += more;
            for (from, end) in ends.iter_mut().enumerate() {
                while let Some(datagram) = end.transmit(now) {
                    number += 1;
                    if !(self.lost)(from, number) {
                        let at = now + Duration::from_ms(self.path.rtt_ms / 2) + (self.late)(number);
                        air.insert((at, number), (1 - from, datagram));
                    }
                }
            }
            let next = air.keys().next().map(|(at, _)| *at);
            let due =
                ends.iter().filter_map(Endpoint::next_event).chain(next).min().expect("something goes on");
            now = now.max(due);
            while let Some(entry) = air.first_entry().filter(|entry| entry.key().0 <= now) {
                let (to, datagram) = entry.remove();
                ends[to].receive(now, &datagram);
            }
            while let Some(octets) = ends[1].read() {
                read.extend(octets);
            }
            assert!(!ends[0].is_over() && !ends[1].is_over());
        }
        assert!(read == data);
        (now, ends[0].stats(), ends[1].stats())
    }
}

#[test]
fn on_a_good_path_it_takes_as_long_as_its_octets_and_half_a_round_trip() {
    let (at, sent, _) = Run::new(118_000, Repair::Fixed(0)).go();
    // 100 pieces of 1180 octets with 13 of our head, 28 of IP and UDP, at 1 Mbit/s; the last one arrives when it is begun.
    let expected = 99.0 * (1_180.0 + 13.0 + 28.0) * 8.0 / 1e6 + 0.1;
    assert!((at.as_secs_f64() - expected).abs() < 0.001, "{at} for {expected}");
    assert_eq!((sent.resent, sent.repairs), (0, 0));
}

#[test]
fn repair_restores_what_is_lost_without_another_round_trip() {
    // The third datagram of sixteen pieces and one repair.
    let run = |repair| {
        let mut run = Run::new(16 * 1_180, repair);
        run.path.rtt_ms = 800; // a quarter of it is longer than a block takes
        run.lost = Box::new(|from, number| from == 0 && number == 3);
        run.go()
    };
    let (with, sent, got) = run(Repair::Fixed(1));
    assert_eq!((sent.resent, sent.repairs, got.repaired), (0, 1, 1));
    let (without, sent, got) = run(Repair::Fixed(0));
    assert_eq!((sent.resent, got.repaired), (1, 0));
    assert!(without - with > Duration::from_ms(600), "{without} and {with}");
}

#[test]
fn adaptive_repair_follows_the_loss_and_is_nothing_without_any() {
    let (_, good, _) = Run::new(2_000_000, Repair::Adaptive).go();
    assert!(good.repairs < 60, "{good:?}: only until nothing was measured");
    let (_, bad, got) = Run::new(2_000_000, Repair::Adaptive).losing(0.05, 3).go();
    let share = bad.repairs as f64 / (2_000_000.0 / 1_180.0);
    // For 5% of 16 pieces: four repairs.
    assert!(share > 0.15 && share < 0.35, "{share}");
    assert!(got.repaired > 10 * bad.resent, "{got:?} {bad:?}");
}

#[test]
fn with_losses_repair_is_faster_than_sending_again() {
    // A short object, as those of pages are: its last packets count.
    let mean = |repair| {
        let one = |seed| Run::new(12_000, repair).losing(0.1, seed).go().0.as_secs_f64();
        (1..=40).map(one).sum::<f64>() / 40.0
    };
    let (without, with) = (mean(Repair::Fixed(0)), mean(Repair::Adaptive));
    assert!(with < 0.8 * without, "{with} s and {without} s");
}

#[test]
fn the_number_of_repairs_is_the_least_that_suffices() {
    // One piece: it and all its repairs are lost with probability p^(m+1).
    let one = |loss| Repair::Adaptive.count(1, loss);
    assert_eq!((one(0.009), one(0.0001)), (0, 0));
    assert_eq!(one(0.05), 1);
    // Two pieces and one repair fail with 3p²(1-p) + p³: at 5% 0.00725; with p = 7% 0.0140.
    assert_eq!((Repair::Adaptive.count(2, 0.05), Repair::Adaptive.count(2, 0.07)), (1, 2));
    assert_eq!(Repair::Adaptive.count(16, 0.9), 16, "as many as pieces at most");
    assert_eq!(
        (Repair::Fixed(4).count(16, 0.0), Repair::Fixed(4).count(3, 0.0), Repair::Fixed(0).count(3, 0.5)),
        (4, 1, 0)
    );
}

#[test]
fn any_pieces_and_repairs_as_many_as_there_are_pieces_restore_a_block() {
    let pieces: Vec<Vec<u8>> = (1..=5u8).map(|n| vec![n; usize::from(n) * 7]).collect();
    let all: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
    let shards = protect(100, &all, 3);
    for lost in [[0, 1, 2], [0, 2, 4], [2, 3, 4]] {
        let there: BTreeMap<usize, &[u8]> =
            (0..5).filter(|n| !lost.contains(n)).map(|n| (n, all[n])).collect();
        let mut block = Block::default();
        for shard in &shards[..2] {
            block.take(shard.clone());
        }
        block.take(shards[1].clone());
        assert_eq!(block.restore(&there), None, "two repairs do not restore three");
        block.take(shards[2].clone());
        let restored = block.restore(&there).unwrap();
        assert!(lost.iter().all(|n| restored[n] == pieces[*n]));
    }
}

#[test]
fn fault_an_acknowledgement_of_what_was_never_sent_is_ignored() {
    let mut sender = Sender::new(Config { path: PATH, repair: Repair::Adaptive, mark: None });
    sender.write(&[1; 3_000]);
    let now = Time::from_ns(0);
    assert!(sender.transmit(now).is_some());
    for (next, turn) in [(9, 1), (u32::MAX, 1), (0, 9), (0, u32::MAX)] {
        sender.acknowledged(now, &Ack { next, heard: 1, turn, ranges: vec![(0, u16::MAX)] });
        assert!(!sender.is_settled());
    }
}

#[test]
fn fault_who_never_answers_is_given_up() {
    let mut end = Endpoint::new(1, Config { path: PATH, repair: Repair::Adaptive, mark: None });
    end.write(&[1; 100]);
    let mut now = Time::from_ns(0);
    let mut sent = 0;
    while !end.is_over() {
        sent += std::iter::from_fn(|| end.transmit(now)).count();
        now = end.next_event().expect("a timer").max(now);
        assert!(now < Time::from_ns(600_000_000_000) && sent < 40, "{now}, {sent} datagrams");
    }
    assert!(now > Time::from_ns(30_000_000_000), "{now} is too soon");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn fault_lost_late_and_doubled_datagrams_change_nothing(
        octets in 1usize..60_000,
        // With more, nine timers in a row run out now and then, and the other end is rightly given up.
        share in 0.0f64..0.2,
        seed in any::<u64>(),
        spread in 0u64..300,
        fixed in 0u8..17,
    ) {
        let repair = if fixed == 16 { Repair::Adaptive } else { Repair::Fixed(fixed) };
        let mut run = Run::new(octets, repair).losing(share, seed);
        run.late = Box::new(move |number| Duration::from_ms(number.wrapping_mul(seed | 1) % (spread + 1)));
        run.go();
    }

    #[test]
    fn fault_truncated_and_foreign_datagrams_are_no_datagrams(
        noise in proptest::collection::vec(any::<u8>(), 0..80),
        kind in proptest::sample::select(b"ODRACx".to_vec()),
    ) {
        let mut datagram = vec![kind, 0, 0, 0, 7];
        datagram.extend(&noise);
        let mut end = Endpoint::answering(7, Config { path: PATH, repair: Repair::Adaptive, mark: None });
        for length in 0..datagram.len() {
            end.receive(Time::from_ns(0), &datagram[..length]);
        }
        while end.read().is_some() {}
        while end.transmit(Time::from_ns(1 << 40)).is_some() {}
    }

    #[test]
    fn datagrams_are_read_as_they_are_written(
        number in any::<u32>(), turn in any::<u32>(), octets in proptest::collection::vec(any::<u8>(), 1..100),
        ranges in proptest::collection::vec((any::<u32>(), any::<u16>()), 0..16),
    ) {
        let even = octets.len() / 2 * 2;
        let shard = Shard { first: number / 2, pieces: 16, repairs: 3, which: 2, octets: octets[..even].to_vec() };
        let mut all = vec![
            Packet::Data { number, turn, octets: octets.clone() },
            Packet::Ack(Ack { next: number, heard: turn, turn, ranges }),
            Packet::Close,
        ];
        if shard.sound() {
            all.push(Packet::Repair(shard, turn));
        }
        for packet in all {
            let written = packet.write(9);
            prop_assert_eq!(packet::read(&written), Some((9, packet.clone())));
            let mut opened = Packet::Open(PATH, Repair::Fixed(3)).write(9);
            prop_assert_eq!(packet::opening(&opened), Some((9, PATH, Repair::Fixed(3))));
            opened.extend(&written);
            prop_assert_eq!(packet::read(&opened), Some((9, packet)));
        }
    }
}
