//! Stations that always have a packet to send, and what they achieve.

use airperf_link::{Destination, FrameEvent, FrameKind, Link, Outcome, Outlet, Packet, StationId};
use airperf_units::Time;

/// What saturated stations achieved.
#[derive(Clone, Debug, Default)]
pub struct Saturation {
    /// Packets delivered, by sending station.
    pub delivered: Vec<u64>,
    /// Data frames (or RTS) sent: attempts.
    pub attempts: u64,
    /// Attempts that collided.
    pub collided: u64,
    /// Times the medium was seized, by one station or by several at once.
    pub seizures: u64,
    /// Seizures by several stations at once.
    pub collisions: u64,
    /// Measured seconds.
    pub seconds: f64,
}

impl Saturation {
    /// Throughput of all stations together in Mbit/s, counting `bytes` per packet.
    pub fn mbps(&self, bytes: u32) -> f64 {
        self.delivered.iter().sum::<u64>() as f64 * f64::from(bytes) * 8.0 / self.seconds / 1e6
    }

    /// Probability that an attempt collides.
    pub fn collision_share(&self) -> f64 {
        self.collided as f64 / self.attempts as f64
    }
}

#[derive(Default)]
struct Counter {
    delivered: Vec<u64>,
    freed: Vec<StationId>,
    attempts: u64,
    collided: u64,
    seizures: u64,
    collisions: u64,
    busy_until: Time,
}

impl Outlet<u16> for Counter {
    fn delivered(&mut self, _: Time, _: StationId, packet: &Packet<u16>) {
        self.delivered[usize::from(packet.payload)] += 1;
    }

    fn departed(&mut self, _: Time, from: StationId, _: &Packet<u16>) {
        self.freed.push(from);
    }

    fn frame(&mut self, frame: &FrameEvent, _: Option<&Packet<u16>>) {
        let collided = frame.outcome == Outcome::Collided;
        if matches!(frame.kind, FrameKind::Data | FrameKind::Rts) {
            self.attempts += 1;
            self.collided += u64::from(collided);
            let seizes = frame.start >= self.busy_until;
            self.seizures += u64::from(seizes);
            self.collisions += u64::from(seizes && collided);
        }
        self.busy_until = self.busy_until.max(frame.end);
    }
}

/// Keeps stations `0..senders` saturated with packets of `bytes` to station `sink` for `seconds`.
pub fn saturate<L: Link<u16>>(link: &mut L, senders: u16, sink: u16, bytes: u32, seconds: u64) -> Saturation {
    let mut seen = Counter { delivered: vec![0; usize::from(senders)], ..Counter::default() };
    let end = Time::from_ns(seconds * 1_000_000_000);
    let packet = |from: u16| Packet { to: Destination::Station(StationId(sink)), bytes, payload: from };
    for from in 0..senders {
        link.arrive(Time::ZERO, StationId(from), packet(from));
        link.arrive(Time::ZERO, StationId(from), packet(from));
    }
    while let Some(at) = link.next_event().filter(|&at| at <= end) {
        link.poll(at, &mut seen);
        while let Some(from) = seen.freed.pop() {
            link.arrive(at, from, packet(from.0));
        }
    }
    Saturation {
        delivered: seen.delivered,
        attempts: seen.attempts,
        collided: seen.collided,
        seizures: seen.seizures,
        collisions: seen.collisions,
        seconds: seconds as f64,
    }
}
