//! Browsers that load pages: their hosts' ends of every connection, and the loads under way.
//!
//! A browser's packets carry its number in place of a connection's place, as flows' do. All servers of a page stand at the
//! server's station and have as many processes as they need; looking up a name is a datagram each way. Left out: the
//! server's processor and its limits, which a page's many hosts do not share.

use crate::Payload;
use crate::flows::{NO_CONNECTION, UDP_HEADER_BYTES};
use airperf_http::browser::{PageLoad, Seen};
use airperf_link::StationId;
use airperf_rudp::Datagram;
use airperf_scenario::{Browser, Scenario};
use airperf_tcp::{Endpoint, Stack, State};
use airperf_units::{StreamKey, Time};
use std::collections::BTreeMap;

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
    pub(crate) carrier: Carrier,
}

/// What carries the two streams.
pub(crate) enum Carrier {
    Tcp(Box<Tcp>),
    Datagrams(Box<Datagrams>),
}

/// Both ends of a TCP connection.
pub(crate) struct Tcp {
    pub(crate) client: Endpoint,
    pub(crate) server: Endpoint,
}

impl Tcp {
    /// The browser's end or the server's, with its host's TCP.
    pub(crate) fn end<'a>(
        &mut self,
        client: bool,
        client_stack: &'a Stack,
        server_stack: &'a Stack,
    ) -> (&mut Endpoint, &'a Stack) {
        if client { (&mut self.client, client_stack) } else { (&mut self.server, server_stack) }
    }
}

/// Both ends of a stream over reliable UDP, and the datagrams on the link by their packets' numbers.
pub(crate) struct Datagrams {
    pub(crate) client: airperf_rudp::Endpoint,
    pub(crate) server: airperf_rudp::Endpoint,
    pub(crate) on_the_way: BTreeMap<u32, Datagram>,
    /// Octets written to the server and to the browser.
    pub(crate) written: [u32; 2],
    /// Octets that the server's end may have on their way.
    window_bytes: u64,
    pub(crate) closed: bool,
}

impl Carrier {
    pub(crate) fn tcp() -> Self {
        Self::Tcp(Box::new(Tcp { client: Endpoint::closed(), server: Endpoint::closed() }))
    }

    pub(crate) fn datagrams([server, client]: [airperf_rudp::Config; 2]) -> Self {
        let end = airperf_rudp::Endpoint::new;
        let on_the_way = BTreeMap::new();
        let window_bytes = server.window_bytes;
        let (client, server) = (end(client), end(server));
        let written = [0; 2];
        Self::Datagrams(Box::new(Datagrams {
            client,
            server,
            on_the_way,
            written,
            window_bytes,
            closed: false,
        }))
    }

    /// Octets that have arrived, at the server and at the browser.
    pub(crate) fn received(&self) -> [u32; 2] {
        match self {
            Self::Tcp(tcp) => [tcp.server.received_bytes(), tcp.client.received_bytes()],
            // A load has less than 2 GiB.
            Self::Datagrams(ends) => [&ends.server, &ends.client].map(|end| end.received_bytes() as u32),
        }
    }

    /// Octets that were written, by the browser and by the server.
    pub(crate) fn written(&self) -> [u32; 2] {
        match self {
            Self::Tcp(tcp) => [tcp.client.written_bytes(), tcp.server.written_bytes()],
            Self::Datagrams(ends) => ends.written,
        }
    }
}

impl Ends {
    pub(crate) fn is_over(&self) -> bool {
        self.under_way == 0
            && match &self.carrier {
                Carrier::Tcp(tcp) => {
                    tcp.server.state() == State::Closed
                        && matches!(tcp.client.state(), State::Closed | State::TimeWait)
                }
                Carrier::Datagrams(ends) => ends.closed,
            }
    }

    /// Octets that the server has written to its transport, and that this may not send yet.
    pub(crate) fn unsent_bytes(&self, stack: &Stack) -> u32 {
        match &self.carrier {
            Carrier::Tcp(tcp) => {
                let outstanding = tcp.server.written_bytes() - tcp.server.acknowledged_bytes();
                let window = tcp.server.congestion_window().saturating_mul(stack.segment_payload_bytes());
                outstanding.saturating_sub(window)
            }
            Carrier::Datagrams(ends) => {
                let outstanding = u64::from(ends.written[1]) - ends.client.received_bytes();
                outstanding.saturating_sub(ends.window_bytes) as u32
            }
        }
    }

    /// When one of its ends has something to do.
    fn deadline(&self, client: &Stack, server: &Stack) -> Time {
        match &self.carrier {
            Carrier::Tcp(tcp) => tcp.client.deadline(client).min(tcp.server.deadline(server)),
            Carrier::Datagrams(ends) if ends.closed => Time::MAX,
            Carrier::Datagrams(ends) => ends.client.deadline().min(ends.server.deadline()),
        }
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
        let ends = self.ends.iter().map(|ends| ends.deadline(&self.client_stack, &self.server_stack));
        let load = self.load.as_ref().map_or(Time::MAX, PageLoad::deadline);
        ends.min().unwrap_or(Time::MAX).min(load).min(self.next)
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

    /// Whether it is a datagram of reliable UDP: its segment then has the length, and as sequence number its place in the
    /// stream.
    pub(crate) const fn is_reliable_udp(&self) -> bool {
        self.segment.header == UDP_HEADER_BYTES && !self.is_datagram()
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
