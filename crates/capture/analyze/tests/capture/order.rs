//! What does not matter: threads, where a capture is split, and how much of it there is.

use std::ops::ControlFlow;
use std::time::Duration;

use airperf_analyze::capture::{AnalyzeError, Filter, Options, analyze};
use proptest::prelude::*;

use crate::script::{ACK, CLIENT, GET, MS, RST, SYN, Script, Seen};

const SECOND: i64 = 1_000_000_000;

/// Many connections at once, with losses, repeats, ports used again and ends of every kind.
fn crowd(connections: u16) -> Script {
    let mut script = Script::new();
    let mut chance = 12_345u64;
    let mut draw = |below: u64| {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (chance >> 33) % below
    };
    for i in 0..connections {
        script.client = std::net::Ipv4Addr::from(0x0a4d_0002 + draw(20) as u32);
        script.client_port = 20_000 + i % 300;
        script.initial = (draw(1 << 32) as u32, draw(1 << 32) as u32);
        let at = i64::from(i) * 7 * MS;
        match draw(6) {
            0 => {
                script.handshake(at);
                script.send(at + 30 * MS, true, ACK, 1, 1, GET);
                script.send(at + 50 * MS, true, RST, 1, 1, &[]);
            }
            1 => script.send(at, true, SYN, 0, 0, &[]),
            _ => script.fetch(at, draw(20_000) as usize),
        }
    }
    let mut packets = std::mem::take(&mut script.packets);
    packets.retain(|_| draw(100) > 1);
    let again: Vec<_> = packets.iter().filter(|_| draw(50) == 0).cloned().collect();
    packets.extend(again.into_iter().map(|(at, p)| (at + 300 * MS, p)));
    packets.sort_by_key(|(at, _)| *at);
    script.packets = packets;
    script
}

#[test]
fn one_thread_and_several_find_the_same() {
    let script = crowd(3_000);
    assert!(script.packets.len() > 20_000, "several batches");
    for max_connections in [60_000, 100] {
        let options = |threads| Options { threads, max_connections, ..Options::default() };
        let one = script.seen_with(&options(1));
        for threads in [2, 5] {
            assert_eq!(one, script.seen_with(&options(threads)));
        }
        let numbers: Vec<u64> = one.connections.iter().map(|c| c.connection).collect();
        let mut dense = numbers.clone();
        dense.sort_unstable();
        assert_eq!(dense, (0..numbers.len() as u64).collect::<Vec<_>>());
        let mut by_number: Vec<_> = one.connections.iter().map(|c| (c.connection, c.first_frame)).collect();
        by_number.sort_unstable();
        assert!(by_number.is_sorted_by_key(|(_, frame)| *frame), "numbers are in order of first frame");
        assert!(one.segments.is_sorted_by_key(|s| s.frame));
        assert_eq!(one.summary.flows.connections(), numbers.len() as u64);
        assert_eq!(one.segments.len() as u64, one.summary.flows.segments);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn the_parts_of_a_capture_add_up(at in 0.0f64..1.0) {
        let script = crowd(60);
        let cut = (script.packets.len() as f64 * at) as usize;
        let whole = script.seen();
        let (mut before, mut after) = (script.clone(), script.clone());
        before.packets.truncate(cut);
        after.packets.drain(..cut);
        let parts = [before.seen(), after.seen()];
        let sum = |of: fn(&Seen) -> u64| parts.iter().map(of).sum::<u64>();
        prop_assert_eq!(sum(|s| s.summary.packets), whole.summary.packets);
        prop_assert_eq!(sum(|s| s.summary.bytes), whole.summary.bytes);
        prop_assert_eq!(sum(|s| s.summary.flows.segments), whole.summary.flows.segments);
        // As files of one capture they are the capture.
        let joined = Seen::of(vec![after.source(), before.source()], &Options::default());
        prop_assert_eq!(&joined.connections, &whole.connections);
        prop_assert_eq!(&joined.segments, &whole.segments);
        prop_assert_eq!(&joined.exchanges, &whole.exchanges);
    }

    #[test]
    fn any_octets_are_analysed_without_a_fault(
        packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..40),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 0..60),
    ) {
        let mut script = crowd(10);
        for (packet, place, value) in changes {
            let at = packet.index(script.packets.len());
            let bytes = &mut script.packets[at].1;
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        script.packets.extend(packets.into_iter().map(|p| (SECOND, p)));
        let seen = script.seen();
        prop_assert_eq!(seen.summary.packets as usize, script.packets.len());
        prop_assert_eq!(seen.segments.len() as u64, seen.summary.flows.segments);
    }
}

#[test]
fn records_out_of_order_are_sorted_within_the_window() {
    let script = crowd(200);
    let reference = script.seen();
    let mut shuffled = script.clone();
    for pair in shuffled.packets.chunks_mut(2) {
        pair.reverse();
    }
    let window = Some(Duration::from_secs(1));
    let seen = shuffled.seen_with(&Options { sort_window: window, ..Options::default() });
    assert_eq!(seen.summary.anomaly("time_backwards"), 0);
    assert_eq!(seen.connections.len(), reference.connections.len());
    let told = |s: &Seen| {
        let rows = s.connections.iter().map(|c| (c.opened_ns, c.class, c.bytes_down, c.full, c.late));
        rows.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(told(&seen), told(&reference));
}

#[test]
fn a_notice_of_times_that_go_backwards_says_which_order_was_taken() {
    let mut script = Script::new();
    script.fetch(10 * SECOND, 10);
    script.packets[5].0 -= 5 * SECOND;
    let notice = |sort_window| {
        let seen = script.seen_with(&Options { sort_window, ..Options::default() });
        seen.summary.notices().into_iter().find(|notice| notice.contains("time stamp"))
    };
    assert!(notice(None).is_some_and(|said| said.contains("order of the file")));
    let short = notice(Some(Duration::from_millis(1)));
    assert!(short.is_some_and(|said| said.contains("more than the sort window")));
    assert_eq!(notice(Some(Duration::from_secs(60))), None);
}

#[test]
fn a_notice_of_wrong_checksums_says_how_many_segments_were_looked_at() {
    let mut script = Script::new();
    for n in 0..400 {
        script.client_port = 10_000 + n;
        script.fetch(i64::from(n) * SECOND, 10);
    }
    for (_, bytes) in &mut script.packets {
        // Within the TCP checksum.
        bytes[36] ^= 1;
    }
    let said = script.seen().summary.notices();
    assert!(
        said.iter().any(|notice| notice.starts_with("1024 of the 1024 whole segments looked at")),
        "{said:?}"
    );
    let strict = script.seen_with(&Options { strict_checksum: true, ..Options::default() }).summary;
    let all = script.packets.len() as u64;
    assert_eq!((strict.checked_checksums, strict.wrong_checksums), (all, all));
}

#[test]
fn filters_leave_out_what_they_say() {
    let script = crowd(200);
    let all = script.seen();
    let with = |filter| script.seen_with(&Options { filter, ..Options::default() });
    let client = Filter { clients: vec![CLIENT.into()], ..Filter::default() };
    let seen = with(client);
    let of_client = all.connections.iter().filter(|c| c.client == CLIENT).count();
    assert!(of_client > 0 && seen.connections.len() == of_client);
    assert_eq!(seen.summary.packets, all.summary.packets, "the MAC sees everything");
    assert_eq!(
        seen.summary.flows.segments + seen.summary.anomaly("tcp_filtered"),
        all.summary.flows.segments
    );
    let host = with(Filter { hosts: vec![CLIENT.into()], ..Filter::default() });
    assert_eq!(host.connections.len(), of_client);
    assert_eq!(host.summary.packets + host.summary.anomaly("filtered_packets"), all.summary.packets);
    assert_eq!(with(Filter { ports: vec![443], ..Filter::default() }).summary.packets, 0);
    let half = with(Filter { to_ns: Some(700 * MS), ..Filter::default() });
    let rest = with(Filter { from_ns: Some(700 * MS), ..Filter::default() });
    assert_eq!(half.summary.packets + rest.summary.packets, all.summary.packets);
}

#[test]
fn an_interruption_ends_the_analysis() {
    for threads in [1, 2] {
        let options = Options { threads, ..Options::default() };
        let mut told = 0;
        let result = analyze(vec![crowd(3_000).source()], &options, None, &mut |_, _| {
            told += 1;
            if told == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(result, Err(AnalyzeError::Interrupted)));
    }
}

#[test]
fn nothing_is_something() {
    let seen = Script::new().seen();
    assert_eq!((seen.summary.packets, seen.connections.len()), (0, 0));
}
