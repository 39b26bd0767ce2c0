//! What a connection asks: which request is next, when the user has thought, and its octets on their way.
//!
//! A request is asked when its turn comes and as many may be unanswered as the plan's `pipeline` says; what TCP does
//! not take at once waits for the socket. See send(2), sendmsg(2).
//!
//! Left out: which requests there are; see `request`.

use std::cmp::Reverse;
use std::io::IoSlice;

use crate::connection::{Exchange, Phase};
use crate::engine::Engine;
use crate::plan::TimeoutRule;
use crate::request::Step;
use crate::stats::Cause;
use crate::system;

/// What bodies are made of.
static FILLER: [u8; 64 * 1024] = [b'a'; 64 * 1024];
/// Pieces handed to the kernel at once.
const PIECES: usize = 32;

impl Engine<'_> {
    /// Queues the requests whose turn it is.
    pub(crate) fn ask(&mut self, place: u32, now: u64) {
        if self.slab.get(place).visit.is_some() {
            if let Some(exchange) = self.slab.get(place).wished() {
                self.queue(place, exchange, now);
            }
            return;
        }
        if self.plan.whole_bursts && !self.slab.get(place).waiting.is_empty() {
            return;
        }
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
            if step.after_all || connection.session.is_none() {
                connection.burst_due_ns = connection.step_due_ns;
            }
            let (index, due_ns) = (connection.step, connection.burst_due_ns);
            connection.thought = false;
            self.queue(place, Exchange { template, index, due_ns, sent_ns: None }, now);
        }
    }

    /// Queues a request behind those that wait for their replies.
    fn queue(&mut self, place: u32, exchange: Exchange, now: u64) {
        let connection = self.slab.get(place);
        let next = connection.waiting.is_empty();
        connection.waiting.push_back(exchange);
        connection.unsent += 1;
        connection.step += 1;
        if next {
            connection.parser.next(self.requests.get(exchange.template).is_head);
            self.slab.touch(place, now);
        }
    }

    /// Whether the user thinks before the next step, which then begins.
    pub(crate) fn must_think(&mut self, place: u32, now: u64) -> bool {
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
    pub(crate) fn flush(&mut self, place: u32, now: u64) -> bool {
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
}
