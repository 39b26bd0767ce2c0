//! What becomes of a connection: it is opened, asks, is answered, thinks, and ends in one outcome.
//!
//! Sockets are registered once, edge-triggered: a read that did not fill the buffer has emptied the socket,
//! so most replies cost one recv(2). Every exchange that was begun ends in exactly one [`Outcome`].
//!
//! Left out: the order of everything; see `engine`.

use std::cmp::Reverse;
use std::io::IoSlice;

use crate::connection::{Exchange, Phase};
use crate::engine::Engine;
use crate::plan::TimeoutRule;
use crate::request::Step;
use crate::response::Fed;
use crate::rows::{ConnectionEnd, ExchangeEnd};
use crate::stats::{Cause, Outcome};
use crate::system;

/// What bodies are made of.
static FILLER: [u8; 64 * 1024] = [b'a'; 64 * 1024];
/// Pieces handed to the kernel at once.
const PIECES: usize = 32;

const READABLE: u32 = libc::EPOLLIN as u32;
const WRITABLE: u32 = libc::EPOLLOUT as u32;
const BROKEN: u32 = (libc::EPOLLERR | libc::EPOLLHUP) as u32;
const CLOSED: u32 = libc::EPOLLRDHUP as u32;

impl Engine<'_> {
    /// Gives a connection its number and beginning.
    pub(crate) fn number(&mut self, place: u32, now: u64) {
        let number = self.numbers;
        self.numbers += 1;
        let connection = self.slab.get(place);
        (connection.number, connection.opened_ns, connection.established_ns) = (number, now, None);
        (connection.completed, connection.bytes_up, connection.bytes_down) = (0, 0, 0);
        (connection.unsent, connection.sent_bytes, connection.first_byte_ns) = (0, 0, None);
        connection.due_ns = connection.step_due_ns;
        connection.waiting.clear();
    }

    /// Opens the connection of a place: the `first` one, which was due, or another one of a session.
    pub(crate) fn connect(&mut self, place: u32, first: bool) {
        let client = self.slab.get(place).client;
        let socket = self.socket(client);
        let now = self.now();
        self.number(place, now);
        let connected = socket.and_then(|fd| {
            self.slab.get(place).fd = fd;
            system::connect(fd, &self.target)
        });
        let connection = self.slab.get(place);
        connection.phase = Phase::Connecting;
        let (fd, warming) = (connection.fd, connection.warming);
        if first {
            let late = now.saturating_sub(connection.due_ns);
            self.stats(warming).schedule_error.record(late);
        }
        if let Err(errno) = connected {
            let (cause, local) = Cause::of(errno);
            if !local {
                self.opened(warming);
                self.ask(place, now);
            }
            return self.end(place, if local { Outcome::Local } else { Outcome::Connect }, Some(cause));
        }
        self.opened(warming);
        self.slab.touch(place, now);
        self.ask(place, now);
        let eager = self.may_be_eager(client);
        if eager && !self.send_at_once(place, client) {
            return;
        }
        let events = libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET;
        let connection = self.slab.get(place);
        let writes = connection.phase == Phase::Connecting || connection.unsent > 0 || self.plan.pipeline > 1;
        let later = writes || connection.steps > 1;
        let token = self.slab.token(place);
        if let Err(errno) = self.poll.add(fd, token, events | if later { libc::EPOLLOUT } else { 0 }) {
            self.end(place, Outcome::Local, Some(Cause::of(errno).0));
        }
    }

    fn opened(&mut self, warming: bool) {
        let stats = self.stats(warming);
        stats.opened += 1;
        stats.sample().connections += 1;
    }

    /// Tries to send before anything was heard; whether the connection is still there.
    fn send_at_once(&mut self, place: u32, client: u16) -> bool {
        let now = self.now();
        if !self.flush(place, now) {
            return false;
        }
        let sent = self.slab.get(place).bytes_up > 0;
        let eager = &mut self.clients[usize::from(client)].eager;
        *eager = if sent { 8 } else { eager.saturating_sub(1) };
        if sent {
            self.established(place, now);
        }
        true
    }

    fn established(&mut self, place: u32, now: u64) {
        let connection = self.slab.get(place);
        (connection.phase, connection.established_ns) = (Phase::Open, Some(now));
        let (took, warming) = (now - connection.opened_ns, connection.warming);
        let stats = self.stats(warming);
        stats.established += 1;
        stats.connect.record(took);
        self.slab.touch(place, now);
    }

    /// Something happened on a connection.
    pub(crate) fn on_event(&mut self, place: u32, flags: u32) {
        let now = self.now();
        let connection = self.slab.get(place);
        if connection.phase == Phase::Connecting {
            if flags & BROKEN != 0 {
                let (cause, local) = Cause::of(system::pending_error(connection.fd));
                return self.end(place, if local { Outcome::Local } else { Outcome::Connect }, Some(cause));
            }
            if flags & WRITABLE == 0 {
                return;
            }
            self.established(place, now);
        }
        if flags & WRITABLE != 0 && self.slab.get(place).unsent > 0 && !self.flush(place, now) {
            return;
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
        let session = connection.session.is_some();
        connection.completed += 1;
        connection.step_due_ns = now;
        self.count_completed(place, now);
        let closing = self.closing;
        let connection = self.slab.get(place);
        if closing {
            connection.steps = connection.step;
        }
        let over = connection.step == connection.steps && connection.waiting.is_empty();
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
    fn closed_by_server(&mut self, place: u32, session: bool, now: u64) {
        let connection = self.slab.get(place);
        if !connection.waiting.is_empty() {
            return self.end(place, Outcome::Reset, Some(Cause::Closed));
        }
        let (warming, thinks) = (connection.warming, connection.phase == Phase::Thinking);
        self.stats(warming).closed_early += 1;
        if !session {
            return self.end(place, Outcome::Completed, Some(Cause::Closed));
        }
        self.close_socket(place, now, Outcome::Completed, Some(Cause::Closed));
        if !thinks && !self.must_think(place, now) {
            self.connect(place, false);
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

    fn broken(&mut self, place: u32, cause: Cause) {
        let connection = self.slab.get(place);
        let session = connection.session.is_some();
        if connection.waiting.is_empty() && session {
            let now = self.now();
            return self.closed_by_server(place, session, now);
        }
        let connecting = self.slab.get(place).phase == Phase::Connecting;
        self.end(place, if connecting { Outcome::Connect } else { Outcome::Reset }, Some(cause));
    }

    /// Queues the requests whose turn it is.
    fn ask(&mut self, place: u32, now: u64) {
        loop {
            let connection = self.slab.get(place);
            let waiting = connection.waiting.len();
            if connection.step == connection.steps || waiting >= self.plan.pipeline as usize {
                return;
            }
            let plain = Step { template: None, after_all: false, think_ns: 0 };
            let step = connection
                .session
                .map_or(plain, |session| self.requests.steps(session)[connection.step as usize]);
            if step.after_all && waiting > 0 || self.must_think(place, now) {
                return;
            }
            let template = step.template.unwrap_or_else(|| self.requests.next());
            let connection = self.slab.get(place);
            let (index, due_ns) = (connection.step, connection.step_due_ns);
            connection.waiting.push_back(Exchange { template, index, due_ns, sent_ns: None });
            connection.unsent += 1;
            connection.step += 1;
            connection.thought = false;
            if waiting == 0 {
                connection.parser.next(self.requests.get(template).is_head);
                self.slab.touch(place, now);
            }
        }
    }

    /// Whether the user thinks before the next step, which then begins.
    fn must_think(&mut self, place: u32, now: u64) -> bool {
        let connection = self.slab.get(place);
        let Some(session) = connection.session.filter(|_| !connection.thought) else { return false };
        let think_ns = self.requests.steps(session)[connection.step as usize].think_ns;
        if think_ns == 0 {
            return false;
        }
        connection.phase = Phase::Thinking;
        self.slab.unlist(place);
        let token = self.slab.token(place);
        self.thinking.push(Reverse((now + think_ns, token)));
        true
    }

    /// The user has thought.
    pub(crate) fn thought(&mut self, place: u32, until: u64) {
        let connection = self.slab.get(place);
        (connection.thought, connection.step_due_ns) = (true, until);
        if connection.fd < 0 {
            return self.connect(place, false);
        }
        connection.phase = Phase::Open;
        let now = self.now();
        self.ask(place, now);
        self.flush(place, now);
    }

    /// Sends what is queued, as far as it fits; whether the connection is still there.
    fn flush(&mut self, place: u32, now: u64) -> bool {
        loop {
            let connection = self.slab.get(place);
            if connection.unsent == 0 {
                return true;
            }
            let first = connection.waiting.len() - connection.unsent as usize;
            let template = self.requests.get(connection.waiting[first].template);
            let sent = if connection.unsent == 1 && template.body_bytes == 0 {
                system::send(connection.fd, &template.head[connection.sent_bytes as usize..])
            } else {
                self.send_pieces(place, first)
            };
            match sent {
                Ok(n) => self.sent(place, n as u64, now),
                Err(libc::EAGAIN | libc::EINTR) => return true,
                Err(errno) => {
                    self.broken(place, Cause::of(errno).0);
                    return false;
                }
            }
        }
    }

    fn send_pieces(&mut self, place: u32, first: usize) -> Result<usize, system::Errno> {
        let mut pieces = [IoSlice::new(&[]); PIECES];
        let mut count = 0;
        let Self { slab, requests, .. } = self;
        let connection = slab.get(place);
        let mut skip = connection.sent_bytes;
        for exchange in connection.waiting.range(first..) {
            let template = requests.get(exchange.template);
            let head = &template.head[skip.min(template.head.len() as u64) as usize..];
            skip = skip.saturating_sub(template.head.len() as u64);
            let mut body = template.body_bytes - skip;
            skip = 0;
            if !head.is_empty() && count < PIECES {
                pieces[count] = IoSlice::new(head);
                count += 1;
            }
            while body > 0 && count < PIECES {
                let part = body.min(FILLER.len() as u64);
                pieces[count] = IoSlice::new(&FILLER[..part as usize]);
                (count, body) = (count + 1, body - part);
            }
            if count == PIECES {
                break;
            }
        }
        system::send_all(connection.fd, &pieces[..count])
    }

    /// So many octets were taken by TCP.
    fn sent(&mut self, place: u32, mut n: u64, now: u64) {
        let Self { slab, requests, stats, warmup, plan, .. } = self;
        let connection = slab.get(place);
        let stats = if connection.warming { warmup } else { stats };
        connection.bytes_up += n;
        stats.bytes.sent += n;
        while n > 0 && connection.unsent > 0 {
            let at = connection.waiting.len() - connection.unsent as usize;
            let exchange = &mut connection.waiting[at];
            if exchange.sent_ns.is_none() {
                exchange.sent_ns = Some(now);
                stats.sent += 1;
                stats.sample().requests += 1;
            }
            let bytes = requests.get(exchange.template).bytes();
            let part = n.min(bytes - connection.sent_bytes);
            (n, connection.sent_bytes) = (n - part, connection.sent_bytes + part);
            if connection.sent_bytes == bytes {
                (connection.unsent, connection.sent_bytes) = (connection.unsent - 1, 0);
                stats.bytes.requests += bytes;
            }
        }
        if connection.unsent == 0 || plan.timeout_rule == TimeoutRule::Progress {
            slab.touch(place, now);
        }
    }

    /// Ends a connection and, with it, its session: every exchange that was begun has its outcome.
    pub(crate) fn end(&mut self, place: u32, outcome: Outcome, cause: Option<Cause>) {
        let now = self.now();
        let connection = self.slab.get(place);
        let (warming, client) = (connection.warming, connection.client);
        let left = u64::from(connection.steps.saturating_sub(connection.step));
        let partial = connection.parser.head_bytes + connection.parser.body_bytes;
        let mut begun = 0;
        while let Some(exchange) = self.slab.get(place).waiting.pop_front() {
            self.count_failed(place, &exchange, outcome, if begun == 0 { partial } else { 0 });
            begun += 1;
        }
        let connection = self.slab.get(place);
        let took = now - connection.began_ns;
        let session = connection.session.is_some();
        let plain_left = if session && outcome == Outcome::Completed { 0 } else { left };
        let stats = self.stats(warming);
        stats.not_sent += plain_left;
        match (outcome, cause) {
            (Outcome::Completed, None) => {
                stats.completed_connections += 1;
                stats.sample().ends += 1;
            }
            (Outcome::Completed, Some(_)) => {} // counted as closed early
            (Outcome::Local, cause) => *stats.local.entry(cause.unwrap_or(Cause::Other)).or_default() += 1,
            (Outcome::Unfinished, _) => stats.unfinished_connections += 1,
            (_, cause) => {
                stats.failed_connections += 1;
                *stats.causes.entry(cause.unwrap_or(Cause::Other)).or_default() += 1;
            }
        }
        if session {
            match outcome {
                Outcome::Completed => stats.session.record(took),
                Outcome::Local | Outcome::Unfinished => {}
                _ => stats.failed_session.record(took),
            }
        }
        self.close_socket(place, now, outcome, cause);
        self.clients[usize::from(client)].concurrent -= 1;
        self.concurrency(warming, -1);
        self.slab.give(place);
    }

    fn count_failed(&mut self, place: u32, exchange: &Exchange, outcome: Outcome, received: u64) {
        let connection = self.slab.get(place);
        let warming = connection.warming;
        let first_byte_ns = connection.first_byte_ns.take();
        let status = connection.parser.status;
        let (number, client) = (connection.number, connection.client);
        // What was never handed to TCP has no octets.
        let request_bytes = exchange.sent_ns.map_or(0, |_| self.requests.get(exchange.template).bytes());
        if outcome != Outcome::Local
            && let Some(rows) = &mut self.rows
        {
            rows.exchange(ExchangeEnd {
                connection: number,
                index: exchange.index,
                client,
                due_ns: exchange.due_ns,
                sent_ns: exchange.sent_ns,
                first_byte_ns,
                done_ns: None,
                request_bytes,
                response_bytes: received,
                status: if first_byte_ns.is_some() { status } else { 0 },
                outcome,
            });
        }
        let stats = self.stats(warming);
        match outcome {
            Outcome::Unfinished => stats.unfinished += 1,
            Outcome::Local => stats.not_sent += 1,
            _ => {
                *stats.errors.entry(outcome).or_default() += 1;
                stats.sample().errors += 1;
                stats.bytes.wasted += received;
            }
        }
    }

    /// Closes the socket of a place, if it has one, and writes the row of its connection.
    fn close_socket(&mut self, place: u32, now: u64, outcome: Outcome, cause: Option<Cause>) {
        let abort = match outcome {
            Outcome::Completed | Outcome::Local => self.plan.close_with_reset,
            Outcome::Framing | Outcome::Unfinished => true,
            _ => self.plan.close_with_reset || self.plan.timeout_rule == TimeoutRule::Progress,
        };
        let connection = self.slab.get(place);
        let was_open = connection.fd >= 0;
        if was_open {
            system::close(connection.fd, abort);
            connection.fd = -1;
        } else if outcome != Outcome::Local {
            return; // a session that was thinking without a connection
        }
        let end = ConnectionEnd {
            connection: connection.number,
            client: connection.client,
            due_ns: connection.due_ns,
            opened_ns: was_open.then_some(connection.opened_ns),
            established_ns: connection.established_ns,
            closed_ns: was_open.then_some(now),
            outcome,
            cause,
            exchanges: connection.completed,
            bytes_up: connection.bytes_up,
            bytes_down: connection.bytes_down,
        };
        let (warming, took) = (connection.warming, now - connection.opened_ns);
        if let Some(rows) = &mut self.rows {
            rows.connection(end);
        }
        let stats = self.stats(warming);
        if outcome != Outcome::Local {
            *stats.replies_per_connection.entry(end.exchanges).or_default() += 1;
        }
        // As httperf: the lifetime of connections that carried a reply and did not fail.
        if outcome == Outcome::Completed && end.exchanges > 0 {
            stats.lifetime.record(took);
        }
    }
}
