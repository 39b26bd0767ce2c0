//! Half-duplex Ethernet: every station on one segment, CSMA/CD.
//!
//! 1-persistent access with an interframe gap, collisions within one propagation delay, jam, and truncated
//! binary exponential backoff. Reference: IEEE 802.3-2018 clause 4 (media access control) and table 4-2
//! (values for 1, 10 and 100 Mbit/s). Left out: full duplex and switches ([`crate::switch`]), late collisions,
//! the capture effect's counter-measures, frame errors.

use crate::{
    Arrival, Destination, DropCause, FrameEvent, FrameKind, Heard, Link, LossCause, Outcome, Outlet, Packet,
    QueueMeter, QueueStats, StationId,
};
use airperf_units::{Duration, Rate, Stream, StreamKey, Time};
use std::collections::VecDeque;

/// MAC addresses, type and frame check sequence around a packet (IEEE 802.3-2018 §3.1.1).
const HEADER_BYTES: u32 = 14 + 4;
/// minFrameSize, table 4-2.
const MIN_FRAME_BYTES: u32 = 64;
/// Preamble and start-of-frame delimiter, §3.1.1.
pub(crate) const PREAMBLE_BYTES: u32 = 8;
/// jamSize, table 4-2: 32 bits.
const JAM_BYTES: u32 = 4;
/// interPacketGap, table 4-2: 96 bit times.
pub(crate) const GAP_BYTES: u32 = 12;
/// slotTime, table 4-2: 512 bit times.
const SLOT_BYTES: u32 = 64;
/// attemptLimit, table 4-2.
const ATTEMPT_LIMIT: u32 = 16;
/// backoffLimit, table 4-2.
const BACKOFF_LIMIT: u32 = 10;

/// Octets of the frame around an IP packet of `packet_bytes`, padded to the smallest frame.
pub(crate) fn frame_bytes(packet_bytes: u32) -> u32 {
    (packet_bytes + HEADER_BYTES).max(MIN_FRAME_BYTES)
}

/// Configuration of one shared segment.
#[derive(Clone, Debug, PartialEq)]
pub struct EthernetConfig {
    /// Rate of the segment.
    pub rate: Rate,
    /// The stations, in the order of their ids.
    pub stations: Vec<EthernetStation>,
    /// Longest IP packet.
    pub mtu: u32,
    /// One-way propagation delay between any two stations.
    pub propagation: Duration,
}

/// Configuration of one station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EthernetStation {
    /// Places in its transmit queue; the frame being sent is not counted.
    pub queue_packets: u32,
}

impl EthernetConfig {
    /// 10 Mbit/s on a few metres of cable, with transmit queues of 100 packets.
    pub fn ten_megabit(stations: usize) -> Self {
        Self {
            rate: Rate::mbps(10),
            stations: vec![EthernetStation { queue_packets: 100 }; stations],
            mtu: 1500,
            propagation: Duration::from_ns(100),
        }
    }
}

#[derive(Clone, Debug)]
struct Station<P> {
    queue: VecDeque<Packet<P>>,
    places: usize,
    meter: QueueMeter,
    /// Attempts made for the head frame.
    attempts: u32,
    sequence: u16,
    /// When it will next begin to send; later than the medium's end for a backoff.
    due: Option<Time>,
    backoff: Stream,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Free,
    Sending { from: StationId, start: Time, until: Time },
}

/// One half-duplex Ethernet segment; see the module.
#[derive(Clone, Debug)]
pub struct Ethernet<P> {
    config: EthernetConfig,
    stations: Vec<Station<P>>,
    phase: Phase,
    /// When the medium last fell silent.
    silent_since: Time,
    present: Time,
    late_arrivals: u64,
    spent: Spent,
}

#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    until: Time,
    data: Duration,
    headers: Duration,
    collision: Duration,
    gap_and_backoff: Duration,
    idle: Duration,
    wanted_since: Option<Time>,
}

impl<P> Ethernet<P> {
    /// A silent segment at time zero with empty queues.
    pub fn new(config: EthernetConfig, key: StreamKey) -> Self {
        let stations = (0u64..)
            .zip(&config.stations)
            .map(|(i, station)| Station {
                queue: VecDeque::with_capacity(station.queue_packets as usize + 1),
                places: station.queue_packets as usize + 1,
                meter: QueueMeter::default(),
                attempts: 0,
                sequence: 0,
                due: None,
                backoff: key.indexed("ethernet.backoff", i),
            })
            .collect();
        Self {
            stations,
            phase: Phase::Free,
            silent_since: Time::ZERO,
            present: Time::ZERO,
            late_arrivals: 0,
            spent: Spent::default(),
            config,
        }
    }

    fn octets(&self, bytes: u32) -> Duration {
        self.config.rate.time_for(u64::from(bytes))
    }

    /// When a station that wants the medium at `now` may begin: at once if it has been silent for the gap.
    fn clear_at(&self, now: Time) -> Time {
        now.max(self.silent_since + self.octets(GAP_BYTES))
    }

    fn first_due(&self) -> Option<Time> {
        self.stations.iter().filter_map(|s| s.due).min()
    }

    fn next(&self) -> Option<Time> {
        match self.phase {
            Phase::Free => self.first_due().map(|due| due + self.config.propagation),
            Phase::Sending { until, .. } => Some(until),
        }
    }

    fn advance<O: Outlet<P>>(&mut self, at: Time, out: &mut O) {
        match self.phase {
            Phase::Free => self.begin(out),
            Phase::Sending { from, start, .. } => self.frame_ends(from, start, at, out),
        }
    }

    /// One propagation delay after the first station began: everybody who began by now collides.
    fn begin<O: Outlet<P>>(&mut self, out: &mut O) {
        let start = self.first_due().expect("somebody was due");
        let heard = start + self.config.propagation;
        self.post_wait(start);
        let due = |s: &Station<P>| s.due.is_some_and(|due| due <= heard);
        let senders = self.stations.iter().filter(|s| due(s)).count();
        if senders > 1 {
            return self.collide(start, heard, out);
        }
        let index = self.stations.iter().position(due).expect("somebody was due");
        let station = &mut self.stations[index];
        station.due = None;
        station.attempts += 1;
        let bytes = station.queue.front().map_or(0, |packet| frame_bytes(packet.bytes));
        let until = start + self.octets(PREAMBLE_BYTES + bytes);
        self.phase = Phase::Sending { from: StationId(index as u16), start, until };
    }

    fn collide<O: Outlet<P>>(&mut self, start: Time, heard: Time, out: &mut O) {
        let end = heard + self.octets(PREAMBLE_BYTES + JAM_BYTES);
        self.silent_since = end;
        self.spent.collision += end - start;
        self.spent.until = end;
        let resume = end + self.octets(GAP_BYTES);
        for index in 0..self.stations.len() {
            let began = self.stations[index].due.filter(|&due| due <= heard);
            let Some(began) = began else {
                // Whoever waits defers to the end of the jam.
                let due = &mut self.stations[index].due;
                *due = due.map(|at| at.max(resume));
                continue;
            };
            self.stations[index].attempts += 1;
            self.show(StationId(index as u16), began, end, Outcome::Collided, out);
            if self.stations[index].attempts >= ATTEMPT_LIMIT {
                self.retire(index, end, true, out);
                self.stations[index].due = self.stations[index].queue.front().map(|_| resume);
                continue;
            }
            let slot = self.octets(SLOT_BYTES);
            let station = &mut self.stations[index];
            let doublings = station.attempts.min(BACKOFF_LIMIT);
            let slots = station.backoff.up_to((1 << doublings) - 1);
            station.due = Some(resume + slot * u64::from(slots));
        }
        self.note_want(end);
    }

    fn frame_ends<O: Outlet<P>>(&mut self, from: StationId, start: Time, at: Time, out: &mut O) {
        self.phase = Phase::Free;
        self.silent_since = at;
        self.show(from, start, at, Outcome::Received, out);
        let packet = &self.stations[from.index()].queue[0];
        let data = self.octets(packet.bytes);
        self.spent.data += data;
        self.spent.headers += (at - start) - data;
        self.spent.until = at;
        match packet.to {
            Destination::Station(to) => out.delivered(at, to, packet),
            Destination::Broadcast => (0..self.stations.len() as u16)
                .filter(|&to| to != from.0)
                .for_each(|to| out.delivered(at, StationId(to), packet)),
        }
        self.retire(from.index(), at, false, out);
        let clear = at + self.octets(GAP_BYTES);
        self.stations[from.index()].due = self.stations[from.index()].queue.front().map(|_| clear);
        for station in &mut self.stations {
            station.due = station.due.map(|due| due.max(clear));
        }
        self.note_want(at);
    }

    fn retire<O: Outlet<P>>(&mut self, index: usize, at: Time, lost: bool, out: &mut O) {
        let from = StationId(index as u16);
        let station = &mut self.stations[index];
        let packet = station.queue.pop_front().expect("a station that sent has a head frame");
        station.attempts = 0;
        station.sequence = (station.sequence + 1) % 4096;
        station.meter.departed(lost);
        station.meter.set_depth(at, (station.queue.len() as u32).saturating_sub(1));
        if lost {
            out.lost(at, from, &packet, LossCause::RetryLimit);
        }
        out.departed(at, from, &packet);
    }

    fn show<O: Outlet<P>>(&self, from: StationId, start: Time, end: Time, outcome: Outcome, out: &mut O) {
        let station = &self.stations[from.index()];
        let packet = &station.queue[0];
        let frame = FrameEvent {
            start,
            end,
            from,
            to: packet.to,
            kind: FrameKind::Data,
            rate: self.config.rate,
            bytes: frame_bytes(packet.bytes),
            sequence: station.sequence,
            attempt: station.attempts.min(255) as u8,
            outcome,
            sniffer: if outcome == Outcome::Received { Heard::Good } else { Heard::BadFcs },
        };
        out.frame(&frame, Some(packet));
    }

    fn note_want(&mut self, at: Time) {
        self.spent.wanted_since = self.first_due().map(|_| at);
    }

    /// Splits the silence before a transmission into idle time and waiting.
    fn post_wait(&mut self, start: Time) {
        let wanted = self.spent.wanted_since.unwrap_or(start).clamp(self.spent.until, start);
        self.spent.idle += wanted - self.spent.until;
        self.spent.gap_and_backoff += start - wanted;
        self.spent.until = start;
    }
}

impl<P> Link<P> for Ethernet<P> {
    fn arrive(&mut self, now: Time, from: StationId, packet: Packet<P>) -> Arrival {
        self.late_arrivals += u64::from(now < self.present);
        let now = now.max(self.present);
        self.present = now;
        if let Some(cause) = packet.impossible(from, self.stations.len(), self.config.mtu) {
            return Arrival::Dropped(cause);
        }
        let clear = match self.phase {
            Phase::Free => self.clear_at(now),
            Phase::Sending { until, .. } => until,
        };
        let station = &mut self.stations[from.index()];
        station.meter.offered();
        if station.queue.len() >= station.places {
            station.meter.dropped();
            return Arrival::Dropped(DropCause::QueueFull);
        }
        station.queue.push_back(packet);
        station.meter.set_depth(now, station.queue.len() as u32 - 1);
        if station.queue.len() == 1 {
            station.due = Some(clear);
            if self.spent.wanted_since.is_none() {
                self.spent.wanted_since = Some(now);
            }
        }
        Arrival::Queued
    }

    fn poll<O: Outlet<P>>(&mut self, now: Time, out: &mut O) {
        while let Some(at) = self.next()
            && at <= now
        {
            self.present = at;
            self.advance(at, out);
        }
        self.present = self.present.max(now);
    }

    fn next_event(&self) -> Option<Time> {
        self.next()
    }

    fn present(&self) -> Time {
        self.present
    }

    fn late_arrivals(&self) -> u64 {
        self.late_arrivals
    }

    fn queue(&self, station: StationId) -> QueueStats {
        self.stations[station.index()].meter.read(self.present)
    }

    fn stations(&self) -> u16 {
        self.stations.len() as u16
    }

    fn airtime(&self) -> Vec<(&'static str, Duration)> {
        let spent = &self.spent;
        let open = self.present.saturating_since(spent.until);
        let idle = self.phase == Phase::Free && self.first_due().is_none();
        let (idle, unfinished) = if idle { (spent.idle + open, Duration::ZERO) } else { (spent.idle, open) };
        vec![
            ("data", spent.data),
            ("headers", spent.headers),
            ("ifs", spent.gap_and_backoff),
            ("collision", spent.collision),
            ("idle", idle),
            ("unfinished", unfinished),
        ]
    }
}

#[cfg(test)]
mod tests;
