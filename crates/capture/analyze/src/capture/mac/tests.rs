//! The MAC on frames made by hand; names say what is broken when one fails.

use airperf_record::MacAddress;
use airperf_wire::{Airtime, BlockAck, Dot11Kind, Modulation};

use super::*;

const A: MacAddress = MacAddress([2, 0, 0, 0, 0, 0xa]);
const B: MacAddress = MacAddress([2, 0, 0, 0, 0, 0xb]);
const C: MacAddress = MacAddress([2, 0, 0, 0, 0, 0xc]);

/// Airtime at 11 Mbit/s, long preamble.
fn airtime(bytes: u32) -> Option<Airtime> {
    Some(Airtime { preamble_ns: 192_000, body_ns: u64::from(bytes) * 8_000 / 11 })
}

/// A data frame from `from` to `to` of 1,536 octets.
fn data(time_us: i64, from: MacAddress, to: MacAddress, sequence: u16) -> Heard<'static> {
    Heard {
        number: time_us as u64,
        interface: 0,
        time_ns: time_us * 1_000,
        tsft_us: None,
        kind: Dot11Kind::Data,
        transmitter: Some(from),
        receiver: to,
        group: to.0[0] & 1 == 1,
        sequence: Some(sequence),
        fragment: 0,
        tid: None,
        retry: false,
        protected: false,
        asks_for_ack: to.0[0] & 1 == 0,
        noise: false,
        bytes: 1_536,
        carried: 1_500,
        airtime: airtime(1_536),
        modulation: Modulation::Dsss { half_mbps: 22, short_preamble: Some(false) },
        frequency_mhz: Some(2_437),
        signal_dbm: Some(-40),
        aggregate: None,
        block_ack: None,
        address: None,
    }
}

fn retry(frame: Heard<'static>) -> Heard<'static> {
    Heard { retry: true, ..frame }
}

fn noise(frame: Heard<'static>) -> Heard<'static> {
    Heard { noise: true, ..frame }
}

fn ack(time_us: i64, to: MacAddress) -> Heard<'static> {
    Heard {
        kind: Dot11Kind::Ack,
        transmitter: None,
        sequence: None,
        asks_for_ack: false,
        bytes: 14,
        carried: 0,
        airtime: Some(Airtime { preamble_ns: 192_000, body_ns: 112_000 }),
        signal_dbm: None,
        ..data(time_us, A, to, 0)
    }
}

/// Views of the frames, the numbers of those acknowledged, and the MAC after them.
fn hear(frames: &[Heard<'_>]) -> (Vec<View>, Vec<u64>, Mac) {
    let mut mac = Mac::default();
    let mut acknowledged = Vec::new();
    let views = frames.iter().map(|frame| mac.frame(frame, &mut acknowledged)).collect();
    (views, acknowledged, mac)
}

#[test]
fn fault_26_a_retry_of_a_frame_that_was_seen_is_a_duplicate() {
    let first = data(0, A, B, 7);
    let (views, _, mac) = hear(&[first, retry(data(2_000, A, B, 7)), retry(data(4_000, A, B, 7))]);
    assert_eq!(views, [View::First, View::Duplicate, View::Duplicate]);
    let totals = mac.totals().unwrap();
    assert_eq!((totals.retries, totals.duplicates, totals.missed_originals), (2, 2, 0));
}

#[test]
fn fault_26_the_retry_bit_alone_is_no_duplicate() {
    let frames =
        [data(0, A, B, 7), retry(data(2_000, A, B, 8)), retry(data(4_000, B, A, 8)), data(6_000, A, B, 8)];
    let (views, _, mac) = hear(&frames);
    // The last one has the number of the one before but no retry bit: a sender that starts anew.
    assert_eq!(views, [View::First, View::Retry, View::Retry, View::First]);
    assert_eq!(mac.totals().unwrap().missed_originals, 2);
}

#[test]
fn fault_26_another_fragment_or_station_is_no_duplicate() {
    let fragment = |time, fragment| Heard { fragment, ..retry(data(time, A, B, 7)) };
    let (views, ..) = hear(&[data(0, A, B, 7), fragment(1, 1), retry(data(2, C, B, 7)), fragment(3, 1)]);
    assert_eq!(views, [View::First, View::Retry, View::Retry, View::Duplicate]);
}

#[test]
fn fault_26_frames_of_an_aggregate_come_again_behind_others() {
    let part = |time, sequence, aggregate| Heard { aggregate: Some(aggregate), ..data(time, A, B, sequence) };
    let mut frames: Vec<_> = (0..8).filter(|s| *s != 5).map(|s| part(0, (4_093 + s) % 4_096, 1)).collect();
    frames.push(retry(part(9_000, 4_095, 2)));
    frames.push(retry(part(9_000, 2, 2)));
    frames.push(part(9_000, 5, 2));
    let (views, ..) = hear(&frames);
    assert_eq!(views[7..], [View::Duplicate, View::Retry, View::First]);
}

#[test]
fn fault_25_noise_is_counted_and_changes_nothing() {
    let frames = [data(0, A, B, 7), noise(retry(data(2_000, A, B, 9))), retry(data(4_000, A, B, 7))];
    let (views, _, mac) = hear(&frames);
    assert_eq!(views, [View::First, View::Noise, View::Duplicate]);
    let totals = mac.totals().unwrap();
    assert_eq!((totals.frames, totals.bad_fcs, totals.retries, totals.data), (3, 1, 1, 2));
    assert_eq!(mac.stations()[0].frames, 2);
}

#[test]
fn fault_25_the_original_of_a_retry_may_have_been_noise() {
    let (views, ..) = hear(&[noise(data(0, A, B, 7)), retry(data(2_000, A, B, 7))]);
    assert_eq!(views, [View::Noise, View::Retry], "TCP must see the only good copy");
}

#[test]
fn an_ack_is_for_the_frame_just_before_it() {
    let (_, acknowledged, mac) = hear(&[
        data(0, A, B, 1),
        ack(1_320, A),
        data(3_000, A, B, 2),
        data(5_000, B, A, 1),
        ack(6_320, B),
        // For another station, and far too late.
        data(8_000, A, B, 3),
        ack(9_320, C),
        data(11_000, A, B, 4),
        ack(20_000, A),
    ]);
    assert_eq!(acknowledged, [0, 5_000]);
    let totals = mac.totals().unwrap();
    assert_eq!((totals.asked, totals.acknowledged, totals.acks), (5, 2, 4));
    let rows = mac.stations();
    assert_eq!(rows.iter().map(|row| (row.unicast, row.acknowledged)).collect::<Vec<_>>(), [(4, 1), (1, 1)]);
}

#[test]
fn fault_26_a_missing_ack_is_counted_as_not_heard_and_not_as_lost() {
    let (views, _, mac) = hear(&[data(0, A, B, 1), data(3_000, A, B, 2)]);
    assert_eq!(views, [View::First, View::First]);
    let unheard = mac.totals().unwrap().anomalies().find(|(name, _)| *name == "mac_unacknowledged");
    assert_eq!(unheard, Some(("mac_unacknowledged", 2)));
}

#[test]
fn a_block_ack_tells_of_each_frame_of_an_aggregate() {
    let part = |number, sequence| Heard { number, aggregate: Some(3), ..data(0, A, B, sequence) };
    let bitmap = BlockAck { tid: 0, start: 10, bitmap: &[0b101, 0], compressed: true };
    let answer = Heard { kind: Dot11Kind::BlockAck, block_ack: Some(bitmap), ..ack(1_500, A) };
    let frames = [part(1, 10), noise(part(2, 11)), part(3, 11), part(4, 12), answer];
    let (_, acknowledged, mac) = hear(&frames);
    assert_eq!(acknowledged, [1, 4]);
    assert_eq!(mac.stations()[0].acknowledged, 2);
}

#[test]
fn memory_is_bounded_whoever_transmits() {
    let mut mac = Mac::default();
    for i in 0..40_000_u32 {
        let [a, b, c, d] = i.to_be_bytes();
        mac.frame(&data(i64::from(i), MacAddress([2, 1, a, b, c, d]), B, 0), &mut Vec::new());
    }
    assert!(mac.recent.keys() <= 8 * 1024);
    assert_eq!(mac.stations().len(), 16 * 1024);
    assert_eq!(mac.totals().unwrap().overflow, 40_000 - 16 * 1024);
}

/// Microseconds by category.
fn budget(frames: &[Heard<'_>]) -> (Vec<(&'static str, u64)>, u64) {
    let (.., mac) = hear(frames);
    let budget = mac.budget().unwrap();
    let spent: Vec<_> =
        budget.read().filter(|(_, ns)| *ns > 0).map(|(name, ns)| (name, ns / 1_000)).collect();
    assert_eq!(
        budget.read().map(|(_, ns)| ns).sum::<u64>(),
        budget.elapsed_ns(),
        "the sum is the elapsed time"
    );
    (spent, budget.elapsed_ns())
}

#[test]
fn the_airtime_of_an_exchange_is_told_by_category() {
    // 1,536 octets last 192 + 1,117.09 µs; SIFS; the ACK lasts 304 µs; DIFS and 5 slots; the next frame.
    let second = 1_309 + 10 + 304 + 150;
    let (spent, elapsed) = budget(&[data(0, A, B, 1), ack(1_319, A), data(second, A, B, 2)]);
    assert_eq!(spent, [("data", 2_181), ("headers", 436), ("ack", 304), ("ifs", 59), ("backoff", 100)]);
    assert_eq!(elapsed, (second as u64 + 192) * 1_000 + 1_117_090);
}

#[test]
fn gaps_are_idle_when_nobody_can_have_been_counting_down() {
    let end = 1_309;
    // DIFS and CWmin slots are 670 µs, and with EIFS for want of an ACK 984.
    let gap = |us: i64, retried| {
        let next = data(end + us, A, B, 2);
        budget(&[data(0, A, B, 1), if retried { retry(next) } else { next }]).0
    };
    let of = |spent: &[(&str, u64)], name| spent.iter().find(|(n, _)| *n == name).map_or(0, |(_, us)| *us);
    assert_eq!(of(&gap(980, false), "idle"), 0);
    assert_eq!(of(&gap(2_000, false), "idle"), 1_999);
    assert_eq!(of(&gap(2_000, true), "idle"), 0, "a retry may have drawn from a larger window");
    assert_eq!(of(&gap(30_000, true), "idle"), 29_999);
}

#[test]
fn noise_retries_and_beacons_have_categories_of_their_own() {
    let beacon =
        Heard { kind: Dot11Kind::Beacon, asks_for_ack: false, ..data(20_000, A, MacAddress([0xff; 6]), 3) };
    let (spent, _) = budget(&[noise(data(0, A, B, 1)), retry(data(5_000, A, B, 1)), beacon]);
    let names: Vec<_> = spent.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["ifs", "backoff", "noise", "retry", "management", "idle"]);
}

#[test]
fn overlapping_frames_take_their_time_once() {
    let (_, elapsed) = budget(&[data(0, A, B, 1), noise(data(500, B, A, 1)), data(100, C, B, 1)]);
    assert_eq!(elapsed, 1_809_090);
}

#[test]
fn fault_19_time_that_goes_back_is_added_and_not_lost() {
    let (_, elapsed) = budget(&[data(90_000_000, A, B, 1), data(0, A, B, 2), data(100_000, A, B, 3)]);
    assert_eq!(elapsed, 100_000_000 + 2 * 1_309_090);
    let (_, elapsed) = budget(&[
        Heard { time_ns: i64::MIN, ..data(0, A, B, 1) },
        Heard { time_ns: i64::MAX, ..data(0, A, B, 2) },
    ]);
    assert_eq!(elapsed, u64::MAX);
}

#[test]
fn the_radios_clock_counts_where_hosts_stamp_late() {
    // Stamped 300 to 900 µs late, after their ends; the radio's clock is right.
    let by_radio = |start_us: i64, late_us: i64, frame: Heard<'static>| Heard {
        time_ns: (start_us + late_us) * 1_000,
        tsft_us: Some(5_000_000 + start_us as u64 + 192),
        ..frame
    };
    let frames = [
        by_radio(0, 300, data(0, A, B, 1)),
        by_radio(1_319, 900, ack(0, A)),
        by_radio(1_773, 600, data(0, A, B, 2)),
    ];
    let exact = [data(0, A, B, 1), ack(1_319, A), data(1_773, A, B, 2)];
    assert_eq!(budget(&frames), budget(&exact));
    let (.., mac) = hear(&[frames[0], Heard { tsft_us: Some(1), ..frames[1] }]);
    assert_eq!(mac.totals().unwrap().clock_jumps, 1);
}
