//! Users whose sessions lead several connections: when the next request goes out.
//!
//! On which is [`Way`]'s to say. Connections stay open between pages until their number of requests is used up, the
//! server closes them, or the session is over. A request of which no octet of reply came when the server closed a
//! connection that had carried others is made again on another.

use super::World;
use crate::server::Handle;
use crate::timers::Event;
use crate::{Observer, Payload};
use airperf_http::{Ask, Client, Exchange, Failure};
use airperf_link::Link;
use airperf_units::Time;
use airperf_workload::{Demand, Outcome, Page, Request, Session, SessionConfig, Way};
use std::collections::VecDeque;

/// Octets of replies beyond which a connection takes no further request: sequence numbers must not wrap.
const MOST_BYTES: u32 = 1 << 30;

/// A user in the middle of a session.
#[derive(Debug)]
pub(super) struct User {
    client_index: u32,
    session: Session,
    connections: Vec<Handle>,
    /// Requests to be made again.
    again: VecDeque<Ask>,
    /// The wake-up asked for.
    wake: Time,
}

/// The users, by place.
#[derive(Debug, Default)]
pub(super) struct Users {
    places: Vec<Option<User>>,
    free: Vec<u32>,
}

impl Users {
    fn insert(&mut self, user: User) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.places[slot as usize] = Some(user);
            return slot;
        }
        assert!(self.places.len() < crate::timers::MOST as usize, "too many sessions are alive");
        self.places.push(Some(user));
        (self.places.len() - 1) as u32
    }

    fn get(&mut self, slot: u32) -> Option<&mut User> {
        self.places.get_mut(slot as usize)?.as_mut()
    }

    fn remove(&mut self, slot: u32) {
        if self.places.get_mut(slot as usize).and_then(Option::take).is_some() {
            self.free.push(slot);
        }
    }

    /// Pages under way, with the clients' indices.
    pub(super) fn unfinished(&self) -> impl Iterator<Item = (u32, Page)> {
        self.places.iter().flatten().filter_map(|user| Some((user.client_index, user.session.unfinished()?)))
    }
}

impl<L: Link<Payload>, O: Observer> World<L, O> {
    pub(super) fn begin_session(&mut self, now: Time, client_index: u32, demand: Demand) {
        let config = &self.clients[client_index as usize].workload;
        let session = Session::new(config, self.end_of_load, &self.key, u64::from(client_index), demand);
        let (connections, again) = (Vec::new(), VecDeque::new());
        let user = User { client_index, session, connections, again, wake: Time::MAX };
        let slot = self.users.insert(user);
        self.serve(now, slot);
    }

    /// The user comes back: for the next page, for what a page embeds, or out of patience.
    pub(super) fn user_wakes(&mut self, now: Time, slot: u32) {
        let Some(user) = self.users.get(slot) else { return };
        if now != user.wake {
            return; // an earlier wake-up has taken this one's place
        }
        user.wake = Time::MAX;
        if user.session.is_impatient(now) {
            let config = &self.clients[user.client_index as usize].workload;
            let page = user.session.give_up(config, now);
            let client_index = user.client_index;
            if let Some(page) = page {
                self.report_page(now, client_index, &page);
            }
            self.drop_page(now, slot);
        }
        self.serve(now, slot);
    }

    /// Ends every request of a page that was given up.
    fn drop_page(&mut self, now: Time, slot: u32) {
        let Self { users, connections, clients, .. } = self;
        let Some(user) = users.get(slot) else { return };
        let mut ended = None;
        for _ in user.again.drain(..) {
            let config = &clients[user.client_index as usize].workload;
            let nothing = Outcome { complete: false, first_byte: None, response_bytes: 0 };
            ended = ended.or(user.session.ended(config, now, &nothing));
        }
        let client_index = user.client_index;
        // All of them before the first is left: the last one may begin the next page.
        let doing =
            |handle: &Handle| Some((*handle, connections.get(handle.slot, handle.number)?.client.doing()?));
        let busy: Vec<(Handle, Failure)> = user.connections.iter().filter_map(doing).collect();
        if let Some(page) = ended {
            self.report_page(now, client_index, &page);
        }
        for (Handle { slot, number }, doing) in busy {
            self.client_leaves(now, slot, number, doing);
            self.settle(now, slot, number);
        }
    }

    fn report_page(&mut self, now: Time, client_index: u32, page: &Page) {
        let client = &self.clients[client_index as usize];
        if client.workload.session.has_pages() {
            self.totals.count_page(page);
            self.net.observer.page(now, client.station, page);
        }
    }

    /// An exchange on a user's connection ended well.
    pub(super) fn session_goes_on(&mut self, now: Time, slot: u32, handle: Handle, exchange: &Exchange) {
        self.tell_session(now, slot, exchange);
        let Some(c) = self.connections.get(handle.slot, handle.number) else { return };
        let plan = &self.clients[c.client_index as usize].workload.session;
        if used_up(&c.client, plan) && c.client.outstanding() == 0 {
            self.close(now, handle);
            self.forget_connection(slot, handle.number);
        }
        self.serve(now, slot);
    }

    /// Tells a session how an exchange ended.
    pub(super) fn tell_session(&mut self, now: Time, slot: u32, exchange: &Exchange) {
        let Some(user) = self.users.get(slot) else { return };
        let config = &self.clients[user.client_index as usize].workload;
        let outcome = Outcome {
            complete: exchange.done.is_some(),
            first_byte: exchange.first_byte,
            response_bytes: u64::from(exchange.response_bytes),
        };
        let client_index = user.client_index;
        if let Some(page) = user.session.ended(config, now, &outcome) {
            self.report_page(now, client_index, &page);
        }
    }

    pub(super) fn forget_connection(&mut self, slot: u32, number: u32) {
        if let Some(user) = self.users.get(slot) {
            user.connections.retain(|handle| handle.number != number);
        }
    }

    /// Takes requests that a broken connection did not answer back to their user, if it answered any before.
    pub(super) fn take_back(&mut self, slot: u32, number: u32) {
        let Some(c) = self.connections.get(slot, number) else { return };
        let Some(user) = self.users.get(c.user) else { return };
        if c.client.requests() as usize > c.client.outstanding() {
            user.again.extend(c.client.take_unanswered(c.client_tcp.received_bytes()));
        }
    }

    /// Makes every request that is wanted and has a way, and asks to be woken for the next.
    pub(super) fn serve(&mut self, now: Time, slot: u32) {
        while let Some(way) = self.way(slot) {
            let Some(user) = self.users.get(slot) else { return };
            let client_index = user.client_index;
            let host = &self.clients[client_index as usize];
            let headers = (host.config.request_bytes, self.server.config.reply_header_bytes);
            let wanted = |request| ask(headers, &request);
            let next = user.again.pop_front().or_else(|| user.session.next(&host.workload, now).map(wanted));
            let Some(ask) = next else { break };
            match way {
                Way::Open(handle) => {
                    self.ask(now, handle, ask);
                    self.settle(now, handle.slot, handle.number);
                }
                Way::New => {
                    let handle = self.connect(now, client_index, slot, ask);
                    if let Some(user) = self.users.get(slot) {
                        user.connections.push(handle);
                    }
                }
            }
        }
        let Some(user) = self.users.get(slot) else { return };
        if user.session.is_over() && user.again.is_empty() {
            return self.end_session(now, slot);
        }
        let wake = user.session.wake();
        if wake < user.wake && wake > now {
            user.wake = wake;
            self.timers.push(wake, Event::User { slot });
        }
    }

    /// Closes what a session that is over has open; the last connection with a reply to come ends it.
    fn end_session(&mut self, now: Time, slot: u32) {
        let Some(user) = self.users.get(slot) else { return };
        let open = std::mem::take(&mut user.connections);
        let mut busy = Vec::new();
        for handle in open {
            match self.connections.get(handle.slot, handle.number) {
                Some(c) if c.client.outstanding() > 0 => busy.push(handle),
                Some(_) => {
                    self.close(now, handle);
                    self.settle(now, handle.slot, handle.number);
                }
                None => {}
            }
        }
        if busy.is_empty() {
            self.users.remove(slot);
        } else if let Some(user) = self.users.get(slot) {
            user.connections = busy;
        }
    }

    /// The connection for a user's next request; `None` when all are busy.
    fn way(&mut self, slot: u32) -> Option<Way<Handle>> {
        let Self { users, clients, connections, .. } = self;
        let user = users.get(slot)?;
        let config = &clients[user.client_index as usize].workload;
        let usable = user.connections.iter().filter_map(|&handle| {
            let client = &connections.get(handle.slot, handle.number)?.client;
            (!used_up(client, &config.session)).then(|| (client.outstanding(), handle))
        });
        Way::of(config, user.connections.len(), usable)
    }
}

/// Whether a connection takes no further request.
fn used_up(client: &Client, plan: &SessionConfig) -> bool {
    client.requests() >= plan.requests_per_connection || client.replies_bytes() >= MOST_BYTES
}

/// A session's request with the headers' octets of request and reply. Objects have at most Config::MAX_SIZE_BYTES.
fn ask((request_header, reply_header): (u32, u32), request: &Request) -> Ask {
    Ask {
        due: request.due,
        head_bytes: request_header,
        body_bytes: request.upload_bytes as u32,
        reply_bytes: reply_header + request.object_bytes as u32,
    }
}
