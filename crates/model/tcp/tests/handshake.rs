//! Timelines of opening: written from RFC 1122 §4.2.3.1, RFC 6298 §2.1 and §5.5, RFC 9293 §3.5.

mod pair;

use airperf_tcp::{Config, Endpoint, Flags, Segment, Signals, Stack, State, Transmit};
use airperf_units::Duration;
use pair::{Fate, Line, Pair, clean, ms, seconds};

const DELAY: Duration = Duration::from_ms(1);

fn syn(segment: &Segment) -> bool {
    segment.flags.has(Flags::SYN)
}

#[test]
fn three_segments_open_a_connection() {
    let mut pair = Pair::new(Config::linux_2_4_18(), DELAY, clean);
    pair.connect();
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.words(), ["C SYN", "S SYN+ACK", "C ACK"]);
    assert_eq!(pair.log.iter().map(|l| l.segment.ip_bytes()).collect::<Vec<_>>(), [60, 60, 52]);
    assert_eq!((pair.client.state(), pair.server.state()), (State::Established, State::Established));
}

#[test]
fn a_syn_is_repeated_after_3_s_then_twice_as_late_each_time() {
    let mut pair = Pair::new(Config::linux_2_4_18(), DELAY, |_: &Line| Fate::Lost);
    pair.connect();
    pair.run_for(Duration::from_secs(400));
    assert_eq!(seconds(&pair.sent(true, syn)), [0.0, 3.0, 9.0, 21.0, 45.0, 93.0]);
    let (at, signals) = *pair.client_signals.last().expect("TCP gave up");
    assert!(signals.has(Signals::GIVEN_UP));
    assert_eq!(at.as_secs_f64(), 189.0);
}

#[test]
fn todays_kernel_repeats_a_syn_each_second_before_it_doubles() {
    let mut pair = Pair::new(Config::linux_6(), DELAY, |_: &Line| Fate::Lost);
    pair.connect();
    pair.run_for(Duration::from_secs(400));
    // 1 s is 250 jiffies, in slots of 32 ms; 1.024 s is also what Linux 6.18 was seen to take.
    assert_eq!(seconds(&pair.sent(true, syn)), [0.0, 1.024, 2.048, 3.072, 4.096, 5.12, 7.136]);
}

#[test]
fn a_lost_syn_ack_is_repeated_by_the_repeated_syn() {
    let mut lost = 0;
    let mut pair = Pair::new(Config::linux_2_4_18(), DELAY, |line: &Line| {
        lost += usize::from(!line.from_client);
        if !line.from_client && lost == 1 { Fate::Lost } else { Fate::Arrives }
    });
    pair.connect();
    pair.run_for(Duration::from_secs(4));
    assert_eq!(pair.words()[..4], ["C SYN", "S SYN+ACK", "C SYN", "S SYN+ACK"]);
    let repeats = pair.sent(false, syn);
    assert_eq!(repeats[1], ms(3_001), "at once when the repeated SYN arrives");
    assert_eq!(pair.client.state(), State::Established);
}

#[test]
fn a_lost_last_acknowledgement_is_made_good_by_the_request() {
    let mut pair = Pair::new(Config::linux_2_4_18(), DELAY, |line: &Line| {
        if line.from_client && pair::pure_ack(&line.segment) { Fate::Lost } else { Fate::Arrives }
    });
    pair.connect();
    pair.run_for(DELAY * 3);
    assert_eq!(pair.server.state(), State::SynReceived);
    pair.client_writes(74);
    pair.run_for(DELAY * 2);
    assert_eq!(pair.server.state(), State::Established);
    assert_eq!(pair.server.received_bytes(), 74);
}

#[test]
fn an_ignored_last_acknowledgement_leaves_it_half_open_until_syn_ack_comes_again() {
    // The accept queue was full: the host withheld the acknowledgement from the endpoint.
    let mut pair = Pair::new(Config::linux_2_4_18(), DELAY, |line: &Line| {
        let early = line.at < ms(3_000);
        if line.from_client && early && !syn(&line.segment) { Fate::Lost } else { Fate::Arrives }
    });
    pair.connect();
    pair.run_for(Duration::from_secs(2));
    pair.server.note_ignored_ack();
    assert_eq!((pair.client.state(), pair.server.state()), (State::Established, State::SynReceived));
    pair.run_for(Duration::from_secs(3));
    assert_eq!(pair.server.state(), State::Established);
    let repeated = pair.sent(false, syn)[1];
    assert!(repeated >= ms(3_000) && repeated <= ms(3_201), "{repeated}: at a scan of the SYN queue");
}

#[test]
fn a_repeated_syn_refused_by_the_own_queue_comes_again_soon_without_backing_off() {
    let mut pair = Pair::new(Config::linux_2_4_18(), DELAY, |line: &Line| match line.at {
        at if at < ms(3_000) => Fate::Lost,
        at if at < ms(4_400) => Fate::Refused,
        _ => Fate::Lost,
    });
    pair.connect();
    pair.run_for(Duration::from_secs(12));
    assert_eq!(seconds(&pair.sent(true, syn)), [0.0, 3.0, 3.5, 4.0, 4.5, 10.5]);
}

#[test]
fn a_first_syn_refused_by_the_own_queue_is_lost() {
    let mut pair = Pair::new(Config::linux_2_4_18(), DELAY, |line: &Line| {
        if line.at < ms(100) { Fate::Refused } else { Fate::Arrives }
    });
    pair.connect();
    pair.run_for(Duration::from_secs(4));
    assert_eq!(seconds(&pair.sent(true, syn)), [0.0, 3.0]);
}

/// A server whose first SYN-ACK its own queue refuses, a second later.
fn refused_synack(refused_synack_ends: bool) -> Pair<impl FnMut(&Line) -> Fate> {
    let config = Config { refused_synack_ends, ..Config::linux_2_4_18() };
    let mut pair = Pair::new(config, DELAY, |line: &Line| {
        if !line.from_client && line.at < ms(100) { Fate::Refused } else { Fate::Arrives }
    });
    pair.connect();
    pair.run_for(Duration::from_secs(1));
    pair
}

#[test]
fn a_syn_ack_refused_by_the_own_queue_leaves_nothing_half_open() {
    let mut pair = refused_synack(true);
    assert_eq!(pair.server.state(), State::Closed);
    pair.run_for(Duration::from_secs(9));
    assert_eq!(seconds(&pair.sent(false, syn)), [0.001, 3.001], "each answers a SYN, none is the timer's");
    assert_eq!(pair.server.state(), State::Established);
    assert_eq!(refused_synack(false).server.state(), State::SynReceived);
}

#[test]
fn a_repeated_syn_ack_refused_by_the_own_queue_ends_the_half_open_connection() {
    let mut pair = Pair::new(Config::linux_2_4_18(), DELAY, |line: &Line| match line.at {
        at if line.from_client && at < ms(1) => Fate::Arrives,
        at if at < ms(100) => Fate::Lost,
        _ if line.from_client => Fate::Lost,
        _ => Fate::Refused,
    });
    pair.connect();
    pair.run_for(Duration::from_secs(30));
    assert_eq!(pair.sent(false, syn).len(), 2, "the first was lost on its way, the second never left");
    assert!(pair.server_saw(Signals::GIVEN_UP));
    assert_eq!(pair.server.state(), State::Closed);
}

#[test]
fn closing_before_the_handshake_is_silent_and_a_late_syn_ack_draws_a_reset() {
    let mut pair = Pair::new(Config::linux_2_4_18(), Duration::from_secs(6), clean);
    pair.connect();
    pair.run_for(Duration::from_secs(5));
    let before = pair.log.len();
    pair.client_closes();
    assert_eq!(pair.log.len(), before, "close() in SYN-SENT sends nothing");
    pair.run_for(Duration::from_secs(20));
    assert!(pair.words().contains(&"C RST".to_owned()), "{:?}", pair.words());
    assert!(pair.server_saw(Signals::RESET));
    assert_eq!(pair.server.state(), State::Closed);
}

#[test]
fn a_syn_to_a_closed_port_is_refused_with_its_acknowledgement() {
    let mut sink = Sent::default();
    Endpoint::refuse(&Segment { flags: Flags::SYN, ..Segment::default() }, &mut sink);
    assert_eq!(sink.0[0].flags, Flags::RST.with(Flags::ACK));
    assert_eq!((sink.0[0].ack, sink.0[0].ip_bytes()), (1, 40)); // RFC 9293 §3.10.7.1
    Endpoint::refuse(&Segment { flags: Flags::RST, ..Segment::default() }, &mut sink);
    assert_eq!(sink.0.len(), 1, "a reset is never answered");
}

/// The server's SYN-ACKs when the round trip takes three seconds.
fn synacks_of_a_long_way(config: Config) -> usize {
    let mut pair = Pair::new(config, Duration::from_ms(1_500), clean);
    pair.connect();
    pair.run_for(Duration::from_secs(10));
    assert_eq!(pair.server.state(), State::Established);
    pair.sent(false, |s| s.flags.has(Flags::SYN)).len()
}

#[test]
fn answering_a_repeated_syn_starts_the_timer_anew() {
    // SYNs leave after 0, 1.02 and 2.05 s and arrive after 1.5, 2.52 and 3.55 s; the handshake's end arrives after 4.5 s.
    assert_eq!(synacks_of_a_long_way(Config::linux_6()), 3, "one for each SYN");
    let config = Config { synack_timer_restarts: false, ..Config::linux_6() };
    assert_eq!(synacks_of_a_long_way(config), 4, "and after 2.53 s the timer's");
}

#[test]
fn repeated_syns_are_answered_once_in_an_interval() {
    let answers = |answer_interval| {
        let stack = Stack::new(Config { answer_interval, ..Config::linux_6() }, Duration::ZERO);
        let (mut server, mut sent) = (Endpoint::closed(), Sent::default());
        let syn = Segment { flags: Flags::SYN, window: 65_535, ..Segment::default() };
        server.accept(ms(0), &stack, &syn, None, &mut sent);
        for at in [100, 300, 599, 600, 1_200] {
            server.receive(ms(at), &stack, &syn, &mut sent);
        }
        sent.0.len()
    };
    assert_eq!(answers(Duration::ZERO), 1 + 5);
    assert_eq!(answers(Duration::from_ms(500)), 1 + 3, "after 100, 600 and 1,200 ms");
}

/// A queue that takes everything.
#[derive(Default)]
struct Sent(Vec<Segment>);

impl Transmit for Sent {
    fn transmit(&mut self, segment: &Segment) -> bool {
        self.0.push(*segment);
        true
    }
}
