//! The study's retransmission table from a capture, TCP and MAC apart, beside the run's frames and packets.
//!
//! The run calls a packet a retransmission when TCP gave it out before, a sniffer when it was on the air before. They
//! differ by packets whose earlier copies the transmit queue refused, or has still; each such one is looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use airperf_record::capture::{RetransmissionRow, SEGMENT_TYPES};
use airperf_record::{FrameRow, PacketRow};

use crate::truth::{Expected, Key, Sighted, expected};
use crate::{Run, overloaded_emulation, rows, simulate};

#[test]
fn the_retransmission_table_of_an_overloaded_simulation_is_the_runs_own() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("duration", "10s"), ("drain", "10s")];
    compare(&Run::of(folder.path(), simulate, &settings).unwrap());
}

#[test]
fn the_retransmission_table_of_an_overloaded_emulation_is_the_runs_own() {
    let Some(run) = overloaded_emulation() else { return };
    compare(run);
}

fn compare(run: &Run) {
    let (expected, _) = expected(run);
    let table: Vec<RetransmissionRow> = rows(&run.capture);
    assert_eq!(table, of_run(&expected));

    let frames: Vec<FrameRow> = rows(&run.directory);
    let again = frames.iter().filter(|frame| frame.kind == "data" && frame.attempt > 1);
    let again = again.filter(|frame| frame.sniffer == "good").count() as u64;
    assert_eq!(table.iter().map(|row| row.mac_retransmissions.unwrap()).sum::<u64>(), again);

    for kind in ["syn", "syn_ack", "get", "data", "fin", "fin_ack"] {
        let of_kind = || table.iter().filter(|row| row.kind == kind);
        assert_eq!(of_kind().count(), 2, "{kind}: a row for each client");
        assert!(of_kind().all(|row| row.mac_retransmissions > Some(0)), "{kind}");
        // Those of FINs are few where the client closes only once it has everything.
        assert!(kind == "fin" || of_kind().all(|row| row.tcp_retransmissions > 0), "{kind}");
    }
    let refused = flags_differ_where_a_queue_refused(run, &expected);
    let by_tcp: u64 = table.iter().map(|row| row.tcp_retransmissions).sum();
    println!("{by_tcp} by TCP, {again} by the MAC; {refused} more whose originals were not on the air");
}

/// The table from the run's frames and packets.
fn of_run(expected: &BTreeMap<Key, Expected>) -> Vec<RetransmissionRow> {
    let mut sums: BTreeMap<(u16, usize), (u64, u64, u64)> = BTreeMap::new();
    for of in expected.values() {
        for sighted in &of.packets {
            let kind = if sighted.kind == "request" { "get" } else { sighted.kind };
            let place = SEGMENT_TYPES.iter().position(|word| *word == kind).unwrap();
            let sum = sums.entry((of.row.client, place)).or_default();
            sum.0 += 1;
            sum.1 += u64::from(sighted.is_again());
            sum.2 += u64::from(sighted.mac_retransmissions);
        }
    }
    let rows = sums.into_iter().map(|((client, place), (segments, by_tcp, by_mac))| RetransmissionRow {
        client: IpAddr::V4(Ipv4Addr::new(10, 77, 0, client as u8 + 1)),
        kind: SEGMENT_TYPES[place],
        segments,
        tcp_retransmissions: by_tcp,
        mac_retransmissions: Some(by_mac),
    });
    rows.collect()
}

/// What takes up sequence numbers in a packet: its octets, and its SYN or FIN as one.
fn numbers(packet: &PacketRow) -> std::ops::Range<u64> {
    let control = ["syn", "syn_ack", "fin", "fin_ack"].contains(&packet.kind);
    packet.seq..packet.seq + u64::from(packet.payload_bytes) + u64::from(control)
}

/// Packets on the air that the run calls retransmissions and the capture does not: each has an earlier copy that was
/// not on the air before it. There are none the other way round.
fn flags_differ_where_a_queue_refused(run: &Run, expected: &BTreeMap<Key, Expected>) -> usize {
    let mut offered: BTreeMap<u64, Vec<PacketRow>> = BTreeMap::new();
    for packet in rows::<PacketRow>(&run.directory) {
        if let Some(connection) = packet.connection {
            offered.entry(connection).or_default().push(packet);
        }
    }
    let mut refused = 0;
    for of in expected.values() {
        let mut shown = BTreeSet::new();
        for Sighted { packet, novelty, .. } in &of.packets {
            let seen_before = !["new", "late"].contains(novelty);
            assert!(packet.retransmission || !seen_before, "{packet:?} is {novelty}");
            if packet.retransmission && !seen_before {
                let (from, to) = (numbers(packet).start, numbers(packet).end);
                let unseen = |other: &&PacketRow| {
                    let theirs = numbers(other);
                    let overlaps = theirs.start < to && from < theirs.end;
                    let earlier = other.packet < packet.packet && other.station == packet.station;
                    earlier && overlaps && !shown.contains(&other.packet)
                };
                assert!(offered[&of.row.connection].iter().any(|other| unseen(&other)), "{packet:?}");
                refused += 1;
            }
            shown.insert(packet.packet);
        }
    }
    refused
}
