//! What goes into a spool comes out of it, and nothing else does.

use airperf_link::{Destination, FrameEvent, FrameKind, Heard, Outcome, QueueStats, StationId};
use airperf_units::{Rate, Time};

use super::codec::{ARRIVALS, LOSSES};
use super::*;

fn events() -> Vec<Event<'static>> {
    let at = Time::from_ns(u64::MAX / 3);
    let frame = FrameEvent {
        start: Time::from_ns(1),
        end: Time::from_ns(1 << 40),
        from: StationId(3),
        to: Destination::Broadcast,
        kind: FrameKind::Beacon,
        rate: Rate::kbps(5_500),
        bytes: 1_536,
        sequence: 4_095,
        attempt: 17,
        outcome: Outcome::Garbled,
        sniffer: Heard::Missed,
    };
    let stats =
        QueueStats { depth: 1, max: 2, offered: 3, dropped: 4, departed: 5, lost: 6, area: u64::MAX / 7 };
    let (from, to) = (StationId(0), StationId(1));
    let mut events = vec![
        Event::Frame { frame, packet: None },
        Event::Frame { frame: FrameEvent { to: Destination::Station(to), ..frame }, packet: Some(9) },
        Event::Delivered { at, packet: 7 },
        Event::Departed { at, packet: 8 },
        Event::Queue { at, station: to, stats },
    ];
    events.extend(ARRIVALS.map(|arrival| Event::Offered { at, from, to, bytes: b"packet", arrival }));
    events.extend(LOSSES.map(|cause| Event::Lost { at, packet: 1, cause }));
    events
}

#[test]
fn what_goes_in_comes_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spool");
    let (mut spool, writer) = open(&path).unwrap();
    // Enough for several blocks, so that blocks go round.
    let rounds = 3 * BLOCKS * BLOCK_BYTES / 400;
    for _ in 0..rounds {
        events().iter().for_each(|event| spool.record(event));
    }
    spool.close();
    writer.finish().unwrap();
    let mut reader = SpoolReader::open(&path).unwrap();
    for _ in 0..rounds {
        for event in events() {
            assert_eq!(reader.next().unwrap(), Some(event));
        }
    }
    assert_eq!(reader.next().unwrap(), None);
}

#[test]
fn a_cut_or_foreign_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spool");
    for bytes in [&b"\x03\x01"[..], b"\xff", b"\x01\0\0\0\0\0\0\0\0\0\0\0\0\x09\0\0\0\0"] {
        std::fs::write(&path, bytes).unwrap();
        assert!(SpoolReader::open(&path).unwrap().next().is_err(), "{bytes:?}");
    }
}
