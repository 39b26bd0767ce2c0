//! What happens to browsers: loads begin, connections carry them, and they end.

use super::World;
use crate::flows::{NO_CONNECTION, UDP_HEADER_BYTES, datagram};
use crate::net::{Fate, Net, Port, Route};
use crate::observer::{Ended, Opened};
use crate::timers::Event;
use crate::visits::{Carrier, Datagrams, Ends, ObjectSeen, Visit, slot_of};
use crate::{Observer, Payload};
use airperf_http::browser::{Action, Outcome, PageLoad, Seen};
use airperf_http::{Ask, Exchange};
use airperf_link::{Link, StationId};
use airperf_rudp::Datagram;
use airperf_tcp::{Flags, IP_HEADER_BYTES, Segment, Signals, State};
use airperf_units::Time;
use airperf_workload::{Ending, Page};
use std::collections::BTreeMap;

impl<L: Link<Payload>, O: Observer> World<L, O> {
    /// Asks for the beginnings of all loads.
    pub(super) fn prepare_visits(&mut self) {
        for (index, visit) in (0..).zip(&mut self.visits) {
            visit.wake = visit.next;
            self.timers.push(visit.next, Event::Visit { index });
        }
    }

    /// A browser looks at what is due.
    pub(super) fn visit_wakes(&mut self, now: Time, index: u32) {
        let visit = &mut self.visits[index as usize];
        if visit.wake != now {
            return; // an earlier wake-up has taken this one's place
        }
        visit.wake = Time::MAX;
        if visit.next <= now {
            if now < self.end_of_load {
                visit.begin(index).start(now);
            } else {
                visit.next = Time::MAX;
            }
        }
        if let Some(load) = &mut visit.load {
            load.on_timer(now);
        }
        self.visit_timers(now, index);
        self.drive_visit(now, index);
    }

    /// The timers of its connections.
    fn visit_timers(&mut self, now: Time, index: u32) {
        for place in 0..self.visits[index as usize].ends.len() {
            let (visit, net, route) = self.at_visit(index, place);
            let Visit { ends, client_stack, server_stack, .. } = visit;
            let one = &mut ends[place];
            let (number, under_way) = (one.number, &mut one.under_way);
            let given_up = match &mut one.carrier {
                Carrier::Tcp(tcp) => {
                    let mut signals = [Signals::NONE; 2];
                    if tcp.client.deadline(client_stack) <= now {
                        let mut port = Port { net, under_way, now, route };
                        signals[0] = tcp.client.on_timer(now, client_stack, 0, &mut port).0;
                    }
                    if tcp.server.deadline(server_stack) <= now {
                        let retries = server_stack.config().synack_retries;
                        let mut port = Port { net, under_way, now, route: back(route) };
                        signals[1] = tcp.server.on_timer(now, server_stack, retries, &mut port).0;
                    }
                    signals.iter().any(|signals| signals.has(Signals::GIVEN_UP))
                }
                Carrier::Datagrams(ends) if ends.closed => false,
                Carrier::Datagrams(ends) => {
                    let Datagrams { client, server, on_the_way, .. } = &mut **ends;
                    for (end, route) in [(client, route), (server, back(route))] {
                        if end.deadline() <= now {
                            end.on_timer(now, &mut Sends { net, under_way, now, route, on_the_way });
                        }
                    }
                    ends.client.has_given_up() || ends.server.has_given_up()
                }
            };
            if given_up {
                self.connection_broke(now, index, number);
            }
        }
        for place in 0..self.visits[index as usize].ends.len() {
            self.hear(now, index, place);
        }
    }

    /// Tells the load under way what has arrived on a connection.
    fn hear(&mut self, now: Time, index: u32, place: usize) {
        let visit = &mut self.visits[index as usize];
        let Visit { ends, server_stack, load, loads, .. } = visit;
        let one = &mut ends[place];
        let Some(load) = load.as_mut().filter(|_| one.load + 1 == *loads) else { return };
        let [at_server, at_browser] = one.carrier.received();
        load.server_received(now, one.lane, at_server);
        if load.has_frames(one.lane) {
            load.server_has(one.lane, one.unsent_bytes(server_stack));
        }
        load.client_received(now, one.lane, at_browser);
    }

    /// A browser with what its connection at `place` needs to send.
    fn at_visit(&mut self, index: u32, place: usize) -> (&mut Visit, &mut Net<L, O>, Route) {
        let Self { visits, net, server, .. } = self;
        let visit = &mut visits[index as usize];
        let route = Route {
            from: visit.browser.station,
            to: server.station,
            connection: visit.ends[place].number,
            slot: slot_of(index),
            to_server: true,
        };
        (visit, net, route)
    }

    /// A packet of a browser arrived, or was lost.
    pub(super) fn visit_packet(&mut self, now: Time, index: u32, payload: &Payload, fate: Fate) {
        let arrived = fate != Fate::Lost;
        if let Some(host) = payload.look_up() {
            if arrived {
                self.look_up_arrives(now, index, host, payload.to_server);
            }
        } else {
            self.segment_arrives(now, index, payload, fate);
        }
        self.drive_visit(now, index);
    }

    fn look_up_arrives(&mut self, now: Time, index: u32, host: u32, at_server: bool) {
        if at_server {
            return self.send_look_up(now, index, host, false);
        }
        if let Some(load) = &mut self.visits[index as usize].load {
            load.resolved(now, host);
        }
    }

    fn send_look_up(&mut self, now: Time, index: u32, host: u32, to_server: bool) {
        let Self { visits, net, server, .. } = self;
        let visit = &visits[index as usize];
        let Some(named) = visit.browser.page.hosts.get(host as usize) else { return };
        let (question, answer) = named.look_up_bytes();
        let (connection, slot) = (NO_CONNECTION, slot_of(index));
        let up = Route { from: visit.browser.station, to: server.station, connection, slot, to_server: true };
        let (route, bytes) = if to_server { (up, question) } else { (back(up), answer) };
        net.offer(now, route, &datagram(host, bytes));
    }

    fn segment_arrives(&mut self, now: Time, index: u32, payload: &Payload, fate: Fate) {
        let Some(place) =
            self.visits[index as usize].ends.iter().position(|ends| ends.number == payload.connection)
        else {
            return; // Only a copy may find its connection gone.
        };
        let (visit, net, route) = self.at_visit(index, place);
        let Visit { ends, client_stack, server_stack, loads, .. } = visit;
        let one = &mut ends[place];
        one.under_way -= u32::from(fate != Fate::Copy);
        if fate == Fate::Lost {
            if let Carrier::Datagrams(ends) = &mut one.carrier {
                ends.on_the_way.remove(&payload.packet);
            }
            return;
        }
        let segment = &payload.segment;
        let (number, under_way) = (one.number, &mut one.under_way);
        let route = if payload.to_server { back(route) } else { route };
        let mut signals = Signals::NONE;
        match &mut one.carrier {
            Carrier::Tcp(tcp) => {
                let mut port = Port { net, under_way, now, route };
                if !payload.to_server {
                    signals = tcp.client.receive(now, client_stack, segment, &mut port);
                } else if tcp.server.state() == State::Closed && segment.flags.has(Flags::SYN) {
                    tcp.server.accept(now, server_stack, segment, None, &mut port);
                } else {
                    signals = tcp.server.receive(now, server_stack, segment, &mut port);
                }
            }
            Carrier::Datagrams(ends) => {
                let Datagrams { client, server, on_the_way, .. } = &mut **ends;
                let end = if payload.to_server { server } else { client };
                // A copy finds it gone: the protocol would drop it for its number.
                if let Some(datagram) = on_the_way.remove(&payload.packet) {
                    end.receive(now, &datagram, &mut Sends { net, under_way, now, route, on_the_way });
                }
            }
        }
        if signals.has(Signals::ESTABLISHED) && !payload.to_server {
            let (lane, current) = (one.lane, one.load + 1 == *loads);
            self.net.observer.established(now, number);
            if let Some(load) = self.visits[index as usize].load.as_mut().filter(|_| current) {
                load.connected(now, lane);
            }
        }
        self.hear(now, index, place);
        if signals.has(Signals::RESET) || signals.has(Signals::GIVEN_UP) {
            self.connection_broke(now, index, number);
        }
        self.answer_close(now, index, place);
    }

    /// Either side closes when the other has.
    fn answer_close(&mut self, now: Time, index: u32, place: usize) {
        let (visit, net, route) = self.at_visit(index, place);
        let Visit { ends, client_stack, server_stack, .. } = visit;
        let one = &mut ends[place];
        let Carrier::Tcp(tcp) = &mut one.carrier else { return };
        if tcp.server.state() == State::CloseWait {
            let mut port = Port { net, under_way: &mut one.under_way, now, route: back(route) };
            tcp.server.close(now, server_stack, &mut port);
        }
        if tcp.client.state() == State::CloseWait {
            let mut port = Port { net, under_way: &mut one.under_way, now, route };
            tcp.client.close(now, client_stack, &mut port);
        }
    }

    fn connection_broke(&mut self, now: Time, index: u32, number: u32) {
        let visit = &mut self.visits[index as usize];
        let loads = visit.loads;
        let Some(one) = visit.ends(number) else { return };
        let (lane, current) = (one.lane, one.load + 1 == loads);
        if let Carrier::Datagrams(ends) = &mut one.carrier {
            ends.closed = true;
        }
        if let Some(load) = visit.load.as_mut().filter(|_| current) {
            load.broken(now, lane);
        }
    }

    /// Does what the load under way wants, forgets connections that are over, and asks for the next wake-up.
    fn drive_visit(&mut self, now: Time, index: u32) {
        while let Some(action) = self.visits[index as usize].load.as_mut().and_then(PageLoad::next_action) {
            self.do_visit(now, index, action);
        }
        self.report_exchanges(now, index);
        let ended = self.visits[index as usize].load.as_ref().and_then(PageLoad::ended);
        if let Some((at, outcome)) = ended {
            self.end_visit(now, index, at, Some(outcome));
            let visit = &mut self.visits[index as usize];
            if visit.loads < visit.browser.loads {
                visit.next = now + visit.browser.pause;
            }
        }
        let Self { visits, net, timers, .. } = self;
        let visit = &mut visits[index as usize];
        visit.ends.retain(|one| {
            if one.is_over() {
                net.observer.ended(&octets(one));
            }
            !one.is_over()
        });
        let deadline = visit.deadline().max(now);
        if deadline < visit.wake {
            visit.wake = deadline;
            timers.push(deadline, Event::Visit { index });
        }
    }

    fn do_visit(&mut self, now: Time, index: u32, action: Action) {
        match action {
            Action::LookUp { host } => self.send_look_up(now, index, host, true),
            Action::Open { lane } => self.open_lane(now, index, lane),
            Action::Write { lane, to_server, bytes, asks } => {
                if let Some(object) = asks {
                    self.tell_request(now, index, lane, object);
                }
                self.write_lane(now, index, lane, to_server, bytes);
                let visit = &mut self.visits[index as usize];
                if !to_server
                    && let Some(place) = visit.place_of(lane)
                    && let Some(load) = &mut visit.load
                    && load.has_frames(lane)
                {
                    load.server_has(lane, visit.ends[place].unsent_bytes(&visit.server_stack));
                }
            }
            Action::Close { lane, by_server } => self.close_lane(now, index, lane, !by_server),
        }
    }

    /// One end of a connection of the load under way writes; what goes to the server the browser's side does.
    fn write_lane(&mut self, now: Time, index: u32, lane: u32, to_server: bool, bytes: u32) {
        let Some(place) = self.visits[index as usize].place_of(lane) else { return };
        let (visit, net, route) = self.at_visit(index, place);
        let Visit { ends, client_stack, server_stack, .. } = visit;
        let Ends { carrier, under_way, .. } = &mut ends[place];
        let route = if to_server { route } else { back(route) };
        match carrier {
            Carrier::Tcp(tcp) => {
                let (tcp, stack) = tcp.end(to_server, client_stack, server_stack);
                tcp.write(now, stack, bytes, &mut Port { net, under_way, now, route });
            }
            Carrier::Datagrams(ends) => {
                ends.written[usize::from(!to_server)] += bytes;
                let Datagrams { client, server, on_the_way, .. } = &mut **ends;
                let end = if to_server { client } else { server };
                end.write(now, bytes.into(), &mut Sends { net, under_way, now, route, on_the_way });
            }
        }
    }

    /// One end of a connection of the load under way closes.
    fn close_lane(&mut self, now: Time, index: u32, lane: u32, client: bool) {
        let Some(place) = self.visits[index as usize].place_of(lane) else { return };
        let (visit, net, route) = self.at_visit(index, place);
        let Visit { ends, client_stack, server_stack, .. } = visit;
        let Ends { carrier, under_way, .. } = &mut ends[place];
        let route = if client { route } else { back(route) };
        match carrier {
            Carrier::Tcp(tcp) => {
                let (tcp, stack) = tcp.end(client, client_stack, server_stack);
                tcp.close(now, stack, &mut Port { net, under_way, now, route });
            }
            // The halves keep their endpoints; what a load had of them ends with it.
            Carrier::Datagrams(ends) => ends.closed = true,
        }
    }

    fn open_lane(&mut self, now: Time, index: u32, lane: u32) {
        let number = self.opened;
        self.opened += 1;
        let server = self.server.station;
        let visit = &mut self.visits[index as usize];
        let opened = Opened { connection: number, client: visit.browser.station, server, due: now };
        self.net.observer.opened(now, &opened);
        let carrier = visit.browser.datagrams.map_or_else(Carrier::tcp, Carrier::datagrams);
        let load = visit.loads - 1;
        visit.ends.push(Ends { number, load, lane, under_way: 0, exchanges: 0, carrier });
        let place = visit.ends.len() - 1;
        let (visit, net, route) = self.at_visit(index, place);
        let Visit { ends, client_stack, load, .. } = visit;
        let Ends { carrier, under_way, .. } = &mut ends[place];
        match carrier {
            Carrier::Tcp(tcp) => {
                tcp.client.connect(now, client_stack, None, &mut Port { net, under_way, now, route });
            }
            // The halves know each other.
            Carrier::Datagrams(_) => {
                net.observer.established(now, number);
                if let Some(load) = load {
                    load.connected(now, lane);
                }
            }
        }
    }

    /// Tells of a request whose octets, and its reply's, are those of HTTP/1 on the wire.
    fn tell_request(&mut self, now: Time, index: u32, lane: u32, object: u32) {
        let visit = &self.visits[index as usize];
        let (Some(load), Some(place)) = (&visit.load, visit.place_of(lane)) else { return };
        if load.is_plain(lane) {
            let seen = &load.objects()[object as usize];
            let ask = Ask {
                due: seen.found.unwrap_or(now),
                head_bytes: seen.request_bytes,
                body_bytes: 0,
                reply_bytes: seen.reply_bytes,
            };
            self.net.observer.asked(now, visit.ends[place].number, &ask);
        }
    }

    /// Reports exchanges that are complete.
    fn report_exchanges(&mut self, now: Time, index: u32) {
        loop {
            let visit = &mut self.visits[index as usize];
            let Some(seen) = visit.load.as_mut().and_then(PageLoad::next_complete) else { return };
            self.report_object(now, index, &seen);
        }
    }

    fn report_object(&mut self, now: Time, index: u32, seen: &Seen) {
        let visit = &mut self.visits[index as usize];
        let Some(place) = seen.lane.and_then(|lane| visit.place_of(lane)) else { return };
        let one = &mut visit.ends[place];
        let exchange = Exchange {
            index: one.exchanges,
            due: seen.found.unwrap_or(now),
            sent: seen.sent,
            first_byte: seen.first_byte,
            done: seen.done,
            request_bytes: seen.request_bytes,
            response_bytes: seen.received,
            failure: None,
        };
        one.exchanges += 1;
        let number = one.number;
        self.report(now, number, &exchange);
    }

    /// A load is over, or the run (`outcome` is `None`).
    fn end_visit(&mut self, now: Time, index: u32, at: Time, outcome: Option<Outcome>) {
        let visit = &mut self.visits[index as usize];
        let Some(load) = visit.load.take() else { return };
        let number = visit.loads - 1;
        let objects = load.objects();
        let connection = |seen: &Seen| {
            let lane = seen.lane?;
            visit.ends.iter().find(|one| one.load == number && one.lane == lane).map(|one| one.number)
        };
        for (object, seen) in (0..).zip(objects) {
            let seen =
                ObjectSeen { browser: index, load: number, object, seen, connection: connection(seen) };
            self.net.observer.object(now, &seen);
        }
        let page = Page {
            session: u64::from(number),
            page: 0,
            due: load.begun().unwrap_or(now),
            first_byte: objects[0].first_byte,
            done: (outcome == Some(Outcome::Complete)).then_some(at),
            requested: objects.iter().filter(|seen| seen.sent.is_some()).count() as u32,
            complete: objects.iter().filter(|seen| seen.done.is_some()).count() as u32,
            cached: 0,
            response_bytes: objects.iter().map(|seen| u64::from(seen.received)).sum(),
            ending: match outcome {
                Some(Outcome::Complete) => Ending::Complete,
                Some(Outcome::Incomplete) => Ending::Incomplete,
                Some(Outcome::GivenUp) => Ending::GivenUp,
                None => Ending::Unfinished,
            },
        };
        let station = visit.browser.station;
        if outcome.is_some() {
            self.totals.count_page(&page);
        }
        self.net.observer.page(now, station, &page);
    }

    /// The run is over: tells what loads and connections came to.
    pub(super) fn finish_visits(&mut self, end: Time) {
        for index in 0..self.visits.len() as u32 {
            self.end_visit(end, index, end, None);
            for one in &self.visits[index as usize].ends {
                self.net.observer.ended(&octets(one));
            }
        }
    }
}

/// The way back.
fn back(route: Route) -> Route {
    let (from, to): (StationId, StationId) = (route.to, route.from);
    Route { from, to, to_server: !route.to_server, ..route }
}

fn octets(one: &Ends) -> Ended {
    let ([up, down], [asked, answered]) = (one.carrier.received(), one.carrier.written());
    assert!(up <= asked, "the server received octets nobody wrote");
    assert!(down <= answered, "the client received octets nobody wrote");
    Ended { connection: one.number, bytes_up: u64::from(up), bytes_down: u64::from(down) }
}

/// Puts an end's datagrams into its station's transmit queue, and remembers them while they are on the link.
struct Sends<'a, L, O> {
    net: &'a mut Net<L, O>,
    under_way: &'a mut u32,
    now: Time,
    route: Route,
    on_the_way: &'a mut BTreeMap<u32, Datagram>,
}

impl<L: Link<Payload>, O: Observer> airperf_rudp::Transmit for Sends<'_, L, O> {
    fn transmit(&mut self, datagram: &Datagram) {
        let (number, again) = match datagram {
            Datagram::Data { place, again, .. } => (*place, *again),
            Datagram::Repair { repair, .. } => (repair.first, false),
            Datagram::Ack(ack) => (ack.next, false),
        };
        let segment = Segment {
            seq: number,
            len: datagram.ip_bytes() - (IP_HEADER_BYTES as u16 + u16::from(UDP_HEADER_BYTES)),
            header: UDP_HEADER_BYTES,
            flags: Flags::default().with_if(Flags::AGAIN, again),
            ..Segment::default()
        };
        let packet = self.net.packets;
        if self.net.offer(self.now, self.route, &segment) {
            *self.under_way += 1;
            self.on_the_way.insert(packet, *datagram);
        }
    }
}
