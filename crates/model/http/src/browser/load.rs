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

use super::config::{
    BrowserConfig, Cache, LookUps, Protocol, TLS_FINISHED_BYTES, TLS_HELLO_BYTES, TLS_SERVER_BYTES, TRIES,
};
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

/// How an object came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It was asked for.
    Asked,
    /// It was sent before it was asked for.
    Pushed,
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

impl Seen {
    /// How it came.
    pub const fn source(&self) -> Source {
        if self.pushed { Source::Pushed } else { Source::Asked }
    }
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
    objects: Vec<Seen>,
    /// By object: those that it names, in the order in which they are found.
    names_of: Vec<VecDeque<u32>>,
    /// Named already; found when the parser is so far.
    parsing: VecDeque<(Time, u32)>,
    wanted: VecDeque<u32>,
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
            objects: vec![Seen::default(); count],
            names_of,
            parsing: VecDeque::new(),
            wanted: VecDeque::new(),
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
        !lane.frames && (self.config.proxy.is_some() || !self.page.hosts[lane.server as usize].tls)
    }

    /// When [`Self::on_timer`] is needed.
    pub fn deadline(&self) -> Time {
        let Some(begun) = self.begun.filter(|_| self.ended.is_none()) else { return Time::MAX };
        let names = self.names.iter().map(|name| match name {
            Name::Asked(at, _) => *at + self.config.look_up_timeout,
            _ => Time::MAX,
        });
        let servers = self.lanes.iter().filter(|lane| lane.phase != Phase::Over).map(Lane::ready);
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
        for lane in 0..self.lanes.len() as u32 {
            self.answer(now, lane);
        }
        self.ask_all(now);
    }

    fn look_up_again(&mut self, now: Time, host: u32, tries: u8) {
        if tries < TRIES {
            self.names[host as usize] = Name::Asked(now, tries + 1);
            self.actions.push_back(Action::LookUp { host });
            return;
        }
        let of_host = |load: &Self, object: &u32| load.server_of(*object) == host;
        let gone: Vec<u32> = self.wanted.iter().copied().filter(|object| of_host(self, object)).collect();
        self.names[host as usize] = Name::Unknown;
        gone.into_iter().for_each(|object| self.fail(now, object));
    }

    /// A host's address is known.
    pub fn resolved(&mut self, now: Time, host: u32) {
        if let Some(name) = self.names.get_mut(host as usize)
            && self.ended.is_none()
        {
            *name = Name::Known;
            self.ask_all(now);
        }
    }

    /// A connection's handshake is complete.
    pub fn connected(&mut self, now: Time, lane: u32) {
        let one = &mut self.lanes[lane as usize];
        let tls = self.page.hosts[one.server as usize].tls && self.config.proxy.is_none();
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
        if self.begun.is_none() {
            if self.lanes.iter().all(Lane::is_open) {
                self.begin(now);
            }
        } else {
            self.ask_all(now);
        }
    }

    /// `arrived` octets of a connection's stream to the server are there.
    pub fn server_received(&mut self, now: Time, lane: u32, arrived: u32) {
        while let Some((what, _, ended)) = self.lanes[lane as usize].up.read(arrived) {
            match what {
                What::Greeting if ended && self.lanes[lane as usize].phase == Phase::Greeting => {
                    self.lanes[lane as usize].down.write(What::Greeting, TLS_SERVER_BYTES);
                    self.write(lane, false, TLS_SERVER_BYTES, None);
                }
                What::Object(object) if ended => {
                    let ready = now + self.page.objects[object as usize].think;
                    let already = self.objects[object as usize].pushed;
                    if !already {
                        self.lanes[lane as usize].thinking.push_back((object, ready));
                    }
                }
                _ => {}
            }
        }
        self.answer(now, lane);
    }

    /// The server answers what it can on a connection.
    fn answer(&mut self, now: Time, lane: u32) {
        while let Some(object) = self.lanes[lane as usize].answer(now) {
            let pushed = self.objects[object as usize].pushed;
            let bytes = self.objects[object as usize].reply_bytes;
            self.lanes[lane as usize].reply(object, bytes, pushed);
            if self.config.proxy.is_some_and(|proxy| proxy.push) {
                self.push_embedded(now, lane, object);
            }
        }
        self.pump(lane);
    }

    /// The proxy has read an object and fetches what that names.
    fn push_embedded(&mut self, now: Time, lane: u32, object: u32) {
        for embedded in self.names_of[object as usize].clone() {
            let reply_bytes = self.reply_bytes(embedded);
            let seen = &mut self.objects[embedded as usize];
            if seen.sent.is_none() && !seen.pushed {
                (seen.pushed, seen.lane, seen.reply_bytes) = (true, Some(lane), reply_bytes);
                let ready = now + self.page.objects[embedded as usize].think;
                self.lanes[lane as usize].outstanding.push(embedded);
                self.lanes[lane as usize].thinking.push_back((embedded, ready));
            }
        }
    }

    fn pump(&mut self, lane: u32) {
        let bytes = self.lanes[lane as usize].pump();
        if bytes > 0 {
            self.write(lane, false, bytes, None);
        }
    }

    /// The server's TCP has `unsent` octets of a connection that it could not send yet.
    pub fn server_has(&mut self, lane: u32, unsent: u32) {
        self.lanes[lane as usize].unsent = unsent;
        if self.ended.is_none() {
            self.pump(lane);
        }
    }

    /// `arrived` octets of a connection's stream to the browser are there.
    pub fn client_received(&mut self, now: Time, lane: u32, arrived: u32) {
        while let Some((what, bytes, ended)) = self.lanes[lane as usize].down.read(arrived) {
            match what {
                What::Greeting if ended => {
                    self.lanes[lane as usize].up.write(What::Greeting, TLS_FINISHED_BYTES);
                    self.write(lane, true, TLS_FINISHED_BYTES, None);
                    self.opened(now, lane);
                }
                What::Object(object) => self.object_received(now, lane, object, bytes),
                _ => {}
            }
        }
        self.ask_all(now);
    }

    fn object_received(&mut self, now: Time, lane: u32, object: u32, bytes: u32) {
        let place = object as usize;
        let header = self.reply_header_bytes();
        let seen = &mut self.objects[place];
        seen.first_byte.get_or_insert(now);
        seen.received += bytes;
        let (arrived, of) = (seen.received.saturating_sub(header), seen.reply_bytes.saturating_sub(header));
        let complete = seen.received >= seen.reply_bytes;
        // As much of the body as of its octets on the wire, compressed or not.
        let body = u64::from(self.page.objects[place].bytes);
        let read = if complete { body } else { body * u64::from(arrived) / u64::from(of.max(1)) };
        if complete {
            seen.arrived = true;
        }
        if self.objects[place].found.is_some() {
            self.read_on(now, object, read);
        }
        if complete {
            self.lanes[lane as usize].outstanding.retain(|&one| one != object);
            if self.config.protocol == Protocol::Http10 && !self.lanes[lane as usize].frames {
                self.lanes[lane as usize].phase = Phase::Over;
                self.actions.push_back(Action::Close { lane, by_server: true });
            }
            self.complete(now, object);
        }
    }

    /// The parser goes on to `read` octets of an object's body.
    fn read_on(&mut self, now: Time, object: u32, read: u64) {
        let Self { page, names_of, parsing, config, .. } = self;
        let named = &mut names_of[object as usize];
        while let Some(embedded) =
            pop_if(named, |&one| u64::from(page.objects[one as usize].found_at) <= read)
        {
            parsing.push_back((now + config.parse_delay, embedded));
        }
        while let Some((_, embedded)) = pop_if(&mut self.parsing, |&(at, _)| at <= now) {
            self.find(now, embedded);
        }
    }

    /// An object is there; done if it is needed.
    fn complete(&mut self, now: Time, object: u32) {
        let seen = &mut self.objects[object as usize];
        if seen.found.is_some() && seen.arrived && seen.done.is_none() {
            seen.done = Some(now);
            self.missing -= 1;
            self.complete.push_back(object);
            self.read_on(now, object, u64::MAX);
            self.maybe_end(now);
        }
    }

    fn find(&mut self, now: Time, object: u32) {
        let seen = &mut self.objects[object as usize];
        if seen.found.is_some() {
            return;
        }
        seen.found = Some(now);
        if seen.pushed {
            self.complete(now, object);
        } else {
            self.wanted.push_back(object);
        }
    }

    fn fail(&mut self, now: Time, object: u32) {
        self.wanted.retain(|&one| one != object);
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
        for (lane, one) in (0..).zip(&mut self.lanes) {
            if one.phase != Phase::Over {
                one.phase = Phase::Over;
                self.actions.push_back(Action::Close { lane, by_server: false });
            }
        }
    }

    /// A connection broke: what it had to bring is asked for again on another.
    pub fn broken(&mut self, now: Time, lane: u32) {
        let one = &mut self.lanes[lane as usize];
        if one.phase == Phase::Over {
            return;
        }
        one.phase = Phase::Over;
        one.thinking.clear();
        let mut lost = std::mem::take(&mut one.outstanding);
        if lost.is_empty() && self.begun.is_none() {
            return self.end(now, Outcome::Incomplete);
        }
        if lost.is_empty() {
            // It never carried anything; whoever waited for it has tried.
            lost.extend(self.wanted.front());
        }
        for object in lost {
            let seen = &mut self.objects[object as usize];
            seen.tries += 1;
            (seen.sent, seen.first_byte, seen.received, seen.pushed) = (None, None, 0, false);
            if seen.tries >= TRIES {
                self.fail(now, object);
            } else if seen.found.is_some() && !self.wanted.contains(&object) {
                self.wanted.push_front(object);
            }
        }
        self.ask_all(now);
    }

    fn server_of(&self, object: u32) -> u32 {
        match self.config.one_server || self.config.proxy.is_some() {
            true => self.page.objects[0].host,
            false => self.page.objects[object as usize].host,
        }
    }

    /// Asks for every object that has a way.
    fn ask_all(&mut self, now: Time) {
        if self.ended.is_some() {
            return;
        }
        let mut place = 0;
        while let Some(&object) = self.wanted.get(place) {
            let server = self.server_of(object);
            if self.is_known(now, server, object)
                && let Some(lane) = self.way(server, place)
            {
                self.wanted.remove(place);
                self.ask(now, lane, object);
            } else {
                place += 1;
            }
        }
    }

    /// Whether a server's address is known; else it is looked up.
    fn is_known(&mut self, now: Time, server: u32, object: u32) -> bool {
        let told = match self.config.look_ups {
            LookUps::Each => false,
            LookUps::First => server != self.page.objects[0].host,
            LookUps::None => true,
        };
        let name = &mut self.names[server as usize];
        if told || self.config.proxy.is_some() {
            return true;
        }
        if *name == Name::Unknown {
            *name = Name::Asked(now, 1);
            self.objects[object as usize].looked_up = Some(now);
            self.actions.push_back(Action::LookUp { host: server });
        }
        *name == Name::Known
    }

    /// The connection for an object of `server`; `None` while it must wait, for a new one perhaps.
    fn way(&mut self, server: u32, place: usize) -> Option<u32> {
        let mut connecting = 0;
        let (mut of_server, mut in_all) = (0, 0);
        let mut best: Option<(usize, u32)> = None;
        for (number, lane) in (0..).zip(&self.lanes) {
            if lane.phase == Phase::Over {
                continue;
            }
            in_all += 1;
            if lane.server != server {
                continue;
            }
            of_server += 1;
            let outstanding = lane.outstanding.len();
            if !lane.is_open() {
                connecting += 1;
            } else if best.is_none_or(|(least, _)| outstanding < least) {
                best = Some((outstanding, number));
            }
        }
        let tls = self.page.hosts[server as usize].tls;
        if self.config.frames(tls) {
            if of_server == 0 {
                self.open(server);
            }
            return best.map(|(_, lane)| lane);
        }
        if let Some((0, lane)) = best {
            return Some(lane);
        }
        let waiting =
            self.wanted.iter().take(place + 1).filter(|&&one| self.server_of(one) == server).count();
        if waiting <= connecting {
            return None;
        }
        let few = of_server < self.config.connections;
        if few && (in_all < self.config.connections_in_all || self.close_idle()) {
            self.open(server);
            return None;
        }
        let depth = if self.config.protocol == Protocol::Http10 { 1 } else { self.config.pipeline as usize };
        best.filter(|&(outstanding, _)| outstanding < depth).map(|(_, lane)| lane)
    }

    /// Closes a connection that nothing is wanted on, so that there is room for another; whether there was one.
    fn close_idle(&mut self) -> bool {
        let wanted = |server| self.wanted.iter().any(|&object| self.server_of(object) == server);
        let idle = |lane: &Lane| lane.is_open() && lane.outstanding.is_empty() && !wanted(lane.server);
        let Some(lane) = self.lanes.iter().position(idle).map(|lane| lane as u32) else { return false };
        self.lanes[lane as usize].phase = Phase::Over;
        self.actions.push_back(Action::Close { lane, by_server: false });
        true
    }

    fn open(&mut self, server: u32) {
        let tls = self.page.hosts[server as usize].tls;
        let lane = self.lanes.len() as u32;
        self.lanes.push(Lane::new(server, self.config.frames(tls)));
        self.actions.push_back(Action::Open { lane });
    }

    fn ask(&mut self, now: Time, lane: u32, object: u32) {
        let dual = self.config.proxy.filter(|proxy| proxy.dual);
        let frame = if self.lanes[lane as usize].frames { super::config::FRAME_HEADER_BYTES } else { 0 };
        let bytes = dual.map_or(self.config.request_bytes, |proxy| proxy.header_bytes.0) + frame;
        let reply_bytes = self.reply_bytes(object);
        let seen = &mut self.objects[object as usize];
        (seen.sent, seen.lane) = (Some(now), Some(lane));
        (seen.request_bytes, seen.reply_bytes) = (bytes, reply_bytes);
        let one = &mut self.lanes[lane as usize];
        one.asked += 1;
        one.outstanding.push(object);
        one.up.write(What::Object(object), bytes);
        self.write(lane, true, bytes, Some(object));
    }

    fn reply_header_bytes(&self) -> u32 {
        let dual = self.config.proxy.filter(|proxy| proxy.dual);
        dual.map_or(self.config.reply_header_bytes, |proxy| proxy.header_bytes.1)
    }

    /// Octets of an object's reply.
    fn reply_bytes(&self, object: u32) -> u32 {
        let one = &self.page.objects[object as usize];
        let header = self.reply_header_bytes();
        let Some(proxy) = self.config.proxy else { return header + one.bytes };
        let body = if proxy.compress { one.packed_bytes } else { one.bytes };
        let unchanged = self.unchanged[object as usize];
        header
            + match proxy.cache {
                Cache::None => body,
                Cache::Hash { .. } | Cache::Delta { .. } if unchanged => 0,
                Cache::Hash { .. } => body,
                Cache::Delta { size, .. } => body.min((f64::from(one.bytes) * size) as u32),
            }
    }

    fn write(&mut self, lane: u32, to_server: bool, bytes: u32, asks: Option<u32>) {
        self.actions.push_back(Action::Write { lane, to_server, bytes, asks });
    }
}

/// Takes the first of a queue if it is what is asked for.
fn pop_if<T>(queue: &mut VecDeque<T>, wanted: impl FnOnce(&T) -> bool) -> Option<T> {
    if queue.front().is_some_and(wanted) { queue.pop_front() } else { None }
}
