//! Timelines of the segment, written from IEEE 802.3-2018 clause 4.

use super::*;

#[derive(Default)]
struct Seen {
    delivered: Vec<(u64, u16)>,
    frames: Vec<FrameEvent>,
    lost: usize,
}

impl Outlet<u32> for Seen {
    fn delivered(&mut self, at: Time, to: StationId, _: &Packet<u32>) {
        self.delivered.push((at.as_ns(), to.0));
    }
    fn lost(&mut self, _: Time, _: StationId, _: &Packet<u32>, _: LossCause) {
        self.lost += 1;
    }
    fn frame(&mut self, frame: &FrameEvent, _: Option<&Packet<u32>>) {
        self.frames.push(*frame);
    }
}

fn packet(to: u16, bytes: u32) -> Packet<u32> {
    Packet { to: Destination::Station(StationId(to)), bytes, payload: 0 }
}

fn drain(link: &mut Ethernet<u32>) -> Seen {
    let mut seen = Seen::default();
    while let Some(at) = link.next_event() {
        link.poll(at, &mut seen);
    }
    seen
}

#[test]
fn a_lone_frame_takes_preamble_and_body() {
    let mut link = Ethernet::new(EthernetConfig::ten_megabit(2), StreamKey::new(1));
    link.poll(Time::from_ns(1_000_000), &mut Seen::default());
    link.arrive(Time::from_ns(1_000_000), StationId(0), packet(1, 1500));
    // (8 + 14 + 1500 + 4) octets at 0.8 us each.
    assert_eq!(drain(&mut link).delivered, [(1_000_000 + 1526 * 800, 1)]);
}

#[test]
fn short_packets_are_padded_and_frames_keep_the_gap() {
    let mut link = Ethernet::new(EthernetConfig::ten_megabit(2), StreamKey::new(1));
    link.poll(Time::from_ns(1_000_000), &mut Seen::default());
    link.arrive(Time::from_ns(1_000_000), StationId(0), packet(1, 40));
    link.arrive(Time::from_ns(1_000_000), StationId(0), packet(1, 40));
    let first = 1_000_000 + 72 * 800;
    assert_eq!(drain(&mut link).delivered, [(first, 1), (first + 9_600 + 72 * 800, 1)]);
}

#[test]
fn simultaneous_senders_collide_and_both_get_through() {
    let mut link = Ethernet::new(EthernetConfig::ten_megabit(3), StreamKey::new(1));
    link.poll(Time::from_ns(1_000_000), &mut Seen::default());
    link.arrive(Time::from_ns(1_000_000), StationId(0), packet(2, 1000));
    link.arrive(Time::from_ns(1_000_000), StationId(1), packet(2, 1000));
    let seen = drain(&mut link);
    assert_eq!(seen.frames.iter().filter(|f| f.outcome == Outcome::Collided).count() % 2, 0);
    assert!(seen.frames.iter().any(|f| f.outcome == Outcome::Collided));
    assert_eq!(seen.delivered.len(), 2);
    assert_eq!(seen.lost, 0);
    // Nothing overlaps but what collided.
    let good: Vec<_> = seen.frames.iter().filter(|f| f.outcome == Outcome::Received).collect();
    assert!(good.windows(2).all(|w| w[0].end < w[1].start));
}

#[test]
fn the_queue_drops_at_its_tail_and_airtime_sums_to_elapsed_time() {
    let mut link = Ethernet::new(EthernetConfig::ten_megabit(2), StreamKey::new(1));
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
