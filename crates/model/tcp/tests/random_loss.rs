//! Whatever a wire loses: octets arrive once, in order and unchanged in number, or the connection ends.

mod pair;

use airperf_tcp::{Config, Congestion, Signals, State};
use airperf_units::{Duration, StreamKey, Time};
use pair::{Fate, Line, Pair};
use proptest::prelude::*;

struct Outcome {
    received: u32,
    acknowledged: u32,
    lines: Vec<Line>,
    ended: Time,
    given_up: bool,
}

/// A server sends `bytes` and closes; the client closes when it has seen that. Both ways lose, refuse, and hold some
/// segments back for up to a second, so that others overtake them and timers expire in vain.
fn transfer(config: &Config, seed: u64, bytes: u32, [loss, refusal, late]: [f64; 3]) -> Outcome {
    let mut stream = StreamKey::new(seed).stream("loss");
    let mut lateness = StreamKey::new(seed).stream("lateness");
    let rule = move |line: &Line| match (stream.chance(loss), stream.chance(refusal)) {
        (_, true) => Fate::Refused,
        (true, _) => Fate::Lost,
        _ if late > 0.0 && lateness.chance(late) => {
            Fate::ArrivesAt(line.at + Duration::from_ms(3 + u64::from(lateness.up_to(1_000))))
        }
        _ => Fate::Arrives,
    };
    let mut pair = Pair::new(config.clone(), Duration::from_ms(3), rule);
    pair.connect();
    let (mut written, mut closed) = (false, false);
    let end = Time::ZERO + Duration::from_secs(4 * 3_600);
    let mut steps = 0u32;
    while pair.step(end) {
        steps += 1;
        assert!(steps < 1_000_000, "no end in sight");
        assert!(pair.client.received_bytes() <= pair.server.written_bytes());
        assert!(pair.server.acknowledged_bytes() <= pair.client.received_bytes());
        if !written && pair.server.state() == State::Established {
            pair.server_writes(bytes);
            pair.server_closes();
            written = true;
        }
        if !closed && pair.client.peer_has_closed() {
            pair.client_closes();
            closed = true;
        }
    }
    let given_up = pair.client_saw(Signals::GIVEN_UP) || pair.server_saw(Signals::GIVEN_UP);
    assert!(given_up || pair.client.state() == State::Closed, "client {:?}", pair.client.state());
    assert!(given_up || pair.server.state() == State::Closed, "server {:?}", pair.server.state());
    Outcome {
        received: pair.client.received_bytes(),
        acknowledged: pair.server.acknowledged_bytes(),
        ended: pair.log.last().map_or(Time::ZERO, |l| l.at),
        lines: pair.log,
        given_up,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn everything_arrives_or_the_connection_ends(
        seed in any::<u64>(),
        bytes in 1u32..300_000,
        loss in 0.0..0.35f64,
        refusal in prop_oneof![Just(0.0), 0.0..0.3f64],
        modern in any::<bool>(),
        reno in any::<bool>(),
        timestamps in any::<bool>(),
        feedback in any::<bool>(),
        late in prop_oneof![Just(0.0), 0.0..0.3f64],
        sack_recovery in any::<bool>(),
        undo_spurious in any::<bool>(),
        reorder_ranges in prop_oneof![Just(1u8), Just(4), Just(255)],
    ) {
        let config = Config {
            congestion: if reno { Congestion::Reno } else { Congestion::NewReno },
            timestamps,
            local_drop_feedback: feedback,
            sack_recovery,
            undo_spurious,
            reorder_ranges,
            ..if modern { Config::linux_6() } else { Config::linux_2_4_18() }
        };
        let outcome = transfer(&config, seed, bytes, [loss, refusal, late]);
        prop_assert!(outcome.given_up || outcome.received == bytes);
        prop_assert!(outcome.acknowledged <= outcome.received);
    }
}

#[test]
fn the_same_losses_give_the_same_timeline() {
    let config = Config::linux_2_4_18();
    let wire = [0.1, 0.05, 0.0];
    let one = transfer(&config, 42, 200_000, wire);
    let two = transfer(&config, 42, 200_000, wire);
    assert_eq!(one.received, 200_000, "a tenth lost is no reason to give up");
    assert!(one.lines == two.lines);
    assert_ne!(one.ended, transfer(&config, 43, 200_000, wire).ended);
}
