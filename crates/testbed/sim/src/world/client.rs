//! The clients' side: opening connections, and what their TCP and programs do.
//!
//! A plain client's connections each carry so many equal requests, one after the other; any other's are led by its
//! users' sessions ([`super::user`]).

use super::World;
use crate::connection::{Connection, NOBODY};
use crate::net::{Net, Port, Route};
use crate::observer::Opened;
use crate::server::Handle;
use crate::timers::Event;
use crate::{Observer, Payload};
use airperf_http::{Ask, Client, Exchange, Failure, Session};
use airperf_link::{Link, StationId};
use airperf_tcp::{Endpoint, Signals, Stack};
use airperf_units::Time;

impl<L: Link<Payload>, O: Observer> World<L, O> {
    /// Begins a client's session that is due now.
    pub(super) fn begin(&mut self, now: Time, client_index: u32) {
        let host = &mut self.clients[client_index as usize];
        let Some(demand) = host.next else { return };
        host.next = host.schedule.next();
        if let Some(next) = host.next {
            self.timers.push(next.due, Event::Arrival { client: client_index });
        }
        match host.plain {
            Some((_, ask)) => {
                let ask = Ask { due: demand.due, ..ask };
                self.connect(now, client_index, NOBODY, ask);
            }
            None => self.begin_session(now, client_index, demand),
        }
    }

    /// Opens a connection for a first request.
    pub(super) fn connect(&mut self, now: Time, client_index: u32, user: u32, ask: Ask) -> Handle {
        let inherited = self.inherited(client_index, false);
        let Self { net, connections, clients, server, timers, .. } = self;
        let host = &clients[client_index as usize];
        let number = self.opened;
        self.opened += 1;
        let (from, to) = (host.station, server.station);
        let opened = Opened { connection: number, client: from, server: to, due: ask.due };
        net.observer.opened(now, &opened);
        let slot = connections.insert(Connection {
            number,
            client_index,
            user,
            under_way: 0,
            wake: Time::MAX,
            client: Client::open(&host.config, now, ask),
            session: Session::new(),
            gate: server.gate(),
            client_tcp: Endpoint::closed(),
            server_tcp: Endpoint::closed(),
        });
        if let Some(c) = connections.get(slot, number) {
            let route = Route { from, to, connection: number, slot, to_server: true };
            let mut port = Port { net, under_way: &mut c.under_way, now, route };
            c.client_tcp.connect(now, &host.stack, inherited, &mut port);
            c.wake = now + self.first_look;
            timers.push(c.wake, Event::Wake { slot });
        }
        self.settle(now, slot, number);
        Handle { slot, number }
    }

    #[inline]
    pub(super) fn client_receives(&mut self, now: Time, payload: &Payload) {
        let Self { net, connections, clients, server, .. } = self;
        let Some(c) = connections.get(payload.slot, payload.connection) else { return };
        let host = &clients[c.client_index as usize];
        let route = uplink(host.station, server.station, payload);
        let mut port = Port { net, under_way: &mut c.under_way, now, route };
        let signals = c.client_tcp.receive(now, &host.stack, &payload.segment, &mut port);
        if c.client.is_sending() {
            c.client.on_acknowledged(&host.config, now, c.client_tcp.acknowledged_bytes());
        }
        self.tell_client(now, payload.slot, payload.connection, signals);
    }

    /// Passes on what the client's TCP has to say.
    #[inline]
    pub(super) fn tell_client(&mut self, now: Time, slot: u32, number: u32, signals: Signals) {
        if signals == Signals::NONE {
            return;
        }
        if signals.has(Signals::ESTABLISHED) {
            self.client_connected(now, slot, number);
        }
        if signals.has(Signals::READABLE) {
            self.client_reads(now, slot, number);
        }
        if signals.has(Signals::PEER_CLOSED) || signals.has(Signals::RESET) || signals.has(Signals::GIVEN_UP)
        {
            let Some(c) = self.connections.get(slot, number) else { return };
            if !c.client.is_over() {
                self.client_leaves(now, slot, number, Failure::Reset);
            }
        }
    }

    #[inline]
    fn client_connected(&mut self, now: Time, slot: u32, number: u32) {
        let Self { net, connections, clients, server, .. } = self;
        net.observer.established(now, number);
        let Some(Connection { client, session, client_tcp, under_way, client_index, .. }) =
            connections.get(slot, number)
        else {
            return;
        };
        let host = &clients[*client_index as usize];
        let (from, to) = (host.station, server.station);
        let route = Route { from, to, connection: number, slot, to_server: true };
        client.on_connected(&host.config, now, |ask| {
            let port = Port { net, under_way, now, route };
            write(session, client_tcp, ask, &host.stack, port);
        });
    }

    #[inline]
    fn client_reads(&mut self, now: Time, slot: u32, number: u32) {
        loop {
            let Some(c) = self.connections.get(slot, number) else { return };
            let (host, received) = (&self.clients[c.client_index as usize], c.client_tcp.received_bytes());
            let Some(exchange) = c.client.on_readable(&host.config, now, received) else { return };
            let user = c.user;
            self.report(now, number, &exchange);
            if user != NOBODY {
                self.session_goes_on(now, user, Handle { slot, number }, &exchange);
                continue;
            }
            let next = self.next_plain(now, slot, number, &exchange);
            return match next {
                Some(ask) => self.ask(now, Handle { slot, number }, ask),
                None => self.close(now, Handle { slot, number }),
            };
        }
    }

    /// What a plain connection asks for after an exchange.
    #[inline]
    fn next_plain(&mut self, now: Time, slot: u32, number: u32, exchange: &Exchange) -> Option<Ask> {
        let c = self.connections.get(slot, number)?;
        let (requests, ask) = self.clients[c.client_index as usize].plain?;
        (exchange.index + 1 < requests).then_some(Ask { due: now, ..ask })
    }

    #[inline]
    pub(super) fn report(&mut self, now: Time, number: u32, exchange: &Exchange) {
        self.totals.count(exchange, self.end_of_load);
        self.net.observer.exchange(now, number, exchange);
    }

    /// Makes a request on a connection.
    #[inline]
    pub(super) fn ask(&mut self, now: Time, Handle { slot, number }: Handle, ask: Ask) {
        let Self { net, connections, clients, server, .. } = self;
        let Some(c) = connections.get(slot, number) else { return };
        let host = &clients[c.client_index as usize];
        if c.client.ask(&host.config, now, ask) {
            let (from, to) = (host.station, server.station);
            let route = Route { from, to, connection: number, slot, to_server: true };
            let port = Port { net, under_way: &mut c.under_way, now, route };
            write(&mut c.session, &mut c.client_tcp, &ask, &host.stack, port);
        }
    }

    /// The client closes a connection on which nothing is outstanding.
    #[inline]
    pub(super) fn close(&mut self, now: Time, Handle { slot, number }: Handle) {
        let Self { net, connections, clients, server, .. } = self;
        let Some(c) = connections.get(slot, number) else { return };
        let host = &clients[c.client_index as usize];
        let (from, to) = (host.station, server.station);
        let route = Route { from, to, connection: number, slot, to_server: true };
        let mut port = Port { net, under_way: &mut c.under_way, now, route };
        c.user = NOBODY;
        c.client.finish();
        c.client_tcp.close(now, &host.stack, &mut port);
    }

    /// The client gives a connection up, or it broke: what is outstanding fails.
    pub(super) fn client_leaves(&mut self, now: Time, slot: u32, number: u32, failure: Failure) {
        let Some(c) = self.connections.get(slot, number) else { return };
        let user = c.user;
        if user != NOBODY && failure == Failure::Reset {
            self.take_back(slot, number);
        }
        while let Some(c) = self.connections.get(slot, number) {
            let received = c.client_tcp.received_bytes();
            let Some(exchange) = c.client.fail(received, Some(failure)) else { break };
            self.report(now, number, &exchange);
            if user != NOBODY {
                self.tell_session(now, user, &exchange);
            }
        }
        self.leave(now, Handle { slot, number }, failure);
        if user != NOBODY {
            self.forget_connection(user, number);
            self.serve(now, user);
        }
    }

    /// Closes or resets a connection that is given up.
    fn leave(&mut self, now: Time, handle: Handle, failure: Failure) {
        let Self { net, connections, clients, server, .. } = self;
        let Handle { slot, number } = handle;
        let Some(c) = connections.get(slot, number) else { return };
        let host = &clients[c.client_index as usize];
        if failure == Failure::Reset || !host.config.abort_resets {
            return self.close(now, handle);
        }
        let (from, to) = (host.station, server.station);
        let route = Route { from, to, connection: number, slot, to_server: true };
        let mut port = Port { net, under_way: &mut c.under_way, now, route };
        c.user = NOBODY;
        c.client.finish();
        c.client_tcp.abort(&mut port);
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

/// Hands a request to TCP, and tells the server's end what its octets will say.
#[inline]
fn write<L: Link<Payload>, O: Observer>(
    session: &mut Session,
    tcp: &mut Endpoint,
    ask: &Ask,
    stack: &Stack,
    mut port: Port<'_, L, O>,
) {
    let Port { net: Net { observer, .. }, now, route, .. } = &mut port;
    observer.asked(*now, route.connection, ask);
    let now = *now;
    session.expect(ask.request_bytes(), ask.reply_bytes);
    tcp.write(now, stack, ask.request_bytes(), &mut port);
}

fn uplink(from: StationId, to: StationId, payload: &Payload) -> Route {
    Route { from, to, connection: payload.connection, slot: payload.slot, to_server: true }
}
