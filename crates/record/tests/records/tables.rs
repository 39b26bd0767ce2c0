//! Tables: what a column says about itself, and rows that come back as they were written.

use airperf_record::{
    ConnectionRow, ExchangeRow, FRAME_KINDS, FRAME_OUTCOMES, FrameRow, LagRow, Level, Manifest, Options,
    PacketRow, PageRow, QueueRow, Row, RunWriter, SNIFFER_VIEWS, ScenarioInfo, Testbed, read,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use proptest::prelude::*;
use proptest::sample::select;

fn manifest() -> Manifest {
    let scenario = ScenarioInfo {
        name: "test".into(),
        text: "schema = 1\n".into(),
        sha256: "00".into(),
        resolved: serde_json::json!({"schema": 1}),
    };
    Manifest::new(Testbed::Sim, scenario, 1)
}

/// Writes one table into a run of its own and reads it back.
fn round_trip<R: Row>(rows: &[R]) -> Vec<R> {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("run");
    let mut run = RunWriter::create(&out, Options::default()).unwrap();
    let mut table = run.table::<R>().unwrap().unwrap();
    rows.iter().for_each(|row| table.push(row).unwrap());
    run.close_table(table).unwrap();
    let done = run.finish(manifest()).unwrap();
    assert_eq!(done.tables[R::FILE].rows, rows.len() as u64);
    assert_eq!(done.level, Level::Full);
    read::rows::<R>(&out.join(R::FILE)).unwrap().collect::<Result<_, _>>().unwrap()
}

fn described<R: Row>() {
    let schema = R::schema();
    assert!(schema.metadata()["description"].len() > 20, "{}", R::FILE);
    for (field, column) in schema.fields().iter().zip(R::columns()) {
        let about = &field.metadata()["description"];
        assert!(about.ends_with('.') && about.len() >= 10, "{} {}: {about:?}", R::FILE, column.name);
        for (suffix, unit) in [("_ns", "ns"), ("_bps", "bit/s"), ("_bytes", "B")] {
            if column.name.ends_with(suffix) {
                assert_eq!(field.metadata().get("unit").map(String::as_str), Some(unit), "{}", column.name);
            }
        }
        if column.data_type == arrow_schema::DataType::Utf8 {
            assert_eq!(field.metadata()["values"], column.words.join(" "));
            let named = column.words.iter().all(|w| about.contains(&format!("`{w}`")));
            assert!(named, "{} {} does not name all of {:?}", R::FILE, column.name, column.words);
        }
    }
}

#[test]
fn every_column_has_a_sentence_a_unit_and_its_words() {
    described::<FrameRow>();
    described::<PacketRow>();
    described::<ConnectionRow>();
    described::<ExchangeRow>();
    described::<PageRow>();
    described::<QueueRow>();
    described::<LagRow>();
}

fn frame(start_ns: u64) -> FrameRow {
    FrameRow {
        start_ns,
        end_ns: start_ns + 304_000,
        station: (start_ns % 3) as u16,
        to: (!start_ns.is_multiple_of(5)).then_some(1),
        kind: FRAME_KINDS[(start_ns % 5) as usize],
        rate_bps: 11_000_000,
        bytes: 14 + (start_ns % 1500) as u32,
        sequence: (start_ns % 4096) as u16,
        attempt: 1 + (start_ns % 16) as u8,
        outcome: FRAME_OUTCOMES[(start_ns % 4) as usize],
        sniffer: SNIFFER_VIEWS[(start_ns % 3) as usize],
        packet: start_ns.checked_sub(100),
    }
}

#[test]
fn a_long_table_is_written_in_bounded_row_groups() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("run");
    let mut run = RunWriter::create(&out, Options::default()).unwrap();
    let mut table = run.table::<FrameRow>().unwrap().unwrap();
    for i in 0..200_000 {
        table.push(&frame(i * 7)).unwrap();
    }
    run.close_table(table).unwrap();
    run.finish(manifest()).unwrap();
    let path = out.join(FrameRow::FILE);
    let file = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let groups: Vec<i64> = file.metadata().row_groups().iter().map(|g| g.num_rows()).collect();
    assert_eq!(groups, [65_536, 65_536, 65_536, 3_392]);
    let mut count = 0;
    for (i, row) in read::rows::<FrameRow>(&path).unwrap().enumerate() {
        assert_eq!(row.unwrap(), frame(i as u64 * 7));
        count += 1;
    }
    assert_eq!(count, 200_000);
}

#[test]
fn equal_rows_give_equal_bytes() {
    let write = |n: u64| {
        let home = tempfile::tempdir().unwrap();
        let out = home.path().join("run");
        let mut run = RunWriter::create(&out, Options::default()).unwrap();
        let mut table = run.table::<FrameRow>().unwrap().unwrap();
        (0..n).for_each(|i| table.push(&frame(i)).unwrap());
        run.close_table(table).unwrap();
        run.finish(manifest()).unwrap();
        let read = |name| std::fs::read(out.join(name)).unwrap();
        (read(FrameRow::FILE), read("manifest.json"))
    };
    assert!(write(20_000) == write(20_000));
    assert!(write(20_000) != write(20_001));
}

#[test]
fn the_first_difference_is_found() {
    let home = tempfile::tempdir().unwrap();
    let make = |name: &str, rows: &[FrameRow]| {
        let out = home.path().join(name);
        let mut run = RunWriter::create(&out, Options::default()).unwrap();
        let mut table = run.table::<FrameRow>().unwrap().unwrap();
        rows.iter().for_each(|row| table.push(row).unwrap());
        run.close_table(table).unwrap();
        run.finish(manifest()).unwrap();
        out.join(FrameRow::FILE)
    };
    let rows: Vec<FrameRow> = (0..10_000).map(frame).collect();
    let mut other = rows.clone();
    other[9_000].attempt += 1;
    let (a, b, short) = (make("a", &rows), make("b", &other), make("c", &rows[..9_999]));
    assert_eq!(read::first_difference::<FrameRow>(&a, &a).unwrap(), None);
    let difference = read::first_difference::<FrameRow>(&a, &b).unwrap().unwrap();
    assert_eq!(difference.row, 9_000);
    assert_eq!(
        (difference.left.as_ref(), difference.right.as_ref()),
        (Some(&rows[9_000]), Some(&other[9_000]))
    );
    let difference = read::first_difference::<FrameRow>(&a, &short).unwrap().unwrap();
    assert_eq!((difference.row, difference.right), (9_999, None));
}

#[test]
fn a_table_of_another_kind_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("run");
    let mut run = RunWriter::create(&out, Options::default()).unwrap();
    let mut table = run.table::<FrameRow>().unwrap().unwrap();
    table.push(&frame(0)).unwrap();
    run.close_table(table).unwrap();
    run.finish(manifest()).unwrap();
    let mut rows = read::rows::<PacketRow>(&out.join(FrameRow::FILE)).unwrap();
    assert!(matches!(rows.next(), Some(Err(airperf_record::ReadError::Row { row: 0, .. }))));
    assert!(rows.next().is_none());
}

prop_compose! {
    fn exchange()(
        connection: u64, index: u32, client: u16,
        times in prop::array::uniform4(any::<Option<u64>>()),
        request_bytes: u64, response_bytes: u64,
        error in prop::option::of(select(airperf_record::ERROR_PHASES)),
    ) -> ExchangeRow {
        let [due_ns, sent_ns, first_byte_ns, done_ns] = times;
        ExchangeRow { connection, index, client, due_ns, sent_ns, first_byte_ns, done_ns, request_bytes,
            response_bytes, error }
    }
}

prop_compose! {
    fn packet()(
        numbers in any::<(u64, u64, u64, u64)>(), station: u16, to: Option<u16>, connection: Option<u64>,
        kind in select(airperf_record::PACKET_KINDS), fate in select(airperf_record::PACKET_FATES),
        payload_bytes: u32, ip_bytes: u32, retransmission: bool,
        first_air_ns: Option<u64>, done_ns: Option<u64>, attempts: u8,
    ) -> PacketRow {
        let (packet, time_ns, seq, ack) = numbers;
        PacketRow { packet, time_ns, station, to, connection, kind, seq, ack, payload_bytes, ip_bytes,
            retransmission, fate, first_air_ns, done_ns, attempts }
    }
}

prop_compose! {
    fn queue()(
        numbers in any::<(u64, u64, u64, u64)>(), station: u16, depth: u32,
        mean in prop::num::f64::NORMAL | prop::num::f64::ZERO,
    ) -> QueueRow {
        let (time_ns, offered, dropped, departed) = numbers;
        QueueRow { time_ns, station, depth, mean, offered, dropped, departed }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn rows_come_back_as_they_were(
        exchanges in prop::collection::vec(exchange(), 0..50),
        packets in prop::collection::vec(packet(), 0..50),
        queues in prop::collection::vec(queue(), 0..50),
    ) {
        prop_assert_eq!(round_trip(&exchanges), exchanges);
        prop_assert_eq!(round_trip(&packets), packets);
        prop_assert_eq!(round_trip(&queues), queues);
    }
}
