//! Users whose sessions lead several connections: when the next request goes out.
//!
//! What is wanted, and when, is [`Session`]'s to say, and on which connection [`Way`]'s, as in simulation. Connections
//! stay open between pages until their requests are used up, the server closes them, or the session is over. A request
//! of which no octet of reply came when the server closed a connection that had carried others is made again on another.
//!
//! Left out: what happens on a connection; see `receiving` and `ending`.

use std::cmp::Reverse;
use std::collections::VecDeque;

use airperf_record::PageRow;
use airperf_units::Time;
use airperf_workload::{Outcome as Told, Page, Session, Way};

use crate::arrivals::Arrival;
use crate::connection::{Connection, Exchange};
use crate::engine::{Engine, RETRY_NS};
use crate::stats::{Cause, Outcome};

/// A request that has no connection yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) template: u32,
    pub(crate) due_ns: u64,
}

/// A user in the middle of a session.
#[derive(Debug)]
pub(crate) struct Visit {
    client: u16,
    warming: bool,
    began_ns: u64,
    session: Session,
    /// Places of its connections.
    connections: Vec<u32>,
    /// Requests to be made again.
    again: VecDeque<Wish>,
    /// The wake-up asked for.
    wake_ns: u64,
    /// Nothing is asked before this: what failed at once would fail at once again.
    not_before_ns: u64,
    /// Whether a connection was opened.
    begun: bool,
    /// Whether [`Engine::serve`] is at work for it.
    served: bool,
    /// How and why the first of its exchanges that failed did.
    failed: Option<(Outcome, Cause)>,
}

/// The users, by place.
#[derive(Debug, Default)]
pub(crate) struct Visits {
    places: Vec<Option<Box<Visit>>>,
    free: Vec<u32>,
}

impl Visits {
    fn insert(&mut self, visit: Visit) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        self.places[place as usize] = Some(Box::new(visit));
        place
    }

    fn get(&mut self, visit: u32) -> Option<&mut Visit> {
        self.places.get_mut(visit as usize)?.as_deref_mut()
    }

    fn remove(&mut self, visit: u32) -> Option<Box<Visit>> {
        let removed = self.places.get_mut(visit as usize)?.take();
        self.free.extend(removed.is_some().then_some(visit));
        removed
    }

    /// How many there are.
    pub(crate) fn alive(&self) -> usize {
        self.places.len() - self.free.len()
    }

    fn all(&self) -> Vec<u32> {
        (0..self.places.len() as u32).filter(|&i| self.places[i as usize].is_some()).collect()
    }
}

impl Engine<'_> {
    /// A user comes.
    pub(crate) fn begin_visit(&mut self, arrival: Arrival, warming: bool) {
        let Arrival { due_ns, client, session: number } = arrival;
        let Some(session) = self.requests.visit(client, number, due_ns, self.pages_end_ns) else { return };
        self.clients[usize::from(client)].concurrent += 1;
        self.concurrency(warming, 1);
        let visit = self.visits.insert(Visit {
            client,
            warming,
            began_ns: self.now(),
            session,
            connections: Vec::new(),
            again: VecDeque::new(),
            wake_ns: u64::MAX,
            not_before_ns: 0,
            begun: false,
            served: false,
            failed: None,
        });
        self.serve(visit);
    }

    /// Users come back: for the next page, for what a page embeds, or out of patience.
    pub(crate) fn wake_visits(&mut self, now: u64) {
        while let Some(&Reverse((wake_ns, place))) = self.waking.peek() {
            if wake_ns > now {
                return;
            }
            self.waking.pop();
            let Some(visit) = self.visits.get(place) else { continue };
            if visit.wake_ns != wake_ns {
                continue; // an earlier wake-up has taken this one's place
            }
            visit.wake_ns = u64::MAX;
            if visit.session.is_impatient(Time::from_ns(now)) {
                self.give_page_up(place, now);
            }
            self.serve(place);
        }
    }

    /// Ends every request of a page that took longer than its user's patience.
    fn give_page_up(&mut self, place: u32, now: u64) {
        let Self { visits, requests, .. } = self;
        let Some(visit) = visits.get(place) else { return };
        let Some(config) = requests.config() else { return };
        let page = visit.session.give_up(config, Time::from_ns(now));
        let (open, again) = (visit.connections.clone(), std::mem::take(&mut visit.again));
        let of = (visit.client, visit.warming);
        visit.served = true; // not before all are ended
        self.count_page(of, page);
        for wish in again {
            self.requests.release(wish.template);
            self.tell(place, now, Told { complete: false, first_byte: None, response_bytes: 0 });
        }
        for connection in open {
            if !self.slab.get(connection).waiting.is_empty() {
                let outcome = self.slab.get(connection).doing();
                self.end(connection, outcome, Some(Cause::Timeout));
            }
        }
        if let Some(visit) = self.visits.get(place) {
            visit.served = false;
        }
    }

    /// Tells a session how a request of it ended.
    pub(crate) fn tell(&mut self, place: u32, now: u64, told: Told) {
        let Self { visits, requests, .. } = self;
        let Some(visit) = visits.get(place) else { return };
        let Some(config) = requests.config() else { return };
        let page = visit.session.ended(config, Time::from_ns(now), &told);
        let of = (visit.client, visit.warming);
        self.count_page(of, page);
    }

    /// Counts a page that is over, of a client, in its warm-up or not.
    fn count_page(&mut self, (client, warming): (u16, bool), page: Option<Page>) {
        let Some(page) = page else { return };
        if let Some(rows) = &mut self.rows {
            rows.page(PageRow {
                client,
                session: page.session,
                page: page.page,
                due_ns: page.due.as_ns(),
                first_byte_ns: page.first_byte.map(Time::as_ns),
                done_ns: page.done.map(Time::as_ns),
                requested: page.requested,
                complete: page.complete,
                cached: page.cached,
                response_bytes: page.response_bytes,
                outcome: page.ending.name(),
            });
        }
        let stats = self.stats(warming);
        stats.pages.count(page.ending);
        if let Some(done) = page.done {
            stats.page.record((done - page.due).as_ns());
        }
    }

    /// Makes every request that is wanted and has a way, and asks to be woken for the next.
    pub(crate) fn serve(&mut self, place: u32) {
        let Some(visit) = self.visits.get(place) else { return };
        if self.abandoned || std::mem::replace(&mut visit.served, true) {
            return; // whoever is at it goes on
        }
        while let Some(way) = self.way(place) {
            let now = self.now();
            let Some(wish) = self.wish(place, now) else { break };
            match way {
                Way::Open(connection) => {
                    self.slab.get(connection).wish = Some(wish);
                    self.ask(connection, now);
                    self.flush(connection, now);
                }
                Way::New => self.connect_visit(place, wish, now),
            }
        }
        let Some(visit) = self.visits.get(place) else { return };
        visit.served = false;
        if visit.session.is_over() && visit.again.is_empty() {
            return self.leave(place);
        }
        let held = visit.not_before_ns > self.clock.now().as_ns();
        let wake_ns = if held { visit.not_before_ns } else { visit.session.wake().as_ns() };
        if wake_ns < visit.wake_ns {
            visit.wake_ns = wake_ns;
            self.waking.push(Reverse((wake_ns, place)));
        }
    }

    fn wish(&mut self, place: u32, now: u64) -> Option<Wish> {
        let Self { visits, requests, .. } = self;
        let visit = visits.get(place)?;
        if now < visit.not_before_ns {
            return None;
        }
        if let Some(wish) = visit.again.pop_front() {
            return Some(wish);
        }
        let request = visit.session.next(requests.config()?, Time::from_ns(now))?;
        Some(Wish { template: requests.make(&request)?, due_ns: request.due.as_ns() })
    }

    fn connect_visit(&mut self, visit: u32, wish: Wish, now: u64) {
        let Some(of) = self.visits.get(visit) else { return };
        let first = !std::mem::replace(&mut of.begun, true);
        let (client, warming) = (of.client, of.warming);
        let place = self.slab.take();
        self.visits.get(visit).into_iter().for_each(|of| of.connections.push(place));
        let connection = self.slab.get(place);
        (connection.client, connection.warming, connection.session) = (client, warming, None);
        (connection.began_ns, connection.step_due_ns, connection.thought) = (now, wish.due_ns, false);
        (connection.step, connection.steps, connection.fd) = (0, self.plan.requests_per_connection, -1);
        (connection.visit, connection.wish) = (Some(visit), Some(wish));
        self.connect(place, first);
    }

    /// The connection for a user's next request; `None` when all are busy.
    fn way(&mut self, visit: u32) -> Option<Way<u32>> {
        let Self { visits, slab, requests, .. } = self;
        let visit = visits.get(visit)?;
        let usable = visit.connections.iter().filter_map(|&place| {
            let connection = slab.get(place);
            (connection.step < connection.steps).then_some((connection.waiting.len(), place))
        });
        Way::of(requests.config()?, visit.connections.len(), usable)
    }

    /// A connection of a user is closed and its place free again, whatever became of it.
    pub(crate) fn free_of_visit(&mut self, place: u32, now: u64, outcome: Outcome, cause: Option<Cause>) {
        let connection = self.slab.get(place);
        let Some(visit) = connection.visit.take() else { return };
        let connected = connection.established_ns.is_some();
        self.close_socket(place, now, outcome, cause);
        self.slab.give(place);
        let Some(of) = self.visits.get(visit) else { return };
        of.connections.retain(|&other| other != place);
        if outcome != Outcome::Completed {
            of.failed = of.failed.or(Some((outcome, cause.unwrap_or(Cause::Other))));
            of.not_before_ns = if connected { of.not_before_ns } else { now + RETRY_NS };
        }
    }

    /// Takes the unanswered requests of a connection that the server closed back to their user.
    pub(crate) fn take_back(&mut self, place: u32) {
        let Self { slab, visits, stats, warmup, .. } = self;
        let connection = slab.get(place);
        let Some(visit) = connection.visit.and_then(|visit| visits.get(visit)) else { return };
        let stats = if connection.warming { warmup } else { stats };
        for exchange in connection.waiting.drain(..) {
            stats.sent -= u64::from(exchange.sent_ns.is_some());
            visit.again.push_back(Wish { template: exchange.template, due_ns: exchange.due_ns });
        }
        connection.unsent = 0;
    }

    /// A session is over: its connections are closed, and with the last of them it is counted.
    fn leave(&mut self, place: u32) {
        let Some(visit) = self.visits.get(place) else { return };
        let now = self.clock.now().as_ns();
        for connection in visit.connections.clone() {
            if self.slab.get(connection).waiting.is_empty() {
                self.free_of_visit(connection, now, Outcome::Completed, None);
            }
        }
        if self.visits.get(place).is_some_and(|visit| visit.connections.is_empty())
            && let Some(visit) = self.visits.remove(place)
        {
            self.count_visit(&visit, now, visit.failed);
        }
    }

    fn count_visit(&mut self, visit: &Visit, now: u64, failed: Option<(Outcome, Cause)>) {
        let took = now - visit.began_ns;
        let stats = self.stats(visit.warming);
        match failed {
            None => {
                stats.completed_connections += 1;
                stats.sample().ends += 1;
                stats.session.record(took);
            }
            Some((Outcome::Unfinished, _)) => stats.unfinished_connections += 1,
            Some((Outcome::Local, cause)) => *stats.local.entry(cause).or_default() += 1,
            Some((_, cause)) => {
                stats.failed_connections += 1;
                *stats.causes.entry(cause).or_default() += 1;
                stats.failed_session.record(took);
            }
        }
        self.clients[usize::from(visit.client)].concurrent -= 1;
        self.concurrency(visit.warming, -1);
    }

    /// Users who are still there when the time is up are unfinished.
    pub(crate) fn abandon_visits(&mut self) {
        let now = self.now();
        for place in self.visits.all() {
            if let Some(visit) = self.visits.remove(place) {
                let page = visit.session.unfinished();
                self.count_page((visit.client, visit.warming), page);
                self.count_visit(&visit, now, visit.failed.or(Some((Outcome::Unfinished, Cause::Other))));
            }
        }
    }
}

impl Engine<'_> {
    /// A request of a user has its reply, the last of the connection if it `closes`; whether the connection goes on.
    pub(crate) fn completed_of_visit(
        &mut self,
        place: u32,
        visit: u32,
        now: u64,
        closes: bool,
        told: Told,
    ) -> bool {
        let token = self.slab.token(place);
        self.tell(visit, now, told);
        if closes {
            self.closed_by_server(place, true, now);
            return false;
        }
        let connection = self.slab.get(place);
        if connection.waiting.is_empty() {
            let used_up = connection.step == connection.steps;
            self.slab.unlist(place); // nothing is waited for
            if used_up {
                self.free_of_visit(place, now, Outcome::Completed, None);
            }
        }
        self.serve(visit);
        self.slab.find(token).is_some()
    }
}

impl Connection {
    /// What failed if the user left now.
    pub(crate) fn doing(&self) -> Outcome {
        use crate::connection::Phase;
        match self.phase {
            Phase::Connecting => Outcome::Connect,
            _ if self.unsent > 0 => Outcome::Send,
            _ if self.first_byte_ns.is_none() => Outcome::Reply,
            _ => Outcome::Receive,
        }
    }

    /// Whether its unanswered requests may be made again: the server had answered others, and of these nothing came.
    pub(crate) fn may_ask_again(&self) -> bool {
        self.visit.is_some() && self.completed > 0 && self.first_byte_ns.is_none()
    }

    /// The request that was wished for, as an exchange.
    pub(crate) fn wished(&mut self) -> Option<Exchange> {
        let Wish { template, due_ns } = self.wish.take()?;
        Some(Exchange { template, index: self.step, due_ns, sent_ns: None })
    }
}
