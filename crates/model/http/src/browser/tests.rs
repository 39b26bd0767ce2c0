//! Loads over an ideal carrier: every octet takes the same time, whatever carries it.

use super::*;
use airperf_units::{Duration, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

const DELAY: Duration = Duration::from_ms(100);

fn object(host: u32, bytes: u32, found_in: Option<u32>, found_at: u32) -> Object {
    Object { host, bytes, packed_bytes: bytes / 2, found_in, found_at, think: Duration::ZERO }
}

/// A page of 1000 octets that names three objects, the last of which names a fourth.
fn page(tls: bool) -> Page {
    let host = |name: &str| Host { name: name.to_owned(), tls };
    Page {
        hosts: vec![host("a"), host("b")],
        objects: vec![
            object(0, 1000, None, 0),
            object(0, 500, Some(0), 100),
            object(1, 500, Some(0), 1000),
            object(1, 300, Some(0), 500),
            object(0, 200, Some(3), 300),
        ],
    }
}

/// What a load came to: the load, and what was done, each with its time in milliseconds.
struct Loaded {
    load: PageLoad,
    done: Vec<(u64, Action)>,
}

impl Loaded {
    fn times(&self, wanted: impl Fn(&Action) -> bool) -> Vec<u64> {
        self.done.iter().filter(|(_, action)| wanted(action)).map(|(at, _)| *at).collect()
    }

    fn opened(&self) -> usize {
        self.times(|action| matches!(action, Action::Open { .. })).len()
    }

    fn asked(&self) -> Vec<u32> {
        let asked = |(_, action): &(u64, Action)| match action {
            Action::Write { asks, .. } => *asks,
            _ => None,
        };
        self.done.iter().filter_map(asked).collect()
    }

    fn time_ms(&self) -> u64 {
        let (at, _) = self.load.ended().expect("it has ended");
        at.saturating_since(self.load.begun().expect("it has begun")).as_ns() / 1_000_000
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Resolved(u32),
    Connected(u32),
    AtServer(u32, u32),
    AtBrowser(u32, u32),
}

/// Carries a load's octets over a path that delays everything by [`DELAY`]; connecting and looking up take two.
fn load(config: BrowserConfig, page: Page, breaks: Option<u32>) -> Loaded {
    config.check().expect("a sound browser");
    page.check().expect("a sound page");
    let mut load = PageLoad::new(Arc::new(config), Arc::new(page), |object| object % 2 == 0);
    let mut events: BTreeMap<(Time, u32), Event> = BTreeMap::new();
    let (mut order, mut now) = (0, Time::ZERO);
    let mut done = Vec::new();
    let mut written: BTreeMap<(u32, bool), u32> = BTreeMap::new();
    load.start(now);
    loop {
        while let Some(action) = load.next_action() {
            done.push((now.as_ns() / 1_000_000, action));
            let mut at = |after: Duration, event| {
                order += 1;
                events.insert((now + after, order), event);
            };
            match action {
                Action::LookUp { host } => at(DELAY * 2, Event::Resolved(host)),
                Action::Open { lane } => at(DELAY * 2, Event::Connected(lane)),
                Action::Write { lane, to_server, bytes, .. } => {
                    let total = written.entry((lane, to_server)).or_default();
                    *total += bytes;
                    at(
                        DELAY,
                        if to_server {
                            Event::AtServer(lane, *total)
                        } else {
                            Event::AtBrowser(lane, *total)
                        },
                    );
                }
                Action::Close { .. } => {}
            }
        }
        if load.ended().is_some() {
            return Loaded { load, done };
        }
        let timer = load.deadline();
        let next = events.first_key_value().map_or(Time::MAX, |((at, _), _)| *at);
        assert!(timer.min(next) < Time::MAX, "the load waits for nothing");
        if timer < next {
            now = timer;
            load.on_timer(now);
            continue;
        }
        let ((at, _), event) = events.pop_first().expect("there is a next");
        now = at;
        match event {
            Event::Resolved(host) => load.resolved(now, host),
            Event::Connected(lane) if breaks == Some(lane) => load.broken(now, lane),
            Event::Connected(lane) => load.connected(now, lane),
            Event::AtServer(lane, total) => load.server_received(now, lane, total),
            Event::AtBrowser(lane, total) => {
                load.server_has(lane, 0);
                load.client_received(now, lane, total);
            }
        }
    }
}

#[test]
fn a_page_takes_its_round_trips() {
    let loaded = load(BrowserConfig::default(), page(false), None);
    // Look-up, handshake, the page; another host's look-up, handshake and objects; what one of them names.
    assert_eq!(loaded.time_ms(), 200 + 200 + 200 + 200 + 200 + 200 + 200);
    assert_eq!(loaded.load.ended().map(|(_, outcome)| outcome), Some(Outcome::Complete));
    assert_eq!(loaded.times(|action| matches!(action, Action::LookUp { .. })), [0, 600]);
    // Those on the page in the order in which they are named; one connection serves the page's host.
    assert_eq!(loaded.asked(), [0, 1, 3, 2, 4]);
    assert_eq!(loaded.opened(), 3);
}

#[test]
fn one_connection_serves_one_after_the_other() {
    let config = BrowserConfig { connections: 1, ..BrowserConfig::default() };
    let serial = load(config.clone(), page(false), None);
    let pipelined = load(BrowserConfig { pipeline: 8, ..config.clone() }, page(false), None);
    assert_eq!((serial.opened(), pipelined.opened()), (2, 2));
    assert_eq!(serial.time_ms() - pipelined.time_ms(), 0, "what is named last comes last in both");
    let last = |loaded: &Loaded| loaded.load.objects()[2].done.expect("it came").as_ns() / 1_000_000;
    assert_eq!(last(&serial) - last(&pipelined), 200, "one reply need not be waited for");
    let old = load(BrowserConfig { protocol: Protocol::Http10, ..config }, page(false), None);
    assert_eq!(old.opened(), 5, "a connection for every object");
    assert_eq!(old.times(|action| matches!(action, Action::Close { by_server: true, .. })).len(), 5);
}

#[test]
fn an_idle_connection_makes_room_for_one_that_is_needed() {
    let config = BrowserConfig { connections_in_all: 1, ..BrowserConfig::default() };
    let loaded = load(config, page(false), None);
    assert_eq!(loaded.load.ended().map(|(_, outcome)| outcome), Some(Outcome::Complete));
    // To the page's host, to the other one, and to the first again for what is named there.
    assert_eq!(loaded.opened(), 3);
    assert!(loaded.load.objects().iter().all(|seen| seen.done.is_some()));
}

#[test]
fn one_server_saves_look_ups() {
    let config = BrowserConfig { look_ups: LookUps::First, ..BrowserConfig::default() };
    let first = load(config.clone(), page(false), None);
    assert_eq!(first.times(|action| matches!(action, Action::LookUp { .. })), [0]);
    assert_eq!(first.time_ms(), 1400 - 200);
    let one = load(BrowserConfig { one_server: true, ..config }, page(false), None);
    // The second and third connection are opened for objects that are named together.
    assert_eq!((one.opened(), one.time_ms()), (3, 200 + 200 + 200 + 200 + 200 + 200));
}

#[test]
fn frames_share_one_connection_and_tls_costs_a_round_trip() {
    let plain = load(BrowserConfig::default(), page(true), None);
    assert_eq!(plain.time_ms(), 1400 + 2 * 200, "one round trip for each host's first connection");
    let frames = BrowserConfig { protocol: Protocol::Http2, ..BrowserConfig::default() };
    let loaded = load(frames.clone(), page(true), None);
    assert_eq!((loaded.opened(), loaded.time_ms()), (2, 1800), "a connection for each host");
    assert_eq!(load(frames, page(false), None).opened(), 3, "without TLS there is no HTTP/2");
}

fn dual() -> BrowserConfig {
    BrowserConfig { proxy: Some(Proxy { way: Way::Dual, ..Proxy::default() }), ..BrowserConfig::default() }
}

#[test]
fn a_proxy_that_nobody_knows_of_saves_octets_and_nothing_else() {
    let through = |tls, proxy: Option<Proxy>, protocol| {
        let loaded = load(BrowserConfig { protocol, proxy, ..BrowserConfig::default() }, page(tls), None);
        let received: u32 = loaded.load.objects().iter().map(|seen| seen.received).sum();
        ((loaded.time_ms(), loaded.opened(), loaded.asked()), received)
    };
    let transparent = Proxy { way: Way::Transparent, compress: true, ..Proxy::default() };
    for protocol in [Protocol::Http10, Protocol::Http11, Protocol::Http2] {
        let (plain, received) = through(false, None, protocol);
        assert_eq!(received, 2500 + 5 * 259);
        assert_eq!(through(false, Some(transparent), protocol), (plain, 1250 + 5 * 259), "{protocol:?}");
        let encrypted = through(true, None, protocol);
        assert_eq!(
            through(true, Some(transparent), protocol),
            encrypted,
            "what it cannot read it leaves alone"
        );
    }
}

#[test]
fn two_halves_need_neither_look_ups_nor_handshakes() {
    let loaded = load(dual(), page(false), None);
    assert_eq!((loaded.opened(), loaded.time_ms()), (1, 3 * 200), "one round trip a level of the page");
    assert_eq!(loaded.times(|action| matches!(action, Action::LookUp { .. })).len(), 0);
}

#[test]
fn pushed_objects_are_not_asked_for() {
    let mut config = dual();
    config.proxy.as_mut().expect("two halves").push = true;
    let loaded = load(config, page(false), None);
    assert_eq!(loaded.asked(), [0]);
    assert_eq!(loaded.time_ms(), 200, "everything came behind the page");
    let pushed = loaded.load.objects().iter().filter(|seen| seen.pushed).count();
    assert_eq!(pushed, 4);
}

#[test]
fn what_compression_and_caches_leave_is_what_is_sent() {
    let received = |proxy: Proxy| -> u32 {
        let config =
            BrowserConfig { proxy: Some(Proxy { way: Way::Dual, ..proxy }), ..BrowserConfig::default() };
        let loaded = load(config, page(false), None);
        loaded.load.objects().iter().map(|seen| seen.received).sum()
    };
    let plain = Proxy::default();
    assert_eq!(received(plain), 2500 + 5 * 40);
    assert_eq!(received(Proxy { compress: true, ..plain }), 1250 + 5 * 40);
    // Objects 1 and 3 have changed, of 500 and 300 octets.
    let hash = Cache::Hash { changed: 0.4 };
    assert_eq!(received(Proxy { cache: hash, ..plain }), 800 + 5 * 40);
    let delta = Cache::Delta { changed: 0.4, size: 0.1 };
    assert_eq!(received(Proxy { cache: delta, ..plain }), 80 + 5 * 40);
}

#[test]
fn a_broken_connection_costs_another_and_no_object() {
    let loaded = load(BrowserConfig::default(), page(false), Some(1));
    assert_eq!(loaded.load.ended().map(|(_, outcome)| outcome), Some(Outcome::Complete));
    assert_eq!(loaded.opened(), 4);
    assert!(loaded.load.objects().iter().all(|seen| seen.done.is_some()));
}

#[test]
fn a_server_that_cannot_be_reached_costs_only_what_is_its_own() {
    let config = BrowserConfig { connections: 1, ..BrowserConfig::default() };
    let mut load = PageLoad::new(Arc::new(config), Arc::new(page(false)), |_| false);
    let (mut now, mut opened) = (Time::ZERO, Vec::new());
    load.start(now);
    // The first server answers whatever it is asked at once; the second refuses each connection.
    while load.ended().is_none() {
        let Some(action) = load.next_action() else {
            now = load.deadline();
            load.on_timer(now);
            continue;
        };
        match action {
            Action::LookUp { host } => load.resolved(now, host),
            Action::Open { lane: 0 } => load.connected(now, 0),
            Action::Open { lane } => {
                opened.push(lane);
                load.broken(now, lane);
            }
            Action::Write { lane, to_server: true, .. } => load.server_received(now, lane, u32::MAX),
            Action::Write { lane, .. } => load.client_received(now, lane, u32::MAX),
            Action::Close { .. } => {}
        }
    }
    let there: Vec<bool> = load.objects().iter().map(|seen| seen.done.is_some()).collect();
    assert_eq!(there, [true, true, false, false, false], "the last is named by one that could not be had");
    assert_eq!(load.ended().map(|(_, outcome)| outcome), Some(Outcome::Incomplete));
    assert_eq!(opened.len(), 2 * usize::from(config::TRIES), "each of its two objects was tried for");
}

#[test]
fn a_page_of_many_objects_asks_for_each_once_and_in_order() {
    let objects = (0..5_000).map(|n| object(n % 7, 100, (n > 0).then_some(0), 0)).collect();
    let hosts = (0..7).map(|n| Host { name: format!("h{n}"), tls: false }).collect();
    let loaded =
        load(BrowserConfig { connections: 2, ..BrowserConfig::default() }, Page { hosts, objects }, None);
    let mut asked = loaded.asked();
    for server in 0..7 {
        assert!(asked.iter().filter(|&&n| n % 7 == server).is_sorted(), "server {server}");
    }
    asked.sort_unstable();
    assert!(asked.into_iter().eq(0..5_000));
    assert_eq!(loaded.opened(), 14);
}

#[test]
fn a_user_leaves_in_the_end() {
    let patience = Duration::from_ms(700);
    let loaded = load(BrowserConfig { patience, ..BrowserConfig::default() }, page(false), None);
    assert_eq!(loaded.load.ended().map(|(_, outcome)| outcome), Some(Outcome::GivenUp));
    assert_eq!(loaded.time_ms(), 700);
}

#[test]
fn thinking_delays_and_parsing_delays() {
    let mut slow = page(false);
    slow.objects.iter_mut().for_each(|object| object.think = Duration::from_ms(50));
    let config = BrowserConfig { parse_delay: Duration::from_ms(10), ..BrowserConfig::default() };
    // Three levels of objects, two of which have to be found.
    assert_eq!(load(config, slow, None).time_ms(), 1400 + 3 * 50 + 2 * 10);
}

#[test]
fn impossible_pages_are_refused() {
    let change = |edit: fn(&mut Page)| {
        let mut one = page(false);
        edit(&mut one);
        one.check().expect_err("an impossible page").to_string()
    };
    assert!(change(|page| page.objects[1].found_in = Some(3)).contains("within an earlier one"));
    assert!(change(|page| page.objects[1].found_at = 1001).contains("within an earlier one"));
    assert!(change(|page| page.objects[0].host = 2).contains("has a host"));
    assert!(change(|page| page.objects.clear()).contains("1 to 10000 objects"));
}
