//! The link: mobiles, their block flows in both directions, and when what happens.
//!
//! Blocks begin at multiples of 20 ms. Reference: 3GPP TS 44.060 and osmo-pcu's `doc/tbf.txt` for when a block flow is set
//! up, kept and released. Left out: see the crate.

mod show;

use crate::bearer::{Bearer, Sent, State};
use crate::config::Config;
use crate::defaults::BLOCK;
use crate::radio::Radio;
use crate::rlc::News;
use airperf_link::{
    Agenda, Arrival, DropCause, Link, LossCause, NETWORK, Outlet, Packet, Places, QueueMeter, QueueStats,
    StationId,
};
use airperf_units::{Duration, StreamKey, Time};
use show::show;

/// A packet on the link.
#[derive(Clone, Debug)]
struct Carried<P> {
    packet: Packet<P>,
    from: StationId,
    /// Delivered or lost.
    over: bool,
    lost: bool,
    /// The sender is done with it.
    done: bool,
}

#[derive(Clone, Debug, Default)]
struct Host {
    meter: QueueMeter,
    waiting: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A bearer's block flow has been set up.
    Start(u32),
    /// A radio block begins.
    Tick(u32),
    /// The blocks of a tick have ended.
    End(u32),
    /// A report has come.
    Report(u32),
    /// A block flow without data is no longer kept.
    Expire(u32),
    /// A packet has reached the other end.
    Arrives(u32),
}

/// A GPRS or EDGE link; see the crate.
#[derive(Clone, Debug)]
pub struct Gprs<P> {
    config: Config,
    hosts: Vec<Host>,
    /// Downward, then upward, by mobile.
    bearers: Vec<Bearer>,
    radios: Vec<Radio>,
    carried: Places<Carried<P>>,
    events: Agenda<Event>,
    news: Vec<News>,
    present: Time,
    late_arrivals: u64,
    spent: Spent,
}

/// Elapsed time by what block flows do.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    flows: u32,
    assigning: u32,
    since: Time,
    data: Duration,
    setup: Duration,
    idle: Duration,
}

impl Spent {
    fn until(&mut self, now: Time) {
        let span = now - self.since;
        self.since = now;
        if self.flows > 0 {
            self.data += span;
        } else if self.assigning > 0 {
            self.setup += span;
        } else {
            self.idle += span;
        }
    }
}

impl<P> Gprs<P> {
    /// A silent link at time zero with empty queues.
    pub fn new(config: Config, key: StreamKey) -> Self {
        let mobiles = config.stations.len().saturating_sub(1);
        let (down, up) = ((&config.down, config.family), (&config.up, config.family));
        let places = |station: usize| config.stations[station].queue_packets;
        let downward = (0..mobiles)
            .map(|mobile| Bearer::new(mobile as u64, (NETWORK, mobile as u16), down, places(0), &key));
        let upward = (0..mobiles).map(|mobile| {
            let ends = (StationId(mobile as u16 + 1), mobile as u16);
            Bearer::new((mobiles + mobile) as u64, ends, up, places(mobile + 1), &key)
        });
        Self {
            hosts: vec![Host::default(); config.stations.len()],
            bearers: downward.chain(upward).collect(),
            radios: (0..mobiles as u64).map(|mobile| Radio::new(&config, &key, mobile)).collect(),
            carried: Places::default(),
            events: Agenda::default(),
            news: Vec::new(),
            present: Time::ZERO,
            late_arrivals: 0,
            spent: Spent::default(),
            config,
        }
    }

    fn bearer(&mut self, number: u32) -> &mut Bearer {
        &mut self.bearers[number as usize]
    }

    /// The same mobile's bearer in the other direction.
    fn other(&self, number: u32) -> u32 {
        let mobiles = self.radios.len() as u32;
        if number < mobiles { number + mobiles } else { number - mobiles }
    }

    fn set_state(&mut self, now: Time, number: u32, state: State) {
        self.spent.until(now);
        let bearer = &mut self.bearers[number as usize];
        for (state, more) in [(bearer.state, false), (state, true)] {
            let count = match state {
                State::Flow => &mut self.spent.flows,
                State::Assigning => &mut self.spent.assigning,
                State::Idle | State::Kept(_) => continue,
            };
            *count = if more { *count + 1 } else { *count - 1 };
        }
        bearer.state = state;
    }

    /// Begins to set up a block flow.
    fn assign(&mut self, now: Time, number: u32) {
        let other = self.other(number);
        let linked = matches!(self.bearer(other).state, State::Flow | State::Kept(_));
        let direction = &self.bearer(number).direction;
        let access = if linked { direction.access_linked } else { direction.access };
        self.set_state(now, number, State::Assigning);
        self.events.at(now + access, Event::Start(number));
    }

    /// Puts the bearer's next tick on the agenda: at the next radio block that begins at `now` or later.
    fn tick_from(&mut self, now: Time, number: u32) {
        let bearer = self.bearer(number);
        if bearer.ticking {
            return;
        }
        bearer.ticking = true;
        let at = now.as_ns().next_multiple_of(BLOCK.as_ns());
        self.events.at(Time::from_ns(at), Event::Tick(number));
    }

    fn flow(&mut self, now: Time, number: u32) {
        self.set_state(now, number, State::Flow);
        self.tick_from(now, number);
    }

    fn happen<O: Outlet<P>>(&mut self, now: Time, event: Event, out: &mut O) {
        match event {
            Event::Start(number) => {
                let mobile = usize::from(self.bearer(number).mobile);
                match self.radios[mobile].stalled_until(now) {
                    Some(end) => self.events.at(end, Event::Start(number)),
                    None => {
                        self.bearer(number).begin_flow();
                        self.flow(now, number);
                    }
                }
            }
            Event::Tick(number) => self.tick(now, number, out),
            Event::End(number) => self.blocks_end(now, number, out),
            Event::Report(number) => self.hear(now, number, out),
            Event::Expire(number) => {
                if self.bearer(number).state == State::Kept(now) {
                    self.set_state(now, number, State::Idle);
                }
            }
            Event::Arrives(place) => self.deliver(now, place, out),
        }
    }

    /// Sends a radio block on every slot.
    fn tick<O: Outlet<P>>(&mut self, now: Time, number: u32, out: &mut O) {
        let bearer = &mut self.bearers[number as usize];
        bearer.ticking = false;
        if bearer.state != State::Flow {
            return;
        }
        let radio = &mut self.radios[usize::from(bearer.mobile)];
        if let Some(end) = radio.stalled_until(now) {
            return self.tick_from(end, number);
        }
        let (carried, host) = (&self.carried, &mut self.hosts[bearer.from.index()]);
        for _ in 0..bearer.direction.slots {
            let mut blocks = 1;
            let mut sent = 0;
            while sent < blocks {
                let leaves = |_| {
                    host.waiting -= 1;
                    host.meter.set_depth(now, host.waiting);
                };
                let Some(block) = bearer.next_block(now, leaves) else { break };
                let scheme = match block {
                    Sent::Data(bsn) => bearer.rlc.block(bsn).scheme,
                    Sent::Repair(_) => bearer.scheme,
                };
                let scheme = bearer.scheme_of(scheme);
                let arrives = !bearer.errors.chance(radio.block_error(now, scheme));
                bearer.flying.push((block, arrives));
                show(now, bearer, &self.config, (block, arrives), carried, out);
                blocks = scheme.blocks;
                sent += 1;
            }
        }
        bearer.ask();
        if !bearer.flying.is_empty() {
            self.events.at(now + BLOCK, Event::End(number));
        } else if !bearer.rlc.arq() {
            // A group may have been closed that gets no repair blocks: what it lost stays lost.
            bearer.rlc.decide(&mut self.news);
            self.tell(now, number, out);
            self.settle(now, number);
        }
        self.tick_from(now + BLOCK, number);
    }

    fn blocks_end<O: Outlet<P>>(&mut self, now: Time, number: u32, out: &mut O) {
        let bearer = &mut self.bearers[number as usize];
        let heard = bearer.flying.last().is_some_and(|(_, arrives)| *arrives);
        for (block, arrives) in bearer.flying.drain(..) {
            match block {
                Sent::Data(bsn) => bearer.rlc.block_ends(bsn, arrives),
                Sent::Repair(group) => bearer.rlc.repair_ends(group, arrives),
            }
        }
        bearer.rlc.decide(&mut self.news);
        if bearer.reports(now, heard) {
            let at = now + bearer.direction.report_delay;
            self.events.at(at, Event::Report(number));
        }
        self.tell(now, number, out);
        self.settle(now, number);
    }

    fn hear<O: Outlet<P>>(&mut self, now: Time, number: u32, out: &mut O) {
        let bearer = &mut self.bearers[number as usize];
        if let Some(end) = self.radios[usize::from(bearer.mobile)].stalled_until(now) {
            return self.events.at(end, Event::Report(number));
        }
        if let Some(report) = bearer.report.take() {
            let (told, missing) = bearer.rlc.hear(report, bearer.scheme, &mut self.news);
            bearer.adapt(now, told, missing);
        }
        self.tell(now, number, out);
        self.settle(now, number);
    }

    /// A block flow that has nothing left to do is kept for a while, or released.
    fn settle(&mut self, now: Time, number: u32) {
        let bearer = self.bearer(number);
        if bearer.state != State::Flow || !bearer.is_done() || bearer.report.is_some() {
            return;
        }
        bearer.rest();
        let keep = bearer.direction.keep;
        if keep > Duration::ZERO {
            self.set_state(now, number, State::Kept(now + keep));
            return self.events.at(now + keep, Event::Expire(number));
        }
        self.set_state(now, number, State::Idle);
        if self.bearer(number).is_waited_for() {
            self.assign(now, number);
        }
    }

    /// Acts on what became of packets.
    fn tell<O: Outlet<P>>(&mut self, now: Time, number: u32, out: &mut O) {
        for index in 0..self.news.len() {
            match self.news[index] {
                News::Complete(place) => {
                    let at = self.bearer(number).delivery(now);
                    if at == now {
                        self.deliver(now, place, out);
                    } else {
                        self.events.at(at, Event::Arrives(place));
                    }
                }
                News::Broken(place) => {
                    let carried = self.carried.at_mut(place);
                    (carried.over, carried.lost) = (true, true);
                    out.lost(now, carried.from, &carried.packet, LossCause::NotReceived);
                    self.let_go(now, place, out);
                }
                News::Done(place) => {
                    self.carried.at_mut(place).done = true;
                    self.let_go(now, place, out);
                }
            }
        }
        self.news.clear();
    }

    fn deliver<O: Outlet<P>>(&mut self, now: Time, place: u32, out: &mut O) {
        let carried = self.carried.at_mut(place);
        carried.over = true;
        out.delivered(now, carried.packet.to.station().unwrap_or(NETWORK), &carried.packet);
        self.let_go(now, place, out);
    }

    /// Forgets a packet with which both ends are done.
    fn let_go<O: Outlet<P>>(&mut self, now: Time, place: u32, out: &mut O) {
        let carried = self.carried.at(place);
        if carried.over && carried.done {
            let Carried { packet, from, lost, .. } = self.carried.take(place);
            self.hosts[from.index()].meter.departed(lost);
            out.departed(now, from, &packet);
        }
    }
}

impl<P> Link<P> for Gprs<P> {
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
        let mobile = u32::from(from.0.max(to.0)) - 1;
        let number = if from == NETWORK { mobile } else { mobile + self.radios.len() as u32 };
        let host = &mut self.hosts[from.index()];
        host.meter.offered();
        if !self.bearers[number as usize].takes(packet.bytes) {
            host.meter.dropped();
            return Arrival::Dropped(DropCause::QueueFull);
        }
        host.waiting += 1;
        host.meter.set_depth(now, host.waiting);
        let bytes = packet.bytes;
        let place = self.carried.keep(Carried { packet, from, over: false, lost: false, done: false });
        self.bearer(number).wait(place, bytes);
        match self.bearer(number).state {
            State::Idle => self.assign(now, number),
            State::Kept(_) => self.flow(now, number),
            State::Assigning | State::Flow => {}
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

    /// `data` while any block flow carries blocks, `setup` while else one is being set up, `idle` otherwise.
    fn airtime(&self) -> Vec<(&'static str, Duration)> {
        let mut spent = self.spent;
        spent.until(self.present);
        vec![("data", spent.data), ("setup", spent.setup), ("idle", spent.idle)]
    }
}

#[cfg(test)]
mod tests;
