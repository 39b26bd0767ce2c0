//! Short cuts change nothing: every table has the same octets with and without them, whatever a capture holds.

use std::ops::ControlFlow;
use std::path::Path;

use airperf_analyze::capture::{Options, Table, TableSet, analyze};
use airperf_wire::{Flags, LinkType, TcpOptions};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::script::{ACK, FIN, GET, GET_BYTES, MS, RST, Script, response, source};

/// What the analysis of a capture says and writes.
fn told(file: &[u8], options: &Options, tables: &[Table]) -> (String, Vec<(&'static str, Vec<u8>)>) {
    let home = tempfile::tempdir().expect("a place for tables");
    let path = home.path().join("capture");
    let mut set = TableSet::create(&path, false, tables, options.threads).expect("tables");
    let sources = vec![source(file.to_vec())];
    let summary = analyze(sources, options, Some(&mut set), &mut |_, _| ControlFlow::Continue(()));
    let summary = summary.expect("an analysis").to_json();
    set.finish(Vec::new(), serde_json::json!({}), summary.clone()).expect("tables");
    let read = |table: &Table| {
        let file = path.join(table.name()).with_extension("parquet");
        (table.name(), std::fs::read(file).expect("a table"))
    };
    (summary.to_string(), tables.iter().map(read).collect())
}

fn assert_same(file: &[u8], options: &Options) {
    let without = Options { short_cuts: false, ..options.clone() };
    for tables in [Table::ALL, &[]] {
        let (summary, tables_found) = told(file, options, tables);
        let (expected, tables_expected) = told(file, &without, tables);
        assert_eq!(summary, expected);
        for ((name, found), (_, expected)) in tables_found.iter().zip(&tables_expected) {
            assert!(found == expected, "{name} differs");
        }
    }
}

/// How a server frames its response, of which many segments follow one another.
fn answer(kind: u64, body: usize) -> Vec<u8> {
    match kind {
        0 => {
            let mut octets = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            for piece in vec![b'c'; body].chunks(3_000) {
                octets.extend(format!("{:x}\r\n", piece.len()).bytes());
                octets.extend_from_slice(piece);
                octets.extend(b"\r\n");
            }
            octets.extend(b"0\r\n\r\n");
            octets
        }
        1 => [&b"HTTP/1.0 200 OK\r\n\r\n"[..], &vec![b'u'; body]].concat(),
        2 => [&b"\x16\x03\x03\0\x10"[..], &vec![7; body]].concat(),
        _ => response(body),
    }
}

/// Connections of all kinds at once, some with long responses, some with several exchanges, some odd.
fn conversations(seed: u64, connections: u16) -> Script {
    let mut script = Script::new();
    let mut chance = seed;
    let mut draw = |below: u64| {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (chance >> 33) % below
    };
    for number in 0..connections {
        script.client_port = 20_000 + number % 7;
        script.initial = (draw(1 << 32) as u32, draw(1 << 32) as u32);
        if draw(4) == 0 {
            script.identification = 0;
        }
        let mut now = i64::from(number) * 9 * MS;
        script.scaled_handshake(now, draw(8) as u8);
        let (mut q, mut r) = (1, 1);
        for _ in 0..=draw(3) {
            now += 40 * MS;
            script.send(now, true, ACK, q, r, GET);
            q += GET_BYTES;
            let octets = answer(draw(8), draw(20_000) as usize);
            for piece in octets.chunks(1 + draw(1_448) as usize).take(60) {
                now += 1 + draw(MS as u64) as i64;
                let odd = draw(60);
                script.send_with(now, false, ACK, r, q, piece, |change| match odd {
                    0 => change.packet.window = 0,
                    1 => change.packet.flags = ACK.with(Flags::URG),
                    2 => {
                        change.packet.options =
                            TcpOptions { timestamps: Some((1, 2)), ..TcpOptions::default() }
                    }
                    3 => change.packet.options = TcpOptions { sack: &[(1, 9)], ..TcpOptions::default() },
                    _ => {}
                });
                r += piece.len() as u32;
                if draw(2) == 0 {
                    script.send(
                        now + 1_000,
                        true,
                        ACK,
                        q,
                        r.saturating_sub(draw(2) as u32 * draw(900) as u32),
                        &[],
                    );
                }
            }
        }
        let end = [FIN, RST, ACK][draw(3) as usize];
        script.send(now + MS, draw(2) == 0, end, if draw(2) == 0 { q } else { r }, r, &[]);
    }
    script.packets.sort_by_key(|(at, _)| *at);
    script
}

/// The packets in Ethernet frames, padded to their least length.
fn in_ethernet(mut script: Script) -> Script {
    for (_, bytes) in &mut script.packets {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
        frame.append(bytes);
        frame.resize(frame.len().max(60), 0);
        *bytes = frame;
    }
    script
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn short_cuts_change_nothing(
        seed in any::<u64>(),
        connections in 1u16..16,
        is_ethernet in any::<bool>(),
        snap in prop_oneof![Just(usize::MAX), 30usize..200],
        lost in prop::collection::vec(any::<Index>(), 0..12),
        again in prop::collection::vec((any::<Index>(), 0i64..400), 0..12),
        swapped in prop::collection::vec(any::<Index>(), 0..12),
        changes in prop::collection::vec((any::<Index>(), 0usize..80, any::<u8>()), 0..12),
        max_connections in prop_oneof![Just(60_000usize), 1usize..40],
        strict_checksum in any::<bool>(),
    ) {
        let mut script = conversations(seed, connections);
        script.snap = snap;
        // One packet stays, for what follows to change.
        for index in lost.iter().take(script.packets.len() - 1) {
            let at = index.index(script.packets.len());
            script.packets.remove(at);
        }
        for (index, later) in again {
            let (at, bytes) = script.packets[index.index(script.packets.len())].clone();
            script.packets.push((at + later * MS, bytes));
        }
        script.packets.sort_by_key(|(at, _)| *at);
        for index in swapped {
            let at = index.index(script.packets.len());
            let with = (at + 3).min(script.packets.len() - 1);
            script.packets.swap(at, with);
        }
        let mut script = if is_ethernet { in_ethernet(script) } else { script };
        for (index, place, value) in changes {
            let at = index.index(script.packets.len());
            let bytes = &mut script.packets[at].1;
            let place = place % bytes.len();
            bytes[place] ^= value;
        }
        let link = if is_ethernet { LinkType::ETHERNET } else { LinkType::RAW };
        let options = Options { max_connections, strict_checksum, ..Options::default() };
        assert_same(&script.pcap(link), &options);
    }
}

#[test]
fn short_cuts_change_nothing_whatever_the_link_and_the_threads() {
    let script = in_ethernet(conversations(1, 40));
    let mut file = script.pcap(LinkType::ETHERNET);
    assert_same(&file, &Options::default());
    assert_same(&file, &Options { threads: 2, ..Options::default() });
    // Cut short, and with another link type than its frames have.
    file.truncate(file.len() - 17);
    assert_same(&file, &Options::default());
    for link in [LinkType::RAW, LinkType::LINUX_SLL, LinkType::IEEE802_11] {
        assert_same(&script.pcap(link), &Options::default());
    }
}

/// Frames of the kept inputs of the fuzzer: two octets of length before each.
fn frames(mut octets: &[u8]) -> Vec<(i64, Vec<u8>)> {
    let mut found = Vec::new();
    while let Some((length, rest)) = octets.split_first_chunk() {
        let (frame, rest) = rest.split_at(rest.len().min(u16::from_be_bytes(*length).into()));
        found.push((found.len() as i64 * MS, frame.to_vec()));
        octets = rest;
    }
    found
}

#[test]
fn short_cuts_change_nothing_on_what_the_fuzzer_keeps() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/corpus");
    let kept = |folder: &str| {
        let entries = std::fs::read_dir(corpus.join(folder)).expect("a corpus").flatten();
        entries.map(|entry| std::fs::read(entry.path()).expect("octets")).collect::<Vec<_>>()
    };
    for file in kept("container") {
        assert_same(&file, &Options::default());
    }
    for octets in kept("capture") {
        let (link, rest) = octets.split_first_chunk().expect("a link type");
        let mut script = Script::new();
        script.packets = frames(rest);
        assert_same(&script.pcap(LinkType(u16::from_be_bytes(*link))), &Options::default());
    }
}
