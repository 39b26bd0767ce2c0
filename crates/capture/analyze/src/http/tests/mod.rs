//! Whole conversations, as a sniffer sees them.

mod captures;
mod faults;
mod properties;

use std::collections::VecDeque;

use super::{Exchanges, Octets, Outcome, Watch};
use crate::IntervalSet;

pub(super) const GET: &[u8] = b"GET /1 HTTP/1.1\r\nHost: server\r\n\r\n";
pub(super) const WHOLE: Watch = Watch::Capture { whole: true, words: true };
pub(super) const PARTIAL: Watch = Watch::Capture { whole: false, words: true };

/// A response with a body of `length` octets.
pub(super) fn response(length: usize) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").into_bytes();
    bytes.resize(bytes.len() + length, b'x');
    bytes
}

/// One connection as a connection's engine shows it; every call takes a millisecond.
pub(super) struct Sniffer {
    pub(super) exchanges: Exchanges,
    /// It rests whenever it can, as where many connections share the memory.
    pub(super) rests: bool,
    pub(super) now: u64,
    /// Where each stream ends: the client's and the server's.
    pub(super) up: u64,
    pub(super) down: u64,
    arrived: IntervalSet,
    out: VecDeque<Outcome>,
}

pub(super) const MS: u64 = 1_000_000;

impl Sniffer {
    pub(super) fn new(watch: Watch) -> Self {
        Self {
            exchanges: Exchanges::new(watch),
            rests: false,
            now: 0,
            up: 0,
            down: 0,
            arrived: IntervalSet::default(),
            out: VecDeque::new(),
        }
    }

    pub(super) fn readable(&self) -> u64 {
        self.arrived.reach(0)
    }

    /// Octets of the client from `start` on, of which `captured` were captured.
    pub(super) fn up_at(&mut self, start: u64, length: u64, captured: &[u8], acked: u64) {
        self.now += MS;
        self.exchanges.client_acked(acked, self.readable(), &mut self.out);
        let octets = Octets { time_ns: self.now, start, length, captured, acked: Some(acked) };
        self.exchanges.asked(&octets, &mut self.out);
        self.rest();
        self.up = self.up.max(start + length);
    }

    /// Octets of the server.
    pub(super) fn down_at(&mut self, start: u64, length: u64, captured: &[u8], acked: u64) {
        self.now += MS;
        let octets = Octets { time_ns: self.now, start, length, captured, acked: Some(acked) };
        self.exchanges.answered(&octets);
        self.arrived.insert(start, start + length);
        self.exchanges.read(self.now, self.readable(), false, &mut self.out);
        self.rest();
        self.down = self.down.max(start + length);
    }

    fn rest(&mut self) {
        if self.rests {
            self.exchanges.rest();
        }
    }

    pub(super) fn ask(&mut self, data: &[u8]) {
        self.up_at(self.up, data.len() as u64, data, self.down);
    }

    pub(super) fn answer(&mut self, data: &[u8]) {
        self.down_at(self.down, data.len() as u64, data, self.up);
    }

    /// What the client sends without being captured.
    pub(super) fn miss_asking(&mut self, data: &[u8]) {
        self.up += data.len() as u64;
    }

    /// What the server sends without being captured.
    pub(super) fn miss_answer(&mut self, data: &[u8]) {
        self.down += data.len() as u64;
    }

    /// The connection gives up the octets from `start` on: they were acknowledged long ago.
    pub(super) fn give_up(&mut self, up: bool, start: u64, length: u64) {
        if up {
            let octets = Octets { time_ns: self.now, start, length, captured: &[], acked: None };
            self.exchanges.asked(&octets, &mut self.out);
        } else {
            let octets = Octets { time_ns: self.now, start, length, captured: &[], acked: None };
            self.exchanges.answered(&octets);
            self.arrived.insert(start, start + length);
            self.exchanges.read(self.now, self.readable(), false, &mut self.out);
        }
    }

    /// The server's FIN arrives.
    pub(super) fn server_closes(&mut self) {
        self.now += MS;
        self.exchanges.read(self.now, self.readable(), true, &mut self.out);
    }

    /// Everything that was found.
    pub(super) fn outcomes(&mut self) -> Vec<Outcome> {
        let readable = self.readable();
        self.exchanges.end(readable, None, &mut self.out);
        self.out.drain(..).collect()
    }

    pub(super) fn word(&self) -> Option<&'static str> {
        self.exchanges.application().word()
    }
}

/// Statuses and errors, which tell most of an exchange.
pub(super) fn brief(outcomes: &[Outcome]) -> Vec<(Option<&str>, Option<u16>, Option<&'static str>)> {
    outcomes
        .iter()
        .map(|o| (o.words.as_ref().and_then(|words| words.target.as_deref()), o.status, o.error))
        .collect()
}

/// A request for `target`.
pub(super) fn get(target: &str) -> Vec<u8> {
    format!("GET {target} HTTP/1.1\r\nHost: server\r\n\r\n").into_bytes()
}
