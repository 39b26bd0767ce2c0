//! An outlet that writes everything down, and shorthands.

#![allow(dead_code, reason = "each test binary uses its part")]

use airperf_link::{Destination, FrameEvent, FrameKind, Link, LossCause, Outcome, Outlet, Packet, StationId};
use airperf_units::{Rate, StreamKey, Time};
use airperf_wifi::{Config, Domain, StationConfig};

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Seen {
    pub(crate) delivered: Vec<(Time, StationId, u32)>,
    pub(crate) lost: Vec<(Time, u32, LossCause)>,
    pub(crate) departed: Vec<(Time, u32)>,
    pub(crate) frames: Vec<FrameEvent>,
}

impl Seen {
    pub(crate) fn data(&self) -> Vec<&FrameEvent> {
        self.frames.iter().filter(|f| f.kind == FrameKind::Data).collect()
    }

    pub(crate) fn count(&self, kind: FrameKind, outcome: Outcome) -> usize {
        self.frames.iter().filter(|f| f.kind == kind && f.outcome == outcome).count()
    }
}

impl Outlet<u32> for Seen {
    fn delivered(&mut self, at: Time, to: StationId, packet: &Packet<u32>) {
        self.delivered.push((at, to, packet.payload));
    }
    fn lost(&mut self, at: Time, _: StationId, packet: &Packet<u32>, cause: LossCause) {
        self.lost.push((at, packet.payload, cause));
    }
    fn departed(&mut self, at: Time, _: StationId, packet: &Packet<u32>) {
        self.departed.push((at, packet.payload));
    }
    fn frame(&mut self, frame: &FrameEvent, _: Option<&Packet<u32>>) {
        self.frames.push(*frame);
    }
}

pub(crate) fn us(us: u64) -> Time {
    Time::from_ns(us * 1_000)
}

pub(crate) fn packet(to: u16, bytes: u32, payload: u32) -> Packet<u32> {
    Packet { to: Destination::Station(StationId(to)), bytes, payload }
}

pub(crate) fn config(stations: usize) -> Config {
    Config::dot11b(vec![StationConfig::at(Rate::mbps(11)); stations])
}

pub(crate) fn domain(config: Config) -> Domain<u32> {
    Domain::new(config, StreamKey::new(1)).expect("a valid configuration")
}

/// Polls event by event until nothing is left to happen or `end` is reached.
pub(crate) fn drain(link: &mut Domain<u32>, seen: &mut Seen, end: Time) {
    while let Some(at) = link.next_event().filter(|&at| at <= end) {
        link.poll(at, seen);
    }
    link.poll(end, seen);
}
