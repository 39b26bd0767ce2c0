//! Timelines of the switch, written from IEEE 802.3-2018 clause 4A, and its closed forms.

use super::*;

#[derive(Default)]
struct Seen {
    delivered: Vec<(u64, u16)>,
    starts: Vec<Time>,
    lost: usize,
    departed: usize,
}

impl Outlet<u32> for Seen {
    fn delivered(&mut self, at: Time, to: StationId, _: &Packet<u32>) {
        self.delivered.push((at.as_ns(), to.0));
    }
    fn lost(&mut self, _: Time, _: StationId, _: &Packet<u32>, cause: LossCause) {
        assert_eq!(cause, LossCause::NotReceived);
        self.lost += 1;
    }
    fn departed(&mut self, _: Time, _: StationId, _: &Packet<u32>) {
        self.departed += 1;
    }
    fn frame(&mut self, frame: &FrameEvent, _: Option<&Packet<u32>>) {
        assert!(self.starts.last().is_none_or(|&last| last <= frame.start), "frames come in order");
        self.starts.push(frame.start);
    }
}

const MS: u64 = 1_000_000;

fn packet(to: u16, bytes: u32) -> Packet<u32> {
    Packet { to: Destination::Station(StationId(to)), bytes, payload: 0 }
}

/// A switch that has been silent for a millisecond.
fn silent(stations: usize) -> Switch<u32> {
    let mut link = Switch::new(SwitchConfig::fast(stations));
    link.poll(Time::from_ns(MS), &mut Seen::default());
    link
}

fn drain(link: &mut Switch<u32>) -> Seen {
    let mut seen = Seen::default();
    while let Some(at) = link.next_event() {
        link.poll(at, &mut seen);
    }
    seen
}

/// Keeps the queues of `senders` full for `seconds` and counts what arrives at station 0.
fn saturate(config: SwitchConfig, senders: std::ops::Range<u16>, seconds: u64) -> (u64, Seen, Switch<u32>) {
    let mut link = Switch::new(config);
    let mut seen = Seen::default();
    let end = Time::from_ns(seconds * 1000 * MS);
    let mut now = Time::ZERO;
    while now < end {
        for sender in senders.clone() {
            while link.queue(StationId(sender)).depth < 50 {
                link.arrive(now, StationId(sender), packet(0, 1500));
            }
        }
        now += Duration::from_us(1000);
        link.poll(now, &mut seen);
    }
    (seen.delivered.len() as u64, seen, link)
}

#[test]
fn a_lone_frame_is_serialised_twice_and_forwarded() {
    let mut link = silent(2);
    link.arrive(Time::from_ns(MS), StationId(0), packet(1, 1500));
    // (8 + 14 + 1500 + 4) octets at 80 ns on each wire, twice 100 ns of wire, 5 us in the switch.
    assert_eq!(drain(&mut link).delivered, [(MS + 2 * 1526 * 80 + 200 + 5_000, 1)]);
}

#[test]
fn short_packets_are_padded_and_the_gap_is_kept() {
    let mut link = silent(2);
    for _ in 0..3 {
        link.arrive(Time::from_ns(MS), StationId(0), packet(1, 40));
    }
    let first = MS + 2 * 72 * 80 + 200 + 5_000;
    let seen = drain(&mut link);
    assert_eq!(seen.delivered, [first, first + 84 * 80, first + 2 * 84 * 80].map(|at| (at, 1)));
    assert_eq!((seen.departed, seen.lost), (3, 0));
}

#[test]
fn both_directions_of_a_wire_are_busy_at_once() {
    let mut link = silent(2);
    link.arrive(Time::from_ns(MS), StationId(0), packet(1, 1500));
    link.arrive(Time::from_ns(MS), StationId(1), packet(0, 1500));
    let at = MS + 2 * 1526 * 80 + 200 + 5_000;
    assert_eq!(drain(&mut link).delivered, [(at, 1), (at, 0)]);
}

#[test]
fn a_saturated_port_carries_one_frame_in_1538_octets() {
    for rate in [100, 1000] {
        let config = SwitchConfig { rate: Rate::mbps(rate), ..SwitchConfig::fast(2) };
        let each = 1538.0 * 8.0 / (rate as f64 * 1e6);
        // At a gigabit 82 packets are offered for each millisecond; the queue of 100 holds them.
        let config = SwitchConfig { stations: vec![EthernetStation { queue_packets: 200 }; 2], ..config };
        let mut link = Switch::new(config);
        let (mut seen, mut now) = (Seen::default(), Time::ZERO);
        while now < Time::from_ns(200 * MS) {
            while link.arrive(now, StationId(1), packet(0, 1500)) == Arrival::Queued {}
            now += Duration::from_us(1000);
            link.poll(now, &mut seen);
        }
        let carried = seen.delivered.len() as f64 * each / 0.2;
        assert!((carried - 1.0).abs() < 0.001, "{carried} of {rate} Mbit/s");
    }
}

#[test]
fn two_senders_share_a_port_and_the_switch_drops_what_is_too_much() {
    let (delivered, seen, link) = saturate(SwitchConfig::fast(3), 1..3, 1);
    let line = 1e8 / (1538.0 * 8.0);
    assert!((delivered as f64 / line - 1.0).abs() < 0.002, "{delivered} packets, the line carries {line}");
    // Both wires are full, so half of what is sent finds no place; at most the queue is missing from the sum.
    let sent: u64 = (1..3).map(|s| link.queue(StationId(s)).departed).sum();
    assert!((sent as f64 / (2.0 * line) - 1.0).abs() < 0.002, "{sent} packets sent");
    assert!(sent - delivered - seen.lost as u64 <= 203, "{} lost", seen.lost);
    assert_eq!(seen.departed, seen.delivered.len() + seen.lost);
}

#[test]
fn a_broadcast_reaches_everybody_else_once() {
    let mut link = silent(4);
    let everybody = Packet { to: Destination::Broadcast, bytes: 100, payload: 0 };
    link.arrive(Time::from_ns(MS), StationId(2), everybody);
    let seen = drain(&mut link);
    assert_eq!(seen.delivered.iter().map(|(_, to)| *to).collect::<Vec<_>>(), [0, 1, 3]);
    assert_eq!((seen.departed, seen.lost), (1, 0));
}

#[test]
fn the_queue_drops_at_its_tail_and_airtime_sums_to_elapsed_time() {
    let mut link = Switch::new(SwitchConfig::fast(2));
    let refused = (0..150)
        .filter(|_| matches!(link.arrive(Time::ZERO, StationId(0), packet(1, 500)), Arrival::Dropped(_)))
        .count();
    assert_eq!(refused, 49); // 100 places and the frame being sent
    assert_eq!(drain(&mut link).delivered.len(), 101);
    let end = link.present() + Duration::from_ms(3);
    link.poll(end, &mut Seen::default());
    let total: Duration = link.airtime().into_iter().map(|(_, d)| d).sum();
    assert_eq!(Time::ZERO + total, end);
    assert_eq!(link.queue(StationId(0)).dropped, 49);
}

#[test]
fn polling_late_changes_nothing() {
    let run = |step: u64| {
        let mut link = silent(3);
        for i in 0..60 {
            link.arrive(Time::from_ns(MS), StationId(i % 2), packet(2, 100 + 20 * u32::from(i)));
        }
        let (mut seen, mut now) = (Seen::default(), MS);
        while link.next_event().is_some() {
            now += step;
            link.poll(Time::from_ns(now), &mut seen);
        }
        (seen.delivered, seen.starts)
    };
    assert_eq!(run(1_000), run(7 * MS));
}
