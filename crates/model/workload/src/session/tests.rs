//! Sessions driven by a network that answers every request after a fixed time.

use super::*;
use crate::Distribution;
use crate::config::{ArrivalProcess, SessionConfig, Start};

const END: Time = Time::MAX;

fn ms(n: u64) -> Time {
    Time::ZERO + Duration::from_ms(n)
}

const fn think_ms(n: u64) -> Distribution {
    Distribution::Fixed(n * 1_000_000)
}

fn config(session: SessionConfig) -> Config {
    Config { size: Distribution::Fixed(1_000), session, ..Config::default() }
}

fn begin(config: &Config) -> Session {
    Session::new(config, END, &StreamKey::new(1), 0, Demand { due: ms(0), session: 0 })
}

const COMPLETE: Outcome = Outcome { complete: true, first_byte: None, response_bytes: 1_259 };
const FAILED: Outcome = Outcome { complete: false, first_byte: None, response_bytes: 7 };

/// Answers every request `delay` after it was asked for, over any number of connections.
fn play(session: &mut Session, config: &Config, delay: Duration) -> (Vec<(Time, Request)>, Vec<Page>) {
    let (mut requests, mut pages) = (Vec::new(), Vec::new());
    let mut open: Vec<Time> = Vec::new();
    let mut now = Time::ZERO;
    while !session.is_over() && requests.len() < 10_000 {
        while let Some(request) = session.next(config, now) {
            requests.push((now, request));
            open.push(now + delay);
        }
        let reply = open.first().copied().unwrap_or(NEVER);
        now = reply.min(session.wake());
        if now == reply {
            open.remove(0);
            pages.extend(session.ended(config, now, &COMPLETE));
        }
    }
    (requests, pages)
}

#[test]
fn a_plain_session_asks_again_when_the_reply_is_there() {
    let config = config(SessionConfig::requests(3));
    let (requests, pages) = play(&mut begin(&config), &config, Duration::from_ms(10));
    let due: Vec<Time> = requests.iter().map(|(_, r)| r.due).collect();
    assert_eq!(due, [ms(0), ms(10), ms(20)]);
    assert!(requests.iter().all(|(_, r)| (r.object, r.object_bytes, r.upload_bytes) == (0, 1_000, 0)));
    assert_eq!(pages.len(), 3);
    let plain = config.plain().expect("it is plain");
    assert_eq!((plain.requests, plain.object_bytes), (3, 1_000));
}

/// httperf's manual: `--wsess N,2,X --burst-length L`: one call, after its reply L − 1 at once, X after the last reply.
#[test]
fn a_burst_of_five_is_a_page_that_embeds_four() {
    let config = config(SessionConfig {
        pages: Some(Distribution::Fixed(2)),
        embedded: Distribution::Fixed(4),
        think_time: think_ms(500),
        ..SessionConfig::requests(10)
    });
    let (requests, pages) = play(&mut begin(&config), &config, Duration::from_ms(10));
    let due: Vec<Time> = requests.iter().map(|(_, r)| r.due).collect();
    let expected = [0, 10, 10, 10, 10, 520, 530, 530, 530, 530].map(ms);
    assert_eq!(due, expected);
    assert_eq!(
        pages.iter().map(|p| (p.due, p.done)).collect::<Vec<_>>(),
        [(ms(0), Some(ms(20))), (ms(520), Some(ms(540)))]
    );
    assert!(pages.iter().all(|p| (p.requested, p.complete, p.response_bytes) == (5, 5, 5 * 1_259)));
    assert_eq!(config.plain(), None);
    assert_eq!(config.requests_per_session(), Some(10.0));
}

#[test]
fn embedded_objects_wait_until_the_page_is_parsed() {
    let plan = SessionConfig {
        embedded: Distribution::Fixed(2),
        parse_time: think_ms(30),
        ..SessionConfig::requests(1)
    };
    let config = config(plan);
    let (requests, pages) = play(&mut begin(&config), &config, Duration::from_ms(10));
    assert_eq!(requests.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [ms(0), ms(40), ms(40)]);
    assert_eq!(pages[0].done, Some(ms(50)));
}

#[test]
fn cached_objects_are_not_requested() {
    let plan = SessionConfig {
        pages: Some(Distribution::Fixed(1_000)),
        embedded: Distribution::Fixed(10),
        cached: 0.3,
        ..SessionConfig::requests(1)
    };
    let config = config(plan);
    let (_, pages) = play(&mut begin(&config), &config, Duration::from_ms(1));
    assert!(pages.iter().all(|p| p.requested + p.cached == 11));
    let cached: u32 = pages.iter().map(|p| p.cached).sum();
    let mean = f64::from(cached) / pages.len() as f64;
    let error = 4.0 * libm::sqrt(10.0 * 0.3 * 0.7 / pages.len() as f64);
    assert!((mean - 3.0).abs() < error, "{mean} of 10 from the cache");
}

#[test]
fn a_failure_ends_a_fragile_session_and_only_the_page_of_another() {
    for fragile in [true, false] {
        let plan = SessionConfig { fragile, ..SessionConfig::requests(5) };
        let config = config(plan);
        let mut session = begin(&config);
        assert!(session.next(&config, ms(0)).is_some());
        let page = session.ended(&config, ms(3), &FAILED).expect("the page is over");
        assert_eq!((page.done, page.complete, page.response_bytes), (None, 0, 7));
        assert_eq!(session.is_over(), fragile);
        assert_eq!(session.next(&config, ms(3)).is_none(), fragile);
    }
}

#[test]
fn impatience_ends_the_page_once_and_the_next_comes_after_thinking() {
    let plan = SessionConfig {
        pages: None,
        embedded: Distribution::Fixed(3),
        patience: Some(Duration::from_ms(100)),
        think_time: think_ms(50),
        fragile: false,
        ..SessionConfig::requests(1)
    };
    let config = config(plan);
    let mut session = begin(&config);
    session.next(&config, ms(0)).expect("the page");
    assert_eq!(session.ended(&config, ms(10), &COMPLETE), None);
    session.next(&config, ms(10)).expect("the first that it embeds");
    assert_eq!((session.wake(), session.give_up(&config, ms(99))), (ms(100), None));
    assert_eq!(session.give_up(&config, ms(100)), None, "one request is under way");
    assert_eq!(session.next(&config, ms(100)), None, "and no other follows");
    let page = session.ended(&config, ms(100), &FAILED).expect("the page is over");
    assert_eq!((page.ending, page.requested, page.complete, page.done), (Ending::GivenUp, 2, 1, None));
    assert_eq!(session.wake(), ms(150));
    assert_eq!(session.next(&config, ms(150)).map(|r| (r.page, r.object)), Some((1, 0)));
}

#[test]
fn no_page_begins_after_the_end_of_load() {
    let plan = SessionConfig { pages: None, think_time: think_ms(30), ..SessionConfig::requests(1) };
    let config = config(plan);
    let demand = Demand { due: ms(0), session: 0 };
    let mut session = Session::new(&config, ms(100), &StreamKey::new(1), 0, demand);
    let (requests, _) = play(&mut session, &config, Duration::from_ms(10));
    assert_eq!(requests.iter().map(|(_, r)| r.due).collect::<Vec<_>>(), [0, 40, 80].map(ms));
}

/// Draws of a page are its own: changing one part of the description leaves the others' as they were.
#[test]
fn what_one_part_draws_moves_no_other() {
    let plan = SessionConfig {
        pages: Some(Distribution::Fixed(20)),
        embedded: Distribution::Uniform { low: 0, high: 6 },
        embedded_size: Some(Distribution::Exponential { mean: 3_000 }),
        think_time: Distribution::Exponential { mean: 1_000_000_000 },
        ..SessionConfig::requests(1)
    };
    let base = Config { size: Distribution::LogNormal { mean: 9_000, cv: 1.0 }, ..config(plan) };
    let mains = |config: &Config, delay: u64| -> Vec<u64> {
        let (requests, _) = play(&mut begin(config), config, Duration::from_ms(delay));
        requests.iter().filter(|(_, r)| r.object == 0).map(|(_, r)| r.object_bytes).collect()
    };
    let other = SessionConfig {
        embedded: Distribution::Fixed(2),
        think_time: Distribution::Fixed(5),
        ..base.session.clone()
    };
    let other = Config { session: other, upload: Distribution::Exponential { mean: 10 }, ..base.clone() };
    assert_eq!(mains(&base, 10), mains(&other, 10));
    assert_eq!(mains(&base, 10), mains(&base, 999), "nor does the network");
    let thinks = |config: &Config| -> Vec<Duration> {
        let (_, pages) = play(&mut begin(config), config, Duration::from_ms(10));
        pages.windows(2).map(|w| w[1].due - w[0].done.expect("complete")).collect()
    };
    let smaller = Config { size: Distribution::Fixed(1), ..base.clone() };
    assert_eq!(thinks(&base), thinks(&smaller));
    assert!(thinks(&base).windows(2).any(|w| w[0] != w[1]));
}

/// A closed loop of one user: a page every (think + response), in the mean.
#[test]
fn a_user_who_thinks_asks_at_the_rate_of_the_closed_loop() {
    let plan = SessionConfig {
        pages: Some(Distribution::Fixed(4_000)),
        think_time: Distribution::Exponential { mean: 90_000_000 },
        ..SessionConfig::requests(1)
    };
    let config = config(plan);
    let (requests, _) = play(&mut begin(&config), &config, Duration::from_ms(10));
    let seconds = requests.last().expect("some").0.as_secs_f64();
    let rate = (requests.len() - 1) as f64 / seconds;
    let error = 4.0 * 0.9 * 10.0 / libm::sqrt(4_000.0);
    assert!((rate - 10.0).abs() < error, "{rate} pages per second, 10 expected");
}

#[test]
fn one_session_for_the_whole_run_begins_within_a_think_time() {
    let plan = SessionConfig { think_time: think_ms(10_000), ..SessionConfig::requests(1) };
    let config = Config { arrivals: ArrivalProcess::Once, start: Start::Random, ..config(plan) };
    for client in 0..20 {
        let key = StreamKey::new(3);
        let demands: Vec<Demand> = crate::Schedule::new(config.clone(), ms(60_000), &key, client).collect();
        assert_eq!(demands.len(), 1);
        assert!(demands[0].due < ms(10_000));
    }
}
