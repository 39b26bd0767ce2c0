//! The tables of a capture of the air, and the airtime budget over many frames.

use airperf_analyze::capture::{Summary, Table, TableSet};
use airperf_record::capture::{
    FrameRow, HistogramRow, RetransmissionRow, SEGMENT_TYPES, SeriesRow, StationRow,
};
use airperf_record::{Row, read};
use airperf_wire::station_mac;
use proptest::prelude::*;
use serde_json::json;

use crate::captures::*;

/// The summary and the directory with all tables.
fn analysed(shots: &[Shot], threads: usize) -> (Summary, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    let mut tables = TableSet::create(&home.path().join("capture"), false, Table::ALL, threads).unwrap();
    let summary = summary_with(source(shots, Form::Radiotap), Some(&mut tables), threads);
    tables.finish(vec!["test".into()], json!({}), summary.to_json()).unwrap();
    (summary, home)
}

fn rows<R: Row>(home: &tempfile::TempDir) -> Vec<R> {
    let path = home.path().join("capture").join(R::FILE);
    read::rows(&path).unwrap().collect::<Result<_, _>>().unwrap()
}

/// A fetch in which the second part of the response is sent three times by the MAC, the first time heard badly, and the
/// ACK of the client's FIN is not heard.
fn eventful() -> Vec<Shot> {
    let mut shots = fetch();
    let mut retry = shots[10].clone();
    retry.frame[1] |= 0x08;
    shots[10].flip = 1;
    let again = Shot { at: retry.at + 4 * MS, ..retry.clone() };
    retry.at += 2 * MS;
    shots.remove(15);
    shots.splice(
        11..12,
        [retry.clone(), ack(retry.at + 661_000, SERVER), again.clone(), ack(again.at + 661_000, SERVER)],
    );
    shots.iter_mut().skip(15).for_each(|shot| shot.at += 8 * MS);
    shots
}

#[test]
fn every_frame_has_a_row_that_says_what_the_mac_made_of_it() {
    let (summary, home) = analysed(&eventful(), 1);
    let frames: Vec<FrameRow> = rows(&home);
    assert_eq!(frames.len() as u64, summary.packets);
    let view: Vec<_> = frames[10..15].iter().map(|row| (row.kind, row.view, row.acknowledged)).collect();
    assert_eq!(
        view,
        [
            ("unreadable", Some("noise"), None),
            ("data", Some("retry"), Some(true)),
            ("ack", Some("first"), None),
            ("data", Some("duplicate"), Some(true)),
            ("ack", Some("first"), None),
        ]
    );
    let unheard: Vec<u64> =
        frames.iter().filter(|r| r.acknowledged == Some(false)).map(|r| r.frame).collect();
    assert_eq!(unheard.len(), 1);
    let request = &frames[6];
    assert_eq!(
        (request.source, request.destination),
        (Some(address(CLIENT).into()), Some(address(SERVER).into()))
    );
    assert_eq!(request.transmitter.unwrap().0, station_mac(CLIENT));
    assert_eq!(
        (request.protocol, request.ip_bytes, request.fcs),
        (Some(6), Some(request.bytes - 36), "good")
    );
    // 192 µs and the octets at 11 Mbit/s, in whole microseconds.
    assert_eq!(request.airtime_ns, Some(192_000 + u64::from(request.bytes * 8).div_ceil(11) * 1_000));
}

#[test]
fn tcp_and_mac_retransmissions_stand_side_by_side_by_type() {
    let (_, home) = analysed(&eventful(), 1);
    let found: Vec<RetransmissionRow> = rows(&home);
    let of = |kind| found.iter().find(|row| row.kind == kind).unwrap();
    assert_eq!(
        (of("data").segments, of("data").tcp_retransmissions, of("data").mac_retransmissions),
        (2, 0, Some(2))
    );
    for kind in SEGMENT_TYPES.iter().filter(|kind| !["data", "rst", "other"].contains(kind)) {
        assert_eq!((of(kind).tcp_retransmissions, of(kind).mac_retransmissions), (0, Some(0)), "{kind}");
    }
    assert_eq!(found.iter().map(|row| row.segments).sum::<u64>(), 10);
}

#[test]
fn stations_series_and_sizes_add_up() {
    let (summary, home) = analysed(&eventful(), 1);
    let stations: Vec<StationRow> = rows(&home);
    assert_eq!(
        stations.iter().map(|row| row.addresses.as_str()).collect::<Vec<_>>(),
        ["10.77.0.1", "10.77.0.2"]
    );
    assert_eq!(stations.iter().map(|row| row.frames).sum::<u64>(), 11);
    assert!(stations.iter().all(|row| row.utilisation > 0.0 && row.utilisation < 1.0));
    let series: Vec<SeriesRow> = rows(&home);
    let all: Vec<&SeriesRow> = series.iter().filter(|row| row.client.is_none()).collect();
    assert_eq!(all.iter().map(|row| row.packets).sum::<u64>(), summary.packets);
    assert_eq!((all[0].connections, all[0].requests), (1, 1));
    let sizes: Vec<HistogramRow> = rows(&home);
    let packets = sizes.iter().filter(|row| row.what == "packet_bytes").map(|row| row.count).sum::<u64>();
    assert_eq!(packets, 10, "neither noise nor duplicates");
}

#[test]
fn tables_are_the_same_bytes_whatever_the_threads() {
    let mut shots = Vec::new();
    for round in 0..300 {
        shots.extend(eventful().into_iter().map(|shot| Shot { at: shot.at + round * 100 * MS, ..shot }));
    }
    let (one, first) = analysed(&shots, 1);
    let (two, second) = analysed(&shots, 3);
    assert_eq!(one, two);
    let read = |home: &tempfile::TempDir| {
        Table::ALL
            .iter()
            .map(|table| {
                std::fs::read(home.path().join(format!("capture/{}.parquet", table.name()))).unwrap()
            })
            .collect::<Vec<_>>()
    };
    assert!(read(&first) == read(&second));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_airtime_budget_sums_to_the_elapsed_time(
        shots in prop::collection::vec((0..40 * MS, 0..10usize, any::<bool>(), any::<bool>(), prop::sample::select(vec![2u8, 4, 11, 22, 12, 108])), 1..60),
    ) {
        let kinds = fetch();
        let mut now = 0;
        let shots: Vec<Shot> = shots.into_iter().map(|(gap, kind, retry, noise, rate)| {
            now += gap / 10;
            let mut shot = kinds[kind * 2].clone();
            shot.frame[1] |= if retry { 8 } else { 0 };
            Shot { at: now, flip: u8::from(noise), rate, ..shot }
        }).collect();
        let summary = summary(&shots, Form::Radiotap);
        let (elapsed, spent) = summary.airtime.unwrap();
        prop_assert_eq!(spent.iter().map(|(_, ns)| ns).sum::<u64>(), elapsed);
        let span = summary.span_ns.map(|(first, last)| last.abs_diff(first)).unwrap();
        prop_assert!(elapsed >= span, "the last frame ends after it begins");
    }
}
