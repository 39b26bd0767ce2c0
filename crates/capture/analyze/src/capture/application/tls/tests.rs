//! Hellos, whole, cut and damaged.

use super::*;
use proptest::prelude::*;

fn vector(data: &[u8]) -> Vec<u8> {
    [&(data.len() as u16).to_be_bytes()[..], data].concat()
}

fn short(data: &[u8]) -> Vec<u8> {
    [&[data.len() as u8][..], data].concat()
}

fn record(kind: u8, rest: &[u8]) -> Vec<u8> {
    let body = [&[3, 3][..], &[7; 32], rest].concat();
    let message = [&[kind, 0][..], &vector(&body)].concat();
    [&[HANDSHAKE, 3, 1][..], &vector(&message)].concat()
}

/// A record with a client's hello that asks for `name` and offers `protocols`.
pub(crate) fn client_hello(name: &str, protocols: &[&str]) -> Vec<u8> {
    let names = vector(&[&[0][..], &vector(name.as_bytes())].concat());
    let offers = vector(&protocols.iter().flat_map(|p| short(p.as_bytes())).collect::<Vec<_>>());
    let extensions = [
        [&[0, 23][..], &vector(&[])].concat(),
        [&[0, 0][..], &vector(&names)].concat(),
        [&[0, 16][..], &vector(&offers)].concat(),
        [&[0, 21][..], &vector(&[0; 16])].concat(),
    ]
    .concat();
    let rest = [short(&[9; 32]), vector(&[0x13, 1]), short(&[0]), vector(&extensions)].concat();
    record(CLIENT_HELLO, &rest)
}

/// A record with a server's hello that chooses `protocol`.
pub(crate) fn server_hello(protocol: Option<&str>) -> Vec<u8> {
    let choice = protocol.map(|p| [&[0, 16][..], &vector(&vector(&short(p.as_bytes())))].concat());
    let rest = [short(&[]), vec![0x13, 1, 0], vector(&choice.unwrap_or_default())].concat();
    record(SERVER_HELLO, &rest)
}

#[test]
fn hellos_may_be_spread_over_records() {
    let whole = client_hello("a.example", &["h2"]);
    let mut spread = Vec::new();
    for piece in whole[5..].chunks(11) {
        spread.extend([&[HANDSHAKE, 3, 1][..], &vector(piece)].concat());
    }
    let mut gather = Gather::default();
    assert!(gather.octets(&spread));
    assert_eq!(gather.hello().server_name.as_deref(), Some("a.example"));
    assert_eq!(gather.hello().alpn.as_deref(), Some("h2"));
}

#[test]
fn the_server_chooses_where_it_can_be_read() {
    let mut hello = Hello { server_name: None, alpn: Some("h2".into()) };
    hello.merge(Hello::parse(&server_hello(None)[5..]), true);
    assert_eq!(hello.alpn.as_deref(), Some("h2"), "TLS 1.3 hides the choice");
    hello.merge(Hello::parse(&server_hello(Some("http/1.1"))[5..]), true);
    assert_eq!(hello.alpn.as_deref(), Some("http/1.1"));
    hello.merge(Hello::parse(&client_hello("b", &["h3"])[5..]), false);
    assert_eq!((hello.server_name.as_deref(), hello.alpn.as_deref()), (Some("b"), Some("http/1.1")));
}

#[test]
fn what_is_no_handshake_is_known_at_once_and_memory_is_bounded() {
    let mut gather = Gather::default();
    assert!(gather.octets(b"\x16GET / HTTP/1.1") && gather.is_no_tls());
    let mut gather = Gather::default();
    let endless = [&[HANDSHAKE, 3, 3][..], &vector(&[1, 255, 255, 255])].concat();
    while !gather.octets(&endless) {}
    assert!(gather.message.len() <= MOST_HELLO);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn damaged_hellos_do_no_harm(
        name in "[a-z.]{0,40}",
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..8),
        cut in any::<usize>(),
        step in 1usize..100,
    ) {
        let mut hello = client_hello(&name, &["h2", "http/1.1"]);
        for (place, octet) in changes {
            let length = hello.len();
            hello[place % length] = octet;
        }
        hello.truncate(cut % (hello.len() + 1));
        let mut gather = Gather::default();
        hello.chunks(step).for_each(|piece| {
            gather.octets(piece);
        });
        let found = gather.hello();
        prop_assert!(found.server_name.is_none_or(|n| n.len() <= 4 * MOST_NAME));
        Hello::parse(&hello);
    }
}
