//! An access link: pipes of stated rate, delay and loss between stations and the network's side.
//!
//! Station 0 is on the network's side (where the server is); every other station reaches it, and nobody else, over a
//! pipe in each direction, its own or one shared by all. A packet waits in a drop-tail queue, is sent at a rate or at the
//! opportunities of a trace ([`crate::trace`]), and is lost, delayed or delivered twice on the way. References: the
//! serialisation of Mahimahi's `mm-link` (Netravali et al., USENIX ATC 2015); Gilbert (1960) and Elliott (1963) for
//! losses in bursts ([`Loss`]).
//!
//! Left out: what causes the rates and losses (see `airperf_wwan` for a link layer), scheduling between stations that
//! share a pipe other than first come first served, queues that drop anywhere but at their tail, broadcast.

mod channel;
mod config;
mod light;
mod rrc;
mod sender;

pub use config::{AccessConfig, AccessStation, Capacity, Direction, Loss, OpportunitySize};
pub use rrc::{RrcConfig, SharedChannel};

use crate::{
    Agenda, Arrival, DropCause, FrameEvent, FrameKind, Heard, Link, LossCause, NETWORK, Outcome, Outlet,
    Packet, Places, QueueMeter, QueueStats, StationId, Usage,
};
use airperf_units::{Duration, StreamKey, Time};
use channel::Channel;
use light::Light;
use rrc::{Channel as RadioChannel, Rrc};
use sender::{Sender, Sending};
use std::collections::VecDeque;

const NS_PER_MS: u64 = 1_000_000;

/// One direction of one station's link, or of the link that all share.
#[derive(Clone, Debug)]
struct Pipe {
    /// Places of packets, the head first.
    queue: VecDeque<u32>,
    /// Whether the head is being sent, and so waits no more.
    sending: bool,
    head: Option<Sending>,
    /// Octets that wait.
    waiting_bytes: u64,
    most_packets: usize,
    most_bytes: u64,
    sender: Sender,
    light: Option<Light>,
    /// Packets that have not left the light trace's delay.
    delayed: u32,
    /// Packets in the queue that take the schedule.
    heavy: u32,
    /// When the last of them was sent.
    heavy_sent: Option<Time>,
    /// On the channel that mobiles share.
    slow: Option<Sender>,
    channel: Channel,
}

/// A packet on the link.
#[derive(Clone, Debug)]
struct Carried<P> {
    packet: Packet<P>,
    from: StationId,
    /// Copies that have not arrived.
    copies: u8,
    /// Whether it needs no opportunity of the schedule.
    light: bool,
    /// When it left a light trace's delay.
    released: Option<Time>,
    delivered: bool,
    lost: bool,
}

/// A station's side of its pipes.
#[derive(Clone, Debug, Default)]
struct Host {
    meter: QueueMeter,
    waiting: u32,
    sequence: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The packet in this place leaves the delay of a pipe's light trace.
    Released(u32, u32),
    /// The head of a pipe has waited for its mobile's channel.
    Plan(u32),
    /// The head of a pipe begins to be sent.
    Begin(u32),
    /// It has been sent.
    Sent(u32),
    /// A copy of the packet in this place arrives.
    Arrives(u32),
}

/// An access link; see the module.
#[derive(Clone, Debug)]
pub struct Access<P> {
    config: AccessConfig,
    hosts: Vec<Host>,
    /// Downward, then upward.
    pipes: Vec<Pipe>,
    /// By station; empty where stations always have a channel.
    rrc: Vec<Rrc>,
    carried: Places<Carried<P>>,
    events: Agenda<Event>,
    present: Time,
    late_arrivals: u64,
    /// Pipes with something to send.
    usage: Usage,
}

impl<P> Access<P> {
    /// A silent link at time zero with empty queues.
    pub fn new(config: AccessConfig, key: StreamKey) -> Self {
        let clients = config.stations.len().saturating_sub(1);
        let each = if config.shared { clients.min(1) } else { clients };
        let light = |direction: &Direction| match (&direction.light, &direction.capacity) {
            (Some(trace), Capacity::Opportunities { size, .. }) => Some(Light::new(trace.clone(), *size)),
            _ => None,
        };
        let slow = |up: bool| {
            let shared = config.rrc.as_ref()?.shared.as_ref()?;
            Some(if up { shared.rate_up } else { shared.rate_down })
        };
        let pipe = |number: usize, direction: &Direction, station: usize| Pipe {
            queue: VecDeque::new(),
            sending: false,
            head: None,
            waiting_bytes: 0,
            most_packets: config.stations[station].queue_packets as usize,
            most_bytes: direction.queue_bytes.unwrap_or(u64::MAX),
            sender: Sender::new(direction.capacity.clone()),
            light: light(direction),
            delayed: 0,
            heavy: 0,
            heavy_sent: None,
            slow: slow(number >= each).map(|rate| Sender::new(Capacity::constant(rate))),
            channel: Channel::new(direction, &key, number as u64),
        };
        let down = (0..each).map(|client| pipe(client, &config.down, 0));
        let up = (0..each).map(|client| pipe(each + client, &config.up, client + 1));
        Self {
            hosts: vec![Host::default(); config.stations.len()],
            pipes: down.chain(up).collect(),
            rrc: config
                .rrc
                .iter()
                .flat_map(|rrc| (0..clients as u64).map(|n| Rrc::new(rrc.clone(), &key, n)))
                .collect(),
            carried: Places::default(),
            events: Agenda::default(),
            present: Time::ZERO,
            late_arrivals: 0,
            usage: Usage::default(),
            config,
        }
    }

    /// The number of the pipe from `from` to `to`; one of the two is the network's side.
    fn pipe(&self, from: StationId, to: StationId) -> u32 {
        let client = from.0.max(to.0) - 1;
        let client = if self.config.shared { 0 } else { u32::from(client) };
        let up = if from == NETWORK { 0 } else { self.pipes.len() as u32 / 2 };
        up + client
    }

    /// One more or one less packet waits in a pipe.
    fn wait(&mut self, now: Time, number: u32, place: u32, more: bool) {
        let carried = self.carried.at(place);
        let (host, bytes) = (&mut self.hosts[carried.from.index()], u64::from(carried.packet.bytes));
        let pipe = &mut self.pipes[number as usize];
        if more {
            host.waiting += 1;
            pipe.waiting_bytes += bytes;
        } else {
            host.waiting -= 1;
            pipe.waiting_bytes -= bytes;
        }
        host.meter.set_depth(now, host.waiting);
    }

    /// Plans the sending of a pipe's head.
    fn plan(&mut self, now: Time, number: u32, follows: bool) {
        let each = self.pipes.len() as u32 / 2;
        let up = number >= each;
        let pipe = &mut self.pipes[number as usize];
        let Some(&place) = pipe.queue.front() else { return };
        let mobile = if up { number - each } else { number };
        let carried = self.carried.at(place);
        if carried.light {
            let rate = pipe.sender.rate();
            pipe.head = Some(Sending { start: now, end: now, rate });
            self.events.at(now, Event::Begin(number));
            return self.leaves_queue(now, number, place);
        }
        let mut sender = &mut pipe.sender;
        if let Some(rrc) = self.rrc.get_mut(mobile as usize) {
            match (rrc.channel(now, up, pipe.waiting_bytes), &mut pipe.slow) {
                (RadioChannel::From(at), _) => return self.events.at(at, Event::Plan(number)),
                (RadioChannel::Shared, Some(slow)) => sender = slow,
                _ => {}
            }
        }
        let sending = sender.send(now, carried.packet.bytes, follows);
        if let Some(rrc) = self.rrc.get_mut(mobile as usize) {
            rrc.busy(sending.end);
        }
        pipe.head = Some(sending);
        self.events.at(sending.start, Event::Begin(number));
        if sending.start == now {
            self.leaves_queue(now, number, place);
        }
    }

    /// A packet joins the queue, or is delivered at once when it needs no opportunity and none waits for one.
    fn released(&mut self, now: Time, number: u32, place: u32) {
        let pipe = &mut self.pipes[number as usize];
        let carried = self.carried.at_mut(place);
        // What is sent in this very millisecond still counts, and its opportunity is not shared.
        carried.light &= pipe.heavy == 0 && pipe.heavy_sent != Some(now);
        carried.released = Some(now);
        pipe.heavy += u32::from(!carried.light);
        pipe.delayed -= 1;
        pipe.queue.push_back(place);
        if pipe.queue.len() == 1 {
            self.plan(now, number, false);
        }
    }

    fn leaves_queue(&mut self, now: Time, number: u32, place: u32) {
        self.pipes[number as usize].sending = true;
        self.wait(now, number, place, false);
    }

    fn happen<O: Outlet<P>>(&mut self, now: Time, event: Event, out: &mut O) {
        match event {
            Event::Released(number, place) => self.released(now, number, place),
            Event::Plan(number) => self.plan(now, number, false),
            Event::Begin(number) => self.begin(now, number, out),
            Event::Sent(number) => self.sent(now, number, out),
            Event::Arrives(place) => {
                let carried = self.carried.at_mut(place);
                let to = carried.packet.to.station().unwrap_or(NETWORK);
                if carried.delivered {
                    out.duplicated(now, to, &carried.packet);
                } else {
                    out.delivered(now, to, &carried.packet);
                }
                carried.delivered = true;
                carried.copies -= 1;
                if carried.copies == 0 {
                    let carried = self.carried.take(place);
                    out.departed(now, carried.from, &carried.packet);
                }
            }
        }
    }

    fn begin<O: Outlet<P>>(&mut self, now: Time, number: u32, out: &mut O) {
        let pipe = &mut self.pipes[number as usize];
        let (Some(&place), Some(sending)) = (pipe.queue.front(), pipe.head) else { return };
        let lost = pipe.channel.loses();
        if !pipe.sending {
            self.leaves_queue(now, number, place);
        }
        let carried = self.carried.at_mut(place);
        carried.lost = lost;
        let host = &mut self.hosts[carried.from.index()];
        let frame = FrameEvent {
            start: sending.start,
            end: sending.end,
            from: carried.from,
            to: carried.packet.to,
            kind: FrameKind::Data,
            rate: sending.rate,
            bytes: carried.packet.bytes,
            sequence: host.sequence,
            attempt: 1,
            outcome: if lost { Outcome::Garbled } else { Outcome::Received },
            sniffer: Heard::Good,
        };
        host.sequence = (host.sequence + 1) % 4096;
        out.frame(&frame, Some(&carried.packet));
        self.events.at(sending.end, Event::Sent(number));
    }

    fn sent<O: Outlet<P>>(&mut self, now: Time, number: u32, out: &mut O) {
        let pipe = &mut self.pipes[number as usize];
        let place = pipe.queue.pop_front().expect("a pipe that sends has a head");
        (pipe.sending, pipe.head) = (false, None);
        let is_empty = pipe.queue.is_empty();
        let Carried { from, lost, light, .. } = *self.carried.at(place);
        if pipe.light.is_some() {
            pipe.heavy -= u32::from(!light);
            pipe.heavy_sent = if light { pipe.heavy_sent } else { Some(now) };
        }
        let is_unused = is_empty && pipe.delayed == 0;
        self.hosts[from.index()].meter.departed(lost);
        if lost {
            let carried = self.carried.take(place);
            out.lost(now, from, &carried.packet, LossCause::NotReceived);
            out.departed(now, from, &carried.packet);
        } else {
            let (first, copy) = pipe.channel.arrivals(now);
            for at in std::iter::once(first).chain(copy) {
                self.carried.at_mut(place).copies += 1;
                self.events.at(at, Event::Arrives(place));
            }
        }
        if is_unused {
            self.usage.count(now, false);
        } else if !is_empty {
            let next = pipe.queue.front().map(|&next| self.carried.at(next).released);
            self.plan(now, number, !light && next != Some(Some(now)));
        }
    }
}

impl<P> Link<P> for Access<P> {
    fn arrive(&mut self, now: Time, from: StationId, packet: Packet<P>) -> Arrival {
        self.late_arrivals += u64::from(now < self.present);
        let now = now.max(self.present);
        self.present = now;
        if let Some(cause) = packet.impossible(from, self.hosts.len(), self.config.mtu) {
            return Arrival::Dropped(cause);
        }
        let Some(to) = packet.across(from) else {
            return Arrival::Dropped(DropCause::NoSuchStation);
        };
        let number = self.pipe(from, to);
        self.hosts[from.index()].meter.offered();
        let pipe = &self.pipes[number as usize];
        let idle = pipe.queue.is_empty() && pipe.delayed == 0;
        let waiting = pipe.queue.len() + pipe.delayed as usize - usize::from(pipe.sending);
        let is_full =
            waiting >= pipe.most_packets || pipe.waiting_bytes + u64::from(packet.bytes) > pipe.most_bytes;
        if is_full && !idle {
            self.hosts[from.index()].meter.dropped();
            return Arrival::Dropped(DropCause::QueueFull);
        }
        let bytes = packet.bytes;
        let carried =
            Carried { packet, from, copies: 0, light: false, released: None, delivered: false, lost: false };
        let place = self.carried.keep(carried);
        self.wait(now, number, place, true);
        if idle {
            self.usage.count(now, true);
        }
        let pipe = &mut self.pipes[number as usize];
        if let Some(light) = &mut pipe.light {
            let release = light.release(now.as_ns() / NS_PER_MS, bytes);
            pipe.delayed += 1;
            self.carried.at_mut(place).light = release.light;
            let at = Time::from_ns(release.at_ms * NS_PER_MS).max(now);
            self.events.at(at, Event::Released(number, place));
            return Arrival::Queued;
        }
        pipe.queue.push_back(place);
        if idle {
            self.plan(now, number, false);
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

    /// `data` while any pipe has something to send, `idle` while none has.
    fn airtime(&self) -> Vec<(&'static str, Duration)> {
        self.usage.airtime(self.present)
    }
}

#[cfg(test)]
mod tests;
