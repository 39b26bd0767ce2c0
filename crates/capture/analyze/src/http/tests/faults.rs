//! Fault 37 at the level of exchanges, and fault 17: captures with cut packets.

use super::*;

#[test]
fn a_whole_exchange_has_every_column() {
    let mut sniffer = Sniffer::new(WHOLE);
    sniffer.ask(b"POST /form?a=1 HTTP/1.1\r\nhost: shop.example\r\nContent-Length: 4\r\n\r\nab");
    sniffer.ask(b"cd");
    sniffer.answer(
        b"HTTP/1.0 404 Not Found\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 3\r\n\r\n",
    );
    sniffer.answer(b"abc");
    let [outcome] = &sniffer.outcomes()[..] else { panic!("one exchange") };
    let words = outcome.words.as_deref().unwrap();
    assert_eq!(words.method.as_deref(), Some("POST"));
    assert_eq!(words.target.as_deref(), Some("/form?a=1"));
    assert_eq!(words.host.as_deref(), Some("shop.example"));
    assert_eq!(words.content_type.as_deref(), Some("text/html"));
    assert_eq!((outcome.status, outcome.version, outcome.error), (Some(404), Some(0), None));
    assert_eq!((outcome.sent_ns, outcome.asked_ns), (Some(MS), Some(2 * MS)));
    assert_eq!((outcome.first_byte_ns, outcome.done_ns), (Some(3 * MS), Some(4 * MS)));
    assert_eq!((outcome.request_bytes, outcome.response_bytes, outcome.body_bytes), (70, 88, 3));
    let ends = crate::http::Ends {
        client: "192.0.2.1".parse().unwrap(),
        server: "2001:db8::1".parse().unwrap(),
        server_port: 8_080,
    };
    let row = outcome.clone().of_capture(7, &ends);
    assert_eq!((row.connection, row.server.to_string().as_str(), row.complete), (7, "2001:db8::1", true));
    assert_eq!(outcome.clone().of_run(7, 1).done_ns, Some(4 * MS));
}

#[test]
fn fault_37_pipelined_requests_get_their_responses() {
    let mut sniffer = Sniffer::new(WHOLE);
    sniffer.ask(&[get("/1"), get("/2"), b"HEAD /3 HTTP/1.1\r\n\r\n".to_vec(), get("/4")].concat());
    sniffer.answer(&[response(10), response(0)].concat());
    sniffer.answer(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n");
    sniffer.answer(&response(1));
    let outcomes = sniffer.outcomes();
    let expected = ["/1", "/2", "/3", "/4"].map(|target| (Some(target), Some(200), None));
    assert_eq!(brief(&outcomes), expected);
    assert_eq!(outcomes.iter().map(|o| o.body_bytes).collect::<Vec<_>>(), [10, 0, 0, 1]);
    assert_eq!((sniffer.exchanges.requests(), sniffer.exchanges.responses()), (4, 4));
}

#[test]
fn fault_37_an_interim_response_is_not_the_response() {
    let mut sniffer = Sniffer::new(WHOLE);
    sniffer.ask(b"PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    sniffer.answer(b"HTTP/1.1 100 Continue\r\n\r\n");
    sniffer.ask(b"ok");
    sniffer.answer(
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n",
    );
    let [outcome] = &sniffer.outcomes()[..] else { panic!("one exchange") };
    assert_eq!((outcome.status, outcome.first_byte_ns), (Some(201), Some(4 * MS)));
    assert_eq!(sniffer.exchanges.responses(), 1);
}

#[test]
fn fault_37_statuses_without_a_body_have_none_whatever_their_length() {
    for status in ["204 No Content", "304 Not Modified"] {
        let mut sniffer = Sniffer::new(WHOLE);
        sniffer.ask(GET);
        sniffer.answer(format!("HTTP/1.1 {status}\r\nContent-Length: 100\r\n\r\n").as_bytes());
        sniffer.ask(GET);
        sniffer.answer(&response(3));
        let outcomes = sniffer.outcomes();
        assert_eq!(
            outcomes.iter().map(|o| (o.body_bytes, o.error)).collect::<Vec<_>>(),
            [(0, None), (3, None)]
        );
    }
}

#[test]
fn fault_37_after_connect_and_upgrade_the_stream_is_left_alone() {
    for (request, response, word) in [
        ("CONNECT a.example:443 HTTP/1.1\r\n\r\n", "HTTP/1.1 200 Established\r\n\r\n", "http/1"),
        (
            "GET /chat HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
            "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n",
            "http/1",
        ),
        (
            "GET / HTTP/1.1\r\nUpgrade: h2c\r\n\r\n",
            "HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\n\r\n",
            "http/2",
        ),
    ] {
        let mut sniffer = Sniffer::new(WHOLE);
        sniffer.ask(request.as_bytes());
        sniffer.answer(response.as_bytes());
        sniffer.ask(b"GET /inside HTTP/1.1\r\n\r\n");
        sniffer.answer(b"HTTP/1.1 200 OK\r\n\r\n\x81\x05hello");
        let outcomes = sniffer.outcomes();
        assert_eq!(outcomes.iter().map(|o| o.error).collect::<Vec<_>>(), [None], "{request:?}");
        assert_eq!(sniffer.word(), Some(word));
        assert!(sniffer.exchanges.talk.is_none(), "nothing is kept of what is not read");
    }
}

#[test]
fn fault_37_a_refused_connect_is_an_exchange_like_any_other() {
    let mut sniffer = Sniffer::new(WHOLE);
    sniffer.ask(b"CONNECT a.example:443 HTTP/1.1\r\n\r\n");
    sniffer.answer(b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno");
    sniffer.ask(GET);
    sniffer.answer(&response(0));
    assert_eq!(sniffer.outcomes().iter().map(|o| o.status).collect::<Vec<_>>(), [Some(403), Some(200)]);
}

#[test]
fn fault_37_a_response_may_last_until_the_server_closes() {
    let mut sniffer = Sniffer::new(WHOLE);
    sniffer.ask(GET);
    sniffer.answer(b"HTTP/1.0 200 OK\r\n\r\nall ");
    sniffer.answer(b"there is");
    sniffer.server_closes();
    let [outcome] = &sniffer.outcomes()[..] else { panic!("one exchange") };
    assert_eq!((outcome.error, outcome.body_bytes, outcome.done_ns), (None, 12, Some(4 * MS)));
}

#[test]
fn fault_37_ambiguous_lengths_end_the_analysis_and_are_told() {
    let both = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello";
    let mut sniffer = Sniffer::new(WHOLE);
    sniffer.ask(&get("/1"));
    sniffer.answer(&response(2));
    sniffer.ask(&[get("/2"), get("/3")].concat());
    sniffer.answer(both);
    sniffer.answer(&response(2));
    let outcomes = sniffer.outcomes();
    let error = Some("ambiguous");
    assert_eq!(
        brief(&outcomes),
        [(Some("/1"), Some(200), None), (Some("/2"), Some(200), error), (Some("/3"), None, error)]
    );
    assert_eq!((sniffer.word(), sniffer.exchanges.is_opaque()), (Some("ambiguous"), true));

    let mut sniffer = Sniffer::new(WHOLE);
    sniffer.ask(b"POST /smuggle HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab");
    sniffer.answer(&response(2));
    let outcomes = sniffer.outcomes();
    assert_eq!(brief(&outcomes), [(Some("/smuggle"), Some(200), error)]);
    assert_eq!(sniffer.word(), Some("ambiguous"));
}

#[test]
fn fault_37_protocols_are_told_by_content() {
    for (up, down, word) in [
        (&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &b"\0\0\0\x04\0\0\0\0\0"[..], "http/2"),
        (b"SSH-2.0-client\r\n", b"SSH-2.0-server\r\n", "other"),
        (b"EHLO there\r\n", b"220 mail.example\r\n", "other"),
        (b"\x16\x03\x01\0\x05\x01\0\0\x01\0", b"\x16\x03\x03\0\x02\x02\0", "tls"),
        (b"\x16nothing", b"\x01\x02", "other"),
        (b"\x00\x01\x02", b"", "other"),
        (b"BREW /pot HTTP/1.1\r\n\r\n", b"HTTP/1.1 418 Teapot\r\nContent-Length: 0\r\n\r\n", "http/1"),
        (b"GET /garbage HTTP/1.1\r\n\r\n", b"ICY 200 OK\r\n\r\n", "ambiguous"),
    ] {
        for client_first in [true, false] {
            let mut sniffer = Sniffer::new(WHOLE);
            if !client_first {
                if word == "http/1" || word == "ambiguous" {
                    continue;
                }
                sniffer.answer(down);
            }
            sniffer.ask(up);
            if client_first {
                sniffer.answer(down);
            }
            assert_eq!(sniffer.word(), Some(word), "{:?}", String::from_utf8_lossy(up));
            let exchanges = sniffer.outcomes().len();
            assert_eq!(exchanges, usize::from(matches!(word, "http/1" | "ambiguous")));
        }
    }
}

#[test]
fn fault_37_endless_requests_do_not_fill_the_memory() {
    let mut sniffer = Sniffer::new(WHOLE);
    for _ in 0..1_000 {
        sniffer.ask(&GET.repeat(10));
        assert!(sniffer.exchanges.talk.as_ref().is_none_or(|t| t.book.open.len() <= 140));
    }
    assert_eq!(sniffer.word(), Some("ambiguous"));
}

/// A capture with 68 octets of each packet, as tcpdump's once were by default: 14 of payload.
#[test]
fn fault_17_heads_that_were_cut_are_still_exchanges() {
    let mut sniffer = Sniffer::new(WHOLE);
    for i in 0..5u64 {
        sniffer.up_at(i * 200, 200, b"GET /some/page", i * 1_900);
        sniffer.down_at(i * 1_900, 1_000, b"HTTP/1.1 200 O", (i + 1) * 200);
        sniffer.down_at(i * 1_900 + 1_000, 900, b"<html> and so ", (i + 1) * 200);
    }
    let outcomes = sniffer.outcomes();
    assert_eq!(brief(&outcomes), [(Some("/some/page"), Some(200), Some("cut")); 5]);
    for (i, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.sent_ns, Some((3 * i as u64 + 1) * MS));
        assert_eq!(outcome.first_byte_ns, Some((3 * i as u64 + 2) * MS));
        assert_eq!((outcome.done_ns, outcome.response_bytes), (None, 1_900));
    }
    assert_eq!((sniffer.exchanges.requests(), sniffer.exchanges.responses()), (5, 5));
}

#[test]
fn fault_17_cut_bodies_of_known_length_are_counted() {
    let mut sniffer = Sniffer::new(WHOLE);
    for i in 0..5u64 {
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1861\r\n\r\n";
        let get = get("/");
        sniffer.up_at(i * get.len() as u64, get.len() as u64, &get, i * 1_902);
        sniffer.down_at(i * 1_902, 1_000, head, (i + 1) * get.len() as u64);
        sniffer.down_at(i * 1_902 + 1_000, 902, b"", (i + 1) * get.len() as u64);
    }
    let outcomes = sniffer.outcomes();
    assert_eq!(brief(&outcomes), [(Some("/"), Some(200), None); 5]);
    assert!(outcomes.iter().all(|o| o.body_bytes == 1_861 && o.response_bytes == 1_902));
}
