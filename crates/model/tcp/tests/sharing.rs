//! What a new connection takes over from others of the same two hosts (RFC 9040 §6 and §7).

mod pair;

use airperf_tcp::{Config, Endpoint, Segment, Shared, SharedState, Stack, Transmit};
use airperf_units::{Duration, Time};
use pair::{Fate, Line, Pair, clean, data, established, ms};

const DELAY: Duration = Duration::from_ms(50);

fn config() -> Config {
    Config::linux_2_4_18()
}

/// A server's endpoint that wrote `segments` over a clean path of 100 ms and has them all acknowledged.
fn used(segments: u32) -> Endpoint {
    let mut pair = established(config(), DELAY, clean);
    pair.server_writes(segments * 1448);
    pair.run_for(Duration::from_secs(20));
    pair.server
}

fn of(shared: &Shared, kind: SharedState, alive: &mut [Endpoint]) -> Option<airperf_tcp::Inherited> {
    shared.inherit(kind, alive.iter_mut())
}

struct Sent(Vec<Segment>);

impl Transmit for Sent {
    fn transmit(&mut self, segment: &Segment) -> bool {
        self.0.push(*segment);
        true
    }
}

#[test]
fn the_next_connection_begins_where_the_last_one_ended() {
    let over = used(40);
    let window = over.congestion_window();
    assert!(window > 8, "slow start went on: {window}");
    let mut shared = Shared::default();
    assert!(of(&shared, SharedState::Temporal, &mut []).is_none(), "nothing is known at first");
    shared.learn(&over);
    let inherited = of(&shared, SharedState::Temporal, &mut []).unwrap();
    assert_eq!(inherited.congestion_window(), window);
    assert_eq!(inherited.threshold(), u32::MAX, "nothing was ever lost");
    // Round trips of 100 ms, and a variance below the floor of 200 ms.
    let timeout = inherited.timeout(&config());
    assert!((ms(295)..=ms(320)).contains(&(Time::ZERO + timeout)), "{timeout}");
    assert!(of(&shared, SharedState::None, &mut []).is_none());
}

#[test]
fn what_is_known_and_what_is_new_are_averaged() {
    let (small, large) = (used(2), used(60));
    let (a, b) = (small.congestion_window(), large.congestion_window());
    let mut shared = Shared::default();
    shared.learn(&small);
    shared.learn(&large);
    assert_eq!(of(&shared, SharedState::Temporal, &mut []).unwrap().congestion_window(), (a + b) / 2);
    shared.learn(&Endpoint::closed()); // knew nothing
    assert_eq!(of(&shared, SharedState::Temporal, &mut []).unwrap().congestion_window(), (a + b) / 2);
}

#[test]
fn a_threshold_found_by_loss_is_handed_on() {
    let mut lost = false;
    let rule = move |line: &Line| {
        let hit = !lost && data(&line.segment) && line.segment.seq > 20 * 1448;
        lost |= hit;
        if hit { Fate::Lost } else { Fate::Arrives }
    };
    let mut pair = established(config(), DELAY, rule);
    pair.server_writes(60 * 1448);
    pair.run_for(Duration::from_secs(20));
    let mut shared = Shared::default();
    shared.learn(&pair.server);
    let inherited = of(&shared, SharedState::Temporal, &mut []).unwrap();
    assert!(inherited.threshold() < 30, "{}", inherited.threshold());
    assert!(inherited.threshold() >= inherited.congestion_window() / 2);
}

#[test]
fn a_lost_syn_is_repeated_after_the_known_round_trip_instead_of_3_s() {
    let mut shared = Shared::default();
    shared.learn(&used(4));
    let stack = Stack::new(config(), Duration::ZERO);
    let (mut fresh, mut knowing, mut sent) = (Endpoint::closed(), Endpoint::closed(), Sent(Vec::new()));
    fresh.connect(Time::ZERO, &stack, None, &mut sent);
    knowing.connect(Time::ZERO, &stack, of(&shared, SharedState::Temporal, &mut []), &mut sent);
    assert_eq!(fresh.deadline(&stack), ms(3_000));
    assert!(knowing.deadline(&stack) < ms(500), "{:?}", knowing.deadline(&stack));
}

#[test]
fn an_inherited_window_is_sent_at_once() {
    let mut shared = Shared::default();
    shared.learn(&used(40));
    let mut pair = Pair::new(config(), DELAY, clean);
    pair.inherited = of(&shared, SharedState::Temporal, &mut []);
    let window = pair.inherited.unwrap().congestion_window();
    assert!(window > 4, "the peer's window of four segments binds: {window}");
    pair.connect();
    pair.run_for(DELAY * 4);
    pair.server_writes(40 * 1448);
    assert_eq!(pair.sent(false, data).len(), 4);
}

#[test]
fn an_ensemble_shares_its_window_with_who_joins() {
    let mut alive = [used(20), used(20), used(20)];
    let before: u32 = alive.iter().map(Endpoint::congestion_window).sum();
    let shared = Shared::default();
    let inherited = of(&shared, SharedState::Ensemble, &mut alive).unwrap();
    assert_eq!(inherited.congestion_window(), before / 4);
    let after: u32 = alive.iter().map(Endpoint::congestion_window).sum();
    let sum = after + inherited.congestion_window();
    assert!((before..before + 4).contains(&sum), "{before} segments became {sum}; three may be rounded up");
}

#[test]
fn alone_an_ensemble_begins_with_what_those_before_knew() {
    let mut shared = Shared::default();
    assert!(of(&shared, SharedState::Ensemble, &mut [Endpoint::closed()]).is_none());
    shared.learn(&used(20));
    let inherited = of(&shared, SharedState::Ensemble, &mut [Endpoint::closed()]).unwrap();
    assert_eq!(inherited.congestion_window(), used(20).congestion_window());
}
