//! Classic pcap files: variants, cuts and lies.

use crate::make::{Kind, Order, Pcap, drain, read, read_with};
use airperf_wire::LinkType;
use airperf_wire::container::{Limits, OpenError, Source};

const ORDERS: [Order; 2] = [Order::Little, Order::Big];

fn three(order: Order, kind: Kind) -> Vec<u8> {
    let mut pcap = Pcap::new(order, kind, 1);
    pcap.record(1_700_000_000, 1, 60, &[1; 60]).record(1_700_000_000, 2, 1500, &[2; 96]).record(
        1_700_000_001,
        3,
        0,
        &[],
    );
    pcap.bytes
}

fn small(batch_bytes: usize) -> Limits {
    Limits { batch_bytes, ..Limits::default() }
}

#[test]
fn fault_16_every_variant_is_read_to_the_nanosecond() {
    for order in ORDERS {
        for (kind, unit, header) in
            [(Kind::Microseconds, 1_000, 16), (Kind::Nanoseconds, 1, 16), (Kind::Modified, 1_000, 24)]
        {
            let read = read(&three(order, kind));
            let second = 1_700_000_000_000_000_000;
            let times = [second + unit, second + 2 * unit, second + 1_000_000_000 + 3 * unit];
            assert_eq!(read.times(), times, "{order:?} {kind:?}");
            assert_eq!(read.numbers(), [1, 2, 3]);
            let places: Vec<u64> = read.records.iter().map(|(record, _)| record.place).collect();
            assert_eq!(places, [24, 24 + header + 60, 24 + 2 * header + 156]);
            let (record, bytes) = &read.records[1];
            assert_eq!((record.captured, record.original, bytes.as_slice()), (96, 1500, &[2; 96][..]));
            assert_eq!((record.link, record.fcs_octets), (LinkType::ETHERNET, None));
            assert!(read.source.damage().is_none());
        }
    }
}

#[test]
fn fault_16_the_length_of_check_sequences_is_read_from_the_link_type() {
    let fcs_of = |network: u32| {
        let read =
            read(Pcap::new(Order::Big, Kind::Microseconds, network).record(0, 0, 1, &[1]).bytes.as_slice());
        (read.records[0].0.link, read.records[0].0.fcs_octets)
    };
    // Two words of 16 bits, and the bit that says that the count means something.
    assert_eq!(fcs_of(0x2400_0001), (LinkType::ETHERNET, Some(4)));
    assert_eq!(fcs_of(0x0400_0069), (LinkType::IEEE802_11, Some(0)));
    assert_eq!(fcs_of(0x2000_0001), (LinkType::ETHERNET, None));
    assert_eq!(fcs_of(12).0, LinkType::RAW, "raw IP as most systems write it");
}

#[test]
fn fault_13_a_capture_cut_anywhere_gives_every_whole_record_before_the_cut() {
    let whole = three(Order::Little, Kind::Microseconds);
    let ends = [24, 24 + 76, 24 + 76 + 112, whole.len()];
    for cut in 1..whole.len() {
        if cut < 4 {
            let stream = Box::new(std::io::Cursor::new(whole[..cut].to_vec()));
            assert!(matches!(Source::stream("t", stream, Limits::default()), Err(OpenError::Unknown { .. })));
            continue;
        }
        for batch_bytes in [64, 100, 1 << 20] {
            let read = read_with(&whole[..cut], small(batch_bytes));
            assert_eq!(read.records.len(), ends[1..].iter().filter(|end| **end <= cut).count(), "{cut}");
            if ends.contains(&cut) {
                assert_eq!(read.source.damage(), None, "{cut} is between records");
            } else {
                let (at, what) = read.damage();
                assert_eq!(at, cut as u64);
                assert!(what.starts_with(&format!("truncated at byte {cut}: ")), "{what}");
            }
        }
    }
}

#[test]
fn fault_13_the_message_names_the_record_that_was_cut() {
    let whole = three(Order::Big, Kind::Microseconds);
    let read = read(&whole[..150]);
    let expected = "truncated at byte 150: the record or block at byte 100 needs 112 bytes, 50 are there";
    assert_eq!(read.damage(), (150, expected));
    let read = crate::make::read(&whole[..9]);
    assert_eq!(read.damage(), (9, "truncated at byte 9: the header of the file needs 24 bytes"));
}

#[test]
fn fault_13_what_is_no_capture_is_named() {
    let said = |bytes: &[u8]| {
        let stream = Box::new(std::io::Cursor::new(bytes.to_vec()));
        Source::stream("x.pcap", stream, Limits::default()).unwrap_err().to_string()
    };
    assert_eq!(said(b""), "x.pcap is empty: a capture has at least a header of 24 bytes");
    assert!(said(b"snoop\0\0\0\0\0\0\x02").contains("is a capture of Solaris snoop. Convert"));
    assert!(said(b"<!doctype html>").contains("looks like HTML"));
    assert!(said(b"time,source\n1,2\n").contains("looks like text"));
    assert!(said(&[0xfe, 0xed, 0, 1, 2, 3, 4, 5, 6]).contains("begins with fe ed 00 01 02 03 04 05."));
    let home = tempfile::tempdir().unwrap();
    let missing = Source::open(&home.path().join("none"), Limits::default());
    assert!(matches!(missing, Err(OpenError::Io { .. })));
    assert!(matches!(Source::open(home.path(), Limits::default()), Err(OpenError::Io { .. })));
}

#[test]
fn fault_17_records_cut_by_the_snap_length_are_counted() {
    let read = read(&three(Order::Little, Kind::Microseconds));
    assert_eq!(read.count("cut_records"), 1);
}

#[test]
fn fault_18_records_that_claim_more_than_was_sent_are_left_out_and_keep_their_number() {
    let mut pcap = Pcap::new(Order::Little, Kind::Microseconds, 1);
    pcap.record(1, 0, 4, &[1; 4]).record(2, 0, 3, &[2; 4]).record(3, 0, 4, &[3; 4]);
    let read = read(&pcap.bytes);
    assert_eq!(read.numbers(), [1, 3]);
    assert_eq!(read.count("captured_above_original"), 1);
    assert!(read.source.damage().is_none());
}

#[test]
fn fault_18_long_records_are_passed_over_and_take_no_memory() {
    let long = vec![9; 3 << 20];
    let mut pcap = Pcap::new(Order::Little, Kind::Microseconds, 1);
    pcap.record(1, 0, 4, &[1; 4]).record(2, 0, long.len() as u32, &long).record(3, 0, 4, &[3; 4]);
    pcap.record(4, 0, 1 << 18, &long[..1 << 18]);
    for batch_bytes in [64, 4096, 1 << 20] {
        let read = read_with(&pcap.bytes, small(batch_bytes));
        assert_eq!(read.numbers(), [1, 3, 4], "the most that is allowed is read");
        assert_eq!((read.count("long_records"), read.source.damage()), (1, None));
        assert!(read.most_allocated < 2 << 20, "{} bytes", read.most_allocated);
    }
}

#[test]
fn fault_18_an_absurd_length_allocates_nothing_and_ends_as_a_cut() {
    for claimed in [u32::MAX, 1 << 31, (256 << 10) + 1] {
        let mut pcap = Pcap::new(Order::Little, Kind::Microseconds, 1);
        pcap.record(1, 0, 4, &[1; 4]).claim(2, 0, claimed, claimed, &[2; 40]);
        let read = read(&pcap.bytes);
        assert_eq!((read.numbers(), read.count("long_records")), (vec![1], 1));
        // Where tshark stops, too: at the header that claims so much.
        assert_eq!(read.damage().0, pcap.bytes.len() as u64 - 40 - 16);
        assert!(read.most_allocated < 1 << 18, "{} bytes", read.most_allocated);
    }
}

#[test]
fn fault_18_absurd_times_are_counted_and_kept() {
    let mut pcap = Pcap::new(Order::Little, Kind::Nanoseconds, 1);
    for seconds in [1_700_000_000, 0, 1_700_000_001, u32::MAX] {
        pcap.record(seconds, 5, 1, &[1]);
    }
    pcap.record(1_700_000_002, 2_000_000_000, 1, &[1]);
    let read = read(&pcap.bytes);
    assert_eq!(read.count("absurd_times"), 3, "1970 among others, 2106, and a fraction above a second");
    assert_eq!(read.times()[1..4], [5, 1_700_000_001_000_000_005, 4_294_967_295_000_000_005]);

    let mut undated = Pcap::new(Order::Little, Kind::Nanoseconds, 1);
    undated.record(0, 5, 1, &[1]).record(1, 5, 1, &[1]);
    assert_eq!(crate::make::read(&undated.bytes).count("absurd_times"), 0, "a simulation has no date");
}

#[test]
fn fault_19_order_and_times_are_those_of_the_file() {
    let mut pcap = Pcap::new(Order::Little, Kind::Microseconds, 1);
    pcap.record(2_000_000_000, 0, 1, &[1]).record(1_999_990_000, 0, 1, &[2]).record(
        1_999_990_000,
        0,
        1,
        &[3],
    );
    let read = read(&pcap.bytes);
    let second = 1_000_000_000;
    assert_eq!(read.times(), [2_000_000_000, 1_999_990_000, 1_999_990_000].map(|s| s * second));
    assert_eq!(read.source.damage(), None);
}

#[test]
fn swapped_lengths_of_old_versions_are_put_right() {
    let mut pcap = Pcap::new(Order::Big, Kind::Microseconds, 1);
    pcap.bytes[6..8].copy_from_slice(&[0, 2]);
    pcap.claim(1, 0, 1500, 4, &[1; 4]).record(2, 0, 4, &[2; 4]);
    let read = read(&pcap.bytes);
    assert_eq!(read.records.len(), 2);
    assert_eq!((read.records[0].0.captured, read.records[0].0.original), (4, 1500));
}

#[test]
fn fault_22_memory_stays_the_same_however_long_the_capture() {
    /// A capture that never was in memory.
    struct Endless {
        head: Vec<u8>,
        record: Vec<u8>,
        left: usize,
        at: usize,
    }
    impl std::io::Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let from = if self.head.is_empty() { &self.record } else { &self.head };
            let bytes = (from.len() - self.at).min(into.len());
            into[..bytes].copy_from_slice(&from[self.at..self.at + bytes]);
            self.at += bytes;
            if self.at == from.len() && self.left > 0 {
                self.at = 0;
                self.left -= 1;
                self.head.clear();
            }
            Ok(bytes)
        }
    }
    let mut pcap = Pcap::new(Order::Little, Kind::Microseconds, 1);
    let head = pcap.bytes.clone();
    for _ in 0..1_000 {
        pcap.record(1, 0, 1000, &[7; 1000]);
    }
    let record = pcap.bytes.split_off(head.len());
    let endless = Endless { head, record, left: 300, at: 0 };
    let mut source = Source::stream("endless", Box::new(endless), Limits::default()).unwrap();
    let mut batch = airperf_wire::container::Batch::default();
    let (mut records, mut most) = (0, 0);
    while source.read(&mut batch).unwrap() {
        records += batch.records().len();
        most = most.max(batch.allocated_bytes());
    }
    assert_eq!((records, source.damage()), (300_000, None));
    assert!(most < 2 << 20, "{most} bytes for 300 MB");
}

#[test]
fn several_captures_count_on_and_tell_their_first_time() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.pcap");
    std::fs::write(&path, three(Order::Little, Kind::Microseconds)).unwrap();
    let first = Source::open(&path, Limits::default()).unwrap();
    assert_eq!(first.first_time_ns(), Some(1_700_000_000_000_001_000));
    let first = drain(first);
    let mut second = Source::open(&path, Limits::default()).unwrap();
    second.count_on(&first.source);
    let second = drain(second);
    assert_eq!(second.numbers(), [4, 5, 6]);
    assert!(second.records.iter().all(|(record, _)| record.interface == 1));
    let length = std::fs::metadata(&path).unwrap().len();
    assert_eq!(second.source.progress(), (length, Some(length)));
    assert!(second.most_allocated < 4096, "a short file takes little: {}", second.most_allocated);
}
