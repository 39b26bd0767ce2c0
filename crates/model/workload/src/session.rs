//! One visit of a user: what is requested next, and when.
//!
//! A session is a number of pages. A page is one object and, when that is there and parsed, those it embeds, all
//! wanted at once; the page is done with the last of them, and after a think time the next is due. With nothing
//! embedded and no think time it is requests one after the other; httperf's `--wsess` (sessions of bursts: one call,
//! after its reply the others, then think time) is the same with L − 1 objects embedded for bursts of L.
//!
//! SANS-IO: the owner asks [`Session::next`] for requests as it has connections for them, reports what became of each
//! by [`Session::ended`], and comes back at [`Session::wake`]. It decides which connection carries what. Every page
//! draws from streams of its own, named after the client, the session and the page, so nothing that happens on the
//! network moves a later draw.
//!
//! Left out: objects found only in embedded objects (style sheets, scripts), several servers, popularity.

use crate::config::Config;
use crate::schedule::Demand;
use airperf_units::{Duration, Stream, StreamKey, Time};

/// A request that the user wants now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Number of its page in the session, from 0.
    pub page: u32,
    /// Number in its page: 0 is the page itself, the others are embedded.
    pub object: u32,
    /// Since when it is wanted.
    pub due: Time,
    /// Octets of the request's body.
    pub upload_bytes: u64,
    /// Octets of the object.
    pub object_bytes: u64,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether all of the reply came.
    pub complete: bool,
    /// When the first octet of the reply came.
    pub first_byte: Option<Time>,
    /// Octets of reply that came.
    pub response_bytes: u64,
}

/// A page that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Number of the session of this client, from 0.
    pub session: u64,
    /// Number of the page in its session, from 0.
    pub page: u32,
    /// When it was wanted.
    pub due: Time,
    /// When the first octet of the page itself came.
    pub first_byte: Option<Time>,
    /// When the last object was complete; `None` for a page that lacks one.
    pub done: Option<Time>,
    /// Objects requested, the page itself among them.
    pub requested: u32,
    /// Of those, how many came complete.
    pub complete: u32,
    /// Embedded objects that the cache had.
    pub cached: u32,
    /// Octets of replies received, headers included.
    pub response_bytes: u64,
    /// How it ended.
    pub ending: Ending,
}

/// How a page ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With everything there.
    Complete,
    /// A request failed.
    Incomplete,
    /// The user lost patience.
    GivenUp,
    /// Not yet.
    Unfinished,
}

impl Ending {
    /// Its word in tables of pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Incomplete => "incomplete",
            Self::GivenUp => "given_up",
            Self::Unfinished => "unfinished",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The next page is due at `Session::at`.
    Thinking,
    /// The page itself is under way.
    Main,
    /// What it embeds is known at `Session::at`.
    Parsing,
    /// Embedded objects are asked for and come.
    Embedded,
    Over,
}

/// One visit.
#[derive(Clone, Debug)]
pub struct Session {
    key: StreamKey,
    client: u64,
    phase: Phase,
    at: Time,
    /// Pages not begun yet, after this one.
    pages_left: u64,
    /// Embedded objects not asked for yet.
    to_ask: u32,
    under_way: u32,
    /// When the user's patience with the page ends.
    patience: Time,
    /// No page begins from here on.
    end: Time,
    page: Page,
    /// Of the page's embedded objects, and of all its requests' bodies.
    sizes: Stream,
    uploads: Stream,
}

const NEVER: Time = Time::MAX;

impl Session {
    /// The visit that `demand` begins, of the `client`-th client; no page of it begins at `end` or later.
    pub fn new(config: &Config, end: Time, key: &StreamKey, client: u64, demand: Demand) -> Self {
        let stream = |name: &str| key.indexed(name, index(client, demand.session, 0));
        let pages = config.session.pages.as_ref();
        let pages = pages.map_or(u64::MAX, |pages| pages.sample(&mut stream("pages")));
        let page = Page {
            session: demand.session,
            page: 0,
            due: demand.due,
            first_byte: None,
            done: None,
            requested: 0,
            complete: 0,
            cached: 0,
            response_bytes: 0,
            ending: Ending::Unfinished,
        };
        Self {
            key: *key,
            client,
            phase: if pages == 0 || demand.due >= end { Phase::Over } else { Phase::Thinking },
            at: demand.due,
            pages_left: pages.saturating_sub(1),
            to_ask: 0,
            under_way: 0,
            patience: NEVER,
            end,
            page,
            sizes: stream("embedded-sizes"),
            uploads: stream("uploads"),
        }
    }

    /// Whether nothing more will be wanted.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// When to come back even if no request ends: for the next page, for what a page embeds, or because patience
    /// ends; [`Time::MAX`] for never.
    pub fn wake(&self) -> Time {
        match self.phase {
            Phase::Thinking => self.at,
            Phase::Parsing => self.at.min(self.patience),
            Phase::Main | Phase::Embedded => self.patience,
            Phase::Over => NEVER,
        }
    }

    /// The next request that is wanted at `now`, if there is one.
    pub fn next(&mut self, config: &Config, now: Time) -> Option<Request> {
        match self.phase {
            Phase::Thinking if now >= self.at => {
                self.begin_page(config);
                Some(self.request(config))
            }
            Phase::Parsing if now >= self.at => {
                self.phase = Phase::Embedded;
                self.next(config, now)
            }
            Phase::Embedded if self.to_ask > 0 => {
                self.to_ask -= 1;
                Some(self.request(config))
            }
            _ => None,
        }
    }

    fn begin_page(&mut self, config: &Config) {
        self.phase = Phase::Main;
        self.patience = config.session.patience.map_or(NEVER, |patience| self.at + patience);
        (self.sizes, self.uploads) = (self.stream("embedded-sizes"), self.stream("uploads"));
        self.page = Page {
            due: self.at,
            first_byte: None,
            done: None,
            requested: 0,
            complete: 0,
            cached: 0,
            response_bytes: 0,
            ending: Ending::Unfinished,
            ..self.page
        };
    }

    fn request(&mut self, config: &Config) -> Request {
        let object = self.page.requested;
        let object_bytes = match &config.session.embedded_size {
            _ if object == 0 => config.size.sample(&mut self.stream("sizes")),
            Some(embedded) => embedded.sample(&mut self.sizes),
            None => config.size.sample(&mut self.sizes),
        };
        self.page.requested += 1;
        self.under_way += 1;
        let limited = |bytes: u64| bytes.min(Config::MAX_SIZE_BYTES);
        Request {
            page: self.page.page,
            object,
            due: self.at,
            upload_bytes: limited(config.upload.sample(&mut self.uploads)),
            object_bytes: limited(object_bytes),
        }
    }

    /// A request came to its end at `now`. Returns the page that this completes.
    pub fn ended(&mut self, config: &Config, now: Time, outcome: &Outcome) -> Option<Page> {
        self.under_way = self.under_way.saturating_sub(1);
        self.page.complete += u32::from(outcome.complete);
        self.page.response_bytes += outcome.response_bytes;
        match self.phase {
            Phase::Main => {
                self.page.first_byte = outcome.first_byte;
                if !outcome.complete {
                    return Some(self.end_page(config, now));
                }
                self.find_embedded(config, now);
                if self.to_ask == 0 { Some(self.end_page(config, now)) } else { None }
            }
            Phase::Embedded if !outcome.complete && config.session.fragile => {
                self.to_ask = 0;
                if self.under_way == 0 { Some(self.end_page(config, now)) } else { None }
            }
            Phase::Embedded if self.to_ask + self.under_way == 0 => Some(self.end_page(config, now)),
            _ => None,
        }
    }

    fn find_embedded(&mut self, config: &Config, now: Time) {
        let plan = &config.session;
        let most = u64::from(u32::MAX / 2);
        let embedded = plan.embedded.sample(&mut self.stream("embedded")).min(most) as u32;
        let mut hits = self.stream("cached");
        self.page.cached = (0..embedded).filter(|_| hits.chance(plan.cached)).count() as u32;
        self.to_ask = embedded - self.page.cached;
        self.at = now + Duration::from_ns(plan.parse_time.sample(&mut self.stream("parse")));
        self.phase = Phase::Parsing;
    }

    /// Whether the user's patience with the page under way is at an end.
    pub fn is_impatient(&self, now: Time) -> bool {
        now >= self.patience && !matches!(self.phase, Phase::Thinking | Phase::Over)
    }

    /// The user's patience is at an end: nothing more of this page is wanted. The owner ends what is under way, and
    /// reports each; returns the page when nothing was.
    pub fn give_up(&mut self, config: &Config, now: Time) -> Option<Page> {
        if !self.is_impatient(now) {
            return None;
        }
        self.page.ending = Ending::GivenUp;
        self.patience = NEVER;
        self.to_ask = 0;
        if self.phase == Phase::Parsing {
            self.phase = Phase::Embedded;
        }
        if self.under_way == 0 { Some(self.end_page(config, now)) } else { None }
    }

    fn end_page(&mut self, config: &Config, now: Time) -> Page {
        let mut page = self.page;
        page.ending = match page.ending {
            Ending::GivenUp => Ending::GivenUp,
            _ if page.complete == page.requested => Ending::Complete,
            _ => Ending::Incomplete,
        };
        let whole = page.ending == Ending::Complete;
        page.done = whole.then_some(now);
        let think = config.session.think_time.sample(&mut self.stream("think"));
        self.at = now + Duration::from_ns(think);
        self.patience = NEVER;
        self.page.page = self.page.page.wrapping_add(1);
        if self.pages_left == 0 || self.at >= self.end || (!whole && config.session.fragile) {
            self.phase = Phase::Over;
        } else {
            self.pages_left -= u64::from(self.pages_left != u64::MAX);
            self.phase = Phase::Thinking;
        }
        page
    }

    /// The page under way when the run ends, if there is one.
    pub fn unfinished(&self) -> Option<Page> {
        (!matches!(self.phase, Phase::Thinking | Phase::Over)).then_some(self.page)
    }

    fn stream(&self, name: &str) -> Stream {
        self.key.indexed(name, index(self.client, self.page.session, self.page.page))
    }
}

/// Which streams a page draws from.
fn index(client: u64, session: u64, page: u32) -> u64 {
    client << 48 ^ session << 20 ^ u64::from(page)
}

#[cfg(test)]
mod tests;
