//! A sniffer that misses or garbles frames: what the table says of its view is what is in the capture, and the check
//! of the capture against the run tells how many connections that affects.

use std::collections::BTreeSet;
use std::path::Path;

use airperf_analyze::capture::check::against;
use airperf_record::{FrameRow, PacketRow};

use crate::{Run, Testbed, emulate, overloaded_emulation, rows, simulate};

const SETTINGS: [(&str, &str); 4] =
    [("link.sniffer_error", "0.2"), ("client.rate", "30/s"), ("duration", "3s"), ("drain", "1s")];

/// Frames in a pcapng with radiotap, and how many of them have a bad FCS by their flags (bit 0x40 of the field
/// after the TSFT, which our captures always have).
fn frames_of(capture: &Path) -> (u64, u64) {
    let bytes = std::fs::read(capture).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (mut at, mut frames, mut bad) = (0, 0, 0);
    while at < bytes.len() {
        let (kind, length) = (word(at), word(at + 4) as usize);
        if kind == 6 {
            let radiotap = at + 28;
            assert_eq!(word(radiotap + 4) & 3, 3, "radiotap with TSFT and flags");
            frames += 1;
            bad += u64::from(bytes[radiotap + 16] & 0x40 != 0);
        }
        at += length;
    }
    (frames, bad)
}

fn check(directory: &Path) {
    let frames: Vec<FrameRow> = rows(directory);
    let count = |view: &str| frames.iter().filter(|frame| frame.sniffer == view).count() as u64;
    let (good, bad, missed) = (count("good"), count("bad_fcs"), count("missed"));
    assert_eq!(frames_of(&directory.join("air.pcapng")), (good + bad, bad));

    let decoded: Vec<_> = frames.iter().filter(|frame| frame.outcome == "received").collect();
    let share = |view: &str| {
        decoded.iter().filter(|frame| frame.sniffer == view).count() as f64 / decoded.len() as f64
    };
    let error = 4.0 * (0.1 * 0.9 / decoded.len() as f64).sqrt();
    for view in ["missed", "bad_fcs"] {
        assert!((share(view) - 0.1).abs() < error, "{view}: {} of {}", share(view), decoded.len());
    }
    assert!(missed > 0 && bad > 0);
}

#[test]
fn a_simulated_capture_lacks_what_the_sniffer_missed() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    simulate(&directory, &SETTINGS);
    check(&directory);
}

#[test]
fn an_emulated_capture_lacks_what_the_sniffer_missed() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    if emulate(&directory, &SETTINGS) {
        check(&directory);
    }
}

/// At twice the capacity, where FINs and RSTs cross and queues refuse: none of that is the sniffer's doing.
const OVERLOAD: [(&str, &str); 2] = [("duration", "5s"), ("drain", "8s")];

/// A sniffer that heard everything is told to have done so.
fn check_perfect(run: &Run) {
    let check = against(&run.capture, &run.directory).unwrap();
    let told = check.to_json();
    assert!(check.connections > 300, "{told}");
    assert_eq!((check.matched, check.captured), (check.connections, check.connections), "{told}");
    assert_eq!((check.unknown, check.differing), (0, 0), "{told}");
}

/// One that missed one in a hundred: every connection affected lacks a packet, and every one that lacks a packet for
/// good is affected.
fn check_imperfect(testbed: Testbed) {
    let folder = tempfile::tempdir().unwrap();
    let settings = [OVERLOAD[0], OVERLOAD[1], ("link.sniffer_error", "0.01")];
    let Some(run) = Run::of(folder.path(), testbed, &settings) else { return };
    let check = against(&run.capture, &run.directory).unwrap();
    let frames: Vec<FrameRow> = rows(&run.directory);
    let heard: BTreeSet<u64> =
        frames.iter().filter(|frame| frame.sniffer == "good").filter_map(|frame| frame.packet).collect();
    let packets: Vec<PacketRow> = rows(&run.directory);
    let lacking: BTreeSet<u64> = packets
        .iter()
        .filter(|packet| packet.first_air_ns.is_some() && !heard.contains(&packet.packet))
        .filter_map(|packet| packet.connection)
        .collect();
    let told = check.to_json();
    assert!(lacking.len() > 20, "{}", lacking.len());
    let affected = check.connections - check.matched + check.differing;
    assert_eq!(affected, lacking.len() as u64, "{told}");
    assert!(check.share() > 0.02 && check.share() < 0.2, "{told}");
}

#[test]
fn a_perfect_sniffer_of_an_overloaded_simulation_affects_no_connection() {
    let folder = tempfile::tempdir().unwrap();
    check_perfect(&Run::of(folder.path(), simulate, &OVERLOAD).unwrap());
}

#[test]
fn a_perfect_sniffer_of_an_overloaded_emulation_affects_no_connection() {
    let Some(run) = overloaded_emulation() else { return };
    check_perfect(run);
}

#[test]
fn an_imperfect_sniffer_of_a_simulation_affects_the_connections_it_missed_packets_of() {
    check_imperfect(simulate);
}

#[test]
fn an_imperfect_sniffer_of_an_emulation_affects_the_connections_it_missed_packets_of() {
    check_imperfect(emulate);
}
