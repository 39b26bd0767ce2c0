//! Bodies come back as they were, shorter on the way, and never longer than announced.

use super::*;
use proptest::prelude::*;

const ALL: [Compression; 3] = [Compression::Gzip, Compression::Brotli, Compression::Zstd];

fn text() -> Vec<u8> {
    let line = |n: u32| format!("<a href=\"/item/{:x}\">item {n}</a>\n", n.wrapping_mul(2_654_435_761) >> 8);
    (0..2_000).flat_map(|n| line(n).into_bytes()).collect()
}

fn decode(coding: Coding, octets: &[u8], length: usize, base: &[u8], pieces: usize) -> io::Result<Vec<u8>> {
    let mut decoder = Decoder::new(coding, length, Bytes::copy_from_slice(base))?;
    let mut body = Vec::new();
    for piece in octets.chunks(pieces.max(1)) {
        body.extend(decoder.take(piece)?);
    }
    body.extend(decoder.finish()?);
    Ok(body)
}

#[test]
fn texts_take_a_third_at_most_and_are_readable_as_they_come() {
    let body = text();
    for how in ALL {
        let octets = compress(how, &body).unwrap();
        assert!(octets.len() * 3 < body.len(), "{how:?}: {}", octets.len());
        let mut decoder = Decoder::new(Coding::Compressed(how), body.len(), Bytes::new()).unwrap();
        let mut read = decoder.take(&octets[..octets.len() * 9 / 10]).unwrap();
        assert!(!read.is_empty(), "{how:?}: nothing to show after nine tenths");
        read.extend(decoder.take(&octets[octets.len() * 9 / 10..]).unwrap());
        read.extend(decoder.finish().unwrap());
        assert!(read == body);
    }
}

#[test]
fn what_does_not_get_shorter_stays_as_it_is() {
    let noise: Vec<u8> = (0..4_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let once = compress(Compression::Zstd, &noise).unwrap_or(noise.into());
    for how in ALL {
        assert_eq!(compress(how, b"x"), None);
        assert!(compress(how, &once).is_none_or(|twice| twice.len() < once.len()));
    }
}

#[test]
fn a_small_change_of_a_large_body_costs_a_few_octets() {
    let base = text();
    let mut body = base.clone();
    body.splice(30_000..30_004, *b"changed here");
    let difference = delta(&base, &body).unwrap();
    assert!(difference.len() < 200, "{}", difference.len());
    assert!(decode(Coding::Delta, &difference, body.len(), &base, 64).unwrap() == body);
}

#[test]
fn fault_bombs_and_truncated_bodies_are_errors() {
    let bomb = vec![0; MOST_WHOLE];
    for how in ALL {
        let octets = compress(how, &bomb).unwrap();
        let coding = Coding::Compressed(how);
        assert!(decode(coding, &octets, 1_000, &[], 100).is_err(), "{how:?}: more than announced");
        assert!(decode(coding, &octets[..octets.len() / 2], bomb.len(), &[], 100).is_err(), "{how:?}: cut");
        assert!(decode(coding, &[], 10, &[], 100).is_err(), "{how:?}: nothing");
    }
    let difference = delta(&bomb, &bomb).unwrap();
    assert!(decode(Coding::Delta, &difference, 1_000, &bomb, 100).is_err());
    assert!(decode(Coding::Delta, &difference, bomb.len(), b"another base", 100).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_body_comes_back_in_pieces_of_any_size(
        base in proptest::collection::vec(0u8..8, 0..4_000),
        cut in 0usize..4_000,
        added in proptest::collection::vec(any::<u8>(), 0..300),
        pieces in 1usize..500,
    ) {
        let mut body = base.clone();
        let at = cut.min(body.len());
        body.splice(at..at, added);
        for how in ALL {
            if let Some(octets) = compress(how, &body) {
                let read = decode(Coding::Compressed(how), &octets, body.len(), &[], pieces).unwrap();
                prop_assert_eq!(&read, &body);
            }
        }
        if let Some(octets) = delta(&base, &body) {
            prop_assert_eq!(&decode(Coding::Delta, &octets, body.len(), &base, pieces).unwrap(), &body);
        }
    }

    #[test]
    fn noise_from_the_link_never_panics(noise in proptest::collection::vec(any::<u8>(), 0..600)) {
        for coding in [Coding::Plain, Coding::Delta].into_iter().chain(ALL.map(Coding::Compressed)) {
            let _ = decode(coding, &noise, 500, b"base", 50);
        }
    }
}
