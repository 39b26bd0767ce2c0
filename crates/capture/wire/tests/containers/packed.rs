//! Captures in gzip and zstd: streamed, bounded, damaged; and archives that are refused.

use crate::make::{Kind, Order, Pcap, read, read_with};
use airperf_wire::container::{Limits, Source};
use std::io::Write;
use std::process::{Command, Stdio};

fn capture(records: u32) -> Vec<u8> {
    let mut pcap = Pcap::new(Order::Little, Kind::Nanoseconds, 1);
    let mut noise = 1_u32;
    for n in 0..records {
        let data: Vec<u8> = (0..100)
            .map(|_| {
                noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (noise >> 24) as u8
            })
            .collect();
        pcap.record(1_700_000_000, n, 100, &data);
    }
    pcap.bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn fault_20_packed_captures_are_those_that_were_packed() {
    let plain = capture(3_000);
    let plainly = read(&plain);
    let expected = plainly.contents();
    let (one, two) = plain.split_at(100_000);
    let skippable = [&[0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3][..], &zstd(&plain)].concat();
    let packed = [
        ("gzip", gzip(&plain)),
        ("two members", [gzip(one), gzip(two)].concat()),
        ("zstd", zstd(&plain)),
        ("two frames", [zstd(one), zstd(two)].concat()),
        ("a frame to be passed over", skippable),
    ];
    for (name, bytes) in packed {
        for batch_bytes in [1_000, 1 << 20] {
            let read = read_with(&bytes, Limits { batch_bytes, ..Limits::default() });
            assert_eq!(read.source.damage(), None, "{name}");
            assert!(read.contents() == expected, "{name}");
            assert_eq!(read.source.progress(), (bytes.len() as u64, None), "{name}");
        }
    }
}

#[test]
fn fault_20_what_the_zstd_tool_packs_is_read() {
    let plain = capture(3_000);
    for arguments in [["-q", "-1"], ["-q", "-19"], ["-q", "--long=27"]] {
        let command =
            Command::new("zstd").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut tool) = command else {
            eprintln!("SKIPPED: zstd cannot be run; install it to test captures that it packed");
            return;
        };
        let mut stdin = tool.stdin.take().unwrap();
        let writer = std::thread::spawn({
            let plain = plain.clone();
            move || stdin.write_all(&plain).unwrap()
        });
        let out = tool.wait_with_output().unwrap();
        writer.join().unwrap();
        let read = read(&out.stdout);
        assert_eq!((read.records.len(), read.source.damage()), (3_000, None));
        let mut wrong = out.stdout.clone();
        // The last four bytes are a checksum of what was packed.
        *wrong.last_mut().unwrap() ^= 1;
        let wrong = crate::make::read(&wrong);
        assert_eq!(wrong.records.len(), 3_000);
        assert!(wrong.damage().1.contains("the checksum of a frame is wrong"), "{:?}", wrong.damage());
    }
}

#[test]
fn fault_20_a_packed_capture_that_was_cut_gives_what_can_be_unpacked() {
    let plain = capture(3_000);
    for (kind, bytes) in [("gzip", gzip(&plain)), ("zstd", zstd(&plain))] {
        let read = read(&bytes[..bytes.len() / 2]);
        assert!((500..1_600).contains(&read.records.len()), "{kind}: {} records", read.records.len());
        let (at, what) = read.damage();
        assert!(what.starts_with(&format!("truncated at byte {at}: the {kind} stream is ")), "{what}");
    }
}

#[test]
fn fault_20_damage_to_a_packed_capture_is_told_and_loses_little_before_it() {
    let plain = capture(3_000);
    let mut bytes = gzip(&plain);
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0xff);
    let read = read(&bytes);
    assert!(read.records.len() > 1_000, "{} records", read.records.len());
    assert!(read.damage().1.contains("the gzip stream is damaged"), "{:?}", read.damage());

    let mut checksum = gzip(&plain);
    let end = checksum.len() - 8;
    checksum[end] ^= 1;
    let read = crate::make::read(&checksum);
    assert_eq!(read.records.len(), 3_000);
    assert!(read.damage().1.contains("the gzip stream is damaged"), "{:?}", read.damage());
}

#[test]
fn fault_20_bombs_are_stopped_by_ratio_and_by_size() {
    let mut pcap = Pcap::new(Order::Little, Kind::Nanoseconds, 1);
    for _ in 0..250 {
        pcap.record(1, 0, 100_000, &[0; 100_000]);
    }
    for (kind, bomb) in [("gzip", gzip(&pcap.bytes)), ("zstd", zstd(&pcap.bytes))] {
        assert!(bomb.len() < 200_000, "{kind}: {} bytes", bomb.len());
        let stopped = read(&bomb);
        assert!((99..140).contains(&stopped.records.len()), "{kind}: {}", stopped.records.len());
        assert!(stopped.damage().1.contains("unpacks to more than 200 times its"), "{:?}", stopped.damage());
        let generous = Limits { ratio: 1 << 20, ..Limits::default() };
        assert_eq!(read_with(&bomb, generous).records.len(), 250);
        let tight = Limits { decompressed_bytes: 1_000_000, ..generous };
        let stopped = read_with(&bomb, tight);
        assert!(stopped.records.len() <= 10 && stopped.damage().1.contains("more than 1000000 bytes"));
    }
}

#[test]
fn fault_20_archives_and_packing_within_packing_are_refused_by_name() {
    let said = |bytes: Vec<u8>| {
        Source::stream("x", Box::new(std::io::Cursor::new(bytes)), Limits::default()).unwrap_err().to_string()
    };
    let plain = capture(10);
    assert!(said(b"PK\x03\x04\x14\0\0\0".to_vec()).contains("is a zip archive. Unpack it first"));
    assert!(said(gzip(&gzip(&plain))).contains("is compressed with gzip twice"));
    assert!(said(gzip(&zstd(&plain))).contains("compressed with zstd within another"));
    assert!(said(zstd(b"PK\x03\x04....")).contains("is a zip archive"));
    let mut tar = vec![0; 512];
    tar[257..262].copy_from_slice(b"ustar");
    assert!(said(gzip(&tar)).contains("is a tar archive"));
    assert!(said(gzip(b"")).contains("is empty"));
    assert!(said(vec![0x1f, 0x8b, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]).contains("nothing that can be read"));
}
