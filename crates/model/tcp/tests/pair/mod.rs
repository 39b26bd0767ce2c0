//! Two endpoints with a wire of constant delay between them that loses what a test says.
#![allow(dead_code, unreachable_pub, reason = "a module shared by test programs; each uses its own part")]

use airperf_tcp::{Config, Endpoint, Flags, Inherited, Segment, Signals, Stack, State, Transmit};
use airperf_units::{Duration, Time};

/// What the wire does with a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Arrives,
    Lost,
    /// The sender's own transmit queue refuses it.
    Refused,
    /// It arrives then instead of after the wire's delay.
    ArrivesAt(Time),
}

/// One line of a timeline: when, from the client or not, what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub at: Time,
    pub from_client: bool,
    pub segment: Segment,
    pub fate: Fate,
}

pub struct Pair<F> {
    pub client: Endpoint,
    pub server: Endpoint,
    pub stack: Stack,
    pub log: Vec<Line>,
    pub now: Time,
    /// Whether the client's and the server's transmit queue have room; asked only with back-pressure.
    pub room: [bool; 2],
    /// What both ends begin with.
    pub inherited: Option<Inherited>,
    pub client_signals: Vec<(Time, Signals)>,
    pub server_signals: Vec<(Time, Signals)>,
    delay: Duration,
    under_way: Vec<(Time, bool, Segment)>,
    rule: F,
}

struct Port<'a, F> {
    log: &'a mut Vec<Line>,
    under_way: &'a mut Vec<(Time, bool, Segment)>,
    rule: &'a mut F,
    room: bool,
    now: Time,
    arrival: Time,
    from_client: bool,
}

impl<F: FnMut(&Line) -> Fate> Transmit for Port<'_, F> {
    fn transmit(&mut self, segment: &Segment) -> bool {
        let mut line =
            Line { at: self.now, from_client: self.from_client, segment: *segment, fate: Fate::Arrives };
        line.fate = (self.rule)(&line);
        self.log.push(line);
        match line.fate {
            Fate::Arrives => self.under_way.push((self.arrival, self.from_client, *segment)),
            Fate::ArrivesAt(at) => self.under_way.push((at, self.from_client, *segment)),
            Fate::Lost | Fate::Refused => {}
        }
        line.fate != Fate::Refused
    }

    fn has_room(&mut self) -> bool {
        self.room
    }
}

macro_rules! port {
    ($pair:ident, $from_client:expr) => {
        Port {
            log: &mut $pair.log,
            under_way: &mut $pair.under_way,
            rule: &mut $pair.rule,
            room: $pair.room[usize::from(!$from_client)],
            now: $pair.now,
            arrival: $pair.now + $pair.delay,
            from_client: $from_client,
        }
    };
}

impl<F: FnMut(&Line) -> Fate> Pair<F> {
    pub fn new(config: Config, delay: Duration, rule: F) -> Self {
        Self {
            client: Endpoint::closed(),
            server: Endpoint::closed(),
            stack: Stack::new(config, Duration::ZERO),
            log: Vec::new(),
            now: Time::ZERO,
            room: [true; 2],
            inherited: None,
            client_signals: Vec::new(),
            server_signals: Vec::new(),
            delay,
            under_way: Vec::new(),
            rule,
        }
    }

    pub fn connect(&mut self) {
        self.client.connect(self.now, &self.stack, self.inherited, &mut port!(self, true));
    }

    /// The client's queue gets room and keeps it, and the client is told.
    pub fn client_gets_room(&mut self) {
        self.room[0] = true;
        self.client.on_room(self.now, &self.stack, &mut port!(self, true));
    }

    /// The server's queue gets room and keeps it, and the server is told.
    pub fn server_gets_room(&mut self) {
        self.room[1] = true;
        self.server.on_room(self.now, &self.stack, &mut port!(self, false));
    }

    pub fn client_writes(&mut self, bytes: u32) {
        self.client.write(self.now, &self.stack, bytes, &mut port!(self, true));
    }

    pub fn server_writes(&mut self, bytes: u32) {
        self.server.write(self.now, &self.stack, bytes, &mut port!(self, false));
    }

    pub fn client_closes(&mut self) {
        self.client.close(self.now, &self.stack, &mut port!(self, true));
    }

    pub fn server_closes(&mut self) {
        self.server.close(self.now, &self.stack, &mut port!(self, false));
    }

    pub fn client_aborts(&mut self) {
        self.client.abort(&mut port!(self, true));
    }

    /// Does the next thing that happens, if it does by `end`; whether there was one.
    pub fn step(&mut self, end: Time) -> bool {
        let arrival = (0..self.under_way.len()).min_by_key(|i| (self.under_way[*i].0, *i));
        let arrives = arrival.map_or(Time::MAX, |i| self.under_way[i].0);
        let (client, server) = (self.client.deadline(&self.stack), self.server.deadline(&self.stack));
        let next = arrives.min(client).min(server);
        if next > end {
            self.now = end;
            return false;
        }
        self.now = next;
        if arrives == next {
            let (_, to_server, segment) = self.under_way.remove(arrival.expect("something arrives"));
            self.arrive(to_server, &segment);
        } else if client == next {
            let (signals, _) = self.client.on_timer(self.now, &self.stack, 0, &mut port!(self, true));
            self.client_signals.push((self.now, signals));
        } else {
            let most = self.stack.config().synack_retries;
            let (signals, _) = self.server.on_timer(self.now, &self.stack, most, &mut port!(self, false));
            self.server_signals.push((self.now, signals));
        }
        true
    }

    fn arrive(&mut self, to_server: bool, segment: &Segment) {
        if !to_server {
            let signals = self.client.receive(self.now, &self.stack, segment, &mut port!(self, true));
            self.client_signals.push((self.now, signals));
        } else if self.server.state() == State::Closed && segment.flags.has(Flags::SYN) {
            self.server.accept(self.now, &self.stack, segment, self.inherited, &mut port!(self, false));
        } else {
            let signals = self.server.receive(self.now, &self.stack, segment, &mut port!(self, false));
            self.server_signals.push((self.now, signals));
        }
    }

    pub fn run_until(&mut self, end: Time) {
        while self.step(end) {}
    }

    pub fn run_for(&mut self, span: Duration) {
        self.run_until(self.now + span);
    }

    /// Times at which the client or the server sent what `matches`.
    pub fn sent(&self, from_client: bool, matches: impl Fn(&Segment) -> bool) -> Vec<Time> {
        let lines = self.log.iter().filter(|l| l.from_client == from_client && matches(&l.segment));
        lines.map(|l| l.at).collect()
    }

    /// The timeline in words: `C SYN`, `S ACK 1283`, …
    pub fn words(&self) -> Vec<String> {
        self.log.iter().map(word).collect()
    }

    pub fn client_saw(&self, signal: Signals) -> bool {
        self.client_signals.iter().any(|(_, s)| s.has(signal))
    }

    pub fn server_saw(&self, signal: Signals) -> bool {
        self.server_signals.iter().any(|(_, s)| s.has(signal))
    }
}

fn word(line: &Line) -> String {
    let side = if line.from_client { 'C' } else { 'S' };
    let flags = line.segment.flags;
    let names = [(Flags::SYN, "SYN"), (Flags::FIN, "FIN"), (Flags::RST, "RST"), (Flags::ACK, "ACK")];
    let names: Vec<_> = names.iter().filter(|(bit, _)| flags.has(*bit)).map(|(_, name)| *name).collect();
    let len = if line.segment.len > 0 { format!(" {}", line.segment.len) } else { String::new() };
    format!("{side} {}{len}", names.join("+"))
}

pub const fn ms(n: u64) -> Time {
    Time::from_ns(n * 1_000_000)
}

pub fn seconds(times: &[Time]) -> Vec<f64> {
    times.iter().map(|t| t.as_secs_f64()).collect()
}

pub fn data(segment: &Segment) -> bool {
    segment.len > 0
}

pub fn pure_ack(segment: &Segment) -> bool {
    segment.len == 0 && segment.flags == Flags::ACK
}

/// Loses the server's data segments with these places in the stream (from 0), each as often as it stands there.
pub fn losing(places: &'static [u32]) -> impl FnMut(&Line) -> Fate {
    let mut left = places.to_vec();
    move |line: &Line| {
        let place = (line.segment.seq.max(1) - 1) / 1448;
        let hit = left.iter().position(|p| *p == place && !line.from_client && line.segment.len > 0);
        hit.map_or(Fate::Arrives, |index| {
            left.swap_remove(index);
            Fate::Lost
        })
    }
}

/// Places in the stream of the server's data segments that were sent again, in order.
pub fn sent_again<F>(pair: &Pair<F>) -> Vec<u32> {
    let again = |l: &&Line| !l.from_client && data(&l.segment) && l.segment.flags.has(Flags::AGAIN);
    pair.log.iter().filter(again).map(|l| (l.segment.seq - 1) / 1448).collect()
}

/// A wire that loses nothing.
pub fn clean(_: &Line) -> Fate {
    Fate::Arrives
}

/// Client and server with an open connection, the handshake's acknowledgement received.
pub fn established<F: FnMut(&Line) -> Fate>(config: Config, delay: Duration, rule: F) -> Pair<F> {
    let mut pair = Pair::new(config, delay, rule);
    pair.connect();
    pair.run_for(delay * 4);
    assert_eq!(pair.client.state(), State::Established);
    assert_eq!(pair.server.state(), State::Established);
    pair.log.clear();
    pair
}
