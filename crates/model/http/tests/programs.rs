//! The two programs on their own: written from httperf's manual (`--timeout`) and Apache 1.3's directives.

use airperf_http::{Client, ClientConfig, Failure, ServerConfig, Session, SessionStep};
use airperf_units::{Duration, Time};

const REPLY: u32 = 1283;

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

fn patient(requests: u32) -> ClientConfig {
    let timeout = Some(Duration::from_secs(5));
    ClientConfig { requests_per_connection: requests, request_bytes: 74, timeout }
}

#[test]
fn requests_follow_one_another_and_the_last_reply_closes() {
    let config = patient(2);
    let mut client = Client::open(&config, at(0), at(0), REPLY);
    assert_eq!(client.on_connected(&config, at(2)).write, 74);
    let step = client.on_readable(&config, at(5), REPLY);
    let first = step.ended.expect("the first exchange is over");
    assert_eq!((step.write, step.close, first.index), (74, false, 0));
    assert_eq!((first.due, first.sent, first.done), (at(0), Some(at(2)), Some(at(5))));
    let step = client.on_readable(&config, at(9), 2 * REPLY);
    let second = step.ended.expect("the second exchange is over");
    assert_eq!((step.write, step.close, second.index), (0, true, 1));
    assert_eq!((second.due, second.failure), (at(5), None));
    assert!(client.is_over());
    assert_eq!(client.deadline(), Time::MAX);
}

#[test]
fn each_phase_has_its_own_five_seconds() {
    let config = patient(1);
    let mut client = Client::open(&config, at(0), at(0), REPLY);
    assert_eq!(client.deadline(), at(5_000));
    client.on_connected(&config, at(3_000));
    assert_eq!(client.deadline(), at(8_000));
    client.on_readable(&config, at(7_000), 100);
    assert_eq!(client.deadline(), at(12_000));
    client.on_readable(&config, at(11_000), 1_000);
    assert_eq!(client.deadline(), at(12_000), "more octets do not restart the timer of a reply");
    let step = client.on_timer(at(12_000), 1_000);
    let exchange = step.ended.expect("the exchange failed");
    assert!(step.close);
    assert_eq!((exchange.failure, exchange.response_bytes), (Some(Failure::Receive), 1_000));
}

#[test]
fn failures_are_named_by_phase() {
    let config = patient(1);
    let mut connecting = Client::open(&config, at(0), at(0), REPLY);
    assert_eq!(connecting.on_timer(at(4_999), 0).ended, None);
    let exchange = connecting.on_timer(at(5_000), 0).ended.expect("it failed");
    assert_eq!((exchange.failure, exchange.sent), (Some(Failure::Connect), None));

    let mut waiting = Client::open(&config, at(0), at(0), REPLY);
    waiting.on_connected(&config, at(10));
    let exchange = waiting.on_timer(at(5_010), 0).ended.expect("it failed");
    assert_eq!((exchange.failure, exchange.first_byte), (Some(Failure::Reply), None));

    let mut broken = Client::open(&config, at(0), at(0), REPLY);
    broken.on_connected(&config, at(10));
    assert_eq!(broken.on_broken(7).ended.expect("it failed").failure, Some(Failure::Reset));
    assert_eq!(broken.on_broken(7).ended, None, "an exchange ends once");
}

#[test]
fn a_process_serves_until_the_stream_ends() {
    let config = ServerConfig::apache_1_3();
    let mut session = Session::new(74, REPLY);
    assert!(!session.holds_process());
    session.accept(&config, at(0));
    assert_eq!(session.advance(&config, at(0), 73, false), SessionStep::Wait);
    assert_eq!(session.advance(&config, at(1), 74, false), SessionStep::Write(REPLY));
    assert_eq!(session.advance(&config, at(1), 74, false), SessionStep::Wait);
    assert_eq!(session.deadline(), at(1) + Duration::from_secs(15));
    assert_eq!(
        session.advance(&config, at(2), 148, true),
        SessionStep::Write(REPLY),
        "a last request is served"
    );
    assert_eq!(session.advance(&config, at(2), 148, true), SessionStep::Close);
    assert!(!session.holds_process());
}

#[test]
fn processor_time_comes_before_and_after_the_first_reply() {
    let (before, after) = (Duration::from_us(700), Duration::from_us(1_930));
    let config = ServerConfig {
        cpu_per_connection_before: before,
        cpu_per_connection_after: after,
        ..ServerConfig::apache_1_3()
    };
    let mut session = Session::new(74, REPLY);
    session.accept(&config, at(0));
    assert_eq!(session.advance(&config, at(0), 74, false), SessionStep::Compute(before));
    assert_eq!(session.advance(&config, at(0), 74, false), SessionStep::Wait, "it computes");
    assert_eq!(session.on_computed(), SessionStep::Write(REPLY));
    assert_eq!(session.advance(&config, at(1), 74, true), SessionStep::Compute(after));
    assert_eq!(session.on_computed(), SessionStep::Wait);
    assert_eq!(session.advance(&config, at(3), 74, true), SessionStep::Close);
}

#[test]
fn a_process_gives_up_an_idle_connection_and_honours_its_quota() {
    let config = ServerConfig { max_requests_per_connection: Some(2), ..ServerConfig::apache_1_3() };
    let mut session = Session::new(74, REPLY);
    session.accept(&config, at(0));
    assert_eq!(session.on_timer(at(299_999)), SessionStep::Wait);
    assert_eq!(session.on_timer(at(300_000)), SessionStep::Close, "Timeout 300");

    let mut session = Session::new(74, REPLY);
    session.accept(&config, at(0));
    for (received, last) in [(74, SessionStep::Wait), (148, SessionStep::Close)] {
        assert_eq!(session.advance(&config, at(1), received, false), SessionStep::Write(REPLY));
        assert_eq!(session.advance(&config, at(1), received, false), last);
    }
}

#[test]
fn a_broken_connection_frees_its_process_even_while_it_computes() {
    let config = ServerConfig { cpu_per_request: Duration::from_ms(1), ..ServerConfig::apache_1_3() };
    let mut session = Session::new(74, REPLY);
    session.accept(&config, at(0));
    assert_eq!(session.advance(&config, at(0), 74, false), SessionStep::Compute(Duration::from_ms(1)));
    session.on_broken();
    assert_eq!(session.on_computed(), SessionStep::Close);
    assert!(!session.holds_process());
}
