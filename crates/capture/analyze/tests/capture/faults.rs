//! Faults of captures above the link, each by its number.

use airperf_analyze::capture::Options;
use airperf_wire::{Flags, LinkType};

use crate::script::{ACK, Change, GET, GET_BYTES, MS, RST, SYN, SYN_ACK, Script, response, source};

const SECOND: i64 = 1_000_000_000;

#[test]
fn fault_19_times_that_go_backwards_give_no_round_trip() {
    let mut script = Script::new();
    script.fetch(10 * SECOND, 10);
    // The clock was set back by an hour between the response and its acknowledgement.
    let response_at = script.packets.len() - 4;
    for (at, _) in &mut script.packets[response_at..] {
        *at -= 10 * SECOND;
    }
    let seen = script.seen();
    let c = seen.connection();
    assert_eq!((c.class, c.exchanges, seen.exchanges[0].error), ("syn_fin", 1, None));
    assert_eq!((c.rtt_samples, c.rtt_max_ns), (5, Some(10 * MS as u64)));
    assert_eq!((seen.summary.anomaly("time_backwards"), seen.summary.anomaly("tcp_time_reversed")), (1, 1));
    assert_eq!(c.opened_ns, 10 * SECOND as u64);
    assert_eq!(seen.segments.iter().map(|s| s.frame).collect::<Vec<_>>(), (1..=9).collect::<Vec<_>>());
}

#[test]
fn fault_21_packets_captured_twice_count_once() {
    let mut script = Script::new();
    script.fetch(0, 3_000);
    let once = script.seen();
    let mut twice = script.clone();
    twice.packets =
        script.packets.iter().flat_map(|(at, p)| [(*at, p.clone()), (at + 20_000, p.clone())]).collect();
    let seen = twice.seen();
    let packets = script.packets.len() as u64;
    assert_eq!(seen.summary.anomaly("tcp_duplicate_packets"), packets);
    let (mut c, reference) = (seen.connection().clone(), once.connection());
    assert_eq!(u64::from(c.duplicates), packets);
    c.duplicates = 0;
    assert_eq!(&c, reference);
    assert_eq!(seen.summary.flows.segments, packets);
}

#[test]
fn fault_21_what_tcp_sends_again_is_no_copy() {
    let mut script = Script::new();
    script.handshake(0);
    script.send(30 * MS, true, ACK, 1, 1, GET);
    script.send(60 * MS, true, ACK, 1, 1, GET);
    for i in 0..3 {
        // Acknowledgements of hosts that number no packets.
        script.send_with(70 * MS + i, false, ACK, 1, 1, &[], |c| c.packet.identification = 0);
    }
    let seen = script.seen();
    assert_eq!((seen.connection().full, seen.connection().duplicates), (1, 0));
    assert_eq!((seen.connection().segments_up, seen.connection().duplicate_acks), (4, 3));
}

#[test]
fn fault_22_the_table_of_connections_is_bounded() {
    let mut script = Script::new();
    for i in 0..2_000u16 {
        script.client_port = 20_000 + i;
        script.handshake(i64::from(i) * SECOND);
    }
    let seen = script.seen_with(&Options { max_connections: 80, ..Options::default() });
    assert_eq!(seen.connections.len(), 2_000);
    let evicted = seen.connections.iter().filter(|c| c.evicted).count();
    assert_eq!(seen.summary.anomaly("tcp_evicted"), evicted as u64);
    assert_eq!(evicted, 1_920, "8 shards of 10 stay");
    // Those that left were the longest idle of their shard: none of the last 10 of 8 × 10 in any order.
    assert!(seen.connections.iter().filter(|c| c.evicted).all(|c| c.connection < 1_990));
    assert_eq!(seen.summary.flows.syn_unfinished, 2_000);
}

#[test]
fn fault_22_connections_that_are_over_leave_a_full_table_before_one_that_waits() {
    let mut script = Script::new();
    let (short, long) = (20_000..20_400u16, 40_000);
    script.client_port = long;
    script.handshake(0);
    for (second, port) in (1..).zip(short) {
        script.client_port = port;
        script.fetch(second * SECOND, 10);
    }
    script.client_port = long;
    script.send(500 * SECOND, true, ACK, 1, 1, GET);
    // 10 in each shard: fewer than close in two minutes, more than in ten seconds.
    let seen = script.seen_with(&Options { max_connections: 80, ..Options::default() });
    assert_eq!((seen.connections.len(), seen.summary.anomaly("tcp_evicted")), (401, 0));
    let waited = seen.connections.iter().find(|c| c.client_port == long).unwrap();
    assert_eq!((waited.class, waited.exchanges), ("syn_unfinished", 1));
}

/// The IP packet in fragments of `size` octets of payload.
fn fragments(packet: &[u8], size: usize) -> Vec<Vec<u8>> {
    let (header, payload) = packet.split_at(20);
    let pieces = payload.chunks(size).enumerate();
    let fragment = |(i, piece): (usize, &[u8])| {
        let mut bytes = header.to_vec();
        bytes.extend_from_slice(piece);
        let more = if i * size + piece.len() < payload.len() { 0x2000 } else { 0 };
        bytes[2..4].copy_from_slice(&((20 + piece.len()) as u16).to_be_bytes());
        bytes[6..8].copy_from_slice(&((i * size / 8) as u16 | more).to_be_bytes());
        bytes
    };
    pieces.map(fragment).collect()
}

/// A fetch whose request and response are in fragments, changed by `change`.
fn fragmented(change: impl FnOnce(&mut Vec<(i64, Vec<u8>)>)) -> crate::script::Seen {
    let mut script = Script::new();
    script.fetch(0, 1_000);
    let packets = std::mem::take(&mut script.packets);
    for (at, packet) in packets {
        let pieces = if packet.len() > 60 { fragments(&packet, 24) } else { vec![packet] };
        script.packets.extend(pieces.into_iter().enumerate().map(|(i, p)| (at + i as i64, p)));
    }
    change(&mut script.packets);
    script.seen()
}

fn is_fragment(packet: &(i64, Vec<u8>)) -> bool {
    packet.1[6] & 0x20 != 0 || packet.1[7] != 0
}

#[test]
fn fault_29_fragments_are_put_together_in_any_order() {
    let mut whole = Script::new();
    whole.fetch(0, 1_000);
    let whole = whole.seen();
    for order in 0..3 {
        let seen = fragmented(|packets| {
            let first = packets.iter().position(is_fragment).expect("fragments");
            let last = packets.iter().rposition(is_fragment).expect("fragments");
            match order {
                0 => {}
                // Each packet's fragments the wrong way round, all of them twice.
                1 => {
                    let copies: Vec<_> = packets[first..first + 2].to_vec();
                    packets.splice(first + 1..first + 1, copies);
                }
                _ => {
                    let request = packets[first..].iter().take_while(|p| is_fragment(p)).count();
                    packets[first..first + request.min(last - first)].reverse();
                }
            }
        });
        let (c, reference) = (seen.connection(), whole.connection());
        assert_eq!((c.bytes_up, c.bytes_down), (reference.bytes_up, reference.bytes_down));
        assert_eq!(
            (c.segments_up, c.segments_down, c.full),
            (reference.segments_up, reference.segments_down, 0)
        );
        assert_eq!((seen.exchanges.len(), seen.exchanges[0].complete), (1, true));
        assert!(c.ip_bytes_down > reference.ip_bytes_down, "every fragment has a header");
        assert_eq!(seen.summary.anomaly("ip_fragment_overlap"), if order == 1 { 2 } else { 0 });
    }
}

#[test]
fn fault_29_overlapping_fragments_keep_the_first_octets() {
    let seen = fragmented(|packets| {
        let second = packets.iter().position(is_fragment).expect("fragments") + 1;
        let (at, mut evil) = packets[second].clone();
        evil[20..].fill(b'!');
        packets.insert(second + 1, (at, evil));
    });
    assert_eq!(seen.summary.anomaly("ip_fragment_overlap"), 1);
    assert_eq!((seen.exchanges[0].target.as_deref(), seen.exchanges[0].complete), (Some("/1"), true));
}

#[test]
fn fault_29_a_packet_that_is_never_whole_is_counted_and_bounded() {
    let seen = fragmented(|packets| {
        let response = packets.iter().rposition(is_fragment).expect("fragments");
        packets.remove(response);
    });
    assert_eq!(seen.summary.anomaly("ip_fragments_incomplete"), 1);
    assert_eq!((seen.connection().class, seen.connection().bytes_down), ("syn_fin", 0));
    assert!(seen.connection().missing_down > 1_000);

    let mut script = Script::new();
    for i in 0..20_000u32 {
        script.identification = (i % 65_536) as u16;
        script.client = std::net::Ipv4Addr::from(0x0a01_0000 + i);
        script.send(i64::from(i), true, ACK, 1, 1, &[0; 1_000]);
        let (at, packet) = script.packets.pop().expect("a packet");
        script.packets.push((at, fragments(&packet, 512).swap_remove(0)));
    }
    let seen = script.seen();
    assert_eq!(seen.summary.anomaly("ip_fragments_incomplete"), 20_000);
    assert_eq!(seen.connections.len(), 0);
}

#[test]
fn fault_31_more_than_the_sequence_space_is_counted_exactly() {
    let mut script = Script::new();
    script.scaled_handshake(0, 14);
    let (step, steps) = (60_000u32, 80_000);
    let mut seq = 1u32;
    for i in 0..steps {
        script.send(SECOND + i * MS, true, ACK, seq, 1, &[]);
        // Only headers are captured: 60,000 octets each.
        let (_, packet) = script.packets.last_mut().expect("a packet");
        packet[2..4].copy_from_slice(&(step as u16 + 40).to_be_bytes());
        seq = seq.wrapping_add(step);
        if i % 100 == 0 {
            script.send(SECOND + i * MS + 1, false, ACK, 1, seq, &[]);
        }
    }
    let seen = script.seen();
    let c = seen.connection();
    assert_eq!(c.bytes_up, u64::from(step) * steps as u64);
    assert!(c.bytes_up > 1 << 32);
    assert_eq!((c.full, c.part, c.late, c.missing_up), (0, 0, 0, 0));
    assert_eq!(seen.segments.last().map(|s| s.seq), Some(1 + c.bytes_up - u64::from(step)));
}

#[test]
fn fault_32_a_port_used_again_is_a_new_connection() {
    let mut script = Script::new();
    script.fetch(0, 10);
    script.initial = (99_000, 1_000_000);
    script.fetch(SECOND, 20);
    script.initial = (77, 55);
    script.send(2 * SECOND, true, SYN, 0, 0, &[]);
    script.send(5 * SECOND, true, SYN, 0, 0, &[]);
    let seen = script.seen();
    let told: Vec<_> =
        seen.connections.iter().map(|c| (c.connection, c.class, c.dup_syn, c.exchanges)).collect();
    assert_eq!(told, [(0, "syn_fin", 0, 1), (1, "syn_fin", 0, 1), (2, "syn_no_synack", 1, 0)]);
    assert_eq!(seen.summary.anomaly("tcp_reused_ports"), 2);
}

#[test]
fn fault_33_what_was_not_captured_is_null_and_not_guessed() {
    let mut script = Script::new();
    script.fetch(0, 3_000);
    let mut middle = script.clone();
    middle.packets.drain(..4);
    let seen = middle.seen();
    let c = seen.connection();
    assert_eq!((c.class, c.client_port, c.established_ns, c.handshake_ns), ("no_syn", 40_000, None, None));
    assert_eq!((c.zero_windows, c.window_scale_up, c.sack, c.most_in_flight_down), (None, None, None, None));
    assert_eq!((c.bytes_down, c.missing_down), (response(3_000).len() as u64, 0));
    assert!(seen.segments.iter().all(|s| s.in_flight.is_none()));
    assert_eq!(seen.segments[0].seq, 1);

    // One direction only.
    let one_way = |up: bool| {
        let mut one = script.clone();
        let port = if up { 40_000u16 } else { 80 };
        one.packets.retain(|(_, p)| p[20..22] == port.to_be_bytes());
        one.seen()
    };
    let up = one_way(true);
    let c = up.connection();
    assert_eq!((c.class, c.segments_down, c.bytes_down, c.established_ns), ("syn_no_synack", 0, 0, None));
    // Nobody can tell that the last number acknowledged was the FIN's.
    assert_eq!((c.missing_down, c.rtt_samples, c.exchanges), (response(3_000).len() as u64 + 1, 0, 1));
    let down = one_way(false);
    let c = down.connection();
    assert_eq!(
        (c.class, c.segments_up, c.missing_up, c.client_port),
        ("no_syn", 0, u64::from(GET_BYTES) + 1, 40_000)
    );
    assert_eq!((down.exchanges.len(), down.exchanges[0].status), (1, Some(200)));
}

#[test]
fn fault_33_a_packet_that_the_sniffer_missed_does_not_hang_the_exchange() {
    let mut script = Script::new();
    script.fetch(0, 5_000);
    let data = script.packets.iter().position(|(_, p)| p.len() > 1_400).expect("data");
    script.packets.remove(data + 2);
    script.packets.iter_mut().rev().take(3).for_each(|(at, _)| *at += SECOND);
    let seen = script.seen();
    let c = seen.connection();
    assert_eq!((c.missing_down, c.class, c.full + c.part + c.late), (1_448, "syn_fin", 0));
    assert_eq!((seen.exchanges.len(), seen.exchanges[0].complete), (1, true));
    let last = seen.segments.iter().rfind(|s| s.kind == "data").map(|s| s.time_ns);
    assert_eq!(seen.exchanges[0].done_ns, last);
}

#[test]
fn fault_34_windows_of_unknown_scale_give_no_verdict() {
    let closed = |known: bool| {
        let mut script = Script::new();
        script.scaled_handshake(0, 7);
        if !known {
            script.packets.clear();
        }
        script.send(30 * MS, true, ACK, 1, 1, GET);
        script.window = 0;
        script.send(40 * MS, false, ACK, 1, 1 + GET_BYTES, &[]);
        script.window = 100;
        script.send(50 * MS, true, ACK, 1 + GET_BYTES, 1, b"x");
        script.send(500 * MS, true, ACK, 1 + GET_BYTES, 1, b"x");
        script.send(510 * MS, false, ACK, 1, 1 + GET_BYTES, &[]);
        script.seen()
    };
    let (known, unknown) = (closed(true), closed(false));
    let c = known.connection();
    assert_eq!((c.zero_windows, c.window_probes, c.full, c.window_scale_up), (Some(1), 2, 0, Some(7)));
    assert_eq!(known.segments.last().map(|s| s.window), Some(12_800));
    let c = unknown.connection();
    assert_eq!((c.zero_windows, c.window_probes, c.window_scale_up), (None, 0, None));
    assert_eq!(
        unknown.segments.last().map(|s| (s.window, s.zero_window, s.in_flight)),
        Some((100, false, None))
    );
}

#[test]
fn fault_35_keep_alives_are_a_class_of_their_own() {
    let mut script = Script::new();
    script.handshake(0);
    script.send(30 * MS, true, ACK, 1, 1, GET);
    let (q, answer) = (1 + GET_BYTES, response(10));
    let r = 1 + answer.len() as u32;
    script.send(40 * MS, false, ACK, 1, q, &answer);
    script.send(50 * MS, true, ACK, q, r, &[]);
    script.send(10 * SECOND, true, ACK, q - 1, r, &[]);
    script.send(10 * SECOND + MS, false, ACK, r, q, &[]);
    script.send(20 * SECOND, true, ACK, q - 1, r, b"\0");
    script.send(20 * SECOND + MS, false, ACK, r, q, &[]);
    let seen = script.seen();
    let c = seen.connection();
    assert_eq!((c.keep_alives, c.full, c.duplicate_acks, c.bytes_up), (2, 0, 0, u64::from(GET_BYTES)));
    assert_eq!(seen.segments.iter().filter(|s| s.keep_alive).map(|s| s.frame).collect::<Vec<_>>(), [7, 9]);
}

#[test]
fn fault_35_syns_that_cross_open_one_connection() {
    let mut script = Script::new();
    script.send(0, true, SYN, 0, 0, &[]);
    script.send(1, false, SYN, 0, 0, &[]);
    script.send(2, true, SYN_ACK, 0, 1, &[]);
    script.send(3, false, SYN_ACK, 0, 1, &[]);
    script.send(4, true, ACK, 1, 1, GET);
    let seen = script.seen();
    assert_eq!(
        (seen.connection().class, seen.connection().bytes_up),
        ("syn_unfinished", u64::from(GET_BYTES))
    );
    assert_eq!(seen.summary.anomaly("tcp_simultaneous_open"), 1);
}

#[test]
fn fault_35_data_in_a_syn_is_data() {
    let mut script = Script::new();
    script.send(0, true, SYN, 0, 0, GET);
    script.send(MS, false, SYN_ACK, 0, 1 + GET_BYTES, &[]);
    script.send(2 * MS, false, ACK, 1, 1 + GET_BYTES, &response(10));
    script.send(3 * MS, true, ACK, 1 + GET_BYTES, 1 + response(10).len() as u32, &[]);
    let seen = script.seen();
    assert_eq!((seen.connection().bytes_up, seen.connection().exchanges), (u64::from(GET_BYTES), 1));
    assert_eq!((seen.exchanges[0].error, seen.summary.anomaly("tcp_fast_open")), (None, 1));
}

#[test]
fn fault_35_what_a_reset_carries_is_not_of_the_stream() {
    let mut script = Script::new();
    script.handshake(0);
    script.send(30 * MS, true, ACK, 1, 1, GET);
    script.send(40 * MS, false, RST, 1, 1 + GET_BYTES, b"no such service");
    let seen = script.seen();
    let c = seen.connection();
    assert_eq!((c.class, c.bytes_down, c.resets), ("syn_rst", 0, 1));
    assert_eq!(seen.summary.anomaly("tcp_reset_with_data"), 1);
    assert_eq!(seen.exchanges[0].error, Some("reset"));
}

#[test]
fn fault_35_urgent_multipath_and_doubly_received_data_are_counted() {
    let mut script = Script::new();
    script.handshake(0);
    script.send(30 * MS, true, Flags(0x38), 1, 1, GET);
    let q = 1 + GET_BYTES;
    script.send(40 * MS, false, ACK, 1, q, &[0; 100]);
    script.send_with(50 * MS, true, ACK, q, 101, &[], |c: &mut Change<'_>| {
        c.packet.options.sack = &[(7_001, 7_101)]
    });
    script.send_with(60 * MS, true, ACK, q, 101, &[], |c: &mut Change<'_>| {
        c.packet.options.sack = &[(7_201, 7_301)]
    });
    let seen = script.seen();
    assert_eq!((seen.summary.anomaly("tcp_urgent"), seen.summary.anomaly("tcp_duplicate_sack")), (1, 1));
    let sacks: Vec<_> = seen.segments.iter().filter_map(|s| s.sack_from.zip(s.sack_to)).collect();
    assert_eq!(sacks, [(1, 101), (201, 301)]);

    // Multipath TCP: option 30 in the place of a window scale that is as long.
    let mut script = Script::new();
    script.send_with(0, true, SYN, 0, 0, &[], |c| c.packet.options.window_scale = Some(3));
    let (_, packet) = &mut script.packets[0];
    let option = packet.windows(3).position(|w| w == [3, 3, 3]).expect("the option");
    packet[option] = 30;
    assert_eq!(script.seen().summary.anomaly("tcp_multipath"), 1);
}

#[test]
fn fault_36_other_octets_in_a_retransmission_are_told_and_do_not_count() {
    let mut script = Script::new();
    script.handshake(0);
    script.send(30 * MS, true, ACK, 1, 1, GET);
    let q = 1 + GET_BYTES;
    let (good, mut evil) = (response(500), response(500));
    evil[17..19].copy_from_slice(b"XX");
    evil[300..].fill(b'!');
    script.send(40 * MS, false, ACK, 1, q, &good[..400]);
    script.send(300 * MS, false, ACK, 1, q, &good[..400]);
    script.send(600 * MS, false, ACK, 1, q, &evil[..400]);
    script.send(601 * MS, false, ACK, 401, q, &good[400..]);
    let seen = script.seen();
    let c = seen.connection();
    assert_eq!((c.full, c.inconsistent, c.bytes_down), (2, 1, good.len() as u64));
    assert_eq!((seen.exchanges[0].status, seen.exchanges[0].complete), (Some(200), true));
}

#[test]
fn fault_36_the_first_octets_of_overlapping_segments_are_kept() {
    let mut script = Script::new();
    script.handshake(0);
    script.send(30 * MS, true, ACK, 1, 1, &GET[..10]);
    script.send(31 * MS, true, ACK, 6, 1, &[b"XXXXX", &GET[10..]].concat());
    let seen = script.seen();
    assert_eq!((seen.connection().part, seen.connection().bytes_up), (1, u64::from(GET_BYTES)));
    assert_eq!(seen.exchanges[0].target.as_deref(), Some("/1"));
}

#[test]
fn fault_17_packets_that_were_cut_count_as_they_were_sent() {
    let mut script = Script::new();
    script.fetch(0, 5_000);
    let whole = script.seen();
    script.snap = 200;
    let seen = script.seen();
    let (c, reference) = (seen.connection(), whole.connection());
    assert_eq!(
        (c.bytes_up, c.bytes_down, c.rtt_samples),
        (reference.bytes_up, reference.bytes_down, reference.rtt_samples)
    );
    assert_eq!((c.missing_down, c.full, c.inconsistent), (0, 0, 0));
    assert_eq!((seen.exchanges[0].status, seen.exchanges[0].complete), (Some(200), true));
}

#[test]
fn fault_13_a_capture_cut_short_is_analysed_up_to_the_cut() {
    let mut script = Script::new();
    script.fetch(0, 5_000);
    let file = script.pcap(LinkType::RAW);
    let cut = file.len() - 50;
    let seen = crate::script::Seen::of(vec![source(file[..cut].to_vec())], &Options::default());
    assert_eq!(seen.summary.packets as usize, script.packets.len() - 1);
    assert_eq!((seen.connection().class, seen.summary.truncated_at()), ("syn_fin", Some(cut as u64)));
}
