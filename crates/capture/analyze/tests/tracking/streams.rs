//! However a stream is cut into segments, lost, repeated and reordered: the exchanges are the same, and
//! their times are those at which the client could read them.

use crate::talk::{ACK, GET, Show, response};
use airperf_analyze::Segment;
use proptest::prelude::*;

/// A piece of the response stream on its way: where it begins and ends, and how long it takes.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: usize,
    end: usize,
    delay: u64,
}

/// The stream cut at `cuts`, every piece with a delay, and some of them sent once more.
fn pieces(length: usize, cuts: &[usize], delays: &[u64], again: &[usize]) -> Vec<Piece> {
    let mut places: Vec<usize> = cuts.iter().map(|c| c % length).chain([0, length]).collect();
    places.sort_unstable();
    places.dedup();
    let mut pieces: Vec<Piece> = places
        .windows(2)
        .zip(delays.iter().cycle())
        .map(|(w, delay)| Piece { start: w[0], end: w[1], delay: *delay })
        .collect();
    for index in again {
        let piece = pieces[index % pieces.len()];
        // Retransmissions need not have the old borders.
        let end = (piece.end + index % 50).min(length);
        pieces.push(Piece { end, delay: piece.delay / 2, ..piece });
    }
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_exchanges_do_not_depend_on_the_segments(
        bodies in prop::collection::vec(0usize..3_000, 1..6),
        cuts in prop::collection::vec(0usize..20_000, 0..30),
        delays in prop::collection::vec(1u64..2_000, 1..40),
        again in prop::collection::vec(0usize..1_000, 0..10),
        request_cut in 1usize..60,
    ) {
        let mut show = Show::new();
        show.handshake();
        // All requests at once, pipelined, in pieces.
        let requests = GET.repeat(bodies.len());
        let mut now = 100;
        for (i, piece) in requests.chunks(request_cut).enumerate() {
            let seq = 1 + (i * request_cut) as u32;
            show.send(now, true, ACK, seq, 1, piece);
            now += 10;
        }
        let responses: Vec<Vec<u8>> = bodies.iter().map(|b| response(*b)).collect();
        let stream = responses.concat();

        // Offered in this order; delivered in the order of their delays.
        let mut deliveries: Vec<(u64, Piece, Segment)> = Vec::new();
        let acked = 1 + requests.len() as u32;
        for piece in pieces(stream.len(), &cuts, &delays, &again) {
            let octets = &stream[piece.start..piece.end];
            let segment = show.offer(now, false, ACK, 1 + piece.start as u32, acked, octets);
            deliveries.push((now + piece.delay, piece, segment));
            now += 1;
        }
        deliveries.sort_by_key(|(at, ..)| *at);
        // When each octet is first there, and when all up to it are.
        let mut there = vec![u64::MAX; stream.len()];
        for (at, piece, segment) in &deliveries {
            show.tracker.delivered(*at, segment);
            there[piece.start..piece.end].iter_mut().for_each(|t| *t = (*t).min(*at));
        }
        for i in 1..there.len() {
            there[i] = there[i].max(there[i - 1]);
        }

        let (connections, exchanges) = show.rows();
        prop_assert_eq!(connections[0].bytes_down, stream.len() as u64);
        prop_assert_eq!(connections[0].exchanges as usize, bodies.len());
        prop_assert_eq!(exchanges.len(), bodies.len());
        let mut start = 0;
        for (i, (exchange, response)) in exchanges.iter().zip(&responses).enumerate() {
            let end = start + response.len();
            prop_assert_eq!(exchange.index, i as u32);
            prop_assert_eq!(exchange.error, None);
            prop_assert_eq!(exchange.sent_ns, Some(100 + 10 * (i * GET.len() / request_cut) as u64));
            prop_assert_eq!(exchange.first_byte_ns, Some(there[start]));
            prop_assert_eq!(exchange.done_ns, Some(there[end - 1]));
            prop_assert_eq!(exchange.request_bytes, GET.len() as u64);
            prop_assert_eq!(exchange.response_bytes, response.len() as u64);
            start = end;
        }
    }

    #[test]
    fn any_packets_are_followed_without_a_fault(
        packets in prop::collection::vec(
            (any::<bool>(), 0u8..64, 0u32..3_000, 0u32..3_000, 0usize..400, any::<bool>()), 0..60),
    ) {
        let stream = [GET.repeat(20), response(2_000)].concat();
        let mut show = Show::new();
        for (now, (up, flags, seq, ack, length, arrives)) in packets.iter().enumerate() {
            let from = (*seq as usize).min(stream.len());
            let octets = &stream[from..(from + length).min(stream.len())];
            let segment = show.offer(now as u64, *up, airperf_wire::Flags(*flags), *seq, *ack, octets);
            if *arrives {
                show.tracker.delivered(now as u64, &segment);
            }
        }
        let total = packets.len() as u64;
        let stray = show.tracker.counts().stray;
        let (connections, exchanges) = show.rows();
        // Every segment belongs to one connection, and every connection to one class and to its exchanges.
        let segments: u64 = connections.iter().map(|c| u64::from(c.segments_up + c.segments_down)).sum();
        prop_assert_eq!(segments + stray, total);
        for connection in &connections {
            prop_assert!(airperf_record::CONNECTION_CLASSES.contains(&connection.class));
            let of = || exchanges.iter().filter(|e| e.connection == connection.connection);
            prop_assert_eq!(of().filter(|e| e.error.is_none()).count() as u32, connection.exchanges);
            prop_assert_eq!(of().find_map(|e| e.error), connection.error);
            prop_assert!(of().enumerate().all(|(i, e)| e.index == i as u32));
        }
    }
}
