//! `docs/reference/records.md` says what the files say: its tables are the row types' own sentences.
//!
//! After changing a row type run `AIRPERF_WRITE=1 cargo test -p airperf-tests --test reference`, which
//! rewrites the page, and read the difference. Left out: the manifest, described by hand.

use airperf_record::{
    ConnectionRow, ExchangeRow, FrameRow, LagRow, PacketRow, QueueRow, Row, SCHEMA_VERSION,
};
use std::fmt::Write as _;
use std::path::Path;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/records.md");
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

fn tables() -> String {
    let mut page = format!("Schema version {SCHEMA_VERSION}.\n\n");
    for table in [
        table::<FrameRow>(),
        table::<PacketRow>(),
        table::<ConnectionRow>(),
        table::<ExchangeRow>(),
        table::<QueueRow>(),
        table::<LagRow>(),
    ] {
        page.push_str(&table);
    }
    page
}

#[test]
fn the_page_of_records_says_what_the_files_say() {
    let page = std::fs::read_to_string(PAGE).expect("docs/reference/records.md is there");
    let (head, rest) = page.split_once(BEGIN).expect("the page marks where its tables begin");
    let (written, tail) = rest.split_once(END).expect("the page marks where its tables end");
    let ours = tables();
    if std::env::var_os("AIRPERF_WRITE").is_some() {
        std::fs::write(Path::new(PAGE), format!("{head}{BEGIN}{ours}{END}{tail}")).expect("writable");
        return;
    }
    for (theirs, ours) in written.lines().zip(ours.lines()) {
        assert_eq!(theirs, ours, "docs/reference/records.md is out of date: see the head of this test");
    }
    assert_eq!(written.lines().count(), ours.lines().count(), "docs/reference/records.md lacks lines");
}
