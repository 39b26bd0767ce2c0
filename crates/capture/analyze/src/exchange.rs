//! The exchanges of one connection: requests paired with responses, and when they began and ended.
//!
//! Boundaries are found in the streams as they were sent; times are those at the client: a request is
//! sent when its first octet is offered, a response is there when its octets can be read without a gap.
//! Responses come in the order of the requests (RFC 9112 §9.3.2).

use std::collections::VecDeque;

use airperf_record::ExchangeRow;

use crate::http::{Mark, Parser};
use crate::reassembly::Reassembly;

/// Most requests that may await their responses on one connection.
const MOST_OPEN: usize = 4096;

/// A request and what is known of its response; places are offsets from the first octet of payload.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    sent_ns: u64,
    request: (u64, Option<u64>),
    response_start: Option<u64>,
    response_end: Option<u64>,
    /// The response ends where the server closes.
    ends_at_close: bool,
    first_byte_ns: Option<u64>,
    /// Complete although the client had closed its side: kept until the client shows that it was there.
    done_ns: Option<u64>,
    /// What the client was waiting for when it closed its side, and how far it could read then.
    abandoned: Option<(&'static str, u64)>,
}

/// What an exchange's row needs to know of its connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    pub(crate) connection: u64,
    pub(crate) client: u16,
}

/// The exchanges of one connection.
#[derive(Debug)]
pub(crate) struct Exchanges {
    owner: Owner,
    requests: Parser,
    responses: Parser,
    up: Reassembly,
    down: Reassembly,
    open: VecDeque<Exchange>,
    /// Exchanges whose row was given.
    closed: u32,
    /// Place in `open` of the exchange whose response is next or being sent.
    answering: usize,
    /// Where the requests end as far as they were sent.
    asked_to: u64,
    pub(crate) completed: u32,
    pub(crate) first_error: Option<&'static str>,
}

impl Exchanges {
    pub(crate) fn new(owner: Owner) -> Self {
        Self {
            owner,
            requests: Parser::new(true),
            responses: Parser::new(false),
            up: Reassembly::default(),
            down: Reassembly::default(),
            open: VecDeque::new(),
            closed: 0,
            answering: 0,
            asked_to: 0,
            completed: 0,
            first_error: None,
        }
    }

    /// Whether any request was seen, or something that nobody can read.
    pub(crate) fn any(&self) -> bool {
        self.closed > 0 || !self.open.is_empty() || self.is_opaque()
    }

    /// Whether the streams turned out to be no HTTP/1, or no longer.
    pub(crate) fn is_opaque(&self) -> bool {
        self.requests.is_opaque() || self.responses.is_opaque()
    }

    /// The client offered octets of its stream.
    pub(crate) fn asked(&mut self, now: u64, start: u64, length: u64, captured: &[u8]) {
        self.up.add(start, length, captured, &mut self.requests);
        self.asked_to = self.asked_to.max(start + length);
        if self.open.len() > MOST_OPEN {
            self.requests.give_up();
        }
        while let Some(mark) = self.requests.next_mark() {
            match (mark, self.open.back_mut()) {
                (Mark::Start(at), _) => self.open.push_back(Exchange {
                    sent_ns: now,
                    request: (at, None),
                    response_start: None,
                    response_end: None,
                    ends_at_close: false,
                    first_byte_ns: None,
                    done_ns: None,
                    abandoned: None,
                }),
                (Mark::Asks(method), _) => self.responses.expect(method),
                (Mark::End(at), Some(last)) if last.request.1.is_none() => last.request.1 = Some(at),
                // A beginning that turned out to be no request is no exchange.
                (Mark::Opaque, Some(last)) if last.request.1.is_none() => drop(self.open.pop_back()),
                _ => {}
            }
        }
    }

    /// The server offered octets of its stream.
    pub(crate) fn answered(&mut self, start: u64, length: u64, captured: &[u8]) {
        self.down.add(start, length, captured, &mut self.responses);
        while let Some(mark) = self.responses.next_mark() {
            if mark == Mark::Opaque {
                // Nobody can tell what becomes of what is still awaited: these are no exchanges.
                self.open.truncate(self.answering);
                self.requests.give_up();
            }
            let Some(exchange) = self.open.get_mut(self.answering) else { continue };
            match mark {
                Mark::Start(at) => exchange.response_start = Some(at),
                Mark::Interim => exchange.response_start = None,
                Mark::End(at) => {
                    exchange.response_end = Some(at);
                    self.answering += 1;
                }
                Mark::EndsAtClose => exchange.ends_at_close = true,
                Mark::Asks(_) | Mark::Opaque => {}
            }
        }
    }

    /// The client can read its stream up to `readable`, and to its end when the server's FIN arrived too.
    pub(crate) fn read(&mut self, now: u64, readable: u64, at_end: bool, out: &mut VecDeque<ExchangeRow>) {
        let mut index = 0;
        while let Some(exchange) = self.open.get_mut(index) {
            if exchange.response_start.is_some_and(|start| readable > start) {
                exchange.first_byte_ns.get_or_insert(now);
            }
            if exchange.ends_at_close && at_end && exchange.response_end.is_none() {
                exchange.response_end = Some(readable);
                self.answering += 1;
            }
            if exchange.response_end.is_none_or(|end| end > readable) {
                break;
            }
            exchange.done_ns.get_or_insert(now);
            if exchange.abandoned.is_some() {
                index += 1;
            } else {
                self.give(readable, None, out);
            }
        }
        if at_end && index == 0 {
            // The server has closed: what is not complete never will be.
            while !self.open.is_empty() {
                let error = self.phase(readable);
                self.give(readable, Some(error), out);
            }
        }
    }

    /// The client closed its side: what it still awaits may be abandoned.
    pub(crate) fn client_closed(&mut self, readable: u64) {
        let phase = self.phase(readable);
        for exchange in &mut self.open {
            exchange.abandoned.get_or_insert((phase, readable));
        }
    }

    /// The client acknowledged its stream up to `acked` without complaint: complete responses to what it
    /// seemed to have abandoned were welcome.
    pub(crate) fn client_acked(&mut self, acked: u64, readable: u64, out: &mut VecDeque<ExchangeRow>) {
        while self
            .open
            .front()
            .is_some_and(|e| e.done_ns.is_some() && e.response_end.is_some_and(|end| acked >= end))
        {
            self.give(readable, None, out);
        }
    }

    /// Nothing more comes: everything awaited is an error, `error` or what the client was waiting for.
    pub(crate) fn end(
        &mut self,
        readable: u64,
        error: Option<&'static str>,
        out: &mut VecDeque<ExchangeRow>,
    ) {
        while let Some(front) = self.open.front() {
            // What reaches a closed socket is thrown away.
            let (error, readable) =
                front.abandoned.unwrap_or_else(|| (error.unwrap_or_else(|| self.phase(readable)), readable));
            self.give(readable, Some(error), out);
        }
    }

    /// What the client is waiting for on an established connection.
    pub(crate) fn phase(&self, readable: u64) -> &'static str {
        match self.open.front() {
            Some(Exchange { request: (_, Some(_)), response_start: Some(start), .. })
                if readable > *start =>
            {
                "receive"
            }
            Some(Exchange { request: (_, Some(_)), .. }) => "reply",
            _ => "send",
        }
    }

    /// The connection ended before any request: the exchange it was opened for is an error.
    pub(crate) fn never_asked(&mut self, error: &'static str, out: &mut VecDeque<ExchangeRow>) {
        let Owner { connection, client } = self.owner;
        self.first_error = Some(error);
        self.closed += 1;
        out.push_back(ExchangeRow {
            connection,
            index: 0,
            client,
            due_ns: None,
            sent_ns: None,
            first_byte_ns: None,
            done_ns: None,
            request_bytes: 0,
            response_bytes: 0,
            error: Some(error),
        });
    }

    /// Gives the row of the first open exchange.
    fn give(&mut self, readable: u64, error: Option<&'static str>, out: &mut VecDeque<ExchangeRow>) {
        let Some(exchange) = self.open.pop_front() else { return };
        self.answering = self.answering.saturating_sub(1);
        let (start, end) = exchange.request;
        let received = exchange
            .response_start
            .map_or(0, |s| exchange.response_end.unwrap_or(u64::MAX).min(readable).saturating_sub(s));
        self.completed += u32::from(error.is_none());
        self.first_error = self.first_error.or(error);
        out.push_back(ExchangeRow {
            connection: self.owner.connection,
            index: self.closed,
            client: self.owner.client,
            due_ns: None,
            sent_ns: Some(exchange.sent_ns),
            first_byte_ns: exchange.first_byte_ns.filter(|_| received > 0),
            done_ns: exchange.done_ns.filter(|_| error.is_none()),
            request_bytes: end.unwrap_or(self.asked_to).min(self.asked_to).saturating_sub(start),
            response_bytes: received,
            error,
        });
        self.closed += 1;
    }
}
