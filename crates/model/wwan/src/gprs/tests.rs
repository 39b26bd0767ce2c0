//! Closed forms of GPRS, timelines from 3GPP TS 44.060, and that polling late or often changes nothing.

use super::*;
use crate::config::{Adaptation, BlockError, Fading, Fec, Stalls};
use crate::defaults;
use crate::scheme::Family;
use airperf_link::{Destination, FrameEvent, Heard, Outcome};
use airperf_units::{Distribution, Stream, repairs_needed};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

#[derive(Default)]
struct Seen {
    /// When, to whom, which; milliseconds.
    delivered: Vec<(f64, u16, u32)>,
    lost: Vec<u32>,
    frames: Vec<FrameEvent>,
    departed: usize,
    /// When repair blocks began.
    repairs: Vec<Time>,
}

impl Outlet<u32> for Seen {
    fn delivered(&mut self, at: Time, to: StationId, packet: &Packet<u32>) {
        self.delivered.push((at.as_ns() as f64 / MS as f64, to.0, packet.payload));
    }
    fn lost(&mut self, _: Time, _: StationId, packet: &Packet<u32>, cause: LossCause) {
        assert_eq!(cause, LossCause::NotReceived);
        self.lost.push(packet.payload);
    }
    fn departed(&mut self, _: Time, _: StationId, _: &Packet<u32>) {
        self.departed += 1;
    }
    fn frame(&mut self, frame: &FrameEvent, packet: Option<&Packet<u32>>) {
        if packet.is_none() {
            self.repairs.push(frame.start);
        }
        assert!(self.frames.last().is_none_or(|last| last.start <= frame.start), "frames come in order");
        self.frames.push(*frame);
    }
}

fn packet(to: u16, bytes: u32, number: u32) -> Packet<u32> {
    Packet { to: Destination::Station(StationId(to)), bytes, payload: number }
}

fn link(config: Config) -> Gprs<u32> {
    config.check().expect("a sound configuration");
    Gprs::new(config, StreamKey::new(1))
}

fn at(ms: u64) -> Time {
    Time::from_ns(ms * MS)
}

fn drain(link: &mut Gprs<u32>) -> Seen {
    let mut seen = Seen::default();
    while let Some(at) = link.next_event() {
        link.poll(at, &mut seen);
    }
    seen
}

/// Keeps a queue full with packets of `bytes` for `seconds`.
fn saturate(link: &mut Gprs<u32>, from: u16, to: u16, bytes: u32, seconds: u64) -> Seen {
    let (mut seen, mut number) = (Seen::default(), 0);
    while link.present() < Time::from_ns(seconds * S) {
        let now = link.present();
        while link.queue(StationId(from)).depth < 20 {
            link.arrive(now, StationId(from), packet(to, bytes, number));
            number += 1;
        }
        let next = link.next_event().expect("a full queue moves on");
        link.poll(next, &mut seen);
    }
    seen
}

/// Payload that arrived, in kbit/s of LLC frames.
fn payload_kbps(seen: &Seen, bytes: u32, seconds: f64) -> f64 {
    let frame = bytes + defaults::OVERHEAD_BYTES + defaults::LENGTH_INDICATOR_BYTES;
    seen.delivered.len() as f64 * f64::from(frame) * 8.0 / seconds / 1e3
}

fn lossy(error: f64, arq: bool) -> Config {
    let mut config = Config { block_error: BlockError::Fixed(error), ..Config::gprs(2) };
    config.down.arq = arq;
    config
}

#[test]
fn three_slots_of_cs2_carry_36_kbps_of_frames() {
    // 3 x 30 octets in 20 ms; the study's 39.6 kbit/s counts the 3 octets of header in each block.
    let seen = saturate(&mut link(Config::gprs(2)), 0, 1, 1500, 200);
    let ours = payload_kbps(&seen, 1500, 200.0 - 0.32);
    assert!((ours / 36.0 - 1.0).abs() < 0.005, "{ours} kbit/s");
    for (family, scheme, slots, kbps) in [
        (Family::Gprs, "CS-1", 1, 8.0),
        (Family::Gprs, "CS-4", 4, 80.0),
        (Family::Edge, "MCS-6", 4, 118.4),
        (Family::Edge, "MCS-9", 2, 118.4),
    ] {
        let mut config = Config { family, ..Config::gprs(2) };
        (config.down.slots, config.down.scheme) = (slots, family.scheme(scheme).expect("a scheme"));
        assert_eq!(config.down.payload_rate(family).as_bps() as f64, kbps * 1e3, "{scheme}");
        let ours = payload_kbps(&saturate(&mut link(config), 0, 1, 1500, 200), 1500, 199.68);
        assert!((ours / kbps - 1.0).abs() < 0.005, "{scheme}: {ours} of {kbps} kbit/s");
    }
}

#[test]
fn a_packet_waits_for_its_block_flow_and_is_cut_over_the_slots() {
    let mut link = link(Config::gprs(2));
    link.arrive(at(0), NETWORK, packet(1, 1500, 0));
    // 320 ms until the flow begins; 1511 octets in 51 blocks of 30, 3 in every 20 ms.
    let mut seen = Seen::default();
    link.poll(at(2000), &mut seen);
    assert_eq!(seen.delivered, [(320.0 + 17.0 * 20.0, 1, 0)]);
    let first: Vec<_> = seen.frames.iter().filter(|frame| frame.attempt == 1).collect();
    assert_eq!(first.len(), 51);
    assert_eq!(first.iter().map(|frame| frame.bytes).sum::<u32>(), 1511);
    assert_eq!(first[50].sequence, 50);
    assert_eq!(seen.frames.iter().filter(|frame| frame.sniffer == Heard::Good).count(), 1);

    // The flow is kept for 2 s after the last acknowledgement, 60 ms after the last block: the next has no delay but
    // the grid's.
    link.arrive(at(2001), NETWORK, packet(1, 109, 1));
    let mut seen = Seen::default();
    link.poll(at(4220), &mut seen);
    assert_eq!(seen.delivered, [(2020.0 + 2.0 * 20.0, 1, 1)]);
    link.arrive(at(4221), NETWORK, packet(1, 109, 2));
    // 2060 + 60 + 2000 = 4120: released; a new one takes 320 ms, and 19 ms to the grid.
    assert_eq!(drain(&mut link).delivered, [(4560.0 + 2.0 * 20.0, 1, 2)]);
}

#[test]
fn upward_every_burst_has_a_block_flow_of_its_own() {
    let mut link = link(Config::gprs(2));
    link.arrive(at(0), StationId(1), packet(0, 52, 0));
    let mut seen = Seen::default();
    link.poll(at(225), &mut seen);
    // It counts down already: what comes now waits until the flow is released, 60 ms after its last block.
    link.arrive(at(225), StationId(1), packet(0, 52, 1));
    let rest = drain(&mut link);
    // 63 octets in 3 blocks on one slot.
    assert_eq!(rest.delivered, [(220.0 + 60.0, 0, 0), (280.0 + 60.0 + 220.0 + 60.0, 0, 1)]);
}

#[test]
fn a_block_flow_is_set_up_faster_beside_one_of_the_other_direction() {
    let mut link = link(Config::gprs(2));
    link.arrive(at(0), NETWORK, packet(1, 109, 0));
    let mut seen = Seen::default();
    link.poll(at(400), &mut seen);
    link.arrive(at(400), StationId(1), packet(0, 109, 1));
    let rest = drain(&mut link);
    // 400 + 180 ms over the downward flow, then 4 blocks.
    assert_eq!(rest.delivered, [(580.0 + 80.0, 0, 1)]);
}

#[test]
fn lost_blocks_are_sent_again_until_they_arrive() {
    for error in [0.05, 0.1, 0.3] {
        let mut link = link(lossy(error, true));
        let seen = saturate(&mut link, 0, 1, 109, 400);
        // Packets of four blocks each, so that frames are blocks. Each takes 1 / (1 - p) attempts in the mean.
        let blocks = seen.frames.iter().filter(|frame| frame.attempt == 1).count() as f64;
        let attempts = seen.frames.len() as f64 / blocks;
        let expected = 1.0 / (1.0 - error);
        // At 30% the window is often full, and blocks on their way are sent once more meanwhile.
        let more = if error > 0.2 { 0.10 } else { 0.02 };
        assert!(
            (0.98..1.0 + more).contains(&(attempts / expected)),
            "{attempts} attempts, expected {expected}"
        );
        let kbps = payload_kbps(&seen, 109, 399.7) / (36.0 * (1.0 - error));
        assert!((1.0 - more..1.02).contains(&kbps), "{kbps} of what can be carried at {error}");
        assert!(seen.lost.is_empty());
        let order: Vec<u32> = seen.delivered.iter().map(|(.., number)| *number).collect();
        assert!(order.is_sorted(), "RLC keeps the order");
    }
}

#[test]
fn without_arq_packets_are_lost_with_their_blocks() {
    for (error, fec, lost) in [
        (0.05, None, 1.0 - 0.95_f64.powi(4)),
        // Of four blocks and one that repairs one loss: all four, or three of them and the repair block.
        (0.05, Some(Fec::fixed(4, 1)), 1.0 - 0.95_f64.powi(4) - 4.0 * 0.05 * 0.95_f64.powi(4)),
    ] {
        let mut config = lossy(error, false);
        config.down.fec = fec;
        let mut link = link(config);
        let seen = saturate(&mut link, 0, 1, 109, 1000);
        let all = (seen.delivered.len() + seen.lost.len()) as f64;
        let share = seen.lost.len() as f64 / all;
        // Four standard deviations.
        let within = 4.0 * (lost * (1.0 - lost) / all).sqrt();
        assert!((share - lost).abs() < within, "{share} lost, expected {lost} within {within}");
        assert!(seen.frames.iter().all(|frame| frame.attempt == 1));
    }
}

#[test]
fn repair_blocks_save_repetitions_and_cost_their_share() {
    let run = |fec| {
        let mut config = lossy(0.1, true);
        config.down.fec = fec;
        let seen = saturate(&mut link(config), 0, 1, 109, 400);
        let again = seen.frames.iter().filter(|frame| frame.attempt > 1).count() as f64;
        (again / seen.frames.len() as f64, payload_kbps(&seen, 109, 399.7))
    };
    let (again, kbps) = run(None);
    let (repaired, slower) = run(Some(Fec::fixed(8, 4)));
    // More than four of twelve are lost in 0.4% of the groups; a report in the middle of one asks for what would have
    // been repaired.
    assert!(
        (0.004..again / 5.0).contains(&repaired),
        "{repaired} of the blocks are repetitions, {again} without repair blocks"
    );
    assert!((slower / (36.0 * 8.0 / 12.0) - 1.0).abs() < 0.02, "{slower} kbit/s, {kbps} without");
}

#[test]
fn redundancy_follows_the_share_of_blocks_lost() {
    for (error, arq) in [(0.02, false), (0.1, false), (0.3, false), (0.1, true)] {
        let mut config = lossy(error, arq);
        config.down.fec = Some(Fec { target: Some(0.01), ..Fec::fixed(8, 0) });
        let seen = saturate(&mut link(config), 0, 1, 109, 400);
        let late = seen.frames.iter().filter(|frame| frame.start > at(20_000) && frame.attempt == 1);
        let repair = seen.repairs.iter().filter(|start| **start > at(20_000)).count() as f64;
        let data = late.count() as f64 - repair;
        let wanted = f64::from(repairs_needed(8, error, 0.01, Fec::MOST)) / 8.0;
        let found = repair / data;
        // The estimate over 100 blocks wavers, and with it the number of blocks by one.
        assert!((found - wanted).abs() <= 0.15, "{found} repair blocks a block at {error}, {wanted} needed");
        if !arq {
            let share = seen.lost.len() as f64 / (seen.delivered.len() + seen.lost.len()) as f64;
            assert!(share < 0.02, "{share} of packets lost at {error}");
        }
    }
}

#[test]
fn a_group_that_gets_no_repair_blocks_does_not_hold_the_flow() {
    let mut config = lossy(0.4, false);
    config.down.fec = Some(Fec { target: Some(0.49), ..Fec::fixed(8, 0) });
    let mut link = link(config);
    let mut seen = Seen::default();
    for number in 0..100 {
        let now = at(5_000 * u64::from(number));
        link.poll(now, &mut seen);
        link.arrive(now, NETWORK, packet(1, 70, number));
    }
    link.poll(at(505_000), &mut seen);
    assert_eq!((seen.delivered.len() + seen.lost.len(), seen.departed), (100, 100));
    assert!(seen.lost.len() > 10, "some are lost");
}

#[test]
fn a_channel_over_time_loses_blocks_when_it_says_so() {
    let channel = crate::Channel::parse("time_s,block_error\n0,0\n1,1\n1.5,0\n2,0\n").expect("a channel");
    let mut config = Config { block_error: BlockError::Series(channel.into()), ..Config::gprs(2) };
    config.down.arq = false;
    let seen = saturate(&mut link(config), 0, 1, 1500, 30);
    for frame in &seen.frames {
        let into = frame.start.as_ns() % (5 * S / 2);
        let lost = (S..3 * S / 2).contains(&into);
        assert_eq!(frame.outcome == Outcome::Garbled, lost, "{frame:?}");
    }
    // Through C/I the scheme counts: CS-2 loses a tenth at 7 dB, and all at -20.
    let channel = crate::Channel::parse("time_s,ci_db\n0,7\n10,-20\n").expect("a channel");
    let mut config = Config { block_error: BlockError::Series(channel.into()), ..Config::gprs(2) };
    config.down.arq = false;
    let seen = saturate(&mut link(config), 0, 1, 19, 200);
    let lost = |good: bool| {
        let of = seen.frames.iter().filter(|frame| (frame.start.as_ns() % (20 * S) < 10 * S) == good);
        let (lost, all) = of.fold((0.0, 0.0), |(lost, all), frame| {
            (lost + f64::from(u8::from(frame.outcome == Outcome::Garbled)), all + 1.0)
        });
        lost / all
    };
    assert!((lost(true) - 0.1).abs() < 0.01 && lost(false) > 0.99, "{} and {}", lost(true), lost(false));
}

#[test]
fn a_block_flow_repeats_blocks_only_if_the_ones_before_it_lost_enough() {
    for (error, mode) in [(0.02, false), (0.2, true)] {
        let mut config = lossy(error, true);
        (config.down.arq_from, config.down.keep) = (0.1, Duration::ZERO);
        let mut link = link(config);
        let mut seen = Seen::default();
        for number in 0..200 {
            let now = at(5_000 * u64::from(number));
            link.poll(now, &mut seen);
            link.arrive(now, NETWORK, packet(1, 1500, number));
        }
        link.poll(at(1_005_000), &mut seen);
        let again = seen.frames.iter().any(|frame| frame.start > at(100_000) && frame.attempt > 1);
        assert_eq!((again, seen.lost.is_empty()), (mode, mode), "at {error}");
    }
}

#[test]
fn stalls_take_their_share_of_the_time() {
    let stalls = Stalls { every: Duration::from_secs(16), lasts: Distribution::Fixed(4 * S) };
    let mut link = link(Config { stalls: Some(stalls), ..Config::gprs(2) });
    let seen = saturate(&mut link, 0, 1, 1500, 8_000);
    let kbps = payload_kbps(&seen, 1500, 8_000.0);
    // 400 stalls: 0.8 of the time is left, with a standard deviation of 0.008.
    assert!((kbps / 36.0 - 0.8).abs() < 0.03, "{kbps} kbit/s");
    let pauses =
        seen.frames.windows(2).filter(|pair| pair[1].start >= pair[0].start + Duration::from_secs(4));
    assert!((300..500).contains(&pauses.count()));
}

#[test]
fn a_scheme_loses_a_third_where_its_band_begins() {
    for scheme in Family::Gprs.schemes().iter().chain(Family::Edge.schemes()) {
        let at = |above| BlockError::at(scheme, scheme.from_db + above);
        assert!((at(0.0) - 1.0 / 3.0).abs() < 1e-12 && (at(2.0) - 0.1).abs() < 1e-12, "{}", scheme.name);
    }
}

#[test]
fn the_scheme_follows_the_channel() {
    // At 30 dB nothing is lost; at 8 dB CS-3 loses 19% and CS-4 nearly everything; at 5.5 dB CS-2 loses 26%.
    for (db, wanted) in [(30.0, &["CS-4"][..]), (8.0, &["CS-2", "CS-3"]), (5.5, &["CS-1", "CS-2"])] {
        let mut config =
            Config { block_error: BlockError::CarrierToInterference { db, fading: None }, ..Config::gprs(2) };
        config.down.adaptation = Some(Adaptation::default());
        let seen = saturate(&mut link(config), 0, 1, 1500, 100);
        let late = seen.frames.iter().filter(|frame| frame.start > at(10_000) && frame.attempt == 1);
        let (mut all, mut fits) = (0.0, 0.0);
        for frame in late {
            all += 1.0;
            let name = Family::Gprs.schemes().iter().find(|scheme| scheme.rate == frame.rate).map(|s| s.name);
            fits += f64::from(u8::from(wanted.contains(&name.expect("a scheme has this rate"))));
        }
        assert!(fits / all > 0.9, "{} of blocks in {wanted:?} at {db} dB", fits / all);
    }
}

#[test]
fn fading_loses_blocks_in_bursts_of_its_own_length() {
    let fading = Fading { db: -20.0, good: Duration::from_ms(900), bad: Duration::from_ms(100) };
    let block_error = BlockError::CarrierToInterference { db: 40.0, fading: Some(fading) };
    let mut config = Config { block_error, ..Config::gprs(2) };
    config.down.arq = false;
    let seen = saturate(&mut link(config), 0, 1, 19, 2_000);
    let garbled = seen.frames.iter().filter(|frame| frame.outcome == Outcome::Garbled).count() as f64;
    let share = garbled / seen.frames.len() as f64;
    // 2 000 fades of 0.1 s: standard deviation of the share 0.003.
    assert!((share - 0.1).abs() < 0.012, "{share}");
}

#[test]
fn the_queue_drops_at_its_tail() {
    for (packets, bytes, fit) in [(10, None, 10), (100, Some(15_000), 10)] {
        let mut config = Config::gprs(2);
        config.stations[0].queue_packets = packets;
        config.down.queue_bytes = bytes;
        let mut link = link(config);
        let taken =
            (0..50).filter(|&n| link.arrive(at(0), NETWORK, packet(1, 1500, n)) == Arrival::Queued).count();
        assert_eq!(taken, fit);
        let stats = link.queue(NETWORK);
        assert_eq!((stats.depth, stats.dropped), (fit as u32, 50 - fit as u64));
        assert_eq!(drain(&mut link).delivered.len(), fit);
    }
}

/// Mobiles with everything on.
fn busy(family: Family, arq: bool) -> Config {
    let fading = Fading { db: 4.0, good: Duration::from_ms(700), bad: Duration::from_ms(300) };
    let stalls = Stalls {
        every: Duration::from_secs(20),
        lasts: Distribution::Pareto { low: S, high: 10 * S, shape: 1.5 },
    };
    let mut config = Config {
        stations: vec![crate::StationConfig { queue_packets: 12 }; 3],
        family,
        block_error: BlockError::CarrierToInterference { db: 15.0, fading: Some(fading) },
        stalls: Some(stalls),
        ..Config::gprs(3)
    };
    config.down.adaptation = arq.then(Adaptation::default);
    config.up.delay = Distribution::Exponential { mean: 150 * MS };
    config.down.fec = Some(Fec::fixed(8, 2));
    (config.down.arq, config.up.arq) = (arq, true);
    config
}

#[test]
fn polling_late_or_often_changes_nothing() {
    for (family, arq) in [(Family::Gprs, true), (Family::Edge, true), (Family::Gprs, false)] {
        let run = |mut polls: Option<Stream>| {
            let mut link = link(busy(family, arq));
            let (mut seen, mut now) = (Seen::default(), Time::ZERO);
            let mut random = StreamKey::new(9).stream("arrivals");
            for number in 0..400 {
                let next = now + random.exponential(Duration::from_ms(150));
                while let Some(polls) = &mut polls {
                    now += polls.exponential(Duration::from_ms(17));
                    if now >= next {
                        break;
                    }
                    link.poll(now, &mut seen);
                }
                now = next;
                link.poll(now, &mut seen);
                let mobile = 1 + random.up_to(1) as u16;
                let (from, to) = if random.chance(0.6) { (0, mobile) } else { (mobile, 0) };
                link.arrive(now, StationId(from), packet(to, 40 + random.up_to(1460), number));
            }
            let end = now + Duration::from_secs(300);
            link.poll(end, &mut seen);
            assert_eq!(seen.departed, seen.delivered.len() + seen.lost.len());
            let total: Duration = link.airtime().into_iter().map(|(_, time)| time).sum();
            assert_eq!(Time::ZERO + total, end);
            let queues: Vec<_> = (0..3).map(|s| link.queue(StationId(s))).collect();
            assert!(queues.iter().all(|q| q.depth == 0 && q.offered == q.departed + q.dropped), "{queues:?}");
            (seen.delivered, seen.lost, seen.frames, queues)
        };
        let once = run(None);
        assert!(once.0.len() > 150 && once.1.is_empty() == arq, "{} delivered", once.0.len());
        assert_eq!(once, run(Some(StreamKey::new(10).stream("polls"))));
        assert_eq!(once, run(Some(StreamKey::new(11).stream("polls"))));
    }
}
