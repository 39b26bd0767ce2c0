//! What happens to flows: they begin, send what is due, receive, and end.

use super::World;
use crate::flows::{Bulk, Flow, FlowEnded, Kind, NO_CONNECTION, Sender, datagram, slot_of};
use crate::net::{Fate, Net, Port, Route};
use crate::observer::{Ended, Opened};
use crate::timers::Event;
use crate::{Observer, Payload};
use airperf_link::{Link, StationId};
use airperf_tcp::{Flags, State};
use airperf_units::Time;
use airperf_workload::Quality;

impl<L: Link<Payload>, O: Observer> World<L, O> {
    /// Asks for the beginnings of all flows.
    pub(super) fn prepare_flows(&mut self) {
        for (index, flow) in (0..).zip(&mut self.flows) {
            flow.wake = flow.start;
            self.timers.push(flow.start, Event::Flow { index });
        }
    }

    /// A flow looks at what is due.
    pub(super) fn flow_wakes(&mut self, now: Time, index: u32) {
        let flow = &mut self.flows[index as usize];
        if flow.wake != now {
            return; // an earlier wake-up has taken this one's place
        }
        flow.wake = Time::MAX;
        let route = route(flow, self.server.station, index);
        match &mut flow.kind {
            Kind::Datagrams(sender) => send_due(&mut self.net, now, route, sender),
            Kind::Bulk(bulk) => {
                if bulk.number.is_none() {
                    let number = self.opened;
                    self.opened += 1;
                    bulk.number = Some(number);
                    self.net.observer.opened(now, &opening(number, flow.start, flow.station, route));
                    let route = Route { connection: number, ..up(route, flow.station, self.server.station) };
                    let mut port = Port { net: &mut self.net, under_way: &mut flow.under_way, now, route };
                    bulk.client_tcp.connect(now, &bulk.client_stack, None, &mut port);
                } else {
                    self.bulk_timers(now, index);
                }
                self.drive_bulk(now, index);
            }
        }
        self.settle_flow(now, index);
    }

    /// A packet of a flow arrived, or was lost.
    pub(super) fn flow_packet(&mut self, now: Time, index: u32, payload: &Payload, fate: Fate) {
        let server = self.server.station;
        let arrived = fate != Fate::Lost;
        if arrived && payload.to_server {
            self.server.interrupt(now, 1, u64::from(payload.segment.ip_bytes()));
        }
        let flow = &mut self.flows[index as usize];
        let route = route(flow, server, index);
        match &mut flow.kind {
            Kind::Datagrams(sender) => {
                // Who receives datagrams knows a copy by its number.
                if fate != Fate::Copy {
                    sender.ended(now, arrived);
                }
                send_due(&mut self.net, now, route, sender);
            }
            Kind::Bulk(bulk) => {
                flow.under_way -= u32::from(fate != Fate::Copy);
                if arrived {
                    let base = Route { connection: payload.connection, ..route };
                    let back = if payload.to_server {
                        Route { from: server, to: flow.station, to_server: false, ..base }
                    } else {
                        up(base, flow.station, server)
                    };
                    let under_way = &mut flow.under_way;
                    let mut port = Port { net: &mut self.net, under_way, now, route: back };
                    let established = bulk.receive(now, payload, &mut port);
                    if established {
                        self.net.observer.established(now, payload.connection);
                    }
                    self.drive_bulk(now, index);
                }
            }
        }
        self.settle_flow(now, index);
    }

    fn bulk_timers(&mut self, now: Time, index: u32) {
        let server = self.server.station;
        let flow = &mut self.flows[index as usize];
        let base = route(flow, server, index);
        let Kind::Bulk(bulk) = &mut flow.kind else { return };
        let base = Route { connection: bulk.number.unwrap_or(NO_CONNECTION), ..base };
        let under_way = &mut flow.under_way;
        if bulk.client_tcp.deadline(&bulk.client_stack) <= now {
            let route = up(base, flow.station, server);
            let mut port = Port { net: &mut self.net, under_way, now, route };
            bulk.client_tcp.on_timer(now, &bulk.client_stack, 0, &mut port);
        }
        if bulk.server_tcp.deadline(&bulk.server_stack) <= now {
            let route = Route { from: server, to: flow.station, to_server: false, ..base };
            let mut port = Port { net: &mut self.net, under_way, now, route };
            let retries = bulk.server_stack.config().synack_retries;
            bulk.server_tcp.on_timer(now, &bulk.server_stack, retries, &mut port);
        }
    }

    /// The two programs of a transfer do what they can: write, read, close.
    fn drive_bulk(&mut self, now: Time, index: u32) {
        let server = self.server.station;
        let flow = &mut self.flows[index as usize];
        let (to_server, end) = (flow.to_server, flow.end);
        let base = route(flow, server, index);
        let Kind::Bulk(bulk) = &mut flow.kind else { return };
        bulk.note_received(now, to_server, end);
        let base = Route { connection: bulk.number.unwrap_or(NO_CONNECTION), ..base };
        let down = Route { from: server, to: flow.station, to_server: false, ..base };
        let routes = [up(base, flow.station, server), down];
        let [sending, receiving] = if to_server { routes } else { [routes[1], routes[0]] };

        let bytes = if now < end { bulk.wants_to_write(to_server) } else { 0 };
        let over = now >= end || bulk.left == Some(0);
        let net = &mut self.net;
        let (sender, stack) = bulk.sender(to_server);
        let mut port = Port { net, under_way: &mut flow.under_way, now, route: sending };
        if bytes > 0 {
            sender.write(now, stack, bytes, &mut port);
            bulk.left = bulk.left.map(|left| left - u64::from(bytes));
        } else if over && sender.state() == State::Established {
            sender.close(now, stack, &mut port);
        }
        let (receiver, stack) = bulk.sender(!to_server);
        if receiver.state() == State::CloseWait {
            let mut port = Port { net: &mut self.net, under_way: &mut flow.under_way, now, route: receiving };
            receiver.close(now, stack, &mut port);
        }
    }

    /// Asks for a flow's next wake-up.
    fn settle_flow(&mut self, now: Time, index: u32) {
        let flow = &mut self.flows[index as usize];
        let deadline = match &flow.kind {
            Kind::Datagrams(sender) => sender.deadline(now),
            Kind::Bulk(bulk) => {
                let closing = if now < flow.end { flow.end } else { Time::MAX };
                bulk.deadline().min(closing)
            }
        };
        let deadline = deadline.max(now);
        if deadline < flow.wake {
            flow.wake = deadline;
            self.timers.push(deadline, Event::Flow { index });
        }
    }

    /// The run is over: tells what every flow came to.
    pub(super) fn finish_flows(&mut self, end: Time) {
        for (index, flow) in (0..).zip(&mut self.flows) {
            let (start, stop, to_server) = (flow.start, flow.end, flow.to_server);
            let plain = FlowEnded {
                flow: index,
                start,
                end: stop,
                last_arrival: None,
                connection: None,
                quality: Quality::default(),
                playable: None,
            };
            let ended = match &mut flow.kind {
                Kind::Datagrams(sender) => FlowEnded {
                    last_arrival: sender.meter.last_arrival(),
                    quality: sender.meter.quality(),
                    playable: sender.meter.playable(),
                    ..plain
                },
                Kind::Bulk(bulk) => {
                    bulk.note_received(end, to_server, stop);
                    let (written, up, down) = bulk.octets(to_server);
                    if let Some(connection) = bulk.number {
                        self.net.observer.ended(&Ended { connection, bytes_up: up, bytes_down: down });
                    }
                    let quality = Quality {
                        bytes_offered: written,
                        bytes_delivered: bulk.received,
                        bytes_in_time: bulk.in_time.unwrap_or(bulk.received),
                        ..Quality::default()
                    };
                    FlowEnded { last_arrival: bulk.last_arrival, connection: bulk.number, quality, ..plain }
                }
            };
            self.totals.flow_bytes += ended.quality.bytes_in_time;
            self.net.observer.flow(&ended);
        }
    }
}

/// Where a flow's data goes.
fn route(flow: &Flow, server: StationId, index: u32) -> Route {
    let (from, to) = if flow.to_server { (flow.station, server) } else { (server, flow.station) };
    Route { from, to, connection: NO_CONNECTION, slot: slot_of(index), to_server: flow.to_server }
}

fn up(route: Route, station: StationId, server: StationId) -> Route {
    Route { from: station, to: server, to_server: true, ..route }
}

fn opening(connection: u32, due: Time, client: StationId, route: Route) -> Opened {
    let server = if route.to_server { route.to } else { route.from };
    Opened { connection, client, server, due }
}

/// Sends every datagram that is due.
fn send_due<L: Link<Payload>, O: Observer>(
    net: &mut Net<L, O>,
    now: Time,
    route: Route,
    sender: &mut Sender,
) {
    while let Some(due) = sender.due(now) {
        let queued = net.offer(now, route, &datagram(sender.number, due.payload_bytes));
        sender.sent(now, due.payload_bytes, queued);
        if !queued && sender.is_saturated() {
            break; // others' packets fill the queue; it is tried again later
        }
    }
}

impl Bulk {
    /// The end it is for takes a segment; whether that completed the handshake at the client.
    fn receive<L: Link<Payload>, O: Observer>(
        &mut self,
        now: Time,
        payload: &Payload,
        port: &mut Port<'_, L, O>,
    ) -> bool {
        let segment = &payload.segment;
        if !payload.to_server {
            let signals = self.client_tcp.receive(now, &self.client_stack, segment, port);
            return signals.has(airperf_tcp::Signals::ESTABLISHED);
        }
        if self.server_tcp.state() == State::Closed && segment.flags.has(Flags::SYN) {
            self.server_tcp.accept(now, &self.server_stack, segment, None, port);
        } else {
            self.server_tcp.receive(now, &self.server_stack, segment, port);
        }
        false
    }

    fn sender(&mut self, to_server: bool) -> (&mut airperf_tcp::Endpoint, &airperf_tcp::Stack) {
        if to_server {
            (&mut self.client_tcp, &self.client_stack)
        } else {
            (&mut self.server_tcp, &self.server_stack)
        }
    }

    /// Notes what has arrived; what the receiver had when the flow's time was over stays as it was then.
    fn note_received(&mut self, now: Time, to_server: bool, end: Time) {
        let received = u64::from(self.receiver(to_server).received_bytes());
        if now >= end && self.in_time.is_none() {
            self.in_time = Some(if now == end { received } else { self.received });
        }
        if received > self.received {
            self.received = received;
            self.last_arrival = Some(now);
        }
    }

    /// Octets written by the sender, received by the server, received by the client.
    fn octets(&self, to_server: bool) -> (u64, u64, u64) {
        let (up, down) = (self.server_tcp.received_bytes(), self.client_tcp.received_bytes());
        assert!(up <= self.client_tcp.written_bytes(), "the server received octets nobody wrote");
        assert!(down <= self.server_tcp.written_bytes(), "the client received octets nobody wrote");
        let sender = if to_server { &self.client_tcp } else { &self.server_tcp };
        (u64::from(sender.written_bytes()), u64::from(up), u64::from(down))
    }
}
