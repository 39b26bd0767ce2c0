//! Messages told apart, however the stream is cut.

use super::*;

/// The marks found in `stream` fed in pieces of `step` octets.
fn marks(mut parser: Parser, stream: &str, step: usize) -> Vec<Mark> {
    stream.as_bytes().chunks(step).for_each(|piece| parser.octets(piece));
    std::iter::from_fn(|| parser.next_mark()).collect()
}

fn responses(methods: &[Method]) -> Parser {
    let mut parser = Parser::new(false);
    methods.iter().for_each(|m| parser.expect(*m));
    parser
}

fn same_in_pieces(parser: &Parser, stream: &str, expected: &[Mark]) {
    for step in 1..=stream.len() {
        assert_eq!(marks(parser.clone(), stream, step), expected, "in pieces of {step}");
    }
}

#[test]
fn pipelined_requests_are_told_apart() {
    let stream = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n\r\nPOST /b HTTP/1.1\r\nContent-Length: 3\r\n\r\nxyzHEAD /c HTTP/1.0\n\n";
    let (first, second) = (28, 72);
    let expected = [
        Mark::Start(0),
        Mark::Asks(Method::Other),
        Mark::End(first),
        Mark::Start(first + 2),
        Mark::Asks(Method::Other),
        Mark::End(second),
        Mark::Start(second),
        Mark::Asks(Method::Head),
        Mark::End(stream.len() as u64),
    ];
    same_in_pieces(&Parser::new(true), stream, &expected);
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
        Mark::Start(0),
        Mark::Interim,
        Mark::Start(a),
        Mark::End(b),
        Mark::Start(b),
        Mark::End(c),
        Mark::Start(c),
        Mark::EndsAtClose,
    ];
    same_in_pieces(&responses(&[Method::Other, Method::Head, Method::Other]), &stream, &expected);
}

#[test]
fn fault_37_what_is_no_http_is_left_alone() {
    for stream in ["\x16\x03\x01", "SSH-2.0-x\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let found = marks(Parser::new(true), stream, 3);
        assert_eq!(found.last(), Some(&Mark::Opaque), "{stream:?}");
        assert!(!found.iter().any(|m| matches!(m, Mark::Asks(_))), "{stream:?}");
    }
    for size in ["-5", "+5", "ffffffffffffffff", "", "0x5", "5 5"] {
        let stream = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{size}\r\n");
        let found = marks(responses(&[Method::Other]), &stream, 7);
        assert_eq!(found.last(), Some(&Mark::Opaque), "{size:?}");
    }
    let endless = format!("GET / HTTP/1.1\r\n{}", "x: y\r\n".repeat(20_000));
    assert_eq!(marks(Parser::new(true), &endless, 1_000).last(), Some(&Mark::Opaque));
}

#[test]
fn bodies_may_have_holes_and_heads_may_not() {
    let mut parser = responses(&[Method::Other]);
    parser.octets(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc");
    parser.hole(90);
    parser.octets(b"0123456");
    let found: Vec<Mark> = std::iter::from_fn(|| parser.next_mark()).collect();
    assert_eq!(found, [Mark::Start(0), Mark::End(140)]);
    parser.hole(1);
    assert!(parser.is_opaque());
}
