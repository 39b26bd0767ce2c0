//! What sniffers do: they begin late, hear one side only, miss packets and see them the wrong way round.

use super::*;
use crate::http::exchange::PATIENCE_NS;

#[test]
fn fault_33_a_capture_that_begins_in_the_middle_finds_the_next_exchange() {
    let mut sniffer = Sniffer::new(PARTIAL);
    sniffer.answer(b"rest of some body");
    sniffer.ask(&get("/next"));
    sniffer.answer(&response(100));
    sniffer.ask(&get("/last"));
    sniffer.answer(&response(5));
    let outcomes = sniffer.outcomes();
    assert_eq!(brief(&outcomes), [(Some("/next"), Some(200), None), (Some("/last"), Some(200), None)]);
    assert_eq!(sniffer.word(), Some("http/1"));
}

#[test]
fn fault_33_only_requests_captured() {
    let mut sniffer = Sniffer::new(WHOLE);
    for i in 0..50u64 {
        sniffer.up_at(sniffer.up, 36, &get(&format!("/{}", 10 + i)), i * 1_000);
    }
    sniffer.up_at(sniffer.up, 0, &[], 50_000);
    let outcomes = sniffer.outcomes();
    assert_eq!(outcomes.len(), 50);
    for (i, outcome) in outcomes.iter().enumerate() {
        assert_eq!(
            (outcome.index, outcome.error),
            (i as u32, Some("cut")),
            "the responses were not captured"
        );
        assert_eq!(outcome.sent_ns, Some((i as u64 + 1) * MS));
        assert_eq!((outcome.first_byte_ns, outcome.status, outcome.response_bytes), (None, None, 0));
    }
}

#[test]
fn fault_33_only_responses_captured() {
    for watch in [WHOLE, PARTIAL] {
        let mut sniffer = Sniffer::new(watch);
        for i in 0..50 {
            sniffer.miss_asking(GET);
            sniffer.answer(&response(i)[..38]);
            sniffer.answer(&response(i)[38..]);
            sniffer.now += 300 * MS;
        }
        let outcomes = sniffer.outcomes();
        assert_eq!(outcomes.len(), 50);
        assert_eq!((sniffer.exchanges.requests(), sniffer.exchanges.responses()), (0, 50));
        for (i, outcome) in outcomes.iter().enumerate() {
            assert_eq!((outcome.sent_ns, outcome.asked_ns, outcome.request_bytes), (None, None, 0));
            assert_eq!((outcome.status, outcome.error), (Some(200), None));
            assert_eq!(outcome.first_byte_ns, Some((302 * i as u64 + 1) * MS));
        }
    }
}

#[test]
fn fault_33_responses_to_head_are_known_without_their_requests() {
    let mut sniffer = Sniffer::new(WHOLE);
    for _ in 0..3 {
        sniffer.miss_asking(b"HEAD / HTTP/1.1\r\n\r\n");
        sniffer.answer(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n");
        sniffer.now += 10 * MS;
        sniffer.miss_asking(GET);
        sniffer.answer(&response(700)[..40]);
        sniffer.answer(&response(700)[40..]);
    }
    let outcomes = sniffer.outcomes();
    assert_eq!(outcomes.iter().map(|o| o.body_bytes).collect::<Vec<_>>(), [0, 700, 0, 700, 0, 700]);
    assert!(outcomes.iter().all(|o| o.error.is_none()), "{outcomes:?}");
    assert_eq!(outcomes[0].done_ns, Some(MS), "with its head, not when the next one came");
}

#[test]
fn a_response_exists_from_its_first_octet() {
    let mut sniffer = Sniffer::new(WHOLE);
    sniffer.ask(GET);
    sniffer.answer(b"H");
    let [outcome] = &sniffer.outcomes()[..] else { panic!("one exchange") };
    assert_eq!((outcome.first_byte_ns, outcome.response_bytes), (Some(2 * MS), 1));
    assert_eq!((outcome.error, outcome.done_ns), (Some("receive"), None));
}

#[test]
fn a_request_seen_after_its_response_is_paired_with_it() {
    let mut sniffer = Sniffer::new(WHOLE);
    let request = get("/late");
    sniffer.down_at(0, 49, &response(10), request.len() as u64);
    sniffer.up_at(0, request.len() as u64, &request, 0);
    sniffer.ask(&get("/2"));
    sniffer.answer(&response(5));
    let outcomes = sniffer.outcomes();
    assert_eq!(brief(&outcomes), [(Some("/late"), Some(200), None), (Some("/2"), Some(200), None)]);
    assert_eq!((outcomes[0].sent_ns, outcomes[0].first_byte_ns), (Some(2 * MS), Some(MS)));
}

#[test]
fn data_seen_after_its_acknowledgement_does_not_lose_the_exchange() {
    let mut sniffer = Sniffer::new(WHOLE);
    let reply = response(2_000);
    let length = reply.len() as u64;
    sniffer.ask(&get("/1"));
    sniffer.down_at(0, 1_000, &reply[..1_000], sniffer.up);
    // The acknowledgement comes with the next request, before the data.
    sniffer.up_at(sniffer.up, 33, &get("/2"), length);
    sniffer.down_at(1_000, length - 1_000, &reply[1_000..], 33);
    sniffer.answer(&response(3));
    let outcomes = sniffer.outcomes();
    assert_eq!(brief(&outcomes), [(Some("/1"), Some(200), None), (Some("/2"), Some(200), None)]);
    assert_eq!(outcomes[0].response_bytes, length);
}

#[test]
fn fault_33_a_missed_request_leaves_its_response_without_one() {
    let mut sniffer = Sniffer::new(WHOLE);
    sniffer.ask(&get("/1"));
    sniffer.answer(&response(1));
    let lost = sniffer.up;
    sniffer.miss_asking(&get("/2"));
    sniffer.answer(&response(2));
    sniffer.ask(&get("/3"));
    sniffer.give_up(true, lost, 33);
    sniffer.answer(&response(3));
    let outcomes = sniffer.outcomes();
    let ok = Some(200);
    assert_eq!(brief(&outcomes), [(Some("/1"), ok, None), (None, ok, None), (Some("/3"), ok, None)]);
    assert_eq!(outcomes.iter().map(|o| o.body_bytes).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(outcomes[2].sent_ns, Some(4 * MS), "when it was seen, not when the gap was given up");
}

#[test]
fn fault_33_a_missed_response_leaves_its_request_without_one() {
    let mut sniffer = Sniffer::new(WHOLE);
    sniffer.ask(&get("/1"));
    sniffer.answer(&response(1));
    sniffer.ask(&get("/2"));
    let lost = sniffer.down;
    sniffer.miss_answer(&response(2));
    sniffer.ask(&get("/3"));
    sniffer.answer(&response(3));
    sniffer.give_up(false, lost, response(2).len() as u64);
    let outcomes = sniffer.outcomes();
    let ok = Some(200);
    assert_eq!(
        brief(&outcomes),
        [(Some("/1"), ok, None), (Some("/2"), None, Some("cut")), (Some("/3"), ok, None)]
    );
    assert_eq!(outcomes[2].body_bytes, 3);
}

#[test]
fn fault_33_a_missed_packet_of_a_body_costs_nothing() {
    let mut sniffer = Sniffer::new(WHOLE);
    sniffer.ask(&get("/1"));
    let reply = response(3_000);
    let length = reply.len() as u64;
    sniffer.down_at(0, 1_000, &reply[..1_000], sniffer.up);
    sniffer.down_at(2_000, length - 2_000, &reply[2_000..], sniffer.up);
    assert!(sniffer.exchanges.talk.as_ref().is_some_and(|t| t.down.is_empty()), "bodies are not kept");
    sniffer.give_up(false, 1_000, 1_000);
    sniffer.ask(&get("/2"));
    sniffer.answer(&response(3));
    let outcomes = sniffer.outcomes();
    assert_eq!(brief(&outcomes), [(Some("/1"), Some(200), None), (Some("/2"), Some(200), None)]);
    assert_eq!(outcomes[0].body_bytes, 3_000);
}

#[test]
fn time_to_think_is_from_the_last_octet_to_the_next_request() {
    let mut sniffer = Sniffer::new(WHOLE);
    for _ in 0..3 {
        sniffer.ask(GET);
        sniffer.answer(&response(5));
        sniffer.now += 500 * MS;
    }
    assert_eq!(sniffer.exchanges.think_ns(), 2 * 501 * MS);
}

#[test]
fn a_response_nobody_asked_for_is_given_once_no_request_can_come() {
    let mut sniffer = Sniffer::new(WHOLE);
    sniffer.ask(GET);
    sniffer.answer(&response(5));
    sniffer.now += PATIENCE_NS;
    sniffer.answer(b"HTTP/1.1 408 Timeout\r\nContent-Length: 0\r\n\r\n");
    sniffer.server_closes();
    let outcomes = sniffer.outcomes();
    assert_eq!(brief(&outcomes), [(Some("/1"), Some(200), None), (None, Some(408), None)]);
}

#[test]
fn tls_names_its_server() {
    use crate::capture::application::tls::tests::{client_hello, server_hello};
    let hello = client_hello("www.example.org", &["h2", "http/1.1"]);
    for step in [1, 7, 100, 1_000] {
        let mut sniffer = Sniffer::new(WHOLE);
        hello.chunks(step).for_each(|piece| sniffer.ask(piece));
        sniffer.answer(&server_hello(Some("http/1.1")));
        let found = sniffer.exchanges.hello().unwrap();
        assert_eq!(found.server_name.as_deref(), Some("www.example.org"));
        assert_eq!(found.alpn.as_deref(), Some("http/1.1"), "the server chose");
        assert_eq!(sniffer.word(), Some("tls"));
        assert!(sniffer.exchanges.talk.is_none(), "nothing is kept of what is not read");
    }
    // Cut in the middle of the extensions: the name was before.
    let mut sniffer = Sniffer::new(WHOLE);
    sniffer.up_at(0, hello.len() as u64, &hello[..hello.len() - 20], 0);
    assert_eq!(sniffer.exchanges.hello().and_then(|h| h.server_name.as_deref()), Some("www.example.org"));
    // Begun in the middle of a connection.
    let mut sniffer = Sniffer::new(PARTIAL);
    sniffer.answer(b"\x17\x03\x03\x01\0 application data");
    assert_eq!(sniffer.word(), Some("tls"));
}

#[test]
fn a_connection_without_payload_costs_nothing() {
    let mut sniffer = Sniffer::new(WHOLE);
    sniffer.up_at(0, 0, &[], 0);
    sniffer.down_at(0, 0, &[], 0);
    assert!(sniffer.exchanges.talk.is_none());
    assert!(size_of::<Exchanges>() <= 96, "{}", size_of::<Exchanges>());
    let open = size_of::<crate::http::exchange::Talk>() + size_of::<crate::http::book::Exchange>();
    assert!(open <= 600, "{open}");
}
