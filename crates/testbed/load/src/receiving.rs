//! What comes back on a connection: octets, whole replies, its end.
//!
//! A read that did not fill the buffer has emptied the socket, so most replies cost one recv(2). See epoll(7).
//!
//! Left out: where a reply ends; see `response`.

use airperf_units::Time;
use airperf_workload::Outcome as Told;

use crate::connection::Phase;
use crate::engine::Engine;
use crate::plan::TimeoutRule;
use crate::response::Fed;
use crate::rows::ExchangeEnd;
use crate::stats::{Cause, Outcome};
use crate::system;

const READABLE: u32 = libc::EPOLLIN as u32;
const WRITABLE: u32 = libc::EPOLLOUT as u32;
const BROKEN: u32 = (libc::EPOLLERR | libc::EPOLLHUP) as u32;
const CLOSED: u32 = libc::EPOLLRDHUP as u32;

impl Engine<'_> {
    /// Something happened on a connection.
    pub(crate) fn on_event(&mut self, place: u32, flags: u32) {
        let connection = self.slab.get(place);
        if connection.phase == Phase::Connecting {
            if flags & BROKEN != 0 {
                let (cause, local) = Cause::of(system::pending_error(connection.fd));
                return self.end(place, if local { Outcome::Local } else { Outcome::Connect }, Some(cause));
            }
            if flags & WRITABLE == 0 {
                return;
            }
            let now = self.now();
            self.established(place, now);
        }
        if flags & WRITABLE != 0 && self.slab.get(place).unsent > 0 {
            let now = self.now();
            if !self.flush(place, now) {
                return;
            }
        }
        if flags & (READABLE | BROKEN | CLOSED) != 0 {
            self.read(place, flags & (BROKEN | CLOSED) != 0);
        }
    }

    /// Receives what is there; with `to_the_end` until the socket says so.
    fn read(&mut self, place: u32, to_the_end: bool) {
        loop {
            let fd = self.slab.get(place).fd;
            if fd < 0 {
                return;
            }
            let result = system::receive(fd, &mut self.buffer);
            let now = self.now();
            match result {
                Ok(0) => return self.end_of_stream(place, now),
                Ok(n) => {
                    if !self.received(place, n, now) || n < self.buffer.len() && !to_the_end {
                        return;
                    }
                }
                Err(libc::EAGAIN | libc::EINTR) => return,
                Err(errno) => return self.broken(place, Cause::of(errno).0),
            }
        }
    }

    /// Takes the first `n` octets of the buffer; whether the connection is still there to be read.
    fn received(&mut self, place: u32, n: usize, now: u64) -> bool {
        let connection = self.slab.get(place);
        connection.bytes_down += n as u64;
        let warming = connection.warming;
        self.stats(warming).bytes.received += n as u64;
        let mut at = 0;
        while at < n {
            let connection = self.slab.get(place);
            if connection.waiting.is_empty() {
                // Octets nobody asked for: what follows cannot be told apart from the next reply.
                self.end(place, Outcome::Framing, Some(Cause::Framing));
                return false;
            }
            let begins = connection.first_byte_ns.is_none();
            if begins {
                connection.first_byte_ns = Some(now);
            }
            match connection.parser.feed(&self.buffer[at..n]) {
                Fed::More => {
                    at = n;
                    if begins || self.plan.timeout_rule == TimeoutRule::Progress {
                        self.slab.touch(place, now);
                    }
                }
                Fed::Done(used) => {
                    at += used;
                    if !self.completed(place, now) {
                        return false;
                    }
                }
                Fed::Wrong(_) => {
                    self.end(place, Outcome::Framing, Some(Cause::Framing));
                    return false;
                }
            }
        }
        self.slab.get(place).unsent == 0 || self.flush(place, now)
    }

    /// The oldest request has its reply; whether the connection goes on.
    fn completed(&mut self, place: u32, now: u64) -> bool {
        let connection = self.slab.get(place);
        let early = connection.unsent as usize == connection.waiting.len();
        let closes = connection.parser.closes || early; // the rest of that request must not follow
        let (session, visit) = (connection.session.is_some(), connection.visit);
        let response_bytes = connection.parser.head_bytes + connection.parser.body_bytes;
        let first_byte = connection.first_byte_ns.map(Time::from_ns);
        connection.completed += 1;
        connection.step_due_ns = now;
        self.count_completed(place, now);
        if let Some(visit) = visit {
            let told = Told { complete: true, first_byte, response_bytes };
            return self.completed_of_visit(place, visit, now, closes, told);
        }
        let closing = self.closing;
        let connection = self.slab.get(place);
        let idle = connection.waiting.is_empty();
        if closing {
            connection.steps = connection.step;
        }
        let over = connection.step == connection.steps && idle;
        if over {
            self.end(place, Outcome::Completed, None);
            return false;
        }
        if closes {
            self.closed_by_server(place, session, now);
            return false;
        }
        self.ask(place, now);
        true
    }

    /// Opens the next connection of a session, unless the user thinks first.
    fn go_on(&mut self, place: u32, now: u64) {
        if !self.must_think(place, now) {
            self.connect(place, false);
        }
    }

    fn count_completed(&mut self, place: u32, now: u64) {
        let in_time = now <= self.load_end_ns;
        let connection = self.slab.get(place);
        let Some(exchange) = connection.waiting.pop_front() else { return };
        let warming = connection.warming;
        let first_byte = connection.first_byte_ns.take().unwrap_or(now);
        let sent = exchange.sent_ns.unwrap_or(first_byte);
        let (status, head, body) =
            (connection.parser.status, connection.parser.head_bytes, connection.parser.body_bytes);
        let end = ExchangeEnd {
            connection: connection.number,
            index: exchange.index,
            client: connection.client,
            due_ns: exchange.due_ns,
            sent_ns: exchange.sent_ns,
            first_byte_ns: Some(first_byte),
            done_ns: Some(now),
            request_bytes: 0,
            response_bytes: head + body,
            status,
            outcome: Outcome::Completed,
        };
        let next = connection.waiting.front().map(|next| next.template);
        let next_is_head = next.is_some_and(|template| self.requests.get(template).is_head);
        self.slab.get(place).parser.next(next_is_head);
        let bytes = self.requests.get(exchange.template).bytes();
        self.requests.release(exchange.template);
        if let Some(rows) = &mut self.rows {
            rows.exchange(ExchangeEnd { request_bytes: bytes, ..end });
        }
        let response_ns = now.saturating_sub(exchange.due_ns);
        self.recent.saturating_record(response_ns);
        let stats = self.stats(warming);
        stats.completed += 1;
        stats.completed_in_time += u64::from(in_time);
        stats.sample().replies += 1;
        stats.response.record(response_ns);
        stats.service.record(now.saturating_sub(sent));
        stats.first_byte.record(first_byte.saturating_sub(sent));
        stats.transfer.record(now - first_byte);
        stats.status[usize::from(status / 100).min(5)] += 1;
        *stats.statuses.entry(status).or_default() += 1;
        stats.bytes.reply_heads += head;
        stats.bytes.reply_bodies += body;
    }

    /// The server closes, or is about to.
    pub(crate) fn closed_by_server(&mut self, place: u32, session: bool, now: u64) {
        let connection = self.slab.get(place);
        if !connection.waiting.is_empty() && !connection.may_ask_again() {
            return self.end(place, Outcome::Reset, Some(Cause::Closed));
        }
        if let Some(visit) = connection.visit {
            let warming = connection.warming;
            self.stats(warming).closed_early += 1;
            self.take_back(place);
            self.free_of_visit(place, now, Outcome::Completed, Some(Cause::Closed));
            return self.serve(visit);
        }
        let (warming, thinks) = (connection.warming, connection.phase == Phase::Thinking);
        self.stats(warming).closed_early += 1;
        if !session {
            return self.end(place, Outcome::Completed, Some(Cause::Closed));
        }
        self.close_socket(place, now, Outcome::Completed, Some(Cause::Closed));
        if !thinks {
            self.go_on(place, now);
        }
    }

    fn end_of_stream(&mut self, place: u32, now: u64) {
        let connection = self.slab.get(place);
        let replying = connection.first_byte_ns.is_some();
        if replying && connection.parser.end_of_stream() {
            self.completed(place, now);
        } else if connection.waiting.is_empty() {
            let session = connection.session.is_some();
            self.closed_by_server(place, session, now);
        } else {
            self.broken(place, Cause::Closed);
        }
    }

    pub(crate) fn broken(&mut self, place: u32, cause: Cause) {
        let connection = self.slab.get(place);
        let session = connection.session.is_some() || connection.visit.is_some();
        if connection.waiting.is_empty() && session || connection.may_ask_again() {
            let now = self.now();
            return self.closed_by_server(place, session, now);
        }
        let connecting = self.slab.get(place).phase == Phase::Connecting;
        self.end(place, if connecting { Outcome::Connect } else { Outcome::Reset }, Some(cause));
    }
}
