//! However a stream is cut, reordered and repeated, and whatever is in it.

use super::*;
use proptest::prelude::*;

/// Something a client asks and a server answers.
fn dialogue() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let body = prop::collection::vec(any::<u8>(), 0..300);
    (0u8..6, body).prop_map(|(kind, body)| {
        let length = body.len();
        let with = |head: String| [head.as_bytes(), &body].concat();
        match kind {
            0 => (GET.to_vec(), with(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n"))),
            1 => (
                with(format!("POST /p HTTP/1.1\r\nContent-Length: {length}\r\n\r\n")),
                b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n".to_vec(),
            ),
            2 => {
                let head = format!("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n{length:x};e=1\r\n");
                let end: &[u8] = if length == 0 { b"T: x\r\n\r\n" } else { b"\r\n0\r\nT: x\r\n\r\n" };
                (get("/chunked"), [&with(head)[..], end].concat())
            }
            3 => (
                b"HEAD /h HTTP/1.1\r\n\r\n".to_vec(),
                format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").into_bytes(),
            ),
            4 => (
                with(format!("PUT /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n", length))
                    .into_iter()
                    .chain(if length == 0 { &b"\r\n"[..] } else { &b"\r\n0\r\n\r\n"[..] }.iter().copied())
                    .collect(),
                b"HTTP/1.1 304 Same\r\nContent-Length: 7\r\n\r\n".to_vec(),
            ),
            _ => (get("/empty"), b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec()),
        }
    })
}

/// Pieces of `stream`, cut at `cuts`, some of them twice, in the order that `keys` give.
fn shuffled(stream: &[u8], cuts: &[usize], keys: &[u8]) -> Vec<(usize, usize)> {
    let length = stream.len();
    let mut places: Vec<usize> = cuts.iter().map(|c| c % (length + 1)).chain([0, length]).collect();
    places.sort_unstable();
    places.dedup();
    let mut pieces: Vec<(usize, usize)> = places.windows(2).map(|w| (w[0], w[1])).collect();
    let again: Vec<_> = pieces.iter().zip(keys).filter(|(_, k)| **k % 5 == 0).map(|(p, _)| *p).collect();
    // Retransmissions need not have the old borders.
    pieces.extend(again.into_iter().map(|(start, end)| (start, (end + 7).min(length))));
    let mut keyed: Vec<_> = pieces.into_iter().zip(keys.iter().cycle()).collect();
    keyed.sort_by_key(|(_, k)| **k);
    keyed.into_iter().map(|(piece, _)| piece).collect()
}

fn plain(outcomes: Vec<Outcome>) -> Vec<Outcome> {
    let untimed = |o| Outcome { sent_ns: None, asked_ns: None, first_byte_ns: None, done_ns: None, ..o };
    outcomes.into_iter().map(untimed).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_segments_in_any_order_give_the_same_exchanges(
        dialogues in prop::collection::vec(dialogue(), 1..8),
        cuts in prop::collection::vec(any::<usize>(), 0..30),
        keys in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let mut expected = Sniffer::new(WHOLE);
        let mut resting = Sniffer { rests: true, ..Sniffer::new(WHOLE) };
        for (request, response) in &dialogues {
            for sniffer in [&mut expected, &mut resting] {
                sniffer.ask(request);
                sniffer.answer(response);
            }
        }
        let expected = expected.outcomes();
        prop_assert_eq!(&resting.outcomes(), &expected);
        prop_assert_eq!(expected.len(), dialogues.len());
        prop_assert!(expected.iter().all(|o| o.error.is_none()));

        let up: Vec<u8> = dialogues.iter().flat_map(|d| d.0.clone()).collect();
        let down: Vec<u8> = dialogues.iter().flat_map(|d| d.1.clone()).collect();
        let mut sniffer = Sniffer::new(WHOLE);
        for (start, end) in shuffled(&up, &cuts, &keys) {
            sniffer.up_at(start as u64, (end - start) as u64, &up[start..end], 0);
        }
        for (start, end) in shuffled(&down, &cuts, &keys) {
            sniffer.down_at(start as u64, (end - start) as u64, &down[start..end], up.len() as u64);
        }
        prop_assert_eq!(plain(sniffer.outcomes()), plain(expected));
    }

    #[test]
    fn any_octets_are_read_without_a_fault_and_every_request_has_a_row(
        packets in prop::collection::vec((any::<bool>(), 0usize..2_000, 0usize..300, 0usize..300, 0u64..3_000), 0..60),
        noise in prop::collection::vec(any::<u8>(), 0..300),
        whole in any::<bool>(),
        at in 0usize..1_500,
    ) {
        let up = [GET.repeat(12), b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n".to_vec(), GET.repeat(40)].concat();
        let mut down = [response(50), response(0)].concat().repeat(15);
        // Something else in the middle of it.
        for (i, octet) in noise.iter().enumerate() {
            if let Some(place) = down.get_mut(at + i) {
                *place = *octet;
            }
        }
        let watch = Watch::Capture { whole, words: true };
        let (mut sniffer, mut resting) = (Sniffer::new(watch), Sniffer { rests: true, ..Sniffer::new(watch) });
        for (is_up, from, length, captured, acked) in packets {
            let stream = if is_up { &up } else { &down };
            let from = from.min(stream.len());
            let octets = &stream[from..(from + length).min(stream.len())];
            let captured = &octets[..captured.min(octets.len())];
            for sniffer in [&mut sniffer, &mut resting] {
                if is_up {
                    sniffer.up_at(from as u64, octets.len() as u64, captured, acked);
                } else {
                    sniffer.down_at(from as u64, octets.len() as u64, captured, acked);
                }
            }
        }
        prop_assert_eq!(resting.exchanges.requests(), sniffer.exchanges.requests());
        prop_assert_eq!(resting.exchanges.think_ns(), sniffer.exchanges.think_ns());
        let outcomes = sniffer.outcomes();
        prop_assert_eq!(&resting.outcomes(), &outcomes);
        prop_assert!(outcomes.iter().enumerate().all(|(i, o)| o.index == i as u32));
        let asked = outcomes.iter().filter(|o| o.words.as_ref().is_some_and(|w| w.method.is_some())).count();
        prop_assert_eq!(asked, sniffer.exchanges.requests() as usize);
        let answered = outcomes.iter().filter(|o| o.status.is_some()).count();
        prop_assert_eq!(answered, sniffer.exchanges.responses() as usize);
        for outcome in &outcomes {
            prop_assert_eq!(outcome.error.is_none(), outcome.done_ns.is_some());
            prop_assert!(outcome.body_bytes <= outcome.response_bytes);
        }
    }
}
