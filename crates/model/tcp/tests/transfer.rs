//! Timelines of data: written from RFC 5681 §3, RFC 6298 §5, RFC 6582 §3, RFC 1122 §4.2.3.2 and the
//! acknowledgement policy of Linux.

mod pair;

use airperf_tcp::{Config, Congestion, Flags, Signals, State};
use airperf_units::Duration;
use pair::{Fate, Line, clean, data, established, losing, ms, pure_ack};

const DELAY: Duration = Duration::from_ms(5);

#[test]
fn unanswered_data_is_repeated_with_doubling_timeouts() {
    let rule = |line: &Line| if data(&line.segment) { Fate::Lost } else { Fate::Arrives };
    let mut pair = established(Config::linux_2_4_18(), DELAY, rule);
    pair.client_writes(74);
    let start = pair.now;
    pair.run_for(Duration::from_secs(30));
    let sent = pair.sent(true, data);
    let waits: Vec<u64> = sent.windows(2).map(|w| (w[1] - w[0]).as_ns() / 1_000_000).collect();
    // Round trip 10 ms: the first timeout is 210 ms, its timer on a tick of 10 ms.
    assert!((200..=210).contains(&waits[0]), "{waits:?}");
    for (wait, times) in waits.iter().zip([1u64, 2, 4, 8, 16, 32]) {
        assert!(wait.abs_diff(210 * times) <= 10, "{waits:?}");
    }
    assert!(pair.log.iter().skip(1).all(|l| !data(&l.segment) || l.segment.flags.has(Flags::AGAIN)));
    assert_eq!(sent[0], start);
}

#[test]
fn three_duplicate_acknowledgements_repeat_the_hole_at_once() {
    let mut pair = established(Config::linux_6(), DELAY, losing(&[3]));
    pair.client_writes(74);
    pair.run_for(DELAY * 2);
    pair.server_writes(10 * 1448);
    pair.run_for(Duration::from_ms(100));
    assert_eq!(pair.client.received_bytes(), 10 * 1448);
    let again: Vec<_> = pair.log.iter().filter(|l| l.segment.flags.has(Flags::AGAIN)).collect();
    assert_eq!(again.len(), 1, "one hole, one retransmission");
    assert_eq!(again[0].segment.seq, 1 + 3 * 1448);
    // The window of 10 leaves at once; the hole is filled one round trip later, long before the timeout.
    let first = pair.sent(false, data)[0];
    assert_eq!(again[0].at - first, DELAY * 2);
}

#[test]
fn a_partial_acknowledgement_shows_newreno_the_next_hole() {
    let config = Config { sack_recovery: false, ..Config::linux_6() };
    let mut pair = established(config, DELAY, losing(&[2, 5]));
    pair.server_writes(10 * 1448);
    pair.run_for(Duration::from_ms(100));
    assert_eq!(pair.client.received_bytes(), 10 * 1448, "no timeout was needed");
    let again: Vec<_> = pair.log.iter().filter(|l| l.segment.flags.has(Flags::AGAIN)).collect();
    assert_eq!(again.iter().map(|l| (l.segment.seq - 1) / 1448).collect::<Vec<_>>(), [2, 5]);
    assert_eq!(again[1].at - again[0].at, DELAY * 2, "one hole per round trip (RFC 6582 §1)");
}

#[test]
fn reno_leaves_recovery_with_the_first_new_acknowledgement() {
    let config = Config { congestion: Congestion::Reno, sack_recovery: false, ..Config::linux_6() };
    let mut pair = established(config, DELAY, losing(&[2, 5]));
    pair.server_writes(10 * 1448);
    pair.run_for(Duration::from_ms(100));
    assert!(pair.client.received_bytes() < 10 * 1448, "the second hole waits for the timer");
    pair.run_for(Duration::from_ms(300));
    assert_eq!(pair.client.received_bytes(), 10 * 1448);
}

#[test]
fn a_timeout_restarts_from_one_segment_and_skips_what_arrived() {
    // All of the first window but its last segment is lost: one duplicate only, so the timer must act.
    let mut pair = established(Config::linux_2_4_18(), DELAY, losing(&[0]));
    pair.server_writes(6 * 1448);
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.client.received_bytes(), 6 * 1448);
    let again: Vec<_> = pair.log.iter().filter(|l| l.segment.flags.has(Flags::AGAIN)).collect();
    assert_eq!(again.len(), 1, "the acknowledgement of the hole covers the second segment too");
}

#[test]
fn slow_start_doubles_each_round_trip() {
    let mut pair = established(Config::linux_2_4_18(), Duration::from_ms(50), clean);
    pair.server_writes(14 * 1448);
    pair.run_for(Duration::from_secs(1));
    let sent = pair.sent(false, data);
    let rounds: Vec<usize> =
        (0..3).map(|r| sent.iter().filter(|t| (**t - sent[0]).as_ns() / 100_000_000 == r).count()).collect();
    assert_eq!(rounds, [2, 4, 8]); // initial window 2, every segment acknowledged: RFC 5681 §3.1
}

#[test]
fn early_segments_are_acknowledged_one_by_one_then_every_second() {
    let mut pair = established(Config::linux_2_4_18(), DELAY, clean);
    pair.client_writes(74);
    pair.run_for(DELAY * 2);
    pair.log.clear();
    pair.server_writes(80 * 1448);
    pair.run_for(Duration::from_secs(3));
    assert_eq!(pair.client.received_bytes(), 80 * 1448);
    let acks: Vec<u32> = pair
        .log
        .iter()
        .filter(|l| l.from_client && pure_ack(&l.segment))
        .map(|l| (l.segment.ack - 1) / 1448)
        .collect();
    // 5840 to 65535 in steps of 2 MSS: about 21 segments top the credit up.
    assert_eq!(acks[..20], (1..=20).collect::<Vec<_>>());
    let late = acks.iter().filter(|a| **a > 24).count();
    assert!((26..=32).contains(&late), "{late} acknowledgements for the last 56 segments: {acks:?}");
}

#[test]
fn a_lone_segment_of_a_conversation_is_acknowledged_after_40_ms() {
    let mut pair = established(Config::linux_2_4_18(), DELAY, clean);
    pair.client_writes(74);
    pair.run_for(DELAY);
    assert_eq!(pair.words(), ["C ACK 74", "S ACK"], "quick mode acknowledges the first data at once");
    pair.server_writes(1283);
    pair.run_for(DELAY);
    pair.client_writes(74); // the client answers at once: from now on it is a conversation
    let arrival = pair.now + DELAY;
    pair.log.clear();
    pair.run_for(Duration::from_ms(200));
    let acks = pair.sent(false, pure_ack);
    assert_eq!(acks.len(), 1);
    let wait = acks[0] - arrival;
    assert!(wait > Duration::from_ms(30) && wait <= Duration::from_ms(40), "{wait}");
}

#[test]
fn a_later_transaction_of_a_persistent_connection_takes_two_packets() {
    let mut pair = established(Config::linux_2_4_18(), DELAY, clean);
    for _ in 0..3 {
        pair.log.clear();
        pair.client_writes(74);
        pair.run_for(DELAY);
        pair.server_writes(1283);
        pair.run_for(DELAY);
    }
    assert_eq!(pair.words(), ["C ACK 74", "S ACK 1283"]);
}

#[test]
fn new_data_refused_by_the_own_queue_is_kept_and_sent_after_the_timeout() {
    let rule = |line: &Line| {
        if data(&line.segment) && line.at < ms(100) { Fate::Refused } else { Fate::Arrives }
    };
    let mut pair = established(Config::linux_2_4_18(), DELAY, rule);
    pair.client_writes(74);
    pair.run_for(Duration::from_secs(1));
    let sent = pair.sent(true, data);
    assert_eq!(sent.len(), 2);
    assert!((sent[1] - sent[0]) <= Duration::from_ms(210) && (sent[1] - sent[0]) > Duration::from_ms(190));
    assert!(!pair.log.iter().any(|l| l.segment.flags.has(Flags::AGAIN)), "it was never sent before");
    assert_eq!(pair.server.received_bytes(), 74);
}

#[test]
fn a_repeat_refused_by_the_own_queue_comes_again_soon_without_backing_off() {
    let rule = |line: &Line| match line.at {
        at if !data(&line.segment) || at > ms(1_500) => Fate::Arrives,
        at if at < ms(100) => Fate::Lost,
        _ => Fate::Refused,
    };
    let mut pair = established(Config::linux_2_4_18(), DELAY, rule);
    pair.client_writes(74);
    pair.run_for(Duration::from_secs(3));
    let sent = pair.sent(true, data);
    let waits: Vec<u64> = sent.windows(2).map(|w| (w[1] - w[0]).as_ns() / 1_000_000).collect();
    assert!(waits.len() >= 6, "{waits:?}");
    assert!(waits.iter().all(|wait| (190..=210).contains(wait)), "{waits:?}");
    assert_eq!(pair.server.received_bytes(), 74);
}

#[test]
fn without_feedback_a_refused_segment_is_lost_and_repeated() {
    let config = Config { local_drop_feedback: false, ..Config::linux_2_4_18() };
    let rule = |line: &Line| {
        if data(&line.segment) && line.at < ms(100) { Fate::Refused } else { Fate::Arrives }
    };
    let mut pair = established(config, DELAY, rule);
    pair.client_writes(74);
    pair.run_for(Duration::from_secs(1));
    assert!(pair.log.iter().any(|l| data(&l.segment) && l.segment.flags.has(Flags::AGAIN)));
    assert_eq!(pair.server.received_bytes(), 74);
}

#[test]
fn without_timestamps_round_trips_are_measured_too() {
    let config = Config { timestamps: false, ..Config::linux_2_4_18() };
    let rule = |line: &Line| {
        if data(&line.segment) && line.at > ms(200) && line.at < ms(260) { Fate::Lost } else { Fate::Arrives }
    };
    let mut pair = established(config, Duration::from_ms(50), rule);
    assert_eq!(pair.now, ms(200));
    pair.client_writes(74);
    pair.run_for(Duration::from_secs(1));
    pair.client_writes(74);
    pair.run_for(Duration::from_secs(1));
    let header: Vec<u8> = pair.log.iter().map(|l| l.segment.header).collect();
    assert!(header.iter().all(|h| *h == 20), "{header:?}");
    assert_eq!(pair.server.received_bytes(), 148);
}

#[test]
fn data_repeated_too_often_gives_the_connection_up() {
    let config = Config { data_retries: 3, ..Config::linux_2_4_18() };
    let rule = |line: &Line| if data(&line.segment) { Fate::Lost } else { Fate::Arrives };
    let mut pair = established(config, DELAY, rule);
    pair.client_writes(74);
    pair.run_for(Duration::from_secs(60));
    assert_eq!(pair.sent(true, data).len(), 4);
    assert!(pair.client_saw(Signals::GIVEN_UP));
    assert_eq!(pair.client.state(), State::Closed);
}

#[test]
fn after_a_pause_longer_than_the_timeout_the_window_is_the_initial_one_again() {
    // RFC 5681 §4.1: "if the TCP has not sent data in an interval exceeding the retransmission timeout", cwnd is set to
    // no more than the restart window before transmission begins.
    let burst_after_pause = |slow_start_after_idle| {
        let config = Config { slow_start_after_idle, ..Config::linux_6() };
        let mut pair = established(config, DELAY, clean);
        pair.server_writes(60 * 1448);
        pair.run_for(Duration::from_secs(2));
        let grown = pair.server.congestion_window();
        pair.log.clear();
        pair.server_writes(60 * 1448);
        pair.run_for(Duration::from_ms(4));
        (grown, pair.sent(false, data).len() as u32)
    };
    let (grown, burst) = burst_after_pause(true);
    assert!(grown > 20, "{grown}");
    assert_eq!(burst, 10, "RFC 6928 §2: the restart window is the initial one");
    let (grown, burst) = burst_after_pause(false);
    assert_eq!(burst, grown.min(60), "without it what was learned is kept");
}

#[test]
fn the_initial_window_leaves_in_one_burst() {
    // RFC 6928 §2: min(10 MSS, max(2 MSS, 14600)) segments before the first acknowledgement.
    for segments in [2, 4, 10, 30] {
        let config = Config { initial_window: segments, ..Config::linux_6() };
        let mut pair = established(config, DELAY, clean);
        pair.server_writes(40 * 1448);
        pair.run_for(Duration::from_ms(4));
        assert_eq!(pair.sent(false, data).len() as u32, segments);
    }
}

#[test]
fn a_window_clamp_bounds_what_is_on_its_way_and_lets_no_window_grow() {
    let clamp = 4 * 1448;
    let config = Config { window_clamp_bytes: Some(clamp), ..Config::linux_6() };
    let mut pair = established(config, DELAY, losing(&[7]));
    pair.server_writes(100 * 1448);
    let mut acknowledged = 1;
    while pair.step(ms(5_000)) {
        let line = pair.log.last().expect("something was sent");
        if line.from_client {
            acknowledged = acknowledged.max(line.segment.ack);
        } else if data(&line.segment) && !line.segment.flags.has(Flags::AGAIN) {
            assert!(line.segment.end() - pair.server.acknowledged_bytes() - 1 <= clamp, "{line:?}");
        }
    }
    assert_eq!(acknowledged, 1 + 100 * 1448);
    assert!(pair.server.congestion_window() <= 10, "it was never in full use");
    // Four segments a round trip of 10 ms.
    let last = *pair.sent(false, data).last().expect("it sent");
    let rounds = (last - pair.log[0].at).as_ns() / (2 * DELAY.as_ns());
    assert!((24..60).contains(&rounds), "{rounds} round trips");
}
