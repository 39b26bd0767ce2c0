//! What is told of a connection that is captured whole.

use crate::script::{ACK, FIN, GET, GET_BYTES, MS, RST, SYN, SYN_ACK, Script, response};
use airperf_wire::Flags;

const SECOND: i64 = 1_000_000_000;

#[test]
fn every_column_of_a_fetch() {
    let mut script = Script::new();
    script.initial = (u32::MAX - 3, 7_000);
    script.fetch(SECOND, 2_000);
    let seen = script.seen();
    let c = seen.connection();
    let (asked, answered) = (u64::from(GET_BYTES), response(2_000).len() as u64);
    assert_eq!((c.connection, c.first_frame, c.class, c.closed_by), (0, 1, "syn_fin", Some("client")));
    assert_eq!((c.client_port, c.server_port, c.state.as_str()), (40_000, 80, "SF"));
    assert_eq!(c.history, "ShADdFf");
    assert_eq!((c.opened_ns, c.established_ns), (1_000_000_000, Some(1_020_000_000)));
    assert_eq!(
        (c.first_data_ns, c.last_data_ns, c.last_ns),
        (Some(1_030_000_000), Some(1_032_000_000), 1_036_000_000)
    );
    assert_eq!((c.application, c.exchanges, c.handshake_ns), (Some("http/1"), 1, Some(10_000_000)));
    assert_eq!(
        (c.bytes_up, c.bytes_down, c.sent_bytes_up, c.sent_bytes_down),
        (asked, answered, asked, answered)
    );
    assert_eq!((c.segments_up, c.segments_down, c.data_segments_up, c.data_segments_down), (7, 4, 1, 2));
    assert_eq!((c.ip_bytes_up, c.ip_bytes_down), (7 * 40 + asked, 4 * 40 + answered));
    assert_eq!((c.missing_up, c.missing_down, c.retransmissions_up, c.retransmissions_down), (0, 0, 0, 0));
    assert_eq!((c.full, c.part, c.late, c.dup_syn, c.dup_fin, c.duplicate_acks), (0, 0, 0, 0, 0, 0));
    assert_eq!(
        (c.mac_retries_up, c.zero_windows, c.window_scale_up, c.sack),
        (None, Some(0), Some(0), Some(false))
    );
    assert_eq!((c.most_in_flight_up, c.most_in_flight_down), (Some(asked), Some(1_448)));
    // SYN, SYN-ACK, request, two responses, both FINs.
    assert_eq!((c.rtt_samples, c.rtt_min_ns, c.rtt_max_ns), (7, Some(500_000), Some(10_000_000)));
    assert_eq!((seen.exchanges.len(), seen.exchanges[0].status), (1, Some(200)));
    assert_eq!(seen.exchanges[0].done_ns, Some(1_032_000_000));
    let kinds: Vec<_> = seen.segments.iter().map(|s| s.kind).collect();
    assert_eq!(
        kinds,
        ["syn", "syn_ack", "ack", "request", "data", "ack", "data", "ack", "fin", "fin_ack", "ack"]
    );
    assert_eq!(seen.segments.iter().map(|s| s.frame).collect::<Vec<_>>(), (1..=11).collect::<Vec<_>>());
    let json = seen.summary.to_json();
    assert_eq!(
        (&json["packets"], &json["tcp"]["segments"], &json["tcp"]["syn_fin"]),
        (&11.into(), &11.into(), &1.into())
    );
    assert_eq!((&json["http"]["requests"], &json["http"]["responses"]), (&1.into(), &1.into()));
}

#[test]
fn every_connection_has_one_class() {
    let mut script = Script::new();
    let next = |script: &mut Script, at: i64| {
        script.client_port += 1;
        at * SECOND
    };
    let at = next(&mut script, 1);
    script.fetch(at, 10);
    let at = next(&mut script, 2);
    script.handshake(at);
    script.send(at + 30 * MS, true, ACK, 1, 1, GET);
    script.send(at + 40 * MS, true, RST, 1 + GET_BYTES, 1, &[]);
    let at = next(&mut script, 3);
    script.send(at, true, SYN, 0, 0, &[]);
    script.send(at + 3 * SECOND, true, SYN, 0, 0, &[]);
    let at = next(&mut script, 4);
    script.send(at, true, SYN, 0, 0, &[]);
    script.send(at + MS, false, RST, 0, 1, &[]);
    let at = next(&mut script, 5);
    script.handshake(at);
    let at = next(&mut script, 6);
    script.send(at, false, ACK, 5_000, 100, b"rest of something");
    let seen = script.seen();
    let told: Vec<_> = seen.connections.iter().map(|c| (c.connection, c.class, c.state.as_str())).collect();
    assert_eq!(
        told,
        [
            (0, "syn_fin", "SF"),
            (1, "syn_rst", "RSTO"),
            (2, "syn_no_synack", "S0"),
            (3, "syn_no_synack", "REJ"),
            (4, "syn_unfinished", "S1"),
            (5, "no_syn", "OTH"),
        ]
    );
    let flows = seen.summary.flows;
    assert_eq!((flows.syn_fin, flows.syn_rst, flows.syn_no_synack), (1, 1, 2));
    assert_eq!((flows.syn_unfinished, flows.no_syn, flows.connections()), (1, 1, 6));
    assert_eq!((flows.resets, flows.dup_syn), (2, 1));
}

#[test]
fn retransmissions_and_what_they_draw_are_told_by_definition() {
    let mut script = Script::new();
    script.handshake(0);
    let body = response(10_000);
    let q = 1 + GET_BYTES;
    script.send(30 * MS, true, ACK, 1, 1, GET);
    let piece = |i: usize| (1 + 1_000 * i as u32, &body[1_000 * i..1_000 * (i + 1)]);
    let data = |script: &mut Script, at: i64, i: usize| {
        let (seq, octets) = piece(i);
        script.send(at * MS, false, ACK, seq, q, octets);
    };
    data(&mut script, 31, 0);
    data(&mut script, 32, 1);
    // The third is lost before the sniffer; the client asks for it three times.
    data(&mut script, 33, 3);
    for i in 0..3 {
        script.send((34 + i) * MS, true, ACK, q, 2_001, &[]);
    }
    data(&mut script, 37, 4);
    script.send(38 * MS, true, ACK, q, 2_001, &[]);
    data(&mut script, 39, 2);
    // A timeout that was in vain, and one that overlaps.
    script.send(40 * MS, true, ACK, q, 5_001, &[]);
    data(&mut script, 300, 4);
    script.send(301 * MS, false, ACK, 4_501, q, &body[4_500..5_500]);
    let seen = script.seen();
    let c = seen.connection();
    assert_eq!((c.full, c.part, c.late, c.spurious), (1, 1, 1, 1));
    assert_eq!((c.retransmissions_up, c.retransmissions_down, c.inconsistent), (0, 1, 0));
    // The first acknowledgement of 2,001 is none; the one after new data has another number of its own.
    assert_eq!(c.duplicate_acks, 3);
    assert_eq!(
        seen.novelties()[4..],
        ["new", "new", "new", "new", "new", "new", "new", "new", "late", "new", "full", "part"]
    );
    let flight: Vec<_> = seen.segments.iter().filter(|s| !s.up).map(|s| s.in_flight).collect();
    assert_eq!(flight, [0, 1_000, 2_000, 4_000, 3_000, 3_000, 0, 500].map(Some));
    assert_eq!(c.most_in_flight_down, Some(4_000));
    let row = |kind| {
        seen.retransmissions.iter().find(|r| r.kind == kind).map(|r| (r.segments, r.tcp_retransmissions))
    };
    assert_eq!((row("get"), row("data"), row("syn")), (Some((1, 0)), Some((7, 1)), Some((1, 0))));
}

#[test]
fn a_fin_sent_again_is_no_new_connection() {
    let mut script = Script::new();
    script.fetch(0, 10);
    let (q, r) = (1 + GET_BYTES, 1 + response(10).len() as u32);
    script.send(5 * SECOND, true, FIN, q, r, &[]);
    script.send(5 * SECOND + MS, false, ACK, r + 1, q + 1, &[]);
    let seen = script.seen();
    assert_eq!((seen.connection().dup_fin, seen.connection().retransmissions_up), (1, 1));
    assert_eq!(seen.summary.flows.retransmitted(), 1);
}

#[test]
fn time_to_think_and_exchanges_are_those_of_the_connection() {
    let mut script = Script::new();
    script.handshake(0);
    let answer = response(100);
    let (mut q, mut r) = (1, 1);
    for i in 0..3 {
        let at = (1 + i) * SECOND;
        script.send(at, true, ACK, q, r, GET);
        q += GET_BYTES;
        script.send(at + MS, false, ACK, r, q, &answer);
        r += answer.len() as u32;
    }
    let seen = script.seen();
    let c = seen.connection();
    assert_eq!((c.exchanges, c.think_ns), (3, 2 * (SECOND - MS) as u64));
    assert_eq!(seen.exchanges.iter().map(|e| e.index).collect::<Vec<_>>(), [0, 1, 2]);
    let of_client: Vec<_> = seen.series.iter().filter(|s| s.client.is_some()).map(|s| s.requests).collect();
    assert_eq!(of_client, [0, 1, 1, 1]);
}

#[test]
fn the_history_tells_who_did_what() {
    let mut script = Script::new();
    script.send(0, true, SYN, 0, 0, &[]);
    script.send(MS, false, SYN_ACK, 0, 1, &[]);
    script.send(2 * MS, true, ACK, 1, 1, GET);
    script.send(3 * MS, true, ACK.with(Flags::PSH), 1, 1, GET);
    script.send(4 * MS, false, RST, 1, 1, &[]);
    let seen = script.seen();
    assert_eq!((seen.connection().history.as_str(), seen.connection().state.as_str()), ("ShDTr", "RSTR"));
    assert_eq!((seen.connection().closed_by, seen.connection().class), (Some("server"), "syn_rst"));
}
