//! Connections and exchanges as told from their packets.

use crate::talk::{ACK, FIN, GET, RST, SYN, Show, response};
use airperf_analyze::{FlowTracker, Novelty};

const GET_BYTES: u32 = GET.len() as u32;

#[test]
fn a_whole_exchange_in_ten_packets() {
    let mut show = Show::new();
    let reply = response(5);
    let (q, r) = (1 + GET_BYTES, 1 + reply.len() as u32);
    show.handshake();
    let request = show.send(21, true, ACK, 1, 1, GET);
    show.tracker.on_air(&request, 22, 25);
    show.send(30, false, ACK, 1, q, &[]);
    let data = show.send(40, false, ACK, 1, q, &reply);
    show.send(50, true, ACK, q, r, &[]);
    let fin = show.send(60, true, FIN, q, r, &[]);
    let fin_ack = show.send(70, false, FIN, r, q + 1, &[]);
    let last = show.send(80, true, ACK, q + 1, r + 1, &[]);
    show.tracker.on_air(&last, 81, 84);
    let kinds = [request, data, fin, fin_ack, last].map(|s| s.kind);
    assert_eq!(kinds, ["request", "data", "fin", "fin_ack", "ack"]);
    assert_eq!((data.seq, data.ack, data.payload_bytes), (1, u64::from(q), reply.len() as u32));
    assert_eq!((last.seq, last.ack, last.ip_bytes), (u64::from(q) + 1, u64::from(r) + 1, 40));

    let (connections, exchanges) = show.rows();
    let [connection] = &connections[..] else { panic!("{connections:?}") };
    assert_eq!((connection.client, connection.server, connection.client_port), (1, 0, 40_000));
    assert_eq!((connection.opened_ns, connection.established_ns), (0, Some(15)));
    assert_eq!((connection.first_frame_ns, connection.last_frame_ns), (Some(22), Some(84)));
    assert_eq!((connection.class, connection.error, connection.exchanges), ("syn_fin", None, 1));
    assert_eq!((connection.bytes_up, connection.bytes_down), (u64::from(GET_BYTES), reply.len() as u64));
    assert_eq!((connection.segments_up, connection.segments_down), (6, 4));
    assert_eq!((connection.retransmissions_up, connection.retransmissions_down), (0, 0));
    let [exchange] = &exchanges[..] else { panic!("{exchanges:?}") };
    assert_eq!((exchange.sent_ns, exchange.first_byte_ns, exchange.done_ns), (Some(21), Some(45), Some(45)));
    assert_eq!((exchange.request_bytes, exchange.response_bytes), (u64::from(GET_BYTES), reply.len() as u64));
    assert_eq!((exchange.index, exchange.error), (0, None));
}

#[test]
fn a_syn_without_answer_is_a_connect_error() {
    let mut show = Show::new();
    assert_eq!(show.offer(0, true, SYN, 0, 0, &[]).novelty, Novelty::New);
    assert_eq!(show.offer(3_000, true, SYN, 0, 0, &[]).novelty, Novelty::DupSyn);
    let (connections, exchanges) = show.rows();
    assert_eq!((connections[0].class, connections[0].error), ("syn_no_synack", Some("connect")));
    assert_eq!(connections[0].retransmissions_up, 1);
    assert_eq!(exchanges.len(), 1);
    assert_eq!(
        (exchanges[0].error, exchanges[0].sent_ns, exchanges[0].done_ns),
        (Some("connect"), None, None)
    );
}

#[test]
fn a_refused_connection_is_a_connect_error() {
    let mut show = Show::new();
    show.send(0, true, SYN, 0, 0, &[]);
    show.send(10, false, RST, 0, 1, &[]);
    let (connections, exchanges) = show.rows();
    assert_eq!((connections[0].class, connections[0].error), ("syn_no_synack", Some("connect")));
    assert_eq!(exchanges.len(), 1);
}

#[test]
fn an_answer_after_giving_up_is_still_a_connect_error() {
    let mut show = Show::new();
    show.send(0, true, SYN, 0, 0, &[]);
    show.send(10, false, airperf_wire::Flags(0x12), 0, 1, &[]);
    show.send(20, true, RST, 1, 0, &[]);
    let (connections, exchanges) = show.rows();
    assert_eq!((connections[0].class, connections[0].error), ("syn_rst", Some("connect")));
    assert_eq!((connections[0].established_ns, exchanges.len()), (None, 1));
}

/// The client closes while it waits; the reply that comes later draws a RST (closed sockets do that).
#[test]
fn giving_up_while_waiting_is_a_reply_error() {
    let mut show = Show::new();
    show.handshake();
    show.send(21, true, ACK, 1, 1, GET);
    show.send(5_000, true, FIN, 1 + GET_BYTES, 1, &[]);
    show.send(6_000, false, ACK, 1, 1 + GET_BYTES, &response(5));
    show.send(6_010, true, RST, 2 + GET_BYTES, 0, &[]);
    let (connections, exchanges) = show.rows();
    assert_eq!(
        (connections[0].class, connections[0].error, connections[0].exchanges),
        ("syn_rst", Some("reply"), 0)
    );
    assert_eq!((exchanges[0].error, exchanges[0].done_ns), (Some("reply"), None));
    assert_eq!(connections[0].bytes_down, 0, "a closed socket receives nothing");
    assert_eq!((exchanges[0].first_byte_ns, exchanges[0].response_bytes), (None, 0));
}

#[test]
fn giving_up_in_the_middle_is_a_receive_error() {
    let mut show = Show::new();
    show.handshake();
    show.send(21, true, ACK, 1, 1, GET);
    show.send(30, false, ACK, 1, 1 + GET_BYTES, &response(5_000)[..1_000]);
    show.send(5_000, true, RST, 1 + GET_BYTES, 1_001, &[]);
    let (connections, exchanges) = show.rows();
    assert_eq!((connections[0].class, connections[0].error), ("syn_rst", Some("receive")));
    assert_eq!((exchanges[0].first_byte_ns, exchanges[0].done_ns), (Some(35), None));
    assert_eq!((exchanges[0].response_bytes, exchanges[0].error), (1_000, Some("receive")));
}

/// A client may close its own side and still want the reply.
#[test]
fn closing_ones_own_side_is_no_error() {
    let mut show = Show::new();
    let reply = response(5);
    show.handshake();
    show.send(21, true, FIN, 1, 1, GET);
    show.send(30, false, FIN, 1, 2 + GET_BYTES, &reply);
    show.send(40, true, ACK, 2 + GET_BYTES, 2 + reply.len() as u32, &[]);
    let (connections, exchanges) = show.rows();
    assert_eq!((connections[0].class, connections[0].error, connections[0].exchanges), ("syn_fin", None, 1));
    assert_eq!((exchanges[0].done_ns, exchanges[0].error), (Some(35), None));
}

#[test]
fn a_reset_by_the_server_is_an_error_only_when_something_was_awaited_and_it_arrived() {
    for (arrives, answered, expected) in
        [(true, false, Some("reset")), (false, false, Some("reply")), (true, true, None)]
    {
        let mut show = Show::new();
        let reply = response(5);
        show.handshake();
        show.send(21, true, ACK, 1, 1, GET);
        if answered {
            show.send(30, false, ACK, 1, 1 + GET_BYTES, &reply);
        }
        let reset = show.offer(40, false, RST, 1, 1 + GET_BYTES, &[]);
        if arrives {
            show.tracker.delivered(45, &reset);
        }
        let (connections, _) = show.rows();
        assert_eq!((connections[0].class, connections[0].error), ("syn_rst", expected));
    }
}

#[test]
fn an_established_connection_without_request_is_a_send_error_where_one_was_due() {
    for expects in [true, false] {
        let mut show = Show::new();
        show.tracker = FlowTracker::new(expects);
        show.handshake();
        show.send(5_000, true, FIN, 1, 1, &[]);
        let (connections, exchanges) = show.rows();
        assert_eq!(connections[0].error, expects.then_some("send"));
        assert_eq!(exchanges.len(), usize::from(expects));
    }
}

/// fault 32: httperf opens the same ports again fast, while the old connection lingers.
#[test]
fn fault_32_a_port_used_again_is_a_new_connection() {
    let mut show = Show::new();
    show.handshake();
    show.send(21, true, ACK, 1, 1, GET);
    show.send(30, false, ACK, 1, 1 + GET_BYTES, &response(5));
    show.initial = (99_000, 1_000_000);
    let syn = show.send(1_000, true, SYN, 0, 0, &[]);
    assert_eq!((syn.connection, syn.novelty), (Some(1), Novelty::New));
    assert_eq!(show.send(1_001, true, SYN, 0, 0, &[]).connection, Some(1));
    assert_eq!(show.tracker.counts().reopened, 1);
    let (connections, _) = show.rows();
    assert_eq!(connections.iter().map(|c| c.class).collect::<Vec<_>>(), ["syn_unfinished", "syn_no_synack"]);
}

#[test]
fn fault_33_a_connection_without_its_beginning_is_partial() {
    let mut show = Show::new();
    assert_eq!(show.send(0, true, ACK, 500, 900, &[]).connection, None, "a bare ACK tells nothing");
    let data = show.send(10, false, ACK, 1, 1, b"rest of something");
    assert_eq!((data.connection, data.kind), (Some(0), "data"));
    show.send(20, true, FIN, 1, 18, &[]);
    assert_eq!((show.tracker.counts().stray, show.tracker.counts().no_syn), (1, 1));
    let (connections, exchanges) = show.rows();
    assert_eq!((connections[0].class, connections[0].established_ns), ("no_syn", None));
    assert_eq!((connections[0].client, connections[0].client_port), (1, 40_000));
    assert!(exchanges.is_empty());
}

#[test]
fn requests_on_one_connection_are_told_apart() {
    let mut show = Show::new();
    show.handshake();
    let reply = response(100);
    let (mut q, mut r) = (1, 1);
    for i in 0..5u64 {
        show.send(100 * i + 100, true, ACK, q, r, GET);
        q += GET_BYTES;
        show.send(100 * i + 120, false, ACK, r, q, &reply[..60]);
        show.send(100 * i + 130, false, ACK, r + 60, q, &reply[60..]);
        r += reply.len() as u32;
    }
    let (connections, exchanges) = show.rows();
    assert_eq!((connections[0].exchanges, connections[0].class), (5, "syn_unfinished"));
    for (i, exchange) in exchanges.iter().enumerate() {
        let at = 100 * i as u64 + 100;
        assert_eq!(exchange.index, i as u32);
        assert_eq!(exchange.sent_ns, Some(at));
        assert_eq!((exchange.first_byte_ns, exchange.done_ns), (Some(at + 25), Some(at + 35)));
    }
}

#[test]
fn segments_sent_again_are_counted_and_lost_ones_sent_again_arrive_once() {
    let mut show = Show::new();
    show.handshake();
    show.offer(21, true, ACK, 1, 1, GET);
    let again = show.send(3_000, true, ACK, 1, 1, GET);
    assert_eq!((again.novelty, again.row(4, 3_000, 1, Some(0)).retransmission), (Novelty::Full, true));
    let reply = response(100);
    show.send(3_010, false, ACK, 1, 1 + GET_BYTES, &reply);
    assert_eq!(show.send(3_500, false, ACK, 1, 1 + GET_BYTES, &reply).novelty, Novelty::Full);
    show.send(3_600, true, FIN, 1 + GET_BYTES, 1, &[]);
    assert_eq!(show.send(3_900, true, FIN, 1 + GET_BYTES, 1, &[]).novelty, Novelty::DupFin);
    let (connections, exchanges) = show.rows();
    assert_eq!((connections[0].retransmissions_up, connections[0].retransmissions_down), (2, 1));
    assert_eq!(
        (connections[0].bytes_up, connections[0].bytes_down),
        (u64::from(GET_BYTES), reply.len() as u64)
    );
    assert_eq!((exchanges[0].sent_ns, exchanges[0].done_ns), (Some(21), Some(3_015)));
}

#[test]
fn a_response_until_the_end_is_done_when_the_end_arrives() {
    let mut show = Show::new();
    show.handshake();
    show.send(21, true, ACK, 1, 1, b"GET / HTTP/1.0\r\n\r\n");
    let reply = b"HTTP/1.0 200 OK\r\n\r\nall there is";
    show.send(30, false, ACK, 1, 19, reply);
    show.send(60, false, FIN, 1 + reply.len() as u32, 19, &[]);
    let (_, exchanges) = show.rows();
    assert_eq!((exchanges[0].first_byte_ns, exchanges[0].done_ns), (Some(35), Some(65)));
    assert_eq!((exchanges[0].response_bytes, exchanges[0].error), (reply.len() as u64, None));
}

#[test]
fn what_is_no_http_has_no_exchanges_and_is_counted() {
    let mut show = Show::new();
    show.handshake();
    show.send(21, true, ACK, 1, 1, b"\x16\x03\x01\x02\x00");
    show.send(30, false, ACK, 1, 6, b"\x16\x03\x03");
    show.send(40, true, FIN, 6, 4, &[]);
    show.tracker.finish();
    assert_eq!(show.tracker.counts().opaque, 1);
    assert_eq!(show.tracker.next_connection().unwrap().bytes_down, 3);
    assert_eq!(show.tracker.next_exchange(), None);
}

#[test]
fn fault_37_a_response_of_unknown_length_ends_the_analysis_of_its_connection() {
    let mut show = Show::new();
    let reply = response(5);
    show.handshake();
    show.send(21, true, ACK, 1, 1, &GET.repeat(3));
    show.send(30, false, ACK, 1, 1 + 3 * GET_BYTES, &reply);
    let next = 1 + reply.len() as u32;
    let both = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello";
    show.send(40, false, ACK, next, 1 + 3 * GET_BYTES, both);
    show.tracker.finish();
    assert_eq!(show.tracker.counts().opaque, 1);
    let (connections, exchanges) = show.rows();
    assert_eq!((connections[0].exchanges, connections[0].error), (1, None));
    assert_eq!(exchanges.len(), 1);
}

#[test]
fn fault_37_endless_requests_do_not_fill_the_memory() {
    let mut show = Show::new();
    show.handshake();
    for i in 0..200u32 {
        show.send(21, true, ACK, 1 + i * 40 * GET_BYTES, 1, &GET.repeat(40));
    }
    show.tracker.finish();
    assert_eq!(show.tracker.counts().opaque, 1);
    let (_, exchanges) = show.rows();
    assert!((4_096..4_200).contains(&exchanges.len()), "{}", exchanges.len());
}

#[test]
fn other_packets_are_counted() {
    let mut tracker = FlowTracker::new(false);
    assert_eq!(tracker.offered(0, 0, None, &[0x60; 40]).kind, "other");
    assert_eq!(tracker.offered(0, 0, None, &[0x45; 10]).kind, "other");
    let mut udp = [0; 28];
    (udp[0], udp[3], udp[9]) = (0x45, 28, 17);
    assert_eq!(tracker.offered(0, 0, None, &udp).ip_bytes, 28);
    let counts = tracker.counts();
    assert_eq!((counts.not_tcp, counts.malformed), (2, 1));
}

#[test]
fn closed_connections_are_forgotten_and_rows_come_in_order() {
    let mut show = Show::new();
    for i in 0..200u64 {
        show.client_port = 1_024 + i as u16;
        let at = i * 1_000_000_000;
        show.send(at, true, SYN, 0, 0, &[]);
        show.send(at + 10, false, RST, 0, 1, &[]);
    }
    let early: Vec<u64> =
        std::iter::from_fn(|| show.tracker.next_connection()).map(|c| c.connection).collect();
    assert_eq!(early, (0..80).collect::<Vec<_>>(), "120 s after its end nothing more is expected");
    let (late, exchanges) = show.rows();
    assert_eq!(late.first().map(|c| c.connection), Some(80));
    assert_eq!(exchanges.len(), 200);
}
