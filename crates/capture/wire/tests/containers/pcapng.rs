//! pcapng files: sections, interfaces, clocks, and blocks that cannot be trusted.

use crate::make::{Order, block, enhanced, interface, options, read, read_with, section};
use Order::{Big, Little};
use airperf_wire::LinkType;
use airperf_wire::container::Limits;

const SECOND: i64 = 1_000_000_000;

fn one_packet(order: Order) -> Vec<u8> {
    [section(order), interface(order, 1, 0, &[]), enhanced(order, 0, 1_700_000_000_000_001, 60, &[5; 60])]
        .concat()
}

#[test]
fn fault_15_sections_interfaces_byte_orders_and_clocks_go_their_own_ways() {
    let file = [
        section(Little),
        interface(Little, 1, 0, &[(2, b"eth0"), (9, &[9])]),
        interface(Little, 127, 96, &[(9, &[6]), (14, &3_600_i64.to_le_bytes())]),
        enhanced(Little, 1, 5, 4, &[1; 4]),
        // Unknown, and known without packets: statistics.
        block(Little, 0x0bad_cafe, &[9; 24]),
        block(Little, 5, &[0; 12]),
        enhanced(Little, 0, 1_700_000_000_000_000_007, 4, &[2; 4]),
        section(Big),
        interface(Big, 113, 0, &[(9, &[0x80 | 1]), (14, &(-10_i64).to_be_bytes())]),
        enhanced(Big, 0, 5, 4, &[3; 4]),
        enhanced(Big, 1, 5, 4, &[4; 4]),
        interface(Big, 101, 0, &[]),
        enhanced(Big, 1, 5, 4, &[5; 4]),
    ]
    .concat();
    for batch_bytes in [64, 1 << 20] {
        let read = read_with(&file, Limits { batch_bytes, ..Limits::default() });
        let seen: Vec<_> = read
            .records
            .iter()
            .map(|(r, bytes)| (r.number, r.interface, r.link.0, r.time_ns, bytes[0]))
            .collect();
        let expected = [
            (1, 1, 127, 3_600 * SECOND + 5_000, 1),
            (2, 0, 1, 1_700_000_000_000_000_007, 2),
            (3, 2, 113, 5 * SECOND / 2 - 10 * SECOND, 3),
            // Number 4 came before the description of its interface.
            (5, 3, 101, 5_000, 5),
        ];
        assert_eq!(seen, expected);
        assert_eq!((read.count("unknown_interface"), read.count("unknown_blocks")), (1, 1));
        assert_eq!(read.source.damage(), None);
        let interfaces = read.source.interfaces();
        assert_eq!(interfaces.len(), 4);
        assert_eq!((interfaces[0].name.as_deref(), interfaces[1].snap_length), (Some("eth0"), 96));
    }
}

#[test]
fn fault_15_simple_and_old_packets_are_read() {
    let old = |order: Order, data: &[u8]| {
        let mut body = [order.u16(0), order.u16(3)].concat();
        body.extend(order.words(&[0, 2_000_000, data.len() as u32, data.len() as u32]));
        body.extend_from_slice(data);
        block(order, 2, &body)
    };
    for order in [Little, Big] {
        let simple =
            |original: u32, data: &[u8]| block(order, 3, &[order.words(&[original]), data.to_vec()].concat());
        let file = [
            section(order),
            interface(order, 1, 10, &[]),
            old(order, &[1; 5]),
            simple(7, &[2; 7]),
            simple(1500, &[3; 10]),
        ];
        let read = read(&file.concat());
        let seen: Vec<_> =
            read.records.iter().map(|(r, b)| (r.captured, r.original, r.time_ns, b[0])).collect();
        assert_eq!(seen, [(5, 5, 2 * SECOND, 1), (7, 7, 2 * SECOND, 2), (10, 1500, 2 * SECOND, 3)]);
        assert_eq!((read.count("untimed_records"), read.source.damage()), (2, None));
    }
}

#[test]
fn fault_15_numbers_are_wiresharks_where_other_events_are_between() {
    let event = [Little.words(&[32_473]), vec![0; 8]].concat();
    let file = [
        section(Little),
        interface(Little, 1, 0, &[]),
        block(Little, 0xbad, &event),
        enhanced(Little, 0, 5, 4, &[1; 4]),
    ];
    assert_eq!(read(&file.concat()).numbers(), [2]);
}

#[test]
fn fault_16_check_sequences_are_told_by_interface_and_by_packet() {
    let mut with_flags = Little.words(&[0, 0, 5, 4, 4]);
    with_flags.extend([1; 4]);
    with_flags.extend(options(Little, &[(1, b"a comment"), (2, &(2_u32 << 5).to_le_bytes())]));
    let file = [
        section(Little),
        interface(Little, 1, 0, &[(13, &[32])]),
        enhanced(Little, 0, 5, 4, &[1; 4]),
        block(Little, 6, &with_flags),
        interface(Little, 1, 0, &[]),
        enhanced(Little, 1, 5, 4, &[1; 4]),
    ];
    let read = read(&file.concat());
    let fcs: Vec<_> = read.records.iter().map(|(record, _)| record.fcs_octets).collect();
    assert_eq!(fcs, [Some(4), Some(2), None]);
}

/// A good packet, then `bad`, then a good packet again that must not be read.
fn after(bad: &[u8]) -> Vec<u8> {
    [one_packet(Little), bad.to_vec(), enhanced(Little, 0, 9, 4, &[1; 4])].concat()
}

#[test]
fn fault_14_reading_stops_at_the_last_good_block_and_names_the_offset() {
    let place = one_packet(Little).len() as u64;
    let set = |mut block: Vec<u8>, at: usize, value: u32| {
        block[at..at + 4].copy_from_slice(&value.to_le_bytes());
        block
    };
    let good = enhanced(Little, 0, 9, 4, &[1; 4]);
    let length = good.len();
    let mut past = Little.words(&[0, 0, 5, 4, 4]);
    past.extend([1, 1, 1, 1, 1, 0, 200, 0, b'x', 0, 0, 0]);
    let cases = [
        (set(good.clone(), 4, 8), "claims a length of 8 bytes, 12 is the least"),
        (set(good.clone(), 4, 0), "claims a length of 0 bytes, 12 is the least"),
        (set(good.clone(), 4, 37), "claims a length of 37 bytes, no multiple of 4"),
        (set(good.clone(), length - 4, 40), "is 36 bytes long by its head and 40 by its end"),
        (block(Little, 6, &past), "has option 1 of 200 bytes, which ends past the block"),
        (set(good.clone(), 20, 5), "claims 5 captured bytes in 36 bytes of block"),
        (set(good, 20, u32::MAX), "claims 4294967295 captured bytes in 36 bytes of block"),
        (block(Little, 6, &[0; 16]), "is too short for a packet"),
        (block(Little, 1, &[0; 4]), "is too short for an interface description"),
        (set(section(Little), 8, 7), "begins a section in no known byte order"),
        (set(section(Little), 12, 9), "begins a section of version 9, 1 is known"),
        (block(Little, 1, &[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 9, 0]), "has option 2 of 9 bytes, which ends past"),
    ];
    for (bad, said) in cases {
        for batch_bytes in [64, 1 << 20] {
            let read = read_with(&after(&bad), Limits { batch_bytes, ..Limits::default() });
            let (at, what) = read.damage();
            assert_eq!((read.records.len(), at), (1, place), "{what}");
            assert!(what.starts_with(&format!("the block at byte {place} {said}")), "{what}");
        }
    }
}

#[test]
fn fault_14_a_section_whose_length_is_wrong_is_found_in_its_own_byte_order() {
    let mut file = section(Big);
    file[7] = 30;
    let read = read(&file);
    assert_eq!(read.damage(), (0, "the block at byte 0 claims a length of 30 bytes, no multiple of 4"));
}

#[test]
fn fault_14_huge_blocks_allocate_nothing() {
    // An unknown block, a packet and options that claim gigabytes in a file of 200 bytes.
    for kind in [0x0bad_cafe, 6, 3, 4] {
        let huge = Little.words(&[kind, 0xffff_fff0, 0, 0, 0, 0, 0]);
        let read = read(&after(&huge));
        assert_eq!(read.records.len(), 1);
        assert_eq!(read.damage().0, after(&huge).len() as u64, "{:?}", read.damage());
        assert!(read.most_allocated < 128 << 10, "{} bytes", read.most_allocated);
    }
    let file = after(&Little.words(&[1, 0x7fff_fff0]));
    assert!(read(&file).damage().1.contains("describes a section or an interface in 2147483632 bytes"));
}

#[test]
fn fault_15_long_unknown_blocks_are_passed_over_by_their_length() {
    let long = vec![7; 3 << 20];
    for (kind, numbers, counted) in [(0x0bad_cafe, [1, 2], "unknown_blocks"), (6, [1, 3], "long_records")] {
        let file = after(&block(Little, kind, &long));
        for batch_bytes in [64, 4096, 1 << 20] {
            let read = read_with(&file, Limits { batch_bytes, ..Limits::default() });
            assert_eq!((read.numbers(), read.count(counted)), (numbers.to_vec(), 1));
            assert_eq!(read.source.damage(), None);
            assert!(read.most_allocated < 2 << 20);
        }
        let mut wrong = file.clone();
        let end = wrong.len() - enhanced(Little, 0, 9, 4, &[1; 4]).len();
        wrong[end - 1] ^= 1;
        assert!(read(&wrong).damage().1.contains("by its head and"), "its end is checked, too");
        let cut = read(&file[..file.len() / 2]);
        assert_eq!((cut.records.len(), cut.damage().0), (1, file.len() as u64 / 2));
    }
}

#[test]
fn fault_13_a_pcapng_cut_anywhere_gives_every_whole_packet_before_the_cut() {
    let mut file = one_packet(Big);
    let ends = [section(Big).len(), section(Big).len() + interface(Big, 1, 0, &[]).len(), file.len()];
    let second = enhanced(Big, 0, 9, 4, &[1; 4]);
    file.extend_from_slice(&second);
    for cut in 4..file.len() {
        let read = read_with(&file[..cut], Limits { batch_bytes: 64, ..Limits::default() });
        assert_eq!(read.records.len(), usize::from(cut >= ends[2]), "{cut}");
        match read.source.damage() {
            None => assert!(ends.contains(&cut), "{cut} is within a block"),
            Some(damage) => assert_eq!((damage.at, ends.contains(&cut)), (cut as u64, false)),
        }
    }
}

#[test]
fn fault_18_packets_with_impossible_lengths_and_times_are_counted() {
    let file = [
        section(Little),
        interface(Little, 1, 0, &[]),
        enhanced(Little, 0, u64::MAX, 4, &[1; 4]),
        enhanced(Little, 0, 5, 3, &[2; 4]),
        enhanced(Little, 0, 5, 300_000, &vec![3; 300_000]),
        interface(Little, 1, 0, &[(9, &[0]), (14, &(-2_i64).to_le_bytes())]),
        enhanced(Little, 1, 1, 4, &[4; 4]),
    ];
    let read = read(&file.concat());
    assert_eq!((read.numbers(), read.times()), (vec![1, 4], vec![i64::MAX, -SECOND]));
    let counts = ["absurd_times", "captured_above_original", "long_records"].map(|name| read.count(name));
    assert_eq!(counts, [1, 1, 1]);
}

#[test]
fn fault_14_interfaces_without_end_are_bounded() {
    let mut file = section(Little);
    file.extend(interface(Little, 1, 0, &[]).repeat((1 << 16) + 1));
    let read = read(&file);
    assert!(read.damage().1.contains("one interface more than the 65536"), "{:?}", read.damage());
    assert_eq!(read.source.interfaces().len(), 1 << 16);
}

#[test]
fn what_our_own_writer_writes_is_read() {
    use airperf_wire::pcapng::{Interface, Writer};
    let mut writer = Writer::new(Vec::new(), "test", 1_000).unwrap();
    let link_type = LinkType::RADIOTAP;
    let id = writer.interface(Interface { link_type, name: "air", description: "d" }).unwrap();
    writer.packet(id, 7, &[&[1, 2], &[3]], Some("why")).unwrap();
    let read = read(&writer.into_inner());
    let (record, bytes) = &read.records[0];
    assert_eq!((record.time_ns, record.link, bytes.as_slice()), (1_007, link_type, &[1, 2, 3][..]));
    assert_eq!(read.source.interfaces()[0].name.as_deref(), Some("air"));
}
