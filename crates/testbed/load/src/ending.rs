//! How a connection ends, and with it its session: every exchange that was begun has exactly one [`Outcome`].
//!
//! Left out: what came whole; see `receiving`.

use airperf_workload::Outcome as Told;

use crate::connection::Exchange;
use crate::engine::Engine;
use crate::plan::TimeoutRule;
use crate::rows::{ConnectionEnd, ExchangeEnd};
use crate::stats::{Cause, Outcome};
use crate::system;

impl Engine<'_> {
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
        if let Some(visit) = self.slab.get(place).visit {
            self.free_of_visit(place, now, outcome, cause);
            if !self.abandoned {
                for i in 0..begun {
                    let response_bytes = if i == 0 { partial } else { 0 };
                    self.tell(visit, now, Told { complete: false, first_byte: None, response_bytes });
                }
            }
            return self.serve(visit);
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
        self.requests.release(exchange.template);
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
    pub(crate) fn close_socket(&mut self, place: u32, now: u64, outcome: Outcome, cause: Option<Cause>) {
        let abort = match outcome {
            Outcome::Completed | Outcome::Local => self.plan.close_with_reset,
            Outcome::Framing | Outcome::Unfinished => true,
            _ => self.plan.close_with_reset || self.plan.timeout_rule == TimeoutRule::Progress,
        };
        let connection = self.slab.get(place);
        let was_open = connection.fd >= 0;
        if was_open {
            self.poll.forget(connection.fd);
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
