//! Annotated captures: the same packets under the same numbers, each with what the analysis found.

use std::ops::ControlFlow;
use std::path::Path;

use airperf_analyze::capture::annotate::{AnnotateError, Annotated, Tables, annotate};
use airperf_analyze::capture::{Filter, Options, Table, TableSet, analyze};
use airperf_wire::LinkType;
use airperf_wire::container::{Batch, Record, Source};

use crate::script::{ACK, GET, GET_BYTES, MS, RST, Script, source};

/// Analyses `analysed` and annotates `copied` with what was found.
fn annotated(
    analysed: Vec<Source>,
    copied: Vec<Source>,
    options: &Options,
) -> Result<(Annotated, Vec<u8>), AnnotateError> {
    let home = tempfile::tempdir().expect("a place for tables");
    let path = home.path().join("capture");
    let mut go_on = |_, _| ControlFlow::Continue(());
    let mut tables = TableSet::create(&path, false, Table::ALL, options.threads).expect("tables");
    let summary = analyze(analysed, options, Some(&mut tables), &mut go_on).expect("an analysis");
    tables.finish(Vec::new(), serde_json::json!({}), summary.to_json()).expect("tables");
    let file = |table: Table| path.join(format!("{}.parquet", table.name()));
    let (frames, segments, exchanges) = (file(Table::Frames), file(Table::Segments), file(Table::Exchanges));
    let tables = Tables { frames: &frames, segments: &segments, exchanges: &exchanges };
    let mut out = Vec::new();
    let report = annotate(copied, tables, &mut out, &mut go_on)?;
    Ok((report, out))
}

fn of(script: &Script) -> (Annotated, Vec<u8>) {
    annotated(vec![script.source()], vec![script.source()], &Options::default()).expect("a copy")
}

/// The packets' comments, in order; empty where there is none.
fn comments(file: &[u8]) -> Vec<String> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes")) as usize;
    let (mut at, mut found) = (0, Vec::new());
    while at < file.len() {
        if word(at) == 6 {
            let options = at + 28 + word(at + 20).next_multiple_of(4);
            let has_comment = options < at + word(at + 4) - 4 && word(options) & 0xffff == 1;
            let length = if has_comment { word(options) >> 16 } else { 0 };
            let text = if has_comment { &file[options + 4..options + 4 + length] } else { &[] };
            found.push(String::from_utf8(text.to_vec()).expect("text"));
        }
        at += word(at + 4);
    }
    found
}

/// Number, time, bytes and original length of every packet.
fn packets(mut source: Source) -> Vec<(u64, i64, Vec<u8>, u32)> {
    let (mut batch, mut found) = (Batch::default(), Vec::new());
    while source.read(&mut batch).expect("memory can be read") {
        let told = |r: &Record| (r.number, r.time_ns, batch.bytes(r).to_vec(), r.original);
        found.extend(batch.records().iter().map(told));
    }
    found
}

#[test]
fn comments_say_what_was_found_of_each_segment() {
    let mut script = Script::new();
    script.fetch(0, 2_000);
    // The whole request again, long after it was acknowledged, and a RST of nobody's.
    script.send(90 * MS, true, ACK, 1, 1, GET);
    script.client_port = 50_000;
    script.send(95 * MS, true, RST, 1, 0, &[]);
    let (report, out) = of(&script);
    let said = comments(&out);
    let expected = [
        "connection 0; syn",
        "connection 0; syn_ack",
        "connection 0; ack",
        "connection 0; request; exchange 0: request begins, request ends",
        "connection 0; data; exchange 0: response begins",
        "connection 0; ack",
        "connection 0; data; exchange 0: response ends",
        "connection 0; ack",
        "connection 0; fin",
        "connection 0; fin_ack",
        "connection 0; ack",
        "connection 0; request; retransmission: full; spurious",
        "no connection; rst",
    ];
    assert_eq!(said, expected);
    let all = expected.len() as u64;
    assert_eq!(report, Annotated { packets: all, comments: all, ..Annotated::default() });
}

#[test]
fn packets_stay_as_they_are() {
    let mut script = Script::new();
    script.fetch(1_700_000_000_123_456_789, 30_000);
    script.snap = 60;
    let (_, out) = of(&script);
    let mut copy = source(out.clone());
    assert_eq!(packets(script.source()), packets(source(out)));
    copy.read(&mut Batch::default()).expect("memory can be read");
    let original = script.source();
    let told =
        |s: &Source| s.interfaces().iter().map(|i| (i.link, i.snap_length, i.fcs_octets)).collect::<Vec<_>>();
    assert_eq!(told(&copy), told(&original));
}

#[test]
fn fault_18_a_record_that_is_left_out_keeps_its_number() {
    let mut script = Script::new();
    script.fetch(0, 10);
    let mut file = script.pcap(LinkType::RAW);
    // The third record claims fewer bytes sent than captured.
    let third: usize = 24 + script.packets[..2].iter().map(|(_, bytes)| 16 + bytes.len()).sum::<usize>();
    file[third + 12..third + 16].copy_from_slice(&1u32.to_le_bytes());
    let sources = || vec![source(file.clone())];
    let (report, out) = annotated(sources(), sources(), &Options::default()).expect("a copy");
    assert_eq!((report.stand_ins, report.packets), (1, script.packets.len() as u64));
    let (before, mut after) = (packets(source(file.clone())), packets(source(out.clone())));
    assert_eq!(after.remove(2), (3, after[2].1, Vec::new(), 0));
    assert_eq!(after, before);
    assert!(comments(&out)[2].contains("cannot read"));
    assert!(comments(&out)[3].starts_with("connection 0; request"));
}

#[test]
fn several_files_become_one_capture() {
    let (mut first, mut second) = (Script::new(), Script::new());
    first.fetch(0, 10);
    second.client_port = 40_001;
    second.fetch(1_000 * MS, 10);
    // The later one is named first.
    let sources = || vec![source(second.pcap(LinkType::IPV4)), source(first.pcap(LinkType::RAW))];
    let (_, out) = annotated(sources(), sources(), &Options::default()).expect("a copy");
    let mut copy = source(out.clone());
    copy.read(&mut Batch::default()).expect("memory can be read");
    assert_eq!(copy.interfaces().iter().map(|i| i.link).collect::<Vec<_>>(), [LinkType::RAW, LinkType::IPV4]);
    let said = comments(&out);
    assert_eq!(said[0], "connection 0; syn");
    assert_eq!(said[first.packets.len()], "connection 1; syn");
    assert_eq!(said.len(), first.packets.len() + second.packets.len());
}

#[test]
fn what_a_filter_leaves_out_stays_without_comment() {
    let mut script = Script::new();
    script.fetch(0, 10);
    let filter = Filter { from_ns: Some(30 * MS), ..Filter::default() };
    let options = Options { filter, ..Options::default() };
    let (report, out) = annotated(vec![script.source()], vec![script.source()], &options).expect("a copy");
    let said = comments(&out);
    assert_eq!(&said[..3], ["", "", ""]);
    assert!(said[3..].iter().all(|text| text.starts_with("connection 0; ")));
    assert_eq!(report.comments as usize, script.packets.len() - 3);
}

#[test]
fn messages_within_one_tick_of_a_coarse_clock_end_with_their_last_segment() {
    let mut script = Script::new();
    script.handshake(0);
    script.send(40 * MS, true, ACK, 1, 1, GET);
    let whole = crate::script::response(3_000);
    for (place, piece) in whole.chunks(1_448).enumerate() {
        script.send(50 * MS, false, ACK, 1 + 1_448 * place as u32, 1 + GET_BYTES, piece);
    }
    let said = comments(&of(&script).1);
    assert_eq!(
        said[4..],
        [
            "connection 0; data; exchange 0: response begins",
            "connection 0; data",
            "connection 0; data; exchange 0: response ends",
        ]
    );
}

#[test]
fn another_capture_than_was_analysed_is_refused() {
    let (mut one, mut other) = (Script::new(), Script::new());
    one.fetch(0, 5_000);
    other.handshake(0);
    let outcome = annotated(vec![one.source()], vec![other.source()], &Options::default());
    assert!(matches!(outcome, Err(AnnotateError::Changed)), "{outcome:?}");
}

#[test]
fn missing_tables_are_named() {
    let nowhere = Path::new("no/such/table");
    let tables = Tables { frames: nowhere, segments: nowhere, exchanges: nowhere };
    let outcome = annotate(Vec::new(), tables, Vec::new(), &mut |_, _| ControlFlow::Continue(()));
    assert!(outcome.is_err_and(|error| error.to_string().contains("no/such/table")));
}
