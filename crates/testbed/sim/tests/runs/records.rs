//! Run directories: deterministic, consistent with themselves, and captures that `tshark` accepts.

use airperf_record::{FlowRow, Level, Manifest, Options, PageRow, Row};
use airperf_scenario::Scenario;
use airperf_units::StreamKey;
use std::path::{Path, PathBuf};

fn text(rate: u32, link: &str) -> String {
    format!(
        r#"
schema = 1
name = "records"
duration = "3s"
drain = "10s"
{link}
[[client]]
rate = "{rate}/s"
size = "20KiB"
timeout = "1s"
requests_per_connection = 2
"#
    )
}

const WIFI: &str = "link = { kind = \"wifi\", queue = 20 }";
const WIRED: &str = "link = { kind = \"ethernet\", rate = \"10Mbit/s\" }";

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn run(name: &str, text: &str, seed: u64, level: Level) -> (PathBuf, Manifest) {
    let directory = directory(name);
    let scenario = Scenario::parse(text, name, &[]).expect("a good scenario");
    let options = Options { level, replace: true, ..Options::default() };
    let manifest =
        airperf_sim::run(&scenario, text, StreamKey::new(seed), &directory, options).expect("a run");
    (directory, manifest)
}

#[test]
fn same_seed_same_bytes_another_seed_others() {
    let text = text(40, WIFI);
    let (one, _) = run("same-1", &text, 7, Level::Full);
    let (two, _) = run("same-2", &text, 7, Level::Full);
    let (other, _) = run("same-3", &text, 8, Level::Full);
    let names =
        ["manifest.json", "frames.parquet", "packets.parquet", "connections.parquet", "exchanges.parquet"];
    for name in names.into_iter().chain(["queues.parquet", "air.pcapng"]) {
        let read = |directory: &Path| std::fs::read(directory.join(name)).expect("the file exists");
        assert!(read(&one) == read(&two), "{name} differs for the same seed");
    }
    let frames = |directory: &Path| std::fs::read(directory.join("frames.parquet")).expect("the file exists");
    assert!(frames(&one) != frames(&other), "another seed gives the same frames");
}

#[test]
fn watching_changes_nothing_and_sums_agree() {
    // Beyond capacity: refusals, retransmissions, aborts.
    for link in [WIFI, WIRED] {
        let text = text(40, link);
        let (_, full) = run("level-full", &text, 1, Level::Full);
        let (_, analysis) = run("level-analysis", &text, 1, Level::Analysis);
        assert_eq!(full.totals, analysis.totals);
        let airtime: f64 = full.totals.airtime.values().sum();
        assert!((airtime - full.elapsed_s).abs() < 1e-9, "airtime {airtime} of {}", full.elapsed_s);
        assert_eq!(full.totals.late_arrivals, 0);
        let kinds = full.totals.packets.values().flat_map(|kinds| kinds.values());
        let offered: u64 = kinds.clone().map(|k| k.offered).sum();
        let dropped: u64 = kinds.clone().map(|k| k.dropped).sum();
        assert_eq!(offered, full.tables["packets.parquet"].rows);
        assert_eq!(offered, full.totals.queues.values().map(|q| q.offered).sum::<u64>());
        assert_eq!(dropped, full.totals.queues.values().map(|q| q.dropped).sum::<u64>());
        assert_eq!(kinds.map(|k| k.frames).sum::<u64>(), full.totals.frames.data);
        assert_eq!(full.tables["connections.parquet"].rows, full.totals.counts["connections"]);
        assert_eq!(full.tables["frames.parquet"].rows, full.totals.frames.sent);
    }
}

/// Pages of objects of many sizes over pipelined connections; uploads of many sizes.
const BROWSERS: &str = r#"
schema = 1
name = "browsers"
duration = "5s"
drain = "10s"
link = { kind = "wifi" }
[[client]]
kind = "browse"
size = "choice(700B 1, 5000B 1, 40000B 0.2)"
embedded = "uniform(from 0, to 9)"
embedded_size = "exponential(mean 3KiB)"
think_time = "300ms"
connections = 2
requests_per_connection = 20
pipeline = 4
[[client]]
rate = "4/s"
size = "300B"
upload = "uniform(from 1B, to 9000B)"
requests_per_connection = 2
"#;

#[test]
fn pages_are_recorded_and_captures_of_any_sizes_parse() {
    let (directory, manifest) = run("browsers", BROWSERS, 5, Level::Full);
    let counts = &manifest.totals.counts;
    assert!(counts["pages"] > 10 && counts["exchanges"] > 5 * counts["pages"], "{counts:?}");
    let rows = airperf_record::read::rows(&directory.join(PageRow::FILE)).expect("a table of pages");
    let rows: Vec<PageRow> = rows.map(|row| row.expect("a row")).collect();
    assert_eq!(rows.len() as u64, manifest.tables["pages.parquet"].rows);
    assert!(rows.iter().all(|row| row.client == 1), "the other client fetches no pages");
    let (_, plain) = run("no-browsers", &text(5, WIFI), 5, Level::Analysis);
    assert!(!plain.tables.contains_key("pages.parquet"));
    if std::process::Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("SKIPPED: tshark is not installed");
        return;
    }
    let tshark = |filter: &str, fields: &[&str]| {
        let capture = directory.join("air.pcapng");
        let mut command = std::process::Command::new("tshark");
        command.arg("-r").arg(capture).args(["-Y", filter, "-T", "fields"]);
        let output =
            command.args(fields.iter().flat_map(|field| ["-e", field])).output().expect("tshark runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let bad = tshark("_ws.malformed && !tcp.analysis.retransmission", &["frame.number"]);
    assert!(bad.is_empty(), "{bad}");
    // Several replies may share a segment: tshark lists them with commas.
    let of_replies = tshark("http.response && wlan.fc.retry == 0", &["http.content_length"]);
    let sizes: Vec<u64> = of_replies.split(['\n', ',']).filter_map(|size| size.parse().ok()).collect();
    assert_eq!(sizes.len() as u64, counts["exchanges"]);
    let posts = tshark("http.request.method == \"POST\" && wlan.fc.retry == 0", &["http.content_length"]);
    let posts: Vec<u64> = posts.split(['\n', ',']).filter_map(|size| size.parse().ok()).collect();
    assert_eq!(
        posts.len() as u64,
        counts["exchanges"] - rows.iter().map(|row| u64::from(row.complete)).sum::<u64>()
    );
    assert!(posts.iter().all(|size| (1..=9_000).contains(size)));
}

const FLOWS: &str = r#"
[[flow]]
kind = "stream"
count = 2
frame_rate = "25/s"
frame_spread = 0.5
start = "random"
[[flow]]
kind = "udp"
rate = "300kbit/s"
direction = "up"
client = "client"
[[flow]]
kind = "tcp"
size = "300kB"
"#;

const SWITCH: &str = "link = { kind = \"switch\" }";

#[test]
fn flows_are_in_the_records_and_sums_agree() {
    for (name, link) in [("flows-wifi", WIFI), ("flows-switch", SWITCH)] {
        let text = text(1, link) + FLOWS;
        let (one, full) = run(name, &text, 2, Level::Full);
        let (two, analysis) = run(&format!("{name}-again"), &text, 2, Level::Analysis);
        assert_eq!(full.totals, analysis.totals);
        let read =
            |directory: &Path| std::fs::read(directory.join("flows.parquet")).expect("the file exists");
        assert!(read(&one) == read(&two), "flows.parquet differs between levels");
        let rows: Vec<FlowRow> = airperf_record::read::rows(&one.join("flows.parquet"))
            .expect("a table")
            .collect::<Result<_, _>>()
            .expect("good rows");
        let kinds: Vec<_> = rows.iter().map(|row| (row.kind, row.group)).collect();
        let expected = [("video", 0), ("audio", 0), ("video", 1), ("audio", 1), ("udp", 2), ("tcp", 3)];
        assert_eq!(kinds, expected);
        for row in &rows[..4] {
            let count = |column: Option<u64>| column.expect("a flow of datagrams") as f64;
            let missing = count(row.refused) + count(row.lost) + count(row.late);
            let known = count(row.refused) + count(row.lost) + count(row.delivered);
            assert_eq!(row.playable, Some(missing <= 0.01 * known), "{row:?}");
            // On the air the transfer's packets leave no room for them in the server's queue of 20.
            assert!(link == WIFI || missing == 0.0, "{row:?}");
        }
        assert_eq!((rows[5].bytes_in_time, rows[5].datagrams), (300_000, None));
        let datagrams: u64 = rows.iter().filter_map(|row| row.datagrams).sum();
        let kinds = || full.totals.packets.values().flatten();
        let other: u64 = kinds().filter(|(kind, _)| *kind == "other").map(|(_, totals)| totals.offered).sum();
        assert_eq!(datagrams, other);
        let offered: u64 = kinds().map(|(_, totals)| totals.offered).sum();
        assert_eq!(offered, full.tables["packets.parquet"].rows);
        assert_eq!(full.tables["connections.parquet"].rows, full.totals.counts["connections"]);
        let bytes: u64 = rows.iter().map(|row| row.bytes_in_time).sum();
        assert_eq!(full.totals.counts["flow_bytes_in_time"], bytes);
    }
}

#[test]
fn without_flows_there_is_no_trace_of_them() {
    let (_, manifest) = run("no-flows", &text(5, WIFI), 2, Level::Full);
    assert!(!manifest.tables.contains_key("flows.parquet"));
    assert!(!manifest.totals.counts.contains_key("flow_bytes_in_time"));
    assert!(manifest.scenario.resolved.get("flow").is_none());
}

#[test]
fn tshark_finds_nothing_to_complain_of_in_flows() {
    if std::process::Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("SKIPPED: tshark is not installed");
        return;
    }
    for (name, link) in [("tshark-flows-wifi", WIFI), ("tshark-flows-switch", SWITCH)] {
        let (directory, manifest) = run(name, &(text(5, link) + FLOWS), 3, Level::Full);
        let tshark = |filter: &str| {
            let output = std::process::Command::new("tshark")
                .args(["-o", "udp.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"])
                .args([
                    "-o",
                    "ip.check_checksum:TRUE",
                    "-d",
                    "udp.port==5004,rtp",
                    "-d",
                    "udp.port==5006,rtp",
                ])
                .args(["-r"])
                .arg(directory.join("air.pcapng"))
                .args(["-Y", filter])
                .output()
                .expect("tshark runs");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let bad = tshark(
            "(_ws.malformed && !tcp.analysis.retransmission) || udp.checksum.status == 0 || \
             tcp.checksum.status == 0 || ip.checksum.status == 0",
        );
        assert!(bad.is_empty(), "{bad}");
        let kinds = manifest.totals.packets.values().flatten().filter(|(kind, _)| *kind == "other");
        let frames: u64 = kinds.map(|(_, totals)| totals.frames).sum();
        let udp = tshark("udp");
        assert_eq!(udp.lines().count() as u64, frames);
        assert!(udp.lines().filter(|line| line.contains("RTP")).count() > 200, "the streams are RTP");
    }
}

#[test]
fn tshark_finds_nothing_to_complain_of() {
    let found = std::process::Command::new("tshark").arg("--version").output();
    if found.is_err() {
        eprintln!("SKIPPED: tshark is not installed");
        return;
    }
    for (name, link) in [("tshark-wifi", WIFI), ("tshark-wired", WIRED)] {
        let (directory, manifest) = run(name, &text(5, link), 3, Level::Full);
        let capture = directory.join("air.pcapng");
        let tshark = |arguments: &[&str]| {
            let output = std::process::Command::new("tshark")
                .args(["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-r"])
                .arg(&capture)
                .args(arguments)
                .output()
                .expect("tshark runs");
            let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
            let complaints: Vec<_> = complaints
                .lines()
                .filter(|l| !l.contains("Running as user") && !l.trim().is_empty())
                .collect();
            assert!(complaints.is_empty(), "{complaints:?}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        // Wireshark calls an 802.11 retry of a message's last segment a reassembly error.
        let bad = tshark(&[
            "-Y",
            "(_ws.malformed && !tcp.analysis.retransmission) || tcp.checksum.status == 0 || ip.checksum.status == 0",
        ]);
        assert!(bad.is_empty(), "{bad}");
        let done = manifest.totals.counts["exchanges"].to_string();
        assert_eq!(
            tshark(&["-Y", "http.response.code == 200 && !(wlan.fc.retry == 1)"]).lines().count().to_string(),
            done
        );
        let lengths = tshark(&["-Y", "http.response", "-T", "fields", "-e", "http.content_length"]);
        assert!(lengths.lines().all(|l| l == "20480"), "{lengths}");
    }
}
