//! Captures as tshark and capinfos read them: the same records, times, lengths and link types.
//!
//! Skipped, loudly, where they are not installed. Leaves out what we count and they refuse.

use crate::make::{Kind, Order, Pcap, block, enhanced, interface, options, read, section};
use std::path::Path;
use std::process::Command;

/// What tshark shows of the custom block and of the journal entry: numbered, and no packets.
const EVENTS: [&str; 2] = ["5||8|8", "6|0.000001000|34|34"];

/// What a judge prints, and whether it took the file for whole.
fn judge(program: &str, arguments: &[&str], capture: &Path) -> Option<(String, bool)> {
    match Command::new(program).args(arguments).arg(capture).output() {
        Ok(out) => Some((String::from_utf8(out.stdout).unwrap(), out.status.success())),
        Err(error) => {
            eprintln!("SKIPPED: {program} cannot be run ({error}); install it to test captures against it");
            None
        }
    }
}

/// Frame number, time, captured and original length, encapsulation: as tshark sees them.
fn tshark(capture: &Path) -> Option<(Vec<String>, bool)> {
    let fields = ["frame.number", "frame.time_epoch", "frame.cap_len", "frame.len"];
    let mut arguments = vec!["-n", "-T", "fields", "-E", "separator=|"];
    fields.iter().for_each(|field| arguments.extend(["-e", field]));
    arguments.push("-r");
    let (text, whole) = judge("tshark", &arguments, capture)?;
    let packets = text.lines().filter(|line| !EVENTS.contains(line));
    Some((packets.map(str::to_owned).collect(), whole))
}

/// The same, as we see them.
fn ours(bytes: &[u8]) -> (Vec<String>, bool) {
    let read = read(bytes);
    let shown = read.records.iter().map(|(record, _)| {
        let (seconds, nanoseconds) =
            (record.time_ns.div_euclid(1_000_000_000), record.time_ns.rem_euclid(1_000_000_000));
        format!("{}|{seconds}.{nanoseconds:09}|{}|{}", record.number, record.captured, record.original)
    });
    (shown.collect(), read.source.damage().is_none())
}

/// Good captures of every kind.
fn good() -> Vec<(String, Vec<u8>)> {
    let mut captures = Vec::new();
    for order in [Order::Little, Order::Big] {
        for kind in [Kind::Microseconds, Kind::Nanoseconds, Kind::Modified] {
            let mut pcap = Pcap::new(order, kind, 1);
            for n in 0..20 {
                let length = 60 + n * 7;
                pcap.record(1_700_000_000 - n, 999_999 - n, length + n % 3, &vec![n as u8; length as usize]);
            }
            pcap.record(u32::MAX, 1, 0, &[]).record(0, 0, 9_000, &[1; 64]);
            captures.push((format!("{order:?} {kind:?}"), pcap.bytes));
        }
        let mut old = order.words(&[0x0001_0000, 0, 1_700_000_000, 60, 60]);
        old[..4].copy_from_slice(&[order.u16(1), order.u16(0)].concat());
        old.extend([4; 60]);
        let commented = [
            order.words(&[0, 3, 9, 60, 1_500]),
            vec![5; 60],
            options(order, &[(1, b"why"), (2, &order.u32(4 << 5))]),
        ];
        let custom = [order.words(&[32_473]), vec![0; 8]].concat();
        let journal = b"__REALTIME_TIMESTAMP=1\nMESSAGE=x\n\n";
        let file = [
            section(order),
            interface(order, 1, 0, &[(2, b"eth0"), (9, &[9])]),
            interface(order, 1, 70, &[(9, &[0x80 | 20])]),
            enhanced(order, 0, 1_700_000_000_000_000_001, 60, &[1; 60]),
            block(order, 0x0bad_cafe, &[9; 24]),
            enhanced(order, 1, 1_700_000_000 << 20 | 12_345, 1_500, &[2; 70]),
            block(order, 2, &old),
            block(order, 6, &commented.concat()),
            block(order, 0xbad, &custom),
            block(order, 9, journal),
            enhanced(order, 0, 7, 60, &[1; 60]),
        ];
        let mut second =
            [section(Order::Big), interface(Order::Big, 1, 0, &[(14, &3_600_i64.to_be_bytes())])];
        second[0].extend(section(Order::Big));
        let last = enhanced(Order::Big, 0, 1_700_000_000_000_007, 61, &[3; 61]);
        captures.push((format!("{order:?} pcapng"), file.concat()));
        captures.push((
            format!("{order:?} pcapng, several sections"),
            [file.concat(), second[1].clone(), second.concat(), last].concat(),
        ));
    }
    captures
}

#[test]
fn tshark_sees_the_same_records_times_and_lengths() {
    let home = tempfile::tempdir().unwrap();
    for (name, bytes) in good() {
        let path = home.path().join("capture");
        std::fs::write(&path, &bytes).unwrap();
        let Some(theirs) = tshark(&path) else { return };
        assert_eq!(ours(&bytes), theirs, "{name}");
    }
}

#[test]
fn fault_13_tshark_reads_as_many_records_of_a_cut_capture() {
    let home = tempfile::tempdir().unwrap();
    for (name, bytes) in good().into_iter().step_by(3) {
        let path = home.path().join("capture");
        for cut in (bytes.len() / 3..bytes.len()).step_by(bytes.len() / 4) {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let Some(theirs) = tshark(&path) else { return };
            assert_eq!(ours(&bytes[..cut]), theirs, "{name} cut at {cut}");
        }
    }
}

#[test]
fn capinfos_counts_the_same_packets_and_bytes() {
    let home = tempfile::tempdir().unwrap();
    for (name, bytes) in good().into_iter().filter(|(name, _)| !name.contains("pcapng")) {
        let path = home.path().join("capture");
        std::fs::write(&path, &bytes).unwrap();
        // A table without a head: name, packets, bytes of data.
        let Some((text, _)) = judge("capinfos", &["-T", "-r", "-M", "-c", "-d"], &path) else { return };
        let read = read(&bytes);
        let data: u64 = read.records.iter().map(|(record, _)| u64::from(record.original)).sum();
        let ours = [read.records.len().to_string(), data.to_string()];
        assert_eq!(text.split_whitespace().skip(1).collect::<Vec<_>>(), ours, "{name}");
    }
}

#[test]
fn tshark_takes_the_length_of_check_sequences_from_the_same_bits() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("capture");
    // 46 octets of payload and four that are a check sequence only if the file says so.
    let frame = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0x99][..], &[7; 50]].concat();
    let mut pcap = Pcap::new(Order::Little, Kind::Microseconds, 0x2400_0001);
    pcap.record(1, 0, frame.len() as u32, &frame);
    std::fs::write(&path, &pcap.bytes).unwrap();
    let Some((text, _)) = judge("tshark", &["-T", "fields", "-e", "eth.fcs", "-r"], &path) else { return };
    let shown = !text.trim().is_empty();
    assert_eq!(shown.then_some(4), read(&pcap.bytes).records[0].0.fcs_octets, "{text}");
}
