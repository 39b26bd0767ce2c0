//! Directories of captures: whole or not at all, never mixed up with runs, the same with and without threads.

use std::fs;
use std::net::IpAddr;
use std::path::Path;

use airperf_record::capture::{
    CaptureManifest, CaptureWriter, FRAME_TYPES, FrameRow, RetransmissionRow, SEGMENT_TYPES,
};
use airperf_record::{
    MacAddress, Manifest, Options, ReadError, Row, RunWriter, ScenarioInfo, TableWriter, Testbed, WriteError,
    read,
};
use serde_json::json;

fn row(n: u64) -> RetransmissionRow {
    RetransmissionRow {
        client: IpAddr::from([10, 77, (n >> 8) as u8, n as u8]),
        kind: SEGMENT_TYPES[(n % 9) as usize],
        segments: n,
        tcp_retransmissions: n / 2,
        mac_retransmissions: n.is_multiple_of(3).then_some(n),
    }
}

fn begin(out: &Path) -> (CaptureWriter, TableWriter<RetransmissionRow>) {
    let mut writer = CaptureWriter::create(out, true).unwrap();
    let table = writer.table().unwrap();
    (writer, table)
}

fn end(mut writer: CaptureWriter, table: TableWriter<RetransmissionRow>) -> CaptureManifest {
    writer.keep(table.finish().unwrap());
    writer.finish(vec!["air.pcapng".into()], json!({"ports": [80]}), json!({"packets": 3})).unwrap()
}

fn write(out: &Path, rows: u64) -> CaptureManifest {
    let (writer, mut table) = begin(out);
    (0..rows).for_each(|n| table.push(&row(n)).unwrap());
    end(writer, table)
}

fn a_run(out: &Path) {
    let run = RunWriter::create(out, Options::default()).unwrap();
    let scenario =
        ScenarioInfo { name: "test".into(), text: String::new(), sha256: String::new(), resolved: json!({}) };
    run.finish(Manifest::new(Testbed::Sim, scenario, 1)).unwrap();
}

#[test]
fn a_capture_is_read_back_as_it_was_written() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("capture");
    let written = write(&out, 10_000);
    let found = read::capture_manifest(&out).unwrap();
    assert_eq!((&found, found.kind.as_str()), (&written, "capture"));
    assert_eq!((found.sources[0].as_str(), &found.summary["packets"]), ("air.pcapng", &json!(3)));
    read::verify(&out, &found).unwrap();
    let rows = read::rows::<RetransmissionRow>(&out.join(RetransmissionRow::FILE)).unwrap();
    assert!(rows.enumerate().all(|(n, found)| found.unwrap() == row(n as u64)));
    fs::write(out.join(RetransmissionRow::FILE), "damaged").unwrap();
    assert!(matches!(read::verify(&out, &found), Err(ReadError::Damaged { .. })));
}

#[test]
fn an_earlier_analysis_is_replaced_only_when_asked() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("capture");
    write(&out, 1);
    let refused = CaptureWriter::create(&out, false).unwrap_err();
    assert!(matches!(refused, WriteError::Exists(..)) && refused.to_string().contains("a finished capture"));
    assert_eq!(write(&out, 2).tables[RetransmissionRow::FILE].rows, 2);
}

#[test]
fn fault_07_runs_and_captures_never_take_each_others_place() {
    let home = tempfile::tempdir().unwrap();
    let (run, capture) = (home.path().join("run"), home.path().join("capture"));
    a_run(&run);
    write(&capture, 1);
    assert!(matches!(CaptureWriter::create(&run, true), Err(WriteError::NotRecords(..))));
    let options = Options { replace: true, ..Options::default() };
    assert!(matches!(RunWriter::create(&capture, options), Err(WriteError::NotRecords(..))));
    assert!(matches!(read::manifest(&capture), Err(ReadError::Kind { expected: "run", .. })));
    assert!(matches!(read::capture_manifest(&run), Err(ReadError::Kind { expected: "capture", .. })));
}

#[test]
fn fault_07_a_capture_of_another_version_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("capture");
    write(&out, 1);
    let path = out.join("manifest.json");
    let text = fs::read_to_string(&path).unwrap().replace("\"schema\": 1", "\"schema\": 99");
    fs::write(&path, text).unwrap();
    assert!(matches!(read::capture_manifest(&out), Err(ReadError::Version { found: 99, .. })));
}

fn frame(frame: u64) -> FrameRow {
    let n = frame as u32;
    let address = |n: u32| {
        if n.is_multiple_of(2) { IpAddr::V4(n.into()) } else { IpAddr::V6(u128::from(n - 1).into()) }
    };
    FrameRow {
        frame,
        time_ns: frame * 1_000,
        interface: 0,
        bytes: 60,
        captured: 60,
        kind: FRAME_TYPES[(n / 1_000 % 20) as usize],
        transmitter: (!n.is_multiple_of(3)).then_some(MacAddress([2, 0, 0, 0, (n / 7 % 251) as u8, n as u8])),
        receiver: (n > 69_999).then_some(MacAddress([0xff; 6])),
        group: n > 69_999,
        sequence: None,
        fragment: None,
        retry: (n > 65_536).then_some(n.is_multiple_of(2)),
        fcs: "absent",
        view: None,
        protected: None,
        rate_bps: None,
        signal_dbm: None,
        airtime_ns: None,
        acknowledged: None,
        // All different, but for v4 and v6 of the same number.
        source: Some(address(n)),
        destination: (n / 512).is_multiple_of(2).then_some([192, 0, 2, 255].into()),
        protocol: Some(6),
        ip_bytes: Some(40),
    }
}

#[test]
fn texts_come_back_from_several_row_groups_whether_few_many_or_none() {
    let home = tempfile::tempdir().unwrap();
    let mut writer = CaptureWriter::create(&home.path().join("capture"), false).unwrap();
    let rows: Vec<FrameRow> = (0..70_003).map(frame).collect();
    let mut table = writer.table().unwrap();
    rows[..10].iter().for_each(|row| table.push(row).unwrap());
    table.extend(&rows[10..]).unwrap();
    assert_eq!(table.rows(), 70_003);
    writer.keep(table.finish().unwrap());
    writer.finish(Vec::new(), json!({}), json!({})).unwrap();
    let path = home.path().join("capture").join(FrameRow::FILE);
    let mut read = read::rows::<FrameRow>(&path).unwrap().map(Result::unwrap);
    assert!(rows.iter().all(|row| read.next().as_ref() == Some(row)));
    assert_eq!(read.next(), None);
}

#[test]
fn addresses_are_texts_in_the_file_and_come_back() {
    let home = tempfile::tempdir().unwrap();
    let mut writer = CaptureWriter::create(&home.path().join("capture"), false).unwrap();
    let frame = FrameRow {
        frame: 1,
        time_ns: 0,
        interface: 0,
        bytes: 60,
        captured: 60,
        kind: "ethernet",
        transmitter: Some(MacAddress([2, 0x41, 0x50, 0, 0, 1])),
        receiver: None,
        group: false,
        sequence: None,
        fragment: None,
        retry: None,
        fcs: "absent",
        view: None,
        protected: None,
        rate_bps: None,
        signal_dbm: None,
        airtime_ns: None,
        acknowledged: None,
        source: Some("2001:db8::1".parse().unwrap()),
        destination: Some([192, 0, 2, 255].into()),
        protocol: Some(6),
        ip_bytes: Some(40),
    };
    let mut table = writer.table().unwrap();
    table.push(&frame).unwrap();
    writer.keep(table.finish().unwrap());
    writer.finish(Vec::new(), json!({}), json!({})).unwrap();
    let path = home.path().join("capture").join(FrameRow::FILE);
    assert_eq!(read::rows::<FrameRow>(&path).unwrap().next().unwrap().unwrap(), frame);
    let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
    assert!(
        text.contains("02:41:50:00:00:01") && text.contains("2001:db8::1") && text.contains("192.0.2.255")
    );
}
