//! One load of a page: what is looked up, opened, asked for, answered and found, and when.
//!
//! SANS-IO, both programs' halves of every connection: the owner carries octets. It tells what arrived and when, and does
//! what [`PageLoad::next_action`] wants until there is nothing more.
//!
//! As browsers do (RFC 9112 §9.3 to §9.4): an object goes to an idle connection of its server, else a new one is opened
//! while there may be more, else with pipelining it goes to the one with the fewest replies outstanding; it waits for
//! whichever connection is free first. Over frames (HTTP/2, a proxy of two halves) it is asked for at once. An object is
//! found when the octets that name it are there. Left out: priorities, reuse of connections between loads, servers that
//! close idle connections.

mod ask;
mod receive;
mod wanted;

use self::wanted::Wanted;
use super::config::{BrowserConfig, TLS_HELLO_BYTES, TRIES};
use super::lane::{Lane, Phase, What};
use super::page::Page;
use airperf_units::Time;
use std::collections::VecDeque;
use std::sync::Arc;

/// What the owner is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ask for a host's address; [`PageLoad::resolved`] follows.
    LookUp {
        /// The host, a place among the page's.
        host: u32,
    },
    /// Open a connection; [`PageLoad::connected`] follows.
    Open {
        /// Its number in the load, from 0.
        lane: u32,
    },
    /// Write octets to a connection.
    Write {
        /// The connection.
        lane: u32,
        /// Whether the browser's side writes.
        to_server: bool,
        /// How many.
        bytes: u32,
        /// The object that is asked for, where the octets are the request of one.
        asks: Option<u32>,
    },
    /// Close a connection.
    Close {
        /// The connection.
        lane: u32,
        /// Whether the server closes, behind what it wrote; else the browser.
        by_server: bool,
    },
}

/// What was seen of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// When its server's address was asked for on its behalf.
    pub looked_up: Option<Time>,
    /// When it was found to be needed.
    pub found: Option<Time>,
    /// When it was asked for.
    pub sent: Option<Time>,
    /// When its first octet came.
    pub first_byte: Option<Time>,
    /// When it was complete and needed.
    pub done: Option<Time>,
    /// The connection that brought it.
    pub lane: Option<u32>,
    /// Octets of the reply received.
    pub received: u32,
    /// Octets of the reply.
    pub reply_bytes: u32,
    /// Octets of the request.
    pub request_bytes: u32,
    /// Whether it was sent unasked.
    pub pushed: bool,
    tries: u8,
    failed: bool,
    arrived: bool,
}

/// How a load ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With everything there.
    Complete,
    /// Without an object that could not be had.
    Incomplete,
    /// The user left.
    GivenUp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Unknown,
    /// Asked for at this time, so many times.
    Asked(Time, u8),
    Known,
}

/// One load of a page.
#[derive(Clone, Debug)]
pub struct PageLoad {
    config: Arc<BrowserConfig>,
    page: Arc<Page>,
    /// By object, whether the proxy's half beside the browser has it as it is.
    unchanged: Vec<bool>,
    names: Vec<Name>,
    lanes: Vec<Lane>,
    /// Those that are not over, in order.
    live: Vec<u32>,
    objects: Vec<Seen>,
    /// By object: those that it names, in the order in which they are found.
    names_of: Vec<VecDeque<u32>>,
    /// Named already; found when the parser is so far.
    parsing: VecDeque<(Time, u32)>,
    wanted: Wanted,
    /// Whether something has changed that may give a wanted object a way.
    may_ask: bool,
    actions: VecDeque<Action>,
    begun: Option<Time>,
    /// Complete, and not told of yet.
    complete: VecDeque<u32>,
    missing: u32,
    ended: Option<(Time, Outcome)>,
}

impl PageLoad {
    /// A load that has not begun; `unchanged` says of an object whether it is as it was at the visit before.
    pub fn new(config: Arc<BrowserConfig>, page: Arc<Page>, unchanged: impl Fn(u32) -> bool) -> Self {
        let count = page.objects.len();
        let mut names_of = vec![VecDeque::new(); count];
        let mut order: Vec<u32> = (0..count as u32).collect();
        order.sort_by_key(|&object| (page.objects[object as usize].found_at, object));
        for object in order {
            if let Some(other) = page.objects[object as usize].found_in {
                names_of[other as usize].push_back(object);
            }
        }
        Self {
            names: vec![Name::Unknown; page.hosts.len()],
            unchanged: (0..count as u32).map(unchanged).collect(),
            lanes: Vec::new(),
            live: Vec::new(),
            objects: vec![Seen::default(); count],
            names_of,
            parsing: VecDeque::new(),
            wanted: Wanted::new(page.hosts.len()),
            may_ask: false,
            actions: VecDeque::new(),
            begun: None,
            complete: VecDeque::new(),
            missing: count as u32,
            ended: None,
            config,
            page,
        }
    }

    /// The user wants the page. With a proxy of two halves the time of the load runs from when these are connected.
    pub fn start(&mut self, now: Time) {
        if self.config.is_dual() {
            for _ in 0..self.config.proxy.map_or(1, |proxy| proxy.connections) {
                self.open(0);
            }
        } else {
            self.begin(now);
        }
    }

    fn begin(&mut self, now: Time) {
        self.begun = Some(now);
        self.find(now, 0);
        self.ask_all(now);
    }

    /// What is to be done next.
    pub fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// What was seen of the next object that is complete.
    pub fn next_complete(&mut self) -> Option<Seen> {
        self.complete.pop_front().map(|object| self.objects[object as usize])
    }

    /// When the page was wanted.
    pub fn begun(&self) -> Option<Time> {
        self.begun
    }

    /// When and how the load ended.
    pub fn ended(&self) -> Option<(Time, Outcome)> {
        self.ended
    }

    /// What was seen of the objects, in the page's order.
    pub fn objects(&self) -> &[Seen] {
        &self.objects
    }

    /// Whether replies on a connection come in frames.
    pub fn has_frames(&self, lane: u32) -> bool {
        self.lanes[lane as usize].frames
    }

    /// Whether a connection's octets are those of HTTP/1 as it is.
    pub fn is_plain(&self, lane: u32) -> bool {
        let lane = &self.lanes[lane as usize];
        !lane.frames && (self.config.knows_proxy() || !self.page.hosts[lane.server as usize].tls)
    }

    /// When [`Self::on_timer`] is needed.
    pub fn deadline(&self) -> Time {
        let Some(begun) = self.begun.filter(|_| self.ended.is_none()) else { return Time::MAX };
        let names = self.names.iter().map(|name| match name {
            Name::Asked(at, _) => *at + self.config.look_up_timeout,
            _ => Time::MAX,
        });
        let servers = self.live.iter().map(|&lane| self.lanes[lane as usize].ready());
        let parsing = self.parsing.front().map_or(Time::MAX, |&(at, _)| at);
        names.chain(servers).min().unwrap_or(Time::MAX).min(parsing).min(begun + self.config.patience)
    }

    /// Time has passed.
    pub fn on_timer(&mut self, now: Time) {
        if self.ended.is_some() {
            return;
        }
        if self.begun.is_some_and(|begun| now >= begun + self.config.patience) {
            return self.end(now, Outcome::GivenUp);
        }
        for host in 0..self.names.len() as u32 {
            if let Name::Asked(at, tries) = self.names[host as usize]
                && now >= at + self.config.look_up_timeout
            {
                self.look_up_again(now, host, tries);
            }
        }
        while let Some((_, object)) = pop_if(&mut self.parsing, |&(at, _)| at <= now) {
            self.find(now, object);
        }
        for place in 0..self.live.len() {
            self.answer(now, self.live[place]);
        }
        self.ask_all(now);
    }

    fn look_up_again(&mut self, now: Time, host: u32, tries: u8) {
        if tries < TRIES {
            self.names[host as usize] = Name::Asked(now, tries + 1);
            self.actions.push_back(Action::LookUp { host });
            return;
        }
        let gone: Vec<u32> = self.wanted.of(host).collect();
        self.names[host as usize] = Name::Unknown;
        self.may_ask = true;
        gone.into_iter().for_each(|object| self.fail(now, object));
    }

    /// A host's address is known.
    pub fn resolved(&mut self, now: Time, host: u32) {
        if let Some(name) = self.names.get_mut(host as usize)
            && self.ended.is_none()
        {
            *name = Name::Known;
            self.may_ask = true;
            self.ask_all(now);
        }
    }

    /// A connection's handshake is complete.
    pub fn connected(&mut self, now: Time, lane: u32) {
        let one = &mut self.lanes[lane as usize];
        let tls = self.page.hosts[one.server as usize].tls && !self.config.knows_proxy();
        if tls {
            one.phase = Phase::Greeting;
            one.up.write(What::Greeting, TLS_HELLO_BYTES);
            self.write(lane, true, TLS_HELLO_BYTES, None);
            return;
        }
        self.opened(now, lane);
    }

    fn opened(&mut self, now: Time, lane: u32) {
        self.lanes[lane as usize].phase = Phase::Open;
        self.may_ask = true;
        if self.begun.is_none() {
            if self.lanes.iter().all(Lane::is_open) {
                self.begin(now);
            }
        } else {
            self.ask_all(now);
        }
    }

    fn fail(&mut self, now: Time, object: u32) {
        self.wanted.remove(object);
        self.may_ask = true;
        let seen = &mut self.objects[object as usize];
        if seen.done.is_none() && !seen.failed {
            seen.failed = true;
            self.missing -= 1;
        }
        // What it would have named is never found.
        for embedded in std::mem::take(&mut self.names_of[object as usize]) {
            self.fail(now, embedded);
        }
        self.maybe_end(now);
    }

    fn maybe_end(&mut self, now: Time) {
        if self.missing == 0 && self.ended.is_none() {
            let whole = self.objects.iter().all(|seen| !seen.failed);
            self.end(now, if whole { Outcome::Complete } else { Outcome::Incomplete });
        }
    }

    fn end(&mut self, now: Time, outcome: Outcome) {
        self.ended = Some((now, outcome));
        for lane in std::mem::take(&mut self.live) {
            self.lanes[lane as usize].phase = Phase::Over;
            self.actions.push_back(Action::Close { lane, by_server: false });
        }
    }

    /// A connection broke: what it had to bring is asked for again on another.
    pub fn broken(&mut self, now: Time, lane: u32) {
        let one = &mut self.lanes[lane as usize];
        if one.phase == Phase::Over {
            return;
        }
        let server = one.server;
        one.thinking.clear();
        let mut lost = std::mem::take(&mut one.outstanding);
        self.over(lane);
        if lost.is_empty() && self.begun.is_none() {
            return self.end(now, Outcome::Incomplete);
        }
        if lost.is_empty() {
            // It never carried anything; whoever waited for it has tried.
            lost.extend(self.wanted.of(server).next());
        }
        for object in lost {
            let seen = &mut self.objects[object as usize];
            seen.tries += 1;
            (seen.sent, seen.first_byte, seen.received, seen.pushed) = (None, None, 0, false);
            if seen.tries >= TRIES {
                self.fail(now, object);
            } else if seen.found.is_some() {
                self.wanted.push_first(object, self.server_of(object));
            }
        }
        self.ask_all(now);
    }

    fn write(&mut self, lane: u32, to_server: bool, bytes: u32, asks: Option<u32>) {
        self.actions.push_back(Action::Write { lane, to_server, bytes, asks });
    }
}

/// Takes the first of a queue if it is what is asked for.
fn pop_if<T>(queue: &mut VecDeque<T>, wanted: impl FnOnce(&T) -> bool) -> Option<T> {
    if queue.front().is_some_and(wanted) { queue.pop_front() } else { None }
}
