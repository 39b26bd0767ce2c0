//! What must hold whatever arrives when: conservation, airtime, no overlap, and polling that changes nothing.

mod common;

use airperf_link::{Arrival, FrameEvent, Link, LossCause, Outcome, Outlet, Packet, StationId};
use airperf_units::{Duration, StreamKey, Time};
use airperf_wifi::{Config, Domain};
use common::{Seen, config, packet};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Load {
    config: Config,
    /// Gap to the arrival before, sender, receiver, bytes.
    arrivals: Vec<(u64, u16, u16, u32)>,
}

fn load() -> impl Strategy<Value = Load> {
    let stations = 2usize..6;
    stations.prop_flat_map(|n| {
        let arrival = (0u64..3_000_000, 0..n as u16, 1..n as u16, 40u32..=1500);
        let errors = prop::sample::select(vec![0.0, 0.2]);
        let gaps = prop::sample::select(vec![0u64, 137]);
        (prop::collection::vec(arrival, 1..120), errors, gaps, any::<bool>(), any::<bool>()).prop_map(
            move |(raw, error, gap, rts, beacons)| {
                let mut config = config(n);
                config.rts_threshold = rts.then_some(700);
                config.beacons = beacons;
                for station in &mut config.stations {
                    station.frame_error = error;
                    station.ack_error = error / 2.0;
                    station.host_gap = Duration::from_us(gap);
                    station.host_gap_spread = 0.5;
                    station.queue_packets = 5;
                }
                // Mostly bursts, so that queues fill and stations contend.
                let arrivals = raw
                    .into_iter()
                    .map(|(after, from, step, bytes)| (after / 3, from, (from + step) % n as u16, bytes))
                    .collect();
                Load { config, arrivals }
            },
        )
    })
}

/// Plays the load; polls at every event and, if `often`, also at arbitrary instants between.
fn play(load: &Load, often: bool) -> (Seen, Domain<u32>, u64) {
    let mut link = Domain::new(load.config.clone(), StreamKey::new(5)).expect("a valid configuration");
    let (mut seen, mut now, mut refused) = (Seen::default(), Time::ZERO, 0);
    for (i, &(after, from, to, bytes)) in load.arrivals.iter().enumerate() {
        let next = now + Duration::from_ns(after);
        if often {
            for part in 1..7 {
                link.poll(now + Duration::from_ns(after * part / 7), &mut seen);
            }
        }
        now = next;
        link.poll(now, &mut seen);
        let arrival = link.arrive(now, StationId(from), packet(to, bytes, i as u32));
        refused += u64::from(arrival != Arrival::Queued);
    }
    now += Duration::from_secs(20);
    link.poll(now, &mut seen);
    (seen, link, refused)
}

/// Wants to act on every delivery and loss at its own instant.
#[derive(Default)]
struct Pausing {
    seen: Seen,
    since: Option<Time>,
}

impl Outlet<u32> for Pausing {
    fn delivered(&mut self, at: Time, to: StationId, packet: &Packet<u32>) {
        self.since = Some(at);
        self.seen.delivered(at, to, packet);
    }
    fn lost(&mut self, at: Time, from: StationId, packet: &Packet<u32>, cause: LossCause) {
        self.since = Some(at);
        self.seen.lost(at, from, packet, cause);
    }
    fn departed(&mut self, at: Time, from: StationId, packet: &Packet<u32>) {
        self.seen.departed(at, from, packet);
    }
    fn frame(&mut self, frame: &FrameEvent, packet: Option<&Packet<u32>>) {
        self.seen.frame(frame, packet);
    }
    fn is_waiting(&self) -> bool {
        self.since.is_some()
    }
}

/// Plays the load by [`Link::run`] and checks where it stops.
fn play_by_run(load: &Load) -> Seen {
    let mut link = Domain::new(load.config.clone(), StreamKey::new(5)).expect("a valid configuration");
    let (mut pausing, mut now) = (Pausing::default(), Time::ZERO);
    let run_to = |link: &mut Domain<u32>, pausing: &mut Pausing, end: Time| loop {
        let stopped = link.run(end, pausing);
        assert_eq!(link.present(), stopped);
        match pausing.since.take() {
            Some(at) => assert_eq!(stopped, at, "stopped late"),
            None => return assert_eq!(stopped, end, "stopped for nothing"),
        }
        assert!(link.next_event().is_none_or(|next| next > stopped), "something else was due at once");
    };
    for (i, &(after, from, to, bytes)) in load.arrivals.iter().enumerate() {
        now += Duration::from_ns(after);
        run_to(&mut link, &mut pausing, now);
        link.arrive(now, StationId(from), packet(to, bytes, i as u32));
    }
    run_to(&mut link, &mut pausing, now + Duration::from_secs(20));
    pausing.seen
}

/// A countdown that ends in the very nanosecond of a beacon is frozen, not forgotten.
#[test]
fn saturated_stations_keep_sending_beside_beacons() {
    let mut config = config(4);
    config.beacons = true;
    let mut link = Domain::new(config, StreamKey::new(1)).expect("a valid configuration");
    let (mut seen, mut now) = (Seen::default(), Time::ZERO);
    let (end, mut last) = (Time::from_ns(600_000_000_000), [Time::ZERO; 3]);
    for from in 0..3u16 {
        link.arrive(now, StationId(from), packet(3, 1500, from.into()));
    }
    while now < end {
        now = link.next_event().expect("a beacon always comes");
        link.poll(now, &mut seen);
        for (at, from) in seen.departed.drain(..) {
            last[from as usize] = at;
            link.arrive(now, StationId(from as u16), packet(3, 1500, from));
        }
        seen.frames.clear();
        seen.delivered.clear();
    }
    for (from, at) in last.into_iter().enumerate() {
        assert!(at + Duration::from_secs(2) > end, "station {from} fell silent at {at}");
    }
}

fn overlaps(a: &FrameEvent, b: &FrameEvent) -> bool {
    a.start < b.end && b.start < a.end
}

/// A packet arrives in the nanosecond in which one station begins, and another is to begin a little later.
#[test]
fn who_joins_a_collision_stands_before_who_is_still_to_begin() {
    let mut config = config(3);
    config.retry_limit = Some(7);
    for station in &mut config.stations {
        (station.queue_packets, station.frame_error, station.ack_error) = (5, 0.2, 0.1);
    }
    let arrivals = vec![(44_437, 0, 1, 546), (742_618, 0, 1, 40), (197_820, 2, 0, 40), (33_125, 1, 2, 40)];
    let (seen, _, _) = play(&Load { config, arrivals }, false);
    let collided = seen.frames.iter().filter(|frame| frame.outcome == Outcome::Collided).count();
    assert_eq!(collided, 3, "the case is no longer the one it was");
    assert!(seen.frames.windows(2).all(|w| w[0].start <= w[1].start));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn polling_often_changes_nothing(load in load()) {
        prop_assert_eq!(play(&load, false).0, play(&load, true).0);
    }

    #[test]
    fn running_stops_at_each_delivery_and_shows_what_polling_shows(load in load()) {
        prop_assert_eq!(play(&load, false).0, play_by_run(&load));
    }

    #[test]
    fn packets_are_conserved_and_airtime_sums(load in load()) {
        let (seen, link, refused) = play(&load, false);
        let offered = load.arrivals.len() as u64;
        prop_assert_eq!(offered, refused + seen.departed.len() as u64);
        let mut ids: Vec<u32> = seen.departed.iter().map(|d| d.1).collect();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), seen.departed.len(), "every packet departs once");
        prop_assert_eq!(seen.delivered.len() + seen.lost.len(), seen.departed.len());
        let total: Duration = link.airtime().into_iter().map(|(_, d)| d).sum();
        prop_assert_eq!(Time::ZERO + total, link.present());
    }

    #[test]
    fn only_collided_frames_overlap_and_order_is_by_start(load in load()) {
        let (seen, _, _) = play(&load, false);
        prop_assert!(seen.frames.windows(2).all(|w| w[0].start <= w[1].start));
        for pair in seen.frames.windows(2) {
            let collided = |f: &FrameEvent| f.outcome == Outcome::Collided;
            prop_assert!(!overlaps(&pair[0], &pair[1]) || (collided(&pair[0]) && collided(&pair[1])));
        }
    }
}
