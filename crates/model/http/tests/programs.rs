//! The two programs on their own: written from httperf's manual (`--timeout`) and Apache 1.3's directives.

use airperf_http::{Ask, Client, ClientConfig, Failure, ServerConfig, Session, SessionStep, TimeoutRule};
use airperf_units::{Duration, Time};

const REPLY: u32 = 1283;

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

fn patient() -> ClientConfig {
    ClientConfig { timeout: Some(Duration::from_secs(5)), ..ClientConfig::default() }
}

fn ask(due: Time) -> Ask {
    Ask { due, head_bytes: 74, body_bytes: 0, reply_bytes: REPLY }
}

/// Octets that a client writes once its connection stands.
fn connected(client: &mut Client, config: &ClientConfig, now: Time) -> u32 {
    let mut written = 0;
    client.on_connected(config, now, |ask| written += ask.request_bytes());
    written
}

#[test]
fn requests_follow_one_another() {
    let config = patient();
    let mut client = Client::open(&config, at(0), ask(at(0)));
    assert_eq!(connected(&mut client, &config, at(2)), 74);
    let first = client.on_readable(&config, at(5), REPLY).expect("the first exchange is over");
    assert_eq!((first.index, first.request_bytes, first.response_bytes), (0, 74, REPLY));
    assert_eq!((first.due, first.sent, first.done), (at(0), Some(at(2)), Some(at(5))));
    assert_eq!((client.outstanding(), client.deadline()), (0, Time::MAX), "an idle connection has no timer");
    assert!(client.ask(&config, at(5), ask(at(5))), "an idle connection writes at once");
    let second = client.on_readable(&config, at(9), 2 * REPLY).expect("the second exchange is over");
    assert_eq!((second.index, second.due, second.failure), (1, at(5), None));
    assert!(!client.is_over());
    client.finish();
    assert!(client.is_over());
}

#[test]
fn pipelined_replies_come_in_order_and_may_come_together() {
    let config = patient();
    let mut client = Client::open(&config, at(0), ask(at(0)));
    assert!(!client.ask(&config, at(1), ask(at(1))), "nothing is written before the connection stands");
    assert_eq!(connected(&mut client, &config, at(2)), 148);
    assert!(client.ask(&config, at(3), ask(at(3))));
    assert_eq!((client.outstanding(), client.requests(), client.replies_bytes()), (3, 3, 3 * REPLY));
    // The end of the first reply, all of the second and half of the third.
    let received = 2 * REPLY + 600;
    let first = client.on_readable(&config, at(8), received).expect("the first");
    let second = client.on_readable(&config, at(8), received).expect("the second");
    assert_eq!(client.on_readable(&config, at(8), received), None);
    assert_eq!((first.sent, second.sent, second.done), (Some(at(2)), Some(at(2)), Some(at(8))));
    let third = client.fail(received, Some(Failure::Reset)).expect("the third");
    assert_eq!((third.index, third.sent, third.first_byte), (2, Some(at(3)), Some(at(8))));
    assert_eq!(third.response_bytes, 600);
    assert_eq!(client.fail(received, Some(Failure::Reset)), None, "an exchange ends once");
    assert!(client.is_over());
}

#[test]
fn what_a_closed_connection_did_not_answer_can_be_asked_elsewhere() {
    let config = patient();
    let mut client = Client::open(&config, at(0), ask(at(0)));
    connected(&mut client, &config, at(1));
    client.ask(&config, at(1), ask(at(1)));
    client.ask(&config, at(1), ask(at(2)));
    client.on_readable(&config, at(4), REPLY).expect("the first");
    assert_eq!(client.clone().take_unanswered(REPLY), [ask(at(1)), ask(at(2))]);
    client.on_readable(&config, at(5), REPLY + 1);
    assert_eq!(client.take_unanswered(REPLY + 1), [ask(at(2))], "the reply to the other has begun");
    let failed = client.fail(REPLY + 1, Some(Failure::Reset)).expect("it failed");
    assert_eq!((failed.due, failed.response_bytes), (at(1), 1));
}

#[test]
fn each_phase_has_its_own_five_seconds() {
    let config = patient();
    let mut client = Client::open(&config, at(0), ask(at(0)));
    assert_eq!(client.deadline(), at(5_000));
    connected(&mut client, &config, at(3_000));
    assert_eq!(client.deadline(), at(8_000));
    client.on_readable(&config, at(7_000), 100);
    assert_eq!(client.deadline(), at(12_000));
    client.on_readable(&config, at(11_000), 1_000);
    assert_eq!(client.deadline(), at(12_000), "more octets do not restart the timer of a reply");
    assert_eq!(client.on_timer(at(12_000)), Some(Failure::Receive));
    let exchange = client.fail(1_000, Some(Failure::Receive)).expect("the exchange failed");
    assert_eq!((exchange.failure, exchange.response_bytes), (Some(Failure::Receive), 1_000));
}

#[test]
fn progress_restarts_the_timer_where_the_rule_says_so() {
    let config = ClientConfig { timeout_rule: TimeoutRule::Progress, ..patient() };
    let upload = Ask { body_bytes: 100_000, ..ask(at(0)) };
    let mut client = Client::open(&config, at(0), upload);
    assert_eq!(connected(&mut client, &config, at(1_000)), 100_074);
    assert!(client.is_sending());
    for (now, acknowledged, deadline) in
        [(2_000, 20_000, 7_000), (3_000, 20_000, 7_000), (6_999, 60_000, 11_999), (9_000, 100_074, 14_000)]
    {
        client.on_acknowledged(&config, at(now), acknowledged);
        assert_eq!(client.deadline(), at(deadline), "{acknowledged} octets acknowledged at {now} ms");
    }
    assert!(!client.is_sending());
    assert_eq!(client.doing(), Some(Failure::Reply));
    client.on_readable(&config, at(10_000), 100);
    client.on_readable(&config, at(14_000), 200);
    assert_eq!(client.deadline(), at(19_000));
    assert_eq!((client.on_timer(at(18_999)), client.on_timer(at(19_000))), (None, Some(Failure::Receive)));
}

#[test]
fn failures_are_named_by_phase() {
    let config = patient();
    let mut connecting = Client::open(&config, at(0), ask(at(0)));
    assert_eq!(connecting.on_timer(at(4_999)), None);
    assert_eq!(connecting.on_timer(at(5_000)), Some(Failure::Connect));
    let exchange = connecting.fail(0, Some(Failure::Connect)).expect("it failed");
    assert_eq!((exchange.sent, exchange.request_bytes), (None, 0));

    let mut sending = Client::open(&config, at(0), Ask { body_bytes: 5_000, ..ask(at(0)) });
    connected(&mut sending, &config, at(10));
    sending.on_acknowledged(&config, at(3_000), 3_000);
    assert_eq!(sending.on_timer(at(5_010)), Some(Failure::Send), "the phase's timer is not restarted");

    let mut waiting = Client::open(&config, at(0), ask(at(0)));
    connected(&mut waiting, &config, at(10));
    assert_eq!(waiting.on_timer(at(5_010)), Some(Failure::Reply));
    let exchange = waiting.fail(0, Some(Failure::Reply)).expect("it failed");
    assert_eq!((exchange.failure, exchange.first_byte), (Some(Failure::Reply), None));
}

/// A process that has been told of `requests` requests of 74 octets.
fn told(requests: u32) -> Session {
    let mut session = Session::new();
    for _ in 0..requests {
        session.expect(74, REPLY);
    }
    session
}

#[test]
fn a_process_reads_the_whole_body_before_it_replies() {
    let config = ServerConfig::apache_1_3();
    let mut session = Session::new();
    session.accept(&config, at(0));
    assert_eq!(session.advance(&config, at(0), 0, false), SessionStep::Wait, "nothing was asked for");
    session.expect(10_074, 300);
    session.expect(74, 500);
    assert_eq!(session.advance(&config, at(1), 10_073, false), SessionStep::Wait);
    assert_eq!(session.advance(&config, at(2), 10_148, false), SessionStep::Write(300));
    assert_eq!(session.advance(&config, at(2), 10_148, false), SessionStep::Write(500), "each its own reply");
    assert_eq!(session.advance(&config, at(2), 10_148, true), SessionStep::Close);
}

#[test]
fn a_process_serves_until_the_stream_ends() {
    let config = ServerConfig::apache_1_3();
    let mut session = told(2);
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
    let mut session = told(2);
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
    let mut session = told(2);
    session.accept(&config, at(0));
    assert_eq!(session.on_timer(at(299_999)), SessionStep::Wait);
    assert_eq!(session.on_timer(at(300_000)), SessionStep::Close, "Timeout 300");

    let mut session = told(2);
    session.accept(&config, at(0));
    for (received, last) in [(74, SessionStep::Wait), (148, SessionStep::Close)] {
        assert_eq!(session.advance(&config, at(1), received, false), SessionStep::Write(REPLY));
        assert_eq!(session.advance(&config, at(1), received, false), last);
    }
}

#[test]
fn a_broken_connection_frees_its_process_even_while_it_computes() {
    let config = ServerConfig { cpu_per_request: Duration::from_ms(1), ..ServerConfig::apache_1_3() };
    let mut session = told(2);
    session.accept(&config, at(0));
    assert_eq!(session.advance(&config, at(0), 74, false), SessionStep::Compute(Duration::from_ms(1)));
    session.on_broken();
    assert_eq!(session.on_computed(), SessionStep::Close);
    assert!(!session.holds_process());
}
