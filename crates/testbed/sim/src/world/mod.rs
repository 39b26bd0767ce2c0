//! The event loop: virtual time jumps to whatever happens next, on the link or in a host.
//!
//! Deterministic: at equal times the link comes before the processor, the processor before timers, and
//! timers in order of asking. Nothing is allocated per frame once tables and buffers have their size.

mod admission;
mod client;
mod flow;
mod remedies;
mod server;
mod user;
mod visit;

use crate::connection::{Connection, Connections};
use crate::flows::Flow;
use crate::net::{Fate, Net};
use crate::observer::Ended;
use crate::pressure::Pressure;
use crate::server::Server;
use crate::timers::{Event, Timers};
use crate::visits::Visit;
use crate::{Observer, Payload, Totals};
use airperf_http::{Ask, ClientConfig};
use airperf_link::{Link, StationId};
use airperf_scenario::Scenario;
use airperf_tcp::{Shared, Stack};
use airperf_units::{Duration, StreamKey, Time};
use airperf_workload::{Config, Demand, Schedule};
use user::Users;

/// A client's host and its program.
struct ClientHost {
    station: StationId,
    config: ClientConfig,
    workload: Config,
    /// Number of requests and the first of them, when all its connections are alike.
    plain: Option<(u32, Ask)>,
    stack: Stack,
    /// What its TCP knows of the server, and the server's of it.
    shared: [Shared; 2],
    schedule: Schedule,
    next: Option<Demand>,
}

/// Everything that is simulated.
pub(crate) struct World<L, O> {
    net: Net<L, O>,
    connections: Connections,
    clients: Vec<ClientHost>,
    users: Users,
    flows: Vec<Flow>,
    visits: Vec<Visit>,
    server: Server,
    timers: Timers,
    totals: Totals,
    key: StreamKey,
    opened: u32,
    end_of_load: Time,
    jiffy: Duration,
    /// How long after its opening a connection is first looked at. Before any retransmission is due, so that
    /// one that is over by then has cost one entry among the timers.
    first_look: Duration,
}

impl<L: Link<Payload>, O: Observer> World<L, O> {
    pub(crate) fn new(scenario: &Scenario, key: &StreamKey, link: L, observer: O) -> Self {
        let end_of_load = Time::ZERO + scenario.duration;
        // Where a host's ticks lie was decided when it was booted.
        let stack = |station: StationId| {
            let jiffy = scenario.tcp.jiffy;
            let drawn = || jiffy.mul_f64(key.indexed("tick", u64::from(station.0)).unit());
            let phase = scenario.stations[usize::from(station.0)].tick_phase.unwrap_or_else(drawn);
            Stack::new(scenario.tcp.clone(), phase)
        };
        let mut timers = Timers::default();
        let mut clients = Vec::new();
        for (index, client) in scenario.clients.iter().enumerate() {
            let mut schedule = Schedule::new(client.workload.clone(), end_of_load, key, index as u64);
            let next = schedule.next();
            if let Some(demand) = next {
                timers.push(demand.due, Event::Arrival { client: index as u32 });
            }
            let (station, config, workload) = (client.station, client.http.clone(), client.workload.clone());
            let plain = plain(&workload, config.request_bytes, scenario.server.http.reply_header_bytes);
            let stack = stack(station);
            let shared = <[Shared; 2]>::default();
            let host = ClientHost { station, config, workload, plain, stack, shared, schedule, next };
            clients.push(host);
        }
        if let Some(interval) = observer.queue_interval() {
            timers.push(Time::ZERO + interval, Event::Sample);
        }
        let station = scenario.server.station;
        let flows = Flow::all(scenario, key, stack);
        let visits = Visit::all(scenario, key, stack);
        let mut world = Self {
            net: Net { pressure: Pressure::of(scenario), ..Net::new(link, observer) },
            connections: Connections::default(),
            clients,
            users: Users::default(),
            flows,
            visits,
            server: Server::new(station, scenario.server.http.clone(), stack(station)),
            timers,
            totals: Totals::default(),
            key: *key,
            opened: 0,
            end_of_load,
            jiffy: scenario.tcp.jiffy,
            first_look: scenario.tcp.min_rto.saturating_sub(scenario.tcp.jiffy),
        };
        world.prepare_flows();
        world.prepare_visits();
        world
    }

    /// Runs up to and including `end`.
    pub(crate) fn run(mut self, end: Time) -> (Totals, L, O) {
        loop {
            let cpu = self.server.cpu.done().unwrap_or(Time::MAX);
            let host = self.timers.next().min(cpu);
            let now = self.net.run_until(host.min(end));
            if !self.net.inbox.is_empty() {
                self.take_inbox();
                self.give_room(now);
            } else if self.net.room_freed {
                self.give_room(now);
            } else if host > end {
                break;
            } else if cpu == now {
                self.compute(now);
            } else {
                self.take_timer(now);
            }
            let (frames, bytes) = std::mem::take(&mut self.net.server_load);
            self.server.interrupt(now, frames, bytes);
        }
        self.finish(end)
    }

    #[inline]
    fn take_inbox(&mut self) {
        for index in 0..self.net.inbox.len() {
            let (at, payload, fate) = self.net.inbox[index];
            self.arrive(at, &payload, fate);
        }
        self.net.inbox.clear();
    }

    #[inline]
    fn arrive(&mut self, now: Time, payload: &Payload, fate: Fate) {
        self.totals.delivered += u64::from(fate == Fate::Arrived);
        if let Some(index) = payload.flow() {
            return self.flow_packet(now, index, payload, fate);
        }
        if let Some(index) = payload.browser() {
            return self.visit_packet(now, index, payload, fate);
        }
        let (slot, number) = (payload.slot, payload.connection);
        match self.connections.get(slot, number) {
            Some(connection) => connection.under_way -= u32::from(fate != Fate::Copy),
            // Only a copy may find its connection gone.
            None if fate == Fate::Copy => return,
            None => unreachable!("a connection outlives its packets"),
        }
        if fate == Fate::Lost {
            // Only its end under way matters; TCP will notice by itself.
        } else if payload.to_server {
            self.server.interrupt(now, 1, u64::from(payload.segment.ip_bytes()));
            self.server_receives(now, payload);
        } else {
            self.client_receives(now, payload);
        }
        self.settle(now, slot, number);
    }

    fn take_timer(&mut self, now: Time) {
        match self.timers.pop() {
            Some((_, Event::Arrival { client })) => self.begin(now, client),
            Some((_, Event::Wake { slot })) => self.wake(now, slot),
            Some((_, Event::User { slot })) => self.user_wakes(now, slot),
            Some((_, Event::Sample)) => self.sample(now),
            Some((_, Event::Flow { index })) => self.flow_wakes(now, index),
            Some((_, Event::Visit { index })) => self.visit_wakes(now, index),
            None => {}
        }
    }

    /// A connection looks at its deadlines.
    fn wake(&mut self, now: Time, slot: u32) {
        let c = self.connections.at(slot);
        if now != c.wake {
            return; // an earlier wake-up has taken this one's place, or another connection
        }
        let number = c.number;
        c.wake = Time::MAX;
        if let Some(failure) = c.client.on_timer(now) {
            self.client_leaves(now, slot, number, failure);
        }
        self.client_timer(now, slot, number);
        self.server_timer(now, slot, number);
        self.settle(now, slot, number);
    }

    /// After anything happened to a connection: asks for its next wake-up, or forgets it.
    #[inline]
    fn settle(&mut self, now: Time, slot: u32, number: u32) {
        let Some(c) = self.connections.get(slot, number) else { return };
        if c.is_over() {
            self.forget(slot, number);
            return;
        }
        let programs = c.client.deadline().min(c.session.deadline()).min(c.gate.deadline());
        let raw = c.client_tcp.raw_deadline().min(c.server_tcp.raw_deadline()).min(programs);
        if raw == Time::MAX
            || raw.saturating_since(Time::ZERO + self.jiffy) >= c.wake.saturating_since(Time::ZERO)
        {
            return;
        }
        let client_stack = &self.clients[c.client_index as usize].stack;
        let client = c.client_tcp.deadline(client_stack);
        let exact = client.min(c.server_tcp.deadline(&self.server.stack)).min(programs).max(now);
        if exact < c.wake {
            c.wake = exact;
            let level = self.server.stack.wheel_level(exact.saturating_since(now));
            self.timers.push_timer(exact, level, slot);
        }
    }

    fn forget(&mut self, slot: u32, number: u32) {
        if let Some(c) = self.connections.get(slot, number) {
            let ended = ended(c);
            self.net.observer.ended(&ended);
            let [at_client, at_server] = &mut self.clients[c.client_index as usize].shared;
            at_client.learn(&c.client_tcp);
            at_server.learn(&c.server_tcp);
            self.connections.free(slot);
        }
    }

    fn sample(&mut self, now: Time) {
        for station in (0..self.net.link.stations()).map(StationId) {
            let stats = self.net.link.queue(station);
            self.net.observer.queue(now, station, &stats);
        }
        if let Some(interval) = self.net.observer.queue_interval() {
            self.timers.push(now + interval, Event::Sample);
        }
    }

    fn finish(mut self, end: Time) -> (Totals, L, O) {
        for c in self.connections.alive() {
            while let Some(exchange) = c.client.fail(c.client_tcp.received_bytes(), None) {
                self.net.observer.exchange(end, c.number, &exchange);
            }
            self.net.observer.ended(&ended(c));
        }
        for (client, page) in self.users.unfinished() {
            let client = &self.clients[client as usize];
            if client.workload.session.has_pages() {
                self.net.observer.page(end, client.station, &page);
            }
        }
        self.finish_flows(end);
        self.finish_visits(end);
        self.totals.connections = u64::from(self.opened);
        self.totals.packets = u64::from(self.net.packets);
        self.totals.refused = self.net.refused;
        self.totals.lost = self.net.lost;
        self.totals.frames = self.net.frames;
        self.totals.admission = self.server.admission.as_ref().map(|admission| admission.counts());
        self.totals.alive_most = self.connections.most() as u64;
        (self.totals, self.net.link, self.net.observer)
    }
}

/// Number of requests of every connection and the first of them, if a workload is as plain as that.
fn plain(workload: &Config, head_bytes: u32, reply_header_bytes: u32) -> Option<(u32, Ask)> {
    let plain = workload.plain()?;
    // Checked: at most Config::MAX_SIZE_BYTES.
    let (body_bytes, object_bytes) = (plain.upload_bytes as u32, plain.object_bytes as u32);
    let reply_bytes = reply_header_bytes + object_bytes;
    Some((plain.requests, Ask { due: Time::ZERO, head_bytes, body_bytes, reply_bytes }))
}

/// What a connection came to; checks that TCP neither lost nor invented octets.
fn ended(c: &Connection) -> Ended {
    let (up, down) = (c.server_tcp.received_bytes(), c.client_tcp.received_bytes());
    assert!(up <= c.client_tcp.written_bytes(), "the server received octets nobody wrote");
    assert!(down <= c.server_tcp.written_bytes(), "the client received octets nobody wrote");
    assert!(c.client_tcp.acknowledged_bytes() <= up, "octets were acknowledged that did not arrive");
    assert!(c.server_tcp.acknowledged_bytes() <= down, "octets were acknowledged that did not arrive");
    Ended { connection: c.number, bytes_up: u64::from(up), bytes_down: u64::from(down) }
}
