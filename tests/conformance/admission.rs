//! Admission control before a real server: the proxy of `airperf proxy` in emulation (issue 4, row S3).
//!
//! Past saturation users give up in the middle of their transfers, and what was sent to them is wasted. With as many
//! transfers at once as the link carries those that begin end: fewer are cut off, and goodput rises.

use std::path::Path;

use airperf_record::{ConnectionRow, ExchangeRow, Row, read};

use crate::generators::emulated;
use crate::kernel_tcp::{possible, turn};

/// Transfers that ended within the load or are lost, and octets of those that ended whole.
#[derive(Debug)]
struct Seen {
    cut: f64,
    goodput_mbps: f64,
    counts: std::collections::BTreeMap<String, u64>,
}

const SECONDS: f64 = 8.0;

fn seen(folder: &Path, overrides: &[(&str, &str)]) -> Option<Seen> {
    let overload = [
        ("client.rate", "14/s"),
        ("client.size", "64KiB"),
        // Impatient users: what is wasted shows within seconds.
        ("client.timeout", "1s"),
        ("emu.client_program", "airperf-load"),
        ("duration", "8s"),
        ("drain", "2s"),
        ("record.level", "analysis"),
    ];
    let manifest = emulated(folder, &[&overload, overrides].concat())?;
    let rows = read::rows::<ExchangeRow>(&folder.join("run").join(ExchangeRow::FILE)).unwrap();
    let rows: Vec<ExchangeRow> = rows.map(Result::unwrap).collect();
    // Replies that were begun and not ended: what had come of them is wasted.
    let refused = |row: &&ExchangeRow| row.error == Some("reset");
    let begun = rows.iter().filter(|row| row.first_byte_ns.is_some() && !refused(row)).count();
    let cut = rows.iter().filter(|row| row.error == Some("receive")).count();
    let in_time = |row: &&ExchangeRow| row.done_ns.is_some_and(|done| done as f64 <= SECONDS * 1e9);
    let whole: u64 = rows.iter().filter(in_time).map(|row| row.response_bytes).sum();
    let connections = read::rows::<ConnectionRow>(&folder.join("run").join(ConnectionRow::FILE)).unwrap();
    assert!(connections.count() > 100);
    Some(Seen {
        cut: cut as f64 / begun as f64,
        goodput_mbps: whole as f64 * 8.0 / SECONDS / 1e6,
        counts: manifest.totals.counts,
    })
}

#[test]
fn with_the_proxy_before_apache_fewer_transfers_are_cut_off_and_goodput_rises() {
    if !possible(&["apache2"]) {
        return;
    }
    let _turn = turn();
    let run = |overrides: &[(&str, &str)]| seen(tempfile::tempdir().unwrap().path(), overrides);
    let admitting = [
        ("server.admission", "concurrent"),
        ("server.admission_limit", "4"),
        ("server.admission_wait", "500ms"),
    ];
    let (Some(without), Some(with)) = (run(&[]), run(&admitting)) else { return };
    println!("without {without:?}\\nwith {with:?}");
    assert!(!without.counts.contains_key("admission_admitted"));
    let count = |name: &str| with.counts[&format!("admission_{name}")];
    assert!(count("admitted") > 40 && count("refused") > 10 && count("deferred") > 10, "{:?}", with.counts);
    assert!(
        with.cut < 0.5 * without.cut,
        "{} of the transfers are cut off with, {} without",
        with.cut,
        without.cut
    );
    assert!(
        with.goodput_mbps > 1.3 * without.goodput_mbps,
        "{} Mbit/s with, {} without",
        with.goodput_mbps,
        without.goodput_mbps
    );
}
