//! Timelines of recovery by SACK and of needless retransmissions: written from RFC 6675 §4 and §5, RFC 3042, RFC 3522.

mod pair;

use airperf_tcp::Config;
use airperf_units::{Duration, Time};
use pair::{Fate, Line, clean, data, established, losing, ms, pure_ack, sent_again};

const DELAY: Duration = Duration::from_ms(50);
const SEGMENT: u32 = 1448;

/// How long ten or more segments take from the first sending to the last arrival of what was lost, in round trips.
fn round_trips(config: Config, segments: u32, lost: &'static [u32]) -> u64 {
    let mut pair = established(Config { initial_window: segments, ..config }, DELAY, losing(lost));
    let start = pair.now;
    pair.server_writes(segments * SEGMENT);
    while pair.client.received_bytes() < segments * SEGMENT {
        assert!(pair.step(start + Duration::from_secs(2)), "it hangs");
    }
    assert_eq!(sent_again(&pair), lost, "only what was lost is sent again");
    ((pair.now - start).as_ns() - DELAY.as_ns()) / (DELAY * 2).as_ns()
}

#[test]
fn several_losses_of_a_window_take_one_round_trip_with_sack_and_one_each_without() {
    let newreno = Config { sack_recovery: false, ..Config::linux_6() };
    for lost in [&[3][..], &[3, 6], &[3, 6, 9], &[3, 4, 6, 9]] {
        assert_eq!(round_trips(Config::linux_6(), 20, lost), 1, "{lost:?}");
        assert_eq!(round_trips(newreno.clone(), 20, lost), lost.len() as u64, "{lost:?} (RFC 6582 §1)");
    }
}

#[test]
fn a_sender_that_gets_no_blocks_recovers_without_them() {
    let config = Config { sack: false, ..Config::linux_6() };
    assert_eq!(round_trips(config, 20, &[3, 6]), 2);
}

#[test]
fn recovery_keeps_half_the_window_in_the_network() {
    // Two more by limited transmit, so fourteen are outstanding and cwnd is 7. With the third duplicate ten are on their
    // way (14 less 1 to 3 and the hole), and the hole sent again; from the eighth on each lets one go.
    let mut pair = established(Config { initial_window: 12, ..Config::linux_6() }, DELAY, losing(&[0]));
    pair.server_writes(40 * SEGMENT);
    let start = pair.now;
    pair.run_until(start + DELAY * 3);
    assert_eq!(sent_again(&pair), [0]);
    let fresh: Vec<u32> =
        pair.log.iter().filter(|l| data(&l.segment)).map(|l| (l.segment.seq - 1) / SEGMENT).collect();
    let order = [12, 13, 0, 14, 15, 16, 17];
    assert_eq!(fresh[12..][..order.len()], order, "{fresh:?}");
}

#[test]
fn the_first_two_duplicates_let_one_new_segment_go_each() {
    let mut pair = established(Config { initial_window: 4, ..Config::linux_6() }, DELAY, losing(&[0]));
    pair.server_writes(20 * SEGMENT);
    pair.run_for(DELAY * 2);
    let places: Vec<u32> =
        pair.log.iter().filter(|l| data(&l.segment)).map(|l| (l.segment.seq - 1) / SEGMENT).collect();
    assert_eq!(places[..7], [0, 1, 2, 3, 4, 5, 0], "RFC 3042 §2, then RFC 6675 §5 step 4.3");
}

#[test]
fn after_a_timeout_only_holes_are_sent_again() {
    // Both holes are lost again, so the timer must act.
    let mut pair = established(Config::linux_6(), DELAY, losing(&[0, 0, 5, 5]));
    pair.server_writes(10 * SEGMENT);
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.client.received_bytes(), 10 * SEGMENT);
    assert_eq!(sent_again(&pair), [0, 5, 0, 5]);
}

/// A wire whose way down stands still until `end` and then hands out what was sent meanwhile.
fn stalled_until(end: Time) -> impl FnMut(&Line) -> Fate {
    move |line: &Line| match !line.from_client && line.at > ms(200) && line.at + DELAY < end {
        true => Fate::ArrivesAt(end),
        false => Fate::Arrives,
    }
}

/// Twenty segments over a wire that stands still for longer than the timeout: what was sent again, and the window after it.
fn stall(config: Config, end: Time) -> (Vec<u32>, u32) {
    let mut pair = established(config, DELAY, stalled_until(end));
    pair.run_until(ms(210));
    pair.server_writes(20 * SEGMENT);
    pair.run_until(end + DELAY + Duration::from_ms(10));
    let window = pair.server.congestion_window();
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.client.received_bytes(), 20 * SEGMENT);
    (sent_again(&pair), window)
}

#[test]
fn a_needless_timeout_sends_one_segment_again_and_costs_no_window() {
    let (again, window) = stall(Config::linux_6(), ms(900));
    assert_eq!(again, [0], "the acknowledgements of the originals come before the next timeout");
    assert!(window >= 10, "{window}");
    let (again, window) = stall(Config { undo_spurious: false, ..Config::linux_6() }, ms(900));
    assert_eq!(again, (0..10).collect::<Vec<_>>(), "go-back-N");
    assert!(window < 10, "{window}");
}

#[test]
fn without_timestamps_nothing_tells_that_a_timeout_was_needless() {
    // Nothing was measured yet, so the first timeout is a second.
    let config = Config { timestamps: false, mss_bytes: SEGMENT, ..Config::linux_6() };
    let (again, _) = stall(config, ms(1_500));
    assert!(again.len() > 1, "{again:?}");
}

#[test]
fn a_timeout_after_a_loss_is_not_undone() {
    let mut pair = established(Config::linux_6(), DELAY, losing(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
    pair.server_writes(20 * SEGMENT);
    let start = pair.now;
    while pair.server.acknowledged_bytes() == 0 {
        assert!(pair.step(start + Duration::from_secs(2)), "it hangs");
    }
    assert_eq!(pair.server.congestion_window(), 2, "slow start from one segment");
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.client.received_bytes(), 20 * SEGMENT);
}

#[test]
fn a_segment_that_was_overtaken_costs_no_window() {
    let held = |line: &Line| match data(&line.segment) && line.segment.seq == 1 && line.at < ms(260) {
        true => Fate::ArrivesAt(line.at + DELAY + Duration::from_ms(40)),
        false => Fate::Arrives,
    };
    let window = |undo_spurious| {
        let mut pair = established(Config { undo_spurious, ..Config::linux_6() }, DELAY, held);
        pair.server_writes(10 * SEGMENT);
        pair.run_for(Duration::from_secs(1));
        assert_eq!(sent_again(&pair), [0]);
        pair.server.congestion_window()
    };
    assert!(window(true) >= 10);
    assert!(window(false) < 10);
}

#[test]
fn an_acknowledgement_reports_what_arrived_last_first() {
    let mut pair = established(Config::linux_6(), DELAY, losing(&[0, 2, 4]));
    pair.server_writes(6 * SEGMENT);
    pair.run_for(DELAY);
    let reports: Vec<_> =
        pair.log.iter().filter(|l| l.from_client && pure_ack(&l.segment)).map(|l| l.segment.sack).collect();
    let block = |place: u32| (1 + place * SEGMENT, 1 + (place + 1) * SEGMENT);
    assert_eq!(
        reports,
        [
            [block(1), (0, 0), (0, 0), (0, 0)],
            [block(3), block(1), (0, 0), (0, 0)],
            [block(5), block(3), block(1), (0, 0)],
        ]
    );
    let mut pair = established(Config { sack_recovery: false, ..Config::linux_6() }, DELAY, clean);
    pair.server_writes(6 * SEGMENT);
    pair.run_for(DELAY);
    assert!(pair.log.iter().all(|l| l.segment.sack == [(0, 0); 4]));
}
