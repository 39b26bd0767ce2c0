//! Responses of every kind in pieces of every size: where they end, and what is refused.

use super::*;

/// Feeds a response in pieces of every size, and wants the same of each: how it ended, and what was left.
fn feed(response: &[u8], head_request: bool) -> (Fed, Parser) {
    let mut first: Option<(Fed, Parser)> = None;
    for size in [response.len().max(1), 1, 2, 3, 7] {
        let mut parser = Parser::default();
        parser.next(head_request);
        let (mut seen, mut at) = (Fed::More, 0);
        for piece in response.chunks(size) {
            seen = match parser.feed(piece) {
                Fed::Done(used) => Fed::Done(at + used),
                other => other,
            };
            at += piece.len();
            if seen != Fed::More {
                break;
            }
        }
        if let Some((expected, whole)) = &first {
            assert_eq!(seen, *expected, "in pieces of {size}");
            assert_eq!((parser.status, parser.body_bytes), (whole.status, whole.body_bytes));
        } else {
            first = Some((seen, parser));
        }
    }
    first.unwrap()
}

fn seen(response: &str) -> Fed {
    feed(response.as_bytes(), false).0
}

fn whole(response: &str) {
    assert_eq!(seen(response), Fed::Done(response.len()), "{response:?}");
    assert_eq!(seen(&format!("{response}HTTP/1.1 200 OK\r\n")), Fed::Done(response.len()), "{response:?}");
}

#[test]
fn a_body_of_a_known_length_ends_there() {
    let (fed, parser) = feed(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhello", false);
    assert_eq!(fed, Fed::Done(49));
    assert_eq!((parser.status, parser.head_bytes, parser.body_bytes, parser.closes), (200, 44, 5, false));
    whole("HTTP/1.1 200 OK\r\ncontent-length:0\r\n\r\n");
    whole("HTTP/1.1 404\r\nCONTENT-LENGTH: 3, 3\r\n\r\nabc");
    assert_eq!(seen("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell"), Fed::More);
}

#[test]
fn whether_the_connection_lasts_is_known() {
    let closes = |response: &[u8]| feed(response, false).1.closes;
    assert!(closes(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
    assert!(!closes(b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n"));
    assert!(closes(b"HTTP/1.1 200 OK\r\nconnection: x, close\r\nContent-Length: 0\r\n\r\n"));
}

#[test]
fn fault_37_a_client_reads_chunks_with_extensions_and_trailers() {
    whole("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b;c=\"d\"\r\nhello\r\n0\r\nX: y\r\n\r\n");
    whole("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\nA\r\n0123456789\r\n000\r\n\r\n");
}

#[test]
fn fault_37_impossible_chunks_are_framing_errors() {
    let chunks = |text: &str| seen(&format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{text}"));
    for size in ["-1", "+5", "0x5", "ffffffffffffffff", "99999999999999999999", "", " ", "g"] {
        assert_eq!(chunks(&format!("{size}\r\nhello\r\n")), Fed::Wrong(Framing::BadChunk), "{size:?}");
    }
    assert_eq!(chunks("5\r\nhelloo\r\n"), Fed::Wrong(Framing::BadChunk)); // longer than it said
    // A huge chunk is believed, waited for, and costs nothing.
    assert_eq!(chunks("7fffffffffffffff\r\nhello"), Fed::More);
}

#[test]
fn fault_37_conflicting_lengths_are_framing_errors() {
    let head = |fields: &str| seen(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\nhello"));
    for fields in [
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5, 6",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 5\r\n 0",
    ] {
        assert_eq!(head(fields), Fed::Wrong(Framing::Conflict), "{fields:?}");
    }
    for length in ["-5", "+5", "5 5", "", "5x", "99999999999999999999"] {
        let fields = format!("Content-Length: {length}");
        assert_eq!(head(&fields), Fed::Wrong(Framing::BadLength), "{length:?}");
    }
}

#[test]
fn fault_37_interim_responses_come_before_the_final_one() {
    whole(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    );
    assert_eq!(seen("HTTP/1.1 100 Continue\r\n\r\n"), Fed::More);
    let endless = "HTTP/1.1 100 Continue\r\n\r\n".repeat(20_000);
    assert_eq!(seen(&endless), Fed::Wrong(Framing::TooLong));
}

#[test]
fn fault_37_responses_without_a_body_end_with_their_head_whatever_they_say() {
    whole("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n");
    whole("HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n");
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
    assert_eq!(feed(head, true).0, Fed::Done(head.len()));
}

#[test]
fn fault_37_a_response_without_a_length_goes_on_until_the_close() {
    let (fed, parser) = feed(b"HTTP/1.1 200 OK\r\n\r\nhello", false);
    assert_eq!(fed, Fed::More);
    assert!(parser.end_of_stream() && parser.closes);
    let (_, cut) = feed(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", false);
    assert!(!cut.end_of_stream());
    let (_, coded) = feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n5\r\n", false);
    assert!(coded.end_of_stream());
}

#[test]
fn fault_37_bare_line_feeds_and_folded_fields_are_read() {
    whole("HTTP/1.1 200 OK\nContent-Length: 2\nX: a\n  b\n\nhi");
}

#[test]
fn fault_37_what_is_not_http_is_a_framing_error_at_once() {
    for text in
        ["HTTP/2.0 200 OK\r\n", "SSH-2.0-x\r\n", "\x16\x03\x01", "HTTP/1.1 20 OK\r\n", "HTTP/1.1 2000\r\n"]
    {
        assert_eq!(seen(text), Fed::Wrong(Framing::NotHttp), "{text:?}");
    }
    assert_eq!(
        seen("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"),
        Fed::Wrong(Framing::Switched)
    );
}

#[test]
fn fault_37_endless_heads_and_trailers_are_cut_off() {
    let line = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(LONGEST_LINE));
    assert_eq!(seen(&line), Fed::Wrong(Framing::TooLong));
    let fields = "X: y\r\n".repeat(LONGEST_HEAD as usize / 6 + 1);
    assert_eq!(seen(&format!("HTTP/1.1 200 OK\r\n{fields}")), Fed::Wrong(Framing::TooLong));
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
    assert_eq!(seen(&format!("{chunked}{fields}")), Fed::Wrong(Framing::TooLong));
    // Chunks may go on for ever.
    let chunks = "1\r\nx\r\n".repeat(LONGEST_HEAD as usize / 5);
    assert_eq!(seen(&format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}")), Fed::More);
}
