//! Switched Ethernet: every station has a full-duplex port of its own on one store-and-forward switch.
//!
//! A frame goes from its sender's transmit queue over the sender's wire, waits in the switch for the receiver's port
//! and goes over the receiver's wire; nothing collides, and both directions of a wire are busy at once. The switch
//! holds a bounded queue in front of each port and drops at its tail. Reference: IEEE 802.3-2018 clause 4A (the
//! full-duplex MAC), §3.1.1 and table 4-2 (frame, gap); IEEE 802.1Q-2018 §8.6 (store and forward, queues per port).
//! Left out: pause frames, priorities, learning of addresses (the switch knows them all), cut-through, frame errors.
//! A frame is shown once, on its sender's wire; one the switch drops was seen there and is lost as not received.

use crate::ethernet::{EthernetStation, GAP_BYTES, PREAMBLE_BYTES, frame_bytes};
use crate::{
    Agenda, Arrival, Destination, DropCause, FrameEvent, FrameKind, Heard, Link, LossCause, Outcome, Outlet,
    Packet, Places, QueueMeter, QueueStats, StationId, Usage,
};
use airperf_units::{Duration, Rate, Time};
use std::collections::VecDeque;

/// Configuration of a switch with its stations.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchConfig {
    /// Rate of every port.
    pub rate: Rate,
    /// The stations, in the order of their ids.
    pub stations: Vec<EthernetStation>,
    /// Longest IP packet.
    pub mtu: u32,
    /// One-way propagation delay of each wire.
    pub propagation: Duration,
    /// Time from a frame's last octet in the switch to its place in the queue of its port.
    pub forwarding: Duration,
    /// Places in the switch's queue in front of each port; the frame being sent is not counted.
    pub port_queue_packets: u32,
}

impl SwitchConfig {
    /// 100 Mbit/s on a few metres of cable. 5 µs of forwarding and 200 places a port are ours: an ordinary switch of
    /// the study's time, so that a queue of the host and not the switch's overflows first.
    pub fn fast(stations: usize) -> Self {
        Self {
            rate: Rate::mbps(100),
            stations: vec![EthernetStation { queue_packets: 100 }; stations],
            mtu: 1500,
            propagation: Duration::from_ns(100),
            forwarding: Duration::from_us(5),
            port_queue_packets: 200,
        }
    }
}

/// A station's side of its wire.
#[derive(Clone, Debug)]
struct Host {
    queue: VecDeque<u32>,
    places: usize,
    meter: QueueMeter,
    /// Sending, in the gap after that, or about to begin.
    busy: bool,
    sequence: u16,
}

/// The switch's side of a wire.
#[derive(Clone, Debug, Default)]
struct Port {
    queue: VecDeque<u32>,
    busy: bool,
}

/// A packet on the link.
#[derive(Clone, Debug)]
struct Carried<P> {
    packet: Packet<P>,
    from: StationId,
    /// Copies the switch still has.
    copies: u32,
    delivered: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A station begins with its head frame.
    Begin(u16),
    /// Its last octet has left.
    Sent(u16),
    /// The gap after it is over.
    HostFree(u16),
    /// A frame is wholly in the switch and its port known.
    Switched(u32),
    /// The gap after a frame of the switch's is over.
    PortFree(u16),
    /// A frame has reached the station.
    Delivered(u16, u32),
}

/// A switch and its stations; see the module.
#[derive(Clone, Debug)]
pub struct Switch<P> {
    config: SwitchConfig,
    hosts: Vec<Host>,
    ports: Vec<Port>,
    carried: Places<Carried<P>>,
    events: Agenda<Event>,
    present: Time,
    late_arrivals: u64,
    /// Directions of wires in use.
    usage: Usage,
}

impl<P> Switch<P> {
    /// A silent switch at time zero with empty queues.
    pub fn new(config: SwitchConfig) -> Self {
        let hosts = config
            .stations
            .iter()
            .map(|station| Host {
                queue: VecDeque::with_capacity(station.queue_packets as usize + 1),
                places: station.queue_packets as usize + 1,
                meter: QueueMeter::default(),
                busy: false,
                sequence: 0,
            })
            .collect();
        Self {
            hosts,
            ports: vec![Port::default(); config.stations.len()],
            carried: Places::default(),
            events: Agenda::default(),
            present: Time::ZERO,
            late_arrivals: 0,
            usage: Usage::default(),
            config,
        }
    }

    fn octets(&self, bytes: u32) -> Duration {
        self.config.rate.time_for(u64::from(bytes))
    }

    fn happen<O: Outlet<P>>(&mut self, now: Time, event: Event, out: &mut O) {
        match event {
            Event::Begin(station) => self.begin(now, station, out),
            Event::Sent(station) => {
                let host = &mut self.hosts[usize::from(station)];
                let place = host.queue.pop_front().expect("a station that sends has a head frame");
                host.meter.departed(false);
                host.meter.set_depth(now, (host.queue.len() as u32).saturating_sub(1));
                self.events
                    .at(now + self.config.propagation + self.config.forwarding, Event::Switched(place));
                self.events.at(now + self.octets(GAP_BYTES), Event::HostFree(station));
            }
            Event::HostFree(station) => {
                self.usage.count(now, false);
                if self.hosts[usize::from(station)].queue.is_empty() {
                    self.hosts[usize::from(station)].busy = false;
                } else {
                    self.begin(now, station, out);
                }
            }
            Event::Switched(place) => self.forward(now, place, out),
            Event::PortFree(station) => {
                self.usage.count(now, false);
                self.ports[usize::from(station)].busy = false;
                self.send_on(now, station);
            }
            Event::Delivered(station, place) => {
                let carried = self.carried.at_mut(place);
                carried.copies -= 1;
                carried.delivered = true;
                out.delivered(now, StationId(station), &carried.packet);
                self.let_go(now, place, out);
            }
        }
    }

    fn begin<O: Outlet<P>>(&mut self, now: Time, station: u16, out: &mut O) {
        self.usage.count(now, true);
        let host = &mut self.hosts[usize::from(station)];
        let place = *host.queue.front().expect("a station that begins has a head frame");
        let sequence = host.sequence;
        host.sequence = (sequence + 1) % 4096;
        let packet = &self.carried.at(place).packet;
        let bytes = frame_bytes(packet.bytes);
        let end = now + self.octets(PREAMBLE_BYTES + bytes);
        let frame = FrameEvent {
            start: now,
            end,
            from: StationId(station),
            to: packet.to,
            kind: FrameKind::Data,
            rate: self.config.rate,
            bytes,
            sequence,
            attempt: 1,
            outcome: Outcome::Received,
            sniffer: Heard::Good,
        };
        out.frame(&frame, Some(packet));
        self.events.at(end, Event::Sent(station));
    }

    /// Puts a packet into the queue of its port, or of all the others.
    fn forward<O: Outlet<P>>(&mut self, now: Time, place: u32, out: &mut O) {
        let (to, from) = (self.carried.at(place).packet.to, self.carried.at(place).from);
        let all = 0..self.ports.len() as u16;
        let ports = match to {
            Destination::Station(to) => to.0..to.0 + 1,
            Destination::Broadcast => all,
        };
        for port in ports.filter(|&port| port != from.0) {
            let waiting = self.ports[usize::from(port)].queue.len();
            if waiting < self.config.port_queue_packets as usize || !self.ports[usize::from(port)].busy {
                self.carried.at_mut(place).copies += 1;
                self.ports[usize::from(port)].queue.push_back(place);
                self.send_on(now, port);
            }
        }
        self.let_go(now, place, out);
    }

    /// The switch sends the next frame over a port that is free.
    fn send_on(&mut self, now: Time, station: u16) {
        let port = &mut self.ports[usize::from(station)];
        if port.busy {
            return;
        }
        let Some(place) = port.queue.pop_front() else { return };
        port.busy = true;
        self.usage.count(now, true);
        let bytes = frame_bytes(self.carried.at(place).packet.bytes);
        let end = now + self.octets(PREAMBLE_BYTES + bytes);
        self.events.at(end + self.config.propagation, Event::Delivered(station, place));
        self.events.at(end + self.octets(GAP_BYTES), Event::PortFree(station));
    }

    /// Forgets a packet of which the switch has no copy any more.
    fn let_go<O: Outlet<P>>(&mut self, now: Time, place: u32, out: &mut O) {
        if self.carried.at(place).copies > 0 {
            return;
        }
        let carried = self.carried.take(place);
        if !carried.delivered {
            out.lost(now, carried.from, &carried.packet, LossCause::NotReceived);
        }
        out.departed(now, carried.from, &carried.packet);
    }
}

impl<P> Link<P> for Switch<P> {
    fn arrive(&mut self, now: Time, from: StationId, packet: Packet<P>) -> Arrival {
        self.late_arrivals += u64::from(now < self.present);
        let now = now.max(self.present);
        self.present = now;
        if let Some(cause) = packet.impossible(from, self.hosts.len(), self.config.mtu) {
            return Arrival::Dropped(cause);
        }
        let host = &mut self.hosts[from.index()];
        host.meter.offered();
        if host.queue.len() >= host.places {
            host.meter.dropped();
            return Arrival::Dropped(DropCause::QueueFull);
        }
        let place = self.carried.keep(Carried { packet, from, copies: 0, delivered: false });
        let host = &mut self.hosts[from.index()];
        host.queue.push_back(place);
        host.meter.set_depth(now, host.queue.len() as u32 - 1);
        if !host.busy {
            host.busy = true;
            self.events.at(now, Event::Begin(from.0));
        }
        Arrival::Queued
    }

    fn poll<O: Outlet<P>>(&mut self, now: Time, out: &mut O) {
        while let Some((at, event)) = self.events.due(now) {
            self.present = at;
            self.happen(at, event, out);
        }
        self.present = self.present.max(now);
    }

    fn next_event(&self) -> Option<Time> {
        self.events.next()
    }

    fn present(&self) -> Time {
        self.present
    }

    fn late_arrivals(&self) -> u64 {
        self.late_arrivals
    }

    fn queue(&self, station: StationId) -> QueueStats {
        self.hosts[station.index()].meter.read(self.present)
    }

    fn stations(&self) -> u16 {
        self.hosts.len() as u16
    }

    /// `data` while any direction of any wire carries a frame or keeps the gap after it, `idle` while none does.
    fn airtime(&self) -> Vec<(&'static str, Duration)> {
        self.usage.airtime(self.present)
    }
}

#[cfg(test)]
mod tests;
