//! The clients' side: opening connections, and what their TCP and programs do.

use super::World;
use crate::connection::Connection;
use crate::net::{Port, Route};
use crate::observer::Opened;
use crate::timers::Event;
use crate::{Observer, Payload};
use airperf_http::{Client, ClientStep, Session};
use airperf_link::{Link, StationId};
use airperf_tcp::{Endpoint, Signals};
use airperf_units::Time;

impl<L: Link<Payload>, O: Observer> World<L, O> {
    /// Opens a client's connection that is due now.
    pub(super) fn open(&mut self, now: Time, client_index: u32) {
        let inherited = self.inherited(client_index, false);
        let Self { net, connections, clients, server, timers, .. } = self;
        let host = &mut clients[client_index as usize];
        let Some(demand) = host.next else { return };
        host.next = host.schedule.next();
        if let Some(next) = host.next {
            timers.push(next.due, Event::Arrival { client: client_index });
        }
        let number = self.opened;
        self.opened += 1;
        let object_bytes = demand.bytes as u32; // checked: at most Config::MAX_SIZE_BYTES
        let reply = server.config.reply_header_bytes + object_bytes;
        let request_bytes = host.config.request_bytes;
        net.observer.opened(
            now,
            &Opened {
                connection: number,
                client: host.station,
                server: server.station,
                due: demand.due,
                request_bytes,
                reply_header_bytes: server.config.reply_header_bytes,
                object_bytes,
            },
        );
        let slot = connections.insert(Connection {
            number,
            client_index,
            under_way: 0,
            wake: Time::MAX,
            client: Client::open(&host.config, now, demand.due, reply),
            session: Session::new(request_bytes, reply),
            gate: server.gate(),
            client_tcp: Endpoint::closed(),
            server_tcp: Endpoint::closed(),
        });
        if let Some(c) = connections.get(slot, number) {
            let (from, to) = (host.station, server.station);
            let route = Route { from, to, connection: number, slot, to_server: true };
            let mut port = Port { net, under_way: &mut c.under_way, now, route };
            c.client_tcp.connect(now, &host.stack, inherited, &mut port);
            c.wake = now + self.first_look;
            timers.push(c.wake, Event::Wake { slot });
        }
        self.settle(now, slot, number);
    }

    #[inline]
    pub(super) fn client_receives(&mut self, now: Time, payload: &Payload) {
        let Self { net, connections, clients, server, .. } = self;
        let Some(c) = connections.get(payload.slot, payload.connection) else { return };
        let host = &clients[c.client_index as usize];
        let route = uplink(host.station, server.station, payload);
        let mut port = Port { net, under_way: &mut c.under_way, now, route };
        let signals = c.client_tcp.receive(now, &host.stack, &payload.segment, &mut port);
        self.tell_client(now, payload.slot, payload.connection, signals);
    }

    /// Passes on what the client's TCP has to say.
    #[inline]
    pub(super) fn tell_client(&mut self, now: Time, slot: u32, number: u32, signals: Signals) {
        if signals == Signals::NONE {
            return;
        }
        let Some(c) = self.connections.get(slot, number) else { return };
        let config = &self.clients[c.client_index as usize].config;
        if signals.has(Signals::ESTABLISHED) {
            self.net.observer.established(now, number);
            let step = c.client.on_connected(config, now);
            self.client_does(now, slot, number, step);
        }
        if signals.has(Signals::READABLE) {
            let Some(c) = self.connections.get(slot, number) else { return };
            let config = &self.clients[c.client_index as usize].config;
            let step = c.client.on_readable(config, now, c.client_tcp.received_bytes());
            self.client_does(now, slot, number, step);
        }
        if signals.has(Signals::PEER_CLOSED) || signals.has(Signals::RESET) || signals.has(Signals::GIVEN_UP)
        {
            let Some(c) = self.connections.get(slot, number) else { return };
            let step = c.client.on_broken(c.client_tcp.received_bytes());
            self.client_does(now, slot, number, step);
        }
    }

    #[inline]
    pub(super) fn client_does(&mut self, now: Time, slot: u32, number: u32, step: ClientStep) {
        let Self { net, connections, clients, server, .. } = self;
        let Some(c) = connections.get(slot, number) else { return };
        if let Some(exchange) = &step.ended {
            self.totals.count(exchange, self.end_of_load);
            net.observer.exchange(now, number, exchange);
        }
        let host = &clients[c.client_index as usize];
        let (from, to) = (host.station, server.station);
        let route = Route { from, to, connection: number, slot, to_server: true };
        let mut port = Port { net, under_way: &mut c.under_way, now, route };
        if step.write > 0 {
            c.client_tcp.write(now, &host.stack, step.write, &mut port);
        }
        if step.close {
            c.client_tcp.close(now, &host.stack, &mut port);
        }
    }

    pub(super) fn client_timer(&mut self, now: Time, slot: u32, number: u32) {
        let Self { net, connections, clients, server, .. } = self;
        let Some(c) = connections.get(slot, number) else { return };
        let host = &clients[c.client_index as usize];
        if c.client_tcp.deadline(&host.stack) > now {
            return;
        }
        let (from, to) = (host.station, server.station);
        let route = Route { from, to, connection: number, slot, to_server: true };
        let mut port = Port { net, under_way: &mut c.under_way, now, route };
        let (signals, _) = c.client_tcp.on_timer(now, &host.stack, 0, &mut port);
        self.tell_client(now, slot, number, signals);
    }
}

fn uplink(from: StationId, to: StationId, payload: &Payload) -> Route {
    Route { from, to, connection: payload.connection, slot: payload.slot, to_server: true }
}
