//! Messages told apart, however the stream is cut.

use super::*;
use crate::http::framing::Method;
use std::collections::VecDeque;

/// What a listener was told; places are octets from the first of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Start(u64),
    Restart(u64),
    Head(u64),
    CutHead(usize),
    End(u64),
    EndsAtClose,
    Lost,
    Left(Opaque),
}
use Mark::*;

#[derive(Clone, Default)]
struct Heard<const REQUESTS: bool> {
    marks: Vec<Mark>,
    methods: VecDeque<Method>,
}

impl<const R: bool> Listener for Heard<R> {
    const REQUESTS: bool = R;
    fn begins(&mut self, at: u64, _: Seen, lost: bool) {
        self.marks.push(if lost { Restart(at) } else { Start(at) });
    }
    fn head(&mut self, head: &[u8], fields: &Fields<'_>, end: u64) -> Option<Body> {
        let body = if R {
            RequestLine::parse(head).map(|_| RequestLine::body(fields))?
        } else {
            let method = *self.methods.front().unwrap_or(&Method::Other);
            let body = StatusLine::parse(head)?.body(method, fields);
            if body != Body::Interim {
                self.methods.pop_front();
            }
            body
        };
        self.marks.push(Head(end));
        Some(body)
    }
    fn cut_head(&mut self, head: &[u8]) {
        self.marks.push(CutHead(head.len()));
    }
    fn has_no_body(&mut self) {}
    fn ends(&mut self, at: u64, _: Seen) {
        self.marks.push(End(at));
    }
    fn ends_at_close(&mut self) {
        self.marks.push(EndsAtClose);
    }
    fn is_lost(&mut self) {
        self.marks.push(Lost);
    }
    fn is_opaque(&mut self, why: Opaque) {
        self.marks.push(Left(why));
    }
}

const NOW: Seen = Seen { at_ns: 0, in_order_ns: 0, acked: None };

fn marks<const R: bool>(mut to: Heard<R>, stream: &[u8], step: usize) -> Vec<Mark> {
    let mut parser = Parser::new(true);
    stream.chunks(step).for_each(|piece| parser.octets(NOW, piece, &mut to));
    to.marks
}

fn requests() -> Heard<true> {
    Heard::default()
}

fn responses(methods: &[Method]) -> Heard<false> {
    Heard { marks: Vec::new(), methods: methods.iter().copied().collect() }
}

fn same_in_pieces<const R: bool>(to: &Heard<R>, stream: &str, expected: &[Mark]) {
    for step in 1..=stream.len() {
        assert_eq!(marks(to.clone(), stream.as_bytes(), step), expected, "in pieces of {step}");
    }
}

#[test]
fn fault_37_pipelined_requests_are_told_apart() {
    let stream = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n\r\nPOST /b HTTP/1.1\r\nContent-Length: 3\r\n\r\nxyzHEAD /c HTTP/1.0\n\n";
    let (a, b, c) = (28, 72, stream.len() as u64);
    let expected = [Start(0), Head(a), End(a), Start(a + 2), Head(b - 3), End(b), Start(b), Head(c), End(c)];
    same_in_pieces(&requests(), stream, &expected);
}

#[test]
fn fault_37_chunks_interim_and_bodyless_responses() {
    let chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nTrailer: z\r\n\r\n";
    let stream = format!(
        "HTTP/1.1 100 Continue\r\n\r\n{chunked}HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\nHTTP/1.0 200 OK\r\n\r\nrest"
    );
    let (a, b) = (25, 25 + chunked.len() as u64);
    let c = b + 40;
    let expected = [
        Start(0),
        Head(a),
        Start(a),
        Head(a + 47),
        End(b),
        Start(b),
        Head(c),
        End(c),
        Start(c),
        Head(c + 19),
        EndsAtClose,
    ];
    same_in_pieces(&responses(&[Method::Other, Method::Head, Method::Other]), &stream, &expected);
}

#[test]
fn fault_37_bare_line_feeds_end_lines() {
    let stream = "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nhi\n0\n\nHTTP/1.1 204 No\n\n";
    let (a, b) = (52, stream.len() as u64);
    let expected = [Start(0), Head(44), End(a), Start(a), Head(b), End(b)];
    same_in_pieces(&responses(&[]), stream, &expected);
}

#[test]
fn fault_37_what_is_no_http_is_left_alone() {
    for (stream, why) in [
        ("\x16\x03\x01", Opaque::Foreign),
        ("SSH-2.0-x\r\n", Opaque::Foreign),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Opaque::Http2),
    ] {
        let found = marks(requests(), stream.as_bytes(), 3);
        assert_eq!(found, [Start(0), Left(why)], "{stream:?}");
    }
}

#[test]
fn fault_37_a_chunk_size_that_is_none_is_ambiguous() {
    for size in ["-5", "+5", "ffffffffffffffff", "", "0x5", "5 5"] {
        let stream = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{size}\r\n");
        let found = marks(responses(&[]), stream.as_bytes(), 7);
        assert_eq!(found.last(), Some(&Left(Opaque::Ambiguous)), "{size:?}");
    }
    // A chunk must end where its size says.
    let stream = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n";
    assert_eq!(marks(responses(&[]), stream, 100).last(), Some(&Left(Opaque::Ambiguous)));
}

#[test]
fn fault_37_endless_heads_and_lines_are_not_gathered() {
    let endless = format!("GET / HTTP/1.1\r\n{}", "x: y\r\n".repeat(20_000));
    assert_eq!(marks(requests(), endless.as_bytes(), 1_000).last(), Some(&Left(Opaque::Ambiguous)));
    let whole = format!("{endless}\r\n");
    assert_eq!(marks(requests(), whole.as_bytes(), whole.len()).last(), Some(&Left(Opaque::Ambiguous)));
    assert_eq!(marks(requests(), &[b'A'; 100_000], 1_000).last(), Some(&Left(Opaque::Foreign)));
    let line = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;{}", "x".repeat(70_000));
    assert_eq!(marks(responses(&[]), line.as_bytes(), 1_000).last(), Some(&Left(Opaque::Ambiguous)));
}

#[test]
fn fault_17_bodies_may_have_holes_and_heads_may_not() {
    let (mut parser, mut to) = (Parser::new(true), responses(&[]));
    parser.octets(NOW, b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", &mut to);
    parser.hole(NOW, 90, &mut to);
    parser.octets(NOW, b"0123456", &mut to);
    assert_eq!(to.marks, [Start(0), Head(40), End(140)]);
    // Between messages a hole may hold messages, and the next one is found where a segment begins.
    parser.hole(NOW, 10, &mut to);
    parser.octets(NOW, b"rest of some body", &mut to);
    parser.octets(NOW, b"HTTP/1.1 204 No\r\n\r\n", &mut to);
    assert_eq!(to.marks[3..], [Restart(167), Head(186), End(186)]);
    parser.octets(NOW, b"HTTP/1.1 200 OK\r\nConte", &mut to);
    parser.hole(NOW, 1_000, &mut to);
    assert_eq!(to.marks[6..], [Start(186), CutHead(22), Lost]);
}

#[test]
fn fault_17_a_hole_may_reach_beyond_a_body_of_known_length() {
    let (mut parser, mut to) = (Parser::new(true), responses(&[]));
    parser.octets(NOW, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", &mut to);
    assert_eq!(parser.indifferent_to(), 5);
    parser.hole(NOW, 30, &mut to);
    assert_eq!(to.marks, [Start(0), Head(38), End(43)]);
    parser.octets(NOW, b"HTTP/1.1 204 No\r\n\r\n", &mut to);
    assert_eq!(to.marks[3..], [Restart(68), Head(87), End(87)]);
}
