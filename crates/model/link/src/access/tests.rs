//! Closed forms of the access link, and Mahimahi's way with a trace, written anew.

use super::*;
use crate::Destination;
use crate::trace::Trace;
use airperf_units::{Distribution, Rate, Stream};

#[derive(Default)]
struct Seen {
    delivered: Vec<(u64, u16, u32)>,
    copies: usize,
    lost: Vec<u32>,
    frames: Vec<FrameEvent>,
    departed: usize,
}

impl Outlet<u32> for Seen {
    fn delivered(&mut self, at: Time, to: StationId, packet: &Packet<u32>) {
        self.delivered.push((at.as_ns(), to.0, packet.payload));
    }
    fn duplicated(&mut self, _: Time, _: StationId, _: &Packet<u32>) {
        self.copies += 1;
    }
    fn lost(&mut self, _: Time, _: StationId, packet: &Packet<u32>, cause: LossCause) {
        assert_eq!(cause, LossCause::NotReceived);
        self.lost.push(packet.payload);
    }
    fn departed(&mut self, _: Time, _: StationId, _: &Packet<u32>) {
        self.departed += 1;
    }
    fn frame(&mut self, frame: &FrameEvent, _: Option<&Packet<u32>>) {
        assert!(self.frames.last().is_none_or(|last| last.start <= frame.start), "frames come in order");
        self.frames.push(*frame);
    }
}

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

fn packet(to: u16, bytes: u32, number: u32) -> Packet<u32> {
    Packet { to: Destination::Station(StationId(to)), bytes, payload: number }
}

fn config(down: Direction, up: Direction) -> AccessConfig {
    AccessConfig {
        stations: vec![AccessStation { queue_packets: 1000 }; 2],
        mtu: 1500,
        shared: false,
        rrc: None,
        down,
        up,
    }
}

fn link(config: AccessConfig) -> Access<u32> {
    config.check().expect("a sound configuration");
    Access::new(config, StreamKey::new(1))
}

fn clean() -> AccessConfig {
    config(Direction::clean(Rate::mbps(2), 50 * MS), Direction::clean(Rate::kbps(200), 50 * MS))
}

fn drain(link: &mut Access<u32>) -> Seen {
    let mut seen = Seen::default();
    while let Some(at) = link.next_event() {
        link.poll(at, &mut seen);
    }
    seen
}

/// Keeps the downward queue full with packets of `bytes` until `end`.
fn saturate(link: &mut Access<u32>, bytes: u32, end: u64) -> Seen {
    let (mut seen, mut number) = (Seen::default(), 0);
    while link.present() < Time::from_ns(end) {
        let now = link.present();
        while link.queue(NETWORK).depth < 40 {
            link.arrive(now, NETWORK, packet(1, bytes, number));
            number += 1;
        }
        let next = link.next_event().expect("a full queue moves on");
        link.poll(next, &mut seen);
    }
    seen
}

#[test]
fn a_lone_packet_takes_its_bits_and_the_delay() {
    let mut link = link(clean());
    link.arrive(Time::ZERO, NETWORK, packet(1, 1500, 0));
    link.arrive(Time::ZERO, StationId(1), packet(0, 1500, 1));
    // 12 000 bits at 2 Mbit/s and at 200 kbit/s, and 50 ms; the directions do not meet.
    let seen = drain(&mut link);
    assert_eq!(seen.delivered, [(56 * MS, 1, 0), (110 * MS, 0, 1)]);
    assert_eq!((seen.departed, seen.lost.len()), (2, 0));
}

#[test]
fn a_busy_pipe_carries_its_rate_to_the_nanosecond() {
    for (bps, bytes) in [(7_000_000, 1500), (13_333, 41), (999_999_937, 1499), (33_000, 576)] {
        let down = Direction::clean(Rate::bps(bps), 0);
        let mut link = link(config(down.clone(), down));
        let packets = 700;
        let seen = saturate(&mut link, bytes, packets * u64::from(bytes) * 8 * S / bps);
        assert!(seen.delivered.len() as u64 >= packets - 1);
        for (k, &(at, ..)) in (1u128..).zip(&seen.delivered) {
            let exact = (k * u128::from(bytes) * 8 * u128::from(S)).div_ceil(u128::from(bps));
            assert_eq!(u128::from(at), exact, "packet {k} at {bps} bit/s");
        }
    }
}

#[test]
fn a_queue_drops_at_its_tail_by_packets_or_by_octets() {
    for (packets, bytes, fit) in [(10, None, 11), (1000, Some(15_000), 11), (5, Some(1_000_000), 6)] {
        let mut config = clean();
        config.stations[0].queue_packets = packets;
        config.down.queue_bytes = bytes;
        let mut link = link(config);
        let taken = (0..50)
            .filter(|&n| link.arrive(Time::ZERO, NETWORK, packet(1, 1500, n)) == Arrival::Queued)
            .count();
        // One is being sent; the rest waits.
        assert_eq!(taken, fit, "{packets} packets, {bytes:?} octets");
        let stats = link.queue(NETWORK);
        assert_eq!((stats.depth, stats.dropped, stats.offered), (fit as u32 - 1, 50 - fit as u64, 50));
        assert_eq!(drain(&mut link).delivered.len(), fit);
    }
}

#[test]
fn stations_have_their_own_pipes_or_share_one() {
    for (shared, last) in [(false, 6), (true, 12)] {
        let stations = vec![AccessStation { queue_packets: 10 }; 3];
        let mut link = link(AccessConfig { stations, shared, ..clean() });
        link.arrive(Time::ZERO, NETWORK, packet(1, 1500, 0));
        link.arrive(Time::ZERO, NETWORK, packet(2, 1500, 1));
        let seen = drain(&mut link);
        assert_eq!(seen.delivered, [(56 * MS, 1, 0), ((50 + last) * MS, 2, 1)], "shared: {shared}");
    }
}

#[test]
fn only_the_networks_side_is_reached() {
    let stations = vec![AccessStation { queue_packets: 10 }; 3];
    let mut link = link(AccessConfig { stations, ..clean() });
    let everybody = Packet { to: Destination::Broadcast, bytes: 100, payload: 0 };
    assert_eq!(link.arrive(Time::ZERO, NETWORK, everybody), Arrival::Dropped(DropCause::NoSuchStation));
    let neighbour = link.arrive(Time::ZERO, StationId(1), packet(2, 100, 0));
    assert_eq!(neighbour, Arrival::Dropped(DropCause::NoSuchStation));
    assert_eq!(
        link.arrive(Time::ZERO, StationId(1), packet(0, 1501, 0)),
        Arrival::Dropped(DropCause::TooLong)
    );
}

#[test]
fn bursts_of_loss_have_gilberts_share_and_length() {
    let loss = Loss { good: 0.0, bad: 1.0, to_bad: 0.01, to_good: 0.25 };
    let mut link = link(config(
        Direction { loss, ..Direction::clean(Rate::mbps(100), 0) },
        Direction::clean(Rate::mbps(1), 0),
    ));
    let packets = 200_000u32;
    let seen = saturate(&mut link, 125, u64::from(packets) * 10_000);
    let share = seen.lost.len() as f64 / f64::from(packets);
    assert!((loss.mean() - 0.01 / 0.26).abs() < 1e-12);
    // Standard deviation of the share with bursts of 4 over 200 000 packets: about 0.0011.
    assert!((share - loss.mean()).abs() < 0.004, "{share} of {}", loss.mean());
    let bursts = 1 + seen.lost.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
    let length = seen.lost.len() as f64 / bursts as f64;
    // Geometric with mean 4; about 1 900 bursts.
    assert!((length - 4.0).abs() < 0.3, "bursts of {length}");
    let garbled = seen.frames.iter().filter(|frame| frame.outcome == Outcome::Garbled).count();
    assert!(garbled - seen.lost.len() <= 1, "a frame says what becomes of its packet");
    assert_eq!(link.queue(NETWORK).lost, seen.lost.len() as u64);
}

#[test]
fn delay_varies_as_stated_and_overtaking_can_be_had() {
    for reorder in [false, true] {
        let delay = Distribution::Uniform { low: 10 * MS, high: 50 * MS };
        let down = Direction { delay, reorder, ..Direction::clean(Rate::mbps(10), 0) };
        let mut link = link(config(down.clone(), down));
        let seen = saturate(&mut link, 1250, 20 * S);
        let late =
            |&(at, _, number): &(u64, u16, u32)| (at - (u64::from(number) + 1) * MS) as f64 / MS as f64;
        let overtaken = seen.delivered.windows(2).any(|pair| pair[1].2 < pair[0].2);
        assert_eq!(overtaken, reorder);
        let delays: Vec<f64> = seen.delivered.iter().map(late).collect();
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        if reorder {
            // Uniform: mean 30 ms, standard deviation 11.5 ms, 20 000 packets.
            assert!((mean - 30.0).abs() < 0.35, "{mean} ms");
        } else {
            assert!(mean > 31.0 && delays.iter().all(|ms| (10.0..50.1).contains(ms)), "{mean} ms");
        }
    }
}

#[test]
fn copies_are_delivered_and_depart_once() {
    let down = Direction { duplicate: 0.1, ..Direction::clean(Rate::mbps(10), 30 * MS) };
    let mut link = link(config(down.clone(), down));
    let mut seen = saturate(&mut link, 1250, 20 * S);
    let rest = drain(&mut link);
    seen.copies += rest.copies;
    let delivered = seen.delivered.len() + rest.delivered.len();
    let share = seen.copies as f64 / delivered as f64;
    assert!((share - 0.1).abs() < 0.01, "{share}");
    assert_eq!(seen.departed + rest.departed, delivered);
}

/// Mahimahi's own way through a trace, step by step: what arrives when, in milliseconds.
fn mahimahi(at_ms: &[u64], arrivals: &[(u64, u32)]) -> Vec<(u64, u32)> {
    let (mut origin, mut next) = (0, 0);
    let (mut queue, mut in_transit) = (VecDeque::new(), None::<(u32, u32)>);
    let (mut out, mut arrivals) = (Vec::new(), (0u32..).zip(arrivals).peekable());
    while arrivals.peek().is_some() || !queue.is_empty() || in_transit.is_some() {
        let now = origin + at_ms[next];
        // Who comes in the millisecond of an opportunity, or later, does not get it.
        while let Some((number, &(_, bytes))) = arrivals.next_if(|(_, (at, _))| *at < now) {
            queue.push_back((number, bytes + 4));
        }
        let mut left = 1504;
        while left > 0 {
            let Some((number, bytes)) = in_transit.take().or_else(|| queue.pop_front()) else { break };
            let used = left.min(bytes);
            left -= used;
            if used == bytes { out.push((now, number)) } else { in_transit = Some((number, bytes - used)) }
        }
        next += 1;
        if next == at_ms.len() {
            (next, origin) = (0, origin + at_ms[at_ms.len() - 1]);
        }
    }
    out
}

#[test]
fn a_trace_delivers_when_mahimahi_would() {
    let mut random = StreamKey::new(6).stream("test");
    for _ in 0..200 {
        let mut at = u64::from(random.up_to(3));
        let mut schedule: Vec<u64> = (0..1 + random.up_to(30))
            .map(|_| {
                at += u64::from(random.up_to(4) * random.up_to(4));
                at
            })
            .collect();
        *schedule.last_mut().expect("one at least") += 1;
        let text: String = schedule.iter().map(|ms| format!("{ms}\n")).collect();
        let trace = Trace::parse(&text).expect("a trace");
        let mut now = 0;
        let arrivals: Vec<(u64, u32)> = (0..200)
            .map(|_| {
                now += u64::from(random.up_to(6) * random.up_to(2));
                (now, 40 + random.up_to(1460))
            })
            .collect();

        let capacity = Capacity::of_trace(&trace, OpportunitySize::Mahimahi);
        let down = Direction { capacity, ..Direction::clean(Rate::mbps(1), 0) };
        let mut link = link(config(down.clone(), down));
        let mut seen = Seen::default();
        for (number, &(ms, bytes)) in (0..).zip(&arrivals) {
            let now = Time::from_ns(ms * MS);
            link.poll(now, &mut seen);
            assert_eq!(link.arrive(now, NETWORK, packet(1, bytes, number)), Arrival::Queued);
        }
        let rest = drain(&mut link);
        let ours: Vec<_> =
            seen.delivered.iter().chain(&rest.delivered).map(|&(at, _, number)| (at / MS, number)).collect();
        assert_eq!(ours, mahimahi(&schedule, &arrivals), "{schedule:?}");
    }
}

/// A schedule of full packets at `bps` with a dip and a gap, ten seconds long.
fn uneven(bps: f64) -> Vec<u64> {
    let mut credit = 0.0;
    let mut at = Vec::new();
    for ms in 1..=10_000u64 {
        let saw = (ms % 1_400) as f64 / 700.0 - 1.0;
        let share = if (4_000..5_200).contains(&ms) { 0.0 } else { 1.0 + saw * 0.8 };
        credit += share * bps / 1000.0 / 12_000.0;
        while credit >= 1.0 {
            at.push(ms);
            credit -= 1.0;
        }
    }
    at.push(10_000);
    at
}

#[test]
fn every_second_carries_what_the_trace_says() {
    for mbps in [1.0, 10.0, 100.0] {
        let schedule = uneven(mbps * 1e6);
        let text: String = schedule.iter().map(|ms| format!("{ms}\n")).collect();
        let trace = Trace::parse(&text).expect("a trace");
        for size in [OpportunitySize::Mahimahi, OpportunitySize::Plain] {
            let capacity = Capacity::of_trace(&trace, size);
            let down = Direction { capacity, ..Direction::clean(Rate::mbps(1), 0) };
            let mut link = link(config(down.clone(), down));
            let seen = saturate(&mut link, 1500, 30 * S);
            for second in 0..29u64 {
                let within = |ns: u64| ns > second * S && ns <= (second + 1) * S;
                let ours = seen.delivered.iter().filter(|(at, ..)| within(*at)).count();
                let (low, high) = (second % 10 * 1000, (second % 10 + 1) * 1000);
                let said = schedule.iter().filter(|&&ms| ms > low && ms <= high).count();
                assert_eq!(ours, said, "second {second} at {mbps} Mbit/s");
            }
        }
    }
}

#[test]
fn a_series_of_rates_is_followed_through_every_step() {
    let trace = Trace::parse("time_s,rate_bps\n0,1000000\n1,0\n2,3000000\n").expect("a trace");
    let capacity = Capacity::of_trace(&trace, OpportunitySize::default());
    let down = Direction { capacity, ..Direction::clean(Rate::mbps(1), 0) };
    let mut link = link(config(down.clone(), down));
    let seen = saturate(&mut link, 1250, 6 * S);
    // 10 000 bits each: 100 in the first second of every round, none in the second, 300 in the third.
    let by_second = |second: u64| {
        seen.delivered.iter().filter(|(at, ..)| *at > second * S && *at <= (second + 1) * S).count()
    };
    assert_eq!([0, 1, 2, 3, 4, 5].map(by_second), [100, 0, 300, 100, 0, 300]);
}

fn light_trace(text: &str) -> std::sync::Arc<crate::trace::LightTrace> {
    crate::trace::LightTrace::parse(text).expect("a light trace").into()
}

/// A link with everything on, in one or the other direction.
fn busy(kind: u32) -> AccessConfig {
    let trace = if matches!(kind, 0 | 3) {
        "0\n3\n3\n11\n40\n"
    } else {
        "time_s,rate_bps\n0,2000000\n0.01,0\n0.02,777777\n"
    };
    let trace = Trace::parse(trace).expect("a trace");
    let direction = Direction {
        capacity: Capacity::of_trace(&trace, OpportunitySize::Mahimahi),
        light: (kind == 3).then(|| light_trace("0 5 0 2\n100 9 1 1 4\n150 3 0\n")),
        queue_bytes: Some(9_000),
        loss: Loss { good: 0.05, bad: 0.5, to_bad: 0.05, to_good: 0.3 },
        delay: Distribution::Exponential { mean: 5 * MS },
        reorder: kind == 1,
        duplicate: 0.1,
    };
    let stations = vec![AccessStation { queue_packets: 8 }; 4];
    let rrc = (kind == 2).then(|| RrcConfig {
        promotion_up: Distribution::Exponential { mean: 4 * MS },
        inactivity: Duration::from_ms(3),
        shared: RrcConfig::umts().shared.map(|shared| SharedChannel {
            rate_down: Rate::mbps(1),
            promotion: Distribution::Exponential { mean: 2 * MS },
            inactivity: Duration::from_ms(5),
            ..shared
        }),
        promotion_down: Distribution::Exponential { mean: 6 * MS },
    });
    AccessConfig { stations, mtu: 1500, shared: kind == 1, rrc, up: direction.clone(), down: direction }
}

#[test]
fn polling_late_or_often_changes_nothing() {
    for kind in 0..4 {
        let run = |mut polls: Option<Stream>| {
            let mut link = link(busy(kind));
            let (mut seen, mut now) = (Seen::default(), Time::ZERO);
            let mut random = StreamKey::new(9).stream("arrivals");
            for number in 0..2_000 {
                let next = now + random.exponential(Duration::from_ms(3));
                while let Some(polls) = &mut polls {
                    now += polls.exponential(Duration::from_us(700));
                    if now >= next {
                        break;
                    }
                    link.poll(now, &mut seen);
                }
                now = next;
                link.poll(now, &mut seen);
                let client = 1 + random.up_to(2) as u16;
                let (from, to) = if random.chance(0.5) { (0, client) } else { (client, 0) };
                link.arrive(now, StationId(from), packet(to, 40 + random.up_to(1460), number));
            }
            let end = now + Duration::from_secs(100);
            link.poll(end, &mut seen);
            assert_eq!(seen.departed, seen.delivered.len() + seen.lost.len());
            let total: Duration = link.airtime().into_iter().map(|(_, time)| time).sum();
            assert_eq!(Time::ZERO + total, end);
            let queues: Vec<_> = (0..4).map(|s| link.queue(StationId(s))).collect();
            (seen.delivered, seen.lost, seen.frames, seen.copies, queues)
        };
        let once = run(None);
        assert!(once.0.len() > 500 && once.1.len() > 50 && once.3 > 20, "{} delivered", once.0.len());
        assert_eq!(once, run(Some(StreamKey::new(10).stream("polls"))));
        assert_eq!(once, run(Some(StreamKey::new(11).stream("polls"))));
    }
}

mod cellreplay;
mod rrc;
