//! First flights: the RFC's own, in pieces, of both versions, cut and damaged.

use super::keys::tests::seal;
use super::*;
use crate::capture::application::tls::tests::client_hello;
use proptest::prelude::*;

const ID: [u8; 8] = 0x8394_c8f0_3e51_5708_u64.to_be_bytes();

/// RFC 9001 A.2: the client's first packet, protected.
fn appendix() -> Vec<u8> {
    let digits: Vec<u8> = include_bytes!("rfc9001_a2.hex")
        .iter()
        .filter_map(|d| char::from(*d).to_digit(16))
        .map(|d| d as u8)
        .collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn end(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn see(quic: &mut Quic, datagrams: &[Vec<u8>]) {
    for datagram in datagrams {
        quic.datagram(end("192.0.2.1:5000"), end("[2001:db8::1]:4433"), datagram.len(), datagram);
    }
}

/// A datagram with an Initial packet of 1200 octets that carries pieces of a handshake message.
fn initial(version: Version, number: u8, message: &[u8], pieces: &[(usize, usize)]) -> Vec<u8> {
    let mut frames = vec![1, 2, 0, 0, 0, 0];
    for (start, end) in pieces {
        frames.push(6);
        frames.extend((0x4000 | *start as u16).to_be_bytes());
        frames.extend((0x4000 | (end - start) as u16).to_be_bytes());
        frames.extend(&message[*start..*end]);
    }
    let (first, version_number) = match version {
        Version::V1 => (0xc3, 1u32),
        Version::V2 => (0xd3, 0x6b33_43cf),
    };
    let mut header = [&[first][..], &version_number.to_be_bytes(), &[8], &ID, &[0, 2, 0xaa, 0xbb]].concat();
    let length = SHORTEST_FIRST - header.len() - 2;
    header.extend((0x4000 | length as u16).to_be_bytes());
    header.extend([0, 0, 0, number]);
    frames.resize(SHORTEST_FIRST - header.len() - 16, 0);
    seal(version, &ID, &header, &frames)
}

#[test]
fn the_first_packet_of_rfc_9001_names_its_server() {
    let mut quic = Quic::default();
    see(&mut quic, &[appendix(), appendix()]);
    let tally = quic.finish();
    assert_eq!((tally.connections, tally.other_versions), (1, 0));
    assert_eq!(tally.names, BTreeMap::from([("example.com".to_owned(), 1)]));
}

#[test]
fn a_hello_may_be_spread_over_packets_in_any_order() {
    let hello = &client_hello("spread.example", &["h3"])[5..];
    for version in [Version::V1, Version::V2] {
        let (a, b) = (hello.len() / 3, hello.len() / 2);
        let first = initial(version, 0, hello, &[(b, hello.len()), (0, a)]);
        let second = initial(version, 1, hello, &[(a, b)]);
        assert_eq!(first.len(), SHORTEST_FIRST);
        let mut quic = Quic::default();
        see(&mut quic, &[first, second]);
        let tally = quic.finish();
        assert_eq!((tally.connections, tally.names.get("spread.example")), (1, Some(&1)), "{version:?}");
    }
}

#[test]
fn what_cannot_be_opened_is_no_connection() {
    let mut damaged = appendix();
    damaged[600] ^= 1;
    let mut quic = Quic::default();
    see(&mut quic, &[damaged, vec![0xff; 1_300], vec![0xc0; 3], b"\xc0\0\0\0\x01".to_vec()]);
    assert_eq!(quic.finish(), QuicTally::default());
}

#[test]
fn fault_17_a_cut_first_packet_counts_without_a_name() {
    let mut quic = Quic::default();
    for _ in 0..2 {
        quic.datagram(end("192.0.2.1:5000"), end("192.0.2.2:443"), 1_200, &appendix()[..100]);
    }
    let tally = quic.finish();
    assert_eq!((tally.connections, tally.names.len()), (1, 0));
}

#[test]
fn versions_are_told_apart() {
    let long = |version: u32, rest: &[u8]| {
        [&[0xc0][..], &version.to_be_bytes(), &[0, 0], rest, &[0; 1_200]].concat()
    };
    let mut quic = Quic::default();
    see(&mut quic, &[long(0xff00_001d, &[]), long(0x0a1a_2a3a, &[]), long(0x1234_5678, &[])]);
    see(&mut quic, &[b"\xc0\0\0\0\0\0\0\0\0\0\x01".to_vec()]);
    let tally = quic.finish();
    assert_eq!((tally.other_versions, tally.version_negotiations, tally.connections), (2, 1, 0));
}

#[test]
fn memory_is_bounded() {
    let datagram = appendix();
    let mut quic = Quic::default();
    for i in 0..(MOST_FLOWS as u32 + 500) {
        let source = SocketAddr::from((std::net::Ipv4Addr::from_bits(i), 1));
        quic.datagram(source, end("192.0.2.1:443"), 1_200, &datagram[..100]);
    }
    assert_eq!((quic.flights.len(), quic.oldest.len()), (MOST_FLOWS, MOST_FLOWS));
    assert_eq!(quic.finish().connections, MOST_FLOWS as u64 + 500);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn damaged_frames_and_packets_do_no_harm(
        noise in prop::collection::vec(any::<u8>(), 0..400),
        octets in prop::collection::vec(any::<u8>(), 0..1_400),
        cut in any::<usize>(),
    ) {
        let header = [&[0xc3, 0, 0, 0, 1, 8][..], &ID, &[0, 0]].concat();
        let mut frames = noise;
        frames.resize(1_162, 0);
        let length = (0x4000 | (frames.len() + 20) as u16).to_be_bytes();
        let header = [&header[..], &length, &[0, 0, 0, 7]].concat();
        let mut packet = seal(Version::V1, &ID, &header, &frames);
        let mut quic = Quic::default();
        see(&mut quic, &[packet.clone(), octets.clone()]);
        packet.truncate(cut % packet.len());
        packet.extend(octets);
        see(&mut quic, &[packet]);
        prop_assert!(quic.finish().connections <= 1);
    }
}
