//! Browsers that load pages: their hosts' ends of every connection, and the loads under way.
//!
//! A browser's packets carry its number in place of a connection's place, as flows' do. All servers of a page stand at the
//! server's station and have as many processes as they need; looking up a name is a datagram each way. Left out: the
//! server's processor and its limits, which a page's many hosts do not share.

use crate::Payload;
use crate::flows::NO_CONNECTION;
use airperf_http::browser::{PageLoad, Seen};
use airperf_link::StationId;
use airperf_scenario::{Browser, Scenario};
use airperf_tcp::{Endpoint, Stack, State};
use airperf_units::{StreamKey, Time};

/// A browser's station.
pub(crate) struct Visit {
    pub(crate) browser: Browser,
    /// Loads begun.
    pub(crate) loads: u32,
    /// When the next load begins; [`Time::MAX`] while one is under way, and after the last.
    pub(crate) next: Time,
    pub(crate) load: Option<PageLoad>,
    /// Connections that are not over, of this load and of others before it.
    pub(crate) ends: Vec<Ends>,
    /// The earliest wake-up asked for.
    pub(crate) wake: Time,
    pub(crate) client_stack: Stack,
    pub(crate) server_stack: Stack,
    pub(crate) key: StreamKey,
}

/// Both ends of one connection of a load.
pub(crate) struct Ends {
    /// Its number in the run.
    pub(crate) number: u32,
    /// The load it is of, and its number there.
    pub(crate) load: u32,
    pub(crate) lane: u32,
    pub(crate) under_way: u32,
    /// Exchanges that were reported.
    pub(crate) exchanges: u32,
    pub(crate) client_tcp: Endpoint,
    pub(crate) server_tcp: Endpoint,
}

impl Ends {
    pub(crate) fn is_over(&self) -> bool {
        self.under_way == 0
            && self.server_tcp.state() == State::Closed
            && matches!(self.client_tcp.state(), State::Closed | State::TimeWait)
    }

    /// Octets that the server's TCP has to send and may not yet, for its congestion window.
    pub(crate) fn unsent_bytes(&self, stack: &Stack) -> u32 {
        let outstanding = self.server_tcp.written_bytes() - self.server_tcp.acknowledged_bytes();
        let window = self.server_tcp.congestion_window().saturating_mul(stack.segment_payload_bytes());
        outstanding.saturating_sub(window)
    }
}

impl Visit {
    /// The browsers of a scenario, none of which has begun; `stack` gives a station its TCP.
    pub(crate) fn all(scenario: &Scenario, key: &StreamKey, stack: impl Fn(StationId) -> Stack) -> Vec<Self> {
        let of = |browser: &Browser| Self {
            browser: browser.clone(),
            loads: 0,
            next: Time::ZERO + browser.start,
            load: None,
            ends: Vec::new(),
            wake: Time::MAX,
            client_stack: stack(browser.station),
            server_stack: stack(scenario.server.station),
            key: *key,
        };
        scenario.browsers.iter().map(of).collect()
    }

    /// The connection of this number.
    pub(crate) fn ends(&mut self, number: u32) -> Option<&mut Ends> {
        self.ends.iter_mut().find(|ends| ends.number == number)
    }

    /// The place of a connection of the load under way.
    pub(crate) fn place_of(&self, lane: u32) -> Option<usize> {
        self.ends.iter().position(|ends| ends.load + 1 == self.loads && ends.lane == lane)
    }

    /// The next load, which begins now.
    pub(crate) fn begin(&mut self, index: u32) -> &mut PageLoad {
        let name = u64::from(index) << 32 | u64::from(self.loads);
        let mut stream = self.key.indexed("page-changes", name);
        let changed = self.browser.config.changed_share();
        let unchanged: Vec<bool> =
            self.browser.page.objects.iter().map(|_| !stream.chance(changed)).collect();
        let load = PageLoad::new(self.browser.config.clone(), self.browser.page.clone(), |object| {
            unchanged.get(object as usize).copied().unwrap_or_default()
        });
        self.loads += 1;
        self.next = Time::MAX;
        self.load.insert(load)
    }

    /// When it next has something to do by itself.
    pub(crate) fn deadline(&self) -> Time {
        let tcp = self.ends.iter().map(|ends| {
            ends.client_tcp.deadline(&self.client_stack).min(ends.server_tcp.deadline(&self.server_stack))
        });
        let load = self.load.as_ref().map_or(Time::MAX, PageLoad::deadline);
        tcp.min().unwrap_or(Time::MAX).min(load).min(self.next)
    }
}

/// An object of a load that is over, or that the run's end broke off.
#[derive(Clone, Copy, Debug)]
pub struct ObjectSeen<'a> {
    /// The browser's place among the scenario's.
    pub browser: u32,
    /// Number of the load among the browser's, from 0.
    pub load: u32,
    /// Place of the object in the page.
    pub object: u32,
    /// What was seen of it.
    pub seen: &'a Seen,
    /// The connection that brought it.
    pub connection: Option<u32>,
}

/// The part of a payload's place that says that it is a browser's number.
const VISIT: u32 = 1 << 30;

/// The place in a payload of the `index`-th browser's packets.
pub(crate) const fn slot_of(index: u32) -> u32 {
    VISIT | index
}

impl Payload {
    /// The browser it belongs to, a place among the scenario's; `None` for others' packets.
    #[inline]
    pub const fn browser(&self) -> Option<u32> {
        if self.flow().is_none() && self.slot & VISIT != 0 { Some(self.slot & !VISIT) } else { None }
    }

    /// The host that a look-up asks for or tells of, a place among the page's.
    pub const fn look_up(&self) -> Option<u32> {
        if self.browser().is_some() && self.connection == NO_CONNECTION {
            Some(self.segment.seq)
        } else {
            None
        }
    }
}
