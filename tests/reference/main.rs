//! `docs/reference/records.md`, `capture-records.md` and `load-records.md` say what the files say: their tables are the row
//! types' own sentences. `captures.md` lists the anomalies as the layers name them.
//!
//! After changing a row type run `AIRPERF_WRITE=1 cargo test -p airperf-tests --test reference`, which
//! rewrites the pages, and read the difference. Left out: the manifests, described by hand.

use airperf_analyze::capture as analyze;
use airperf_record::{
    ConnectionRow, ExchangeRow, FlowRow, FrameRow, LagRow, ObjectRow, PacketRow, PageRow, QueueRow, Row,
    SCHEMA_VERSION, capture, load,
};
use std::fmt::Write as _;
use std::path::Path;

const RUN: &str = "records.md";
const CAPTURE: &str = "capture-records.md";
const LOAD: &str = "load-records.md";
const ANOMALIES: &str = "captures.md";
const BEGIN: &str = "<!-- begin of the tables, written by tests/reference/main.rs -->\n";
const END: &str = "<!-- end of the tables -->\n";

fn table<R: Row>() -> String {
    let mut page = format!("### {}\n\n{}\n\n", R::FILE, R::about());
    page.push_str("| column | type | unit | null? | meaning |\n|---|---|---|---|---|\n");
    for column in R::columns() {
        let kind = format!("{:?}", column.data_type).to_lowercase();
        let unit = column.unit.unwrap_or("");
        let null = if column.nullable { "yes" } else { "" };
        let _ = writeln!(page, "| `{}` | {kind} | {unit} | {null} | {} |", column.name, column.about);
    }
    page.push('\n');
    page
}

fn page(tables: &[String]) -> String {
    format!("Schema version {SCHEMA_VERSION}.\n\n{}", tables.concat())
}

/// Compares the part of a page that is written here, or writes it when asked to.
fn says(name: &str, ours: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference").join(name);
    let page =
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("docs/reference/{name}: {error}"));
    let (head, rest) = page.split_once(BEGIN).expect("the page marks where its tables begin");
    let (written, tail) = rest.split_once(END).expect("the page marks where its tables end");
    if std::env::var_os("AIRPERF_WRITE").is_some() {
        std::fs::write(&path, format!("{head}{BEGIN}{ours}{END}{tail}")).expect("writable");
        return;
    }
    for (theirs, ours) in written.lines().zip(ours.lines()) {
        assert_eq!(theirs, ours, "docs/reference/{name} is out of date: see the head of this test");
    }
    assert_eq!(written.lines().count(), ours.lines().count(), "docs/reference/{name} lacks lines");
}

#[test]
fn the_page_of_records_says_what_the_files_say() {
    says(
        RUN,
        &page(&[
            table::<FrameRow>(),
            table::<PacketRow>(),
            table::<ConnectionRow>(),
            table::<ExchangeRow>(),
            table::<PageRow>(),
            table::<QueueRow>(),
            table::<FlowRow>(),
            table::<ObjectRow>(),
            table::<LagRow>(),
        ]),
    );
}

#[test]
fn the_page_of_captures_says_what_the_files_say() {
    says(
        CAPTURE,
        &page(&[
            table::<capture::ConnectionRow>(),
            table::<capture::ExchangeRow>(),
            table::<capture::FrameRow>(),
            table::<capture::SegmentRow>(),
            table::<capture::StationRow>(),
            table::<capture::SeriesRow>(),
            table::<capture::HistogramRow>(),
            table::<capture::RetransmissionRow>(),
        ]),
    );
}

#[test]
fn the_page_of_loads_says_what_the_files_say() {
    says(LOAD, &page(&[table::<load::ExchangeRow>(), table::<load::ConnectionRow>(), table::<PageRow>()]));
}

/// Names and sentences of the anomalies that a layer counts.
fn anomalies(layer: &str, names: &[(&str, &str)]) -> String {
    let mut page = format!("### {layer}\n\n| name | meaning |\n|---|---|\n");
    for (name, meaning) in names {
        let _ = writeln!(page, "| `{name}` | {} |", meaning.trim());
    }
    page.push('\n');
    page
}

#[test]
fn the_page_of_captures_names_every_anomaly() {
    let pages = [
        anomalies("Files", airperf_wire::container::ANOMALIES),
        anomalies("Frames and packets", airperf_wire::FRAME_ANOMALIES),
        anomalies("Order and MAC", &[analyze::ORDERED_ANOMALIES, analyze::MAC_ANOMALIES].concat()),
        anomalies("IP", &[analyze::FRAGMENT_ANOMALIES, analyze::PACKET_ANOMALIES].concat()),
        anomalies("TCP", analyze::FLOW_ANOMALIES),
        anomalies("HTTP", analyze::HTTP_ANOMALIES),
    ];
    says(ANOMALIES, &pages.concat());
}
