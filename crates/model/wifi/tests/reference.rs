//! The domain against a plain reference that keeps one countdown per station and looks at all of them at
//! every step: no ring, no virtual time, no folding. Same streams, so every frame must start at the same
//! nanosecond.

mod common;

use airperf_link::{FrameKind, Link, StationId};
use airperf_units::{Duration, Stream, StreamKey, Time};
use airperf_wifi::{Config, Domain};
use common::{Seen, config, drain, packet};
use proptest::prelude::*;
use std::collections::VecDeque;

/// Packet arrival: when, from whom, how long. Everything goes to the last station, which never sends.
type Arrivals = Vec<(Time, usize, u32)>;

struct Station {
    queue: VecDeque<u32>,
    cw: u32,
    attempts: u32,
    /// Slots left of the backoff, counted from `resume` on while the medium is idle.
    left: u64,
    resume: Time,
    /// When it will send without having drawn a backoff, if it will.
    immediate: Option<Time>,
    backoff: Stream,
    gap: Stream,
}

impl Station {
    fn start(&self, slot: Duration) -> Option<Time> {
        self.queue.front()?;
        Some(self.immediate.unwrap_or(self.resume + slot * self.left))
    }

    fn left_at(&self, now: Time, slot: Duration) -> u64 {
        self.left.saturating_sub(now.saturating_since(self.resume).whole(slot))
    }

    fn draw(&mut self) {
        self.left = u64::from(self.backoff.up_to(self.cw));
        self.immediate = None;
    }
}

/// Starts of all data frames in order, by the reference.
fn reference(config: &Config, key: StreamKey, arrivals: &Arrivals) -> Vec<(Time, u16)> {
    let phy = &config.phy;
    let n = config.stations.len();
    let (ack, timeout) = (phy.airtime(14, config.control_rate), phy.sifs + phy.slot + phy.preamble);
    let eifs = phy.sifs + ack + phy.difs;
    let mut stations: Vec<Station> = (0..n as u64)
        .map(|i| Station {
            queue: VecDeque::new(),
            cw: 31,
            attempts: 0,
            left: 0,
            resume: Time::ZERO + phy.difs,
            immediate: None,
            backoff: key.indexed("wifi.backoff", i),
            gap: key.indexed("wifi.host_gap", i),
        })
        .collect();
    let mut frames = Vec::new();
    let mut arrivals = arrivals.iter().copied().peekable();
    loop {
        // Idle medium: arrivals until somebody starts.
        let start = loop {
            let first = stations.iter().filter_map(|s| s.start(phy.slot)).min();
            match (first, arrivals.peek()) {
                (Some(first), next) if next.is_none_or(|&(at, ..)| first < at) => break first,
                (None, None) => return frames,
                _ => {
                    let (at, from, bytes) = arrivals.next().expect("peeked");
                    let s = &mut stations[from];
                    s.queue.push_back(bytes);
                    if s.queue.len() == 1 && s.left_at(at, phy.slot) == 0 {
                        s.immediate = Some(at.max(s.resume));
                    }
                }
            }
        };
        // Whoever starts within the CCA time sends too, also on an arrival inside it.
        let deaf_until = start + phy.cca;
        let mut senders: Vec<(Time, usize)> = stations
            .iter()
            .enumerate()
            .filter_map(|(i, s)| Some((s.start(phy.slot)?, i)).filter(|&(at, _)| at < deaf_until))
            .collect();
        for (i, s) in stations.iter_mut().enumerate() {
            if senders.iter().any(|&(_, sender)| sender == i) {
                continue;
            }
            s.left = s.left_at(start, phy.slot);
            if s.immediate.take().is_some() {
                s.draw();
            }
        }
        senders.sort_unstable();
        let airtime = |s: &Station| phy.airtime(s.queue[0] + 36, config.stations[0].rate);
        let mut data_end = senders.iter().map(|&(at, i)| at + airtime(&stations[i])).max().expect("a sender");
        let mut busy_until = if senders.len() == 1 { data_end + phy.sifs + ack } else { data_end };
        while let Some(&(at, from, bytes)) = arrivals.peek().filter(|&&(at, ..)| at <= busy_until) {
            // At the instant the medium falls silent the station sees it silent.
            if at == busy_until {
                break;
            }
            arrivals.next();
            let s = &mut stations[from];
            s.queue.push_back(bytes);
            if s.queue.len() > 1 {
                continue;
            }
            if s.left == 0 && at < deaf_until {
                senders.push((at, from));
                data_end = data_end.max(at + airtime(&stations[from]));
                busy_until = data_end;
            } else if s.left == 0 {
                s.draw();
            }
        }
        frames.extend(senders.iter().map(|&(at, i)| (at, i as u16)));
        let success = senders.len() == 1;
        for (i, s) in stations.iter_mut().enumerate() {
            s.resume = busy_until + if success { phy.difs } else { eifs };
            let Some(&(at, _)) = senders.iter().find(|&&(_, sender)| sender == i) else { continue };
            s.attempts += 1;
            let mut gap = Duration::ZERO;
            if success || s.attempts > u32::from(config.retry_limit.expect("a limit")) {
                if !success {
                    s.cw = (2 * s.cw + 1).min(1023);
                }
                let end = at + airtime(s);
                s.queue.pop_front();
                (s.cw, s.attempts) = (31, 0);
                gap = s.gap.spread(config.stations[i].host_gap, config.stations[i].host_gap_spread);
                s.resume = if success { s.resume } else { busy_until.max(end + timeout) + phy.difs };
            } else {
                s.cw = (2 * s.cw + 1).min(1023);
                s.resume = busy_until.max(at + airtime(s) + timeout) + phy.difs;
            }
            s.resume += gap;
            s.draw();
        }
    }
}

fn model(config: &Config, key: StreamKey, arrivals: &Arrivals) -> Vec<(Time, u16)> {
    let mut link = Domain::new(config.clone(), key).expect("a valid configuration");
    let mut seen = Seen::default();
    let sink = config.stations.len() as u16 - 1;
    for &(at, from, bytes) in arrivals {
        link.poll(at, &mut seen);
        link.arrive(at, StationId(from as u16), packet(sink, bytes, 0));
    }
    let end = link.present() + Duration::from_secs(100);
    drain(&mut link, &mut seen, end);
    seen.frames.iter().filter(|f| f.kind == FrameKind::Data).map(|f| (f.start, f.from.0)).collect()
}

fn case() -> impl Strategy<Value = (Config, Arrivals, u64)> {
    (2usize..7).prop_flat_map(|senders| {
        let arrival = (0u64..2_500, 0..senders, 40u32..=1500);
        let load = prop::collection::vec(arrival, 1..150);
        let gap = prop::sample::select(vec![0u64, 150]);
        (load, gap, 0u64..1000, any::<bool>()).prop_map(move |(raw, gap, seed, bursty)| {
            let mut config = config(senders + 1);
            config.retry_limit = Some(4);
            for s in &mut config.stations {
                s.host_gap = Duration::from_us(gap);
                s.host_gap_spread = 0.5;
                s.queue_packets = 1000;
            }
            let mut at = Time::ZERO;
            let arrivals = raw
                .into_iter()
                .map(|(after, from, bytes)| {
                    at += Duration::from_us(if bursty { after % 60 } else { after }) + Duration::from_ns(1);
                    (at, from, bytes)
                })
                .collect();
            (config, arrivals, seed)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn every_frame_starts_when_the_reference_says((config, arrivals, seed) in case()) {
        let key = StreamKey::new(seed);
        let (mut ours, mut theirs) = (model(&config, key, &arrivals), reference(&config, key, &arrivals));
        // Who is named first among frames that start together is free.
        ours.sort_unstable();
        theirs.sort_unstable();
        if let Some(i) = ours.iter().zip(&theirs).position(|(a, b)| a != b) {
            prop_assert!(false, "frame {i}: ours {:?}, reference {:?}", ours[i], theirs[i]);
        }
        prop_assert_eq!(ours.len(), theirs.len());
    }
}
