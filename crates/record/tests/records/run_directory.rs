//! Run directories: whole or not at all, whatever happens to the writer or the disk.

use std::fs;
use std::io::Write;
use std::path::Path;

use airperf_record::{
    ExchangeRow, FrameRow, LagRow, Level, Manifest, Options, PacketRow, QueueRow, ReadError, RunWriter,
    ScenarioInfo, StationInfo, Testbed, WriteError, read,
};

fn manifest() -> Manifest {
    let scenario = ScenarioInfo {
        name: "test".into(),
        text: "schema = 1\n".into(),
        sha256: "00".into(),
        resolved: serde_json::json!({"schema": 1}),
    };
    let mut manifest = Manifest::new(Testbed::Sim, scenario, 42);
    manifest.stations.push(StationInfo { id: 0, name: "server".into(), role: "server".into() });
    manifest.totals.airtime.insert("idle".into(), 0.1);
    manifest
}

fn lag(count: u64) -> LagRow {
    LagRow { what: "delivery", from_ns: 0, below_ns: 1_000, count }
}

/// A whole small run at `out`.
fn write(out: &Path, options: Options, count: u64) -> Result<Manifest, WriteError> {
    let mut run = RunWriter::create(out, options)?;
    let mut table = run.table::<LagRow>()?.expect("every level has lag");
    table.push(&lag(count))?;
    run.close_table(table)?;
    let mut file = run.file("arrivals.bin")?;
    file.write_all(b"arrivals").map_err(|e| file.error(e))?;
    run.close(file)?;
    run.finish(manifest())
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_finished_run_is_whole_and_described() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("deep/er/run");
    let written = write(&out, Options::default(), 1).unwrap();
    assert_eq!(names(&out), ["arrivals.bin", "lag.parquet", "manifest.json"]);
    assert_eq!(names(out.parent().unwrap()), ["run"]);
    let found = read::manifest(&out).unwrap();
    assert_eq!(found, written);
    assert_eq!(found.files["arrivals.bin"].bytes, 8);
    // Known answer of `printf arrivals | sha256sum`.
    let expected = "1b89b4c9812f8b34337cdbe44b038340ab8412b3464e481b932060f6da80ad51";
    assert_eq!(found.files["arrivals.bin"].sha256, expected);
    read::verify(&out, &found).unwrap();
}

#[test]
fn levels_leave_out_what_is_large() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("run");
    let options = Options { level: Level::Analysis, ..Options::default() };
    let mut run = RunWriter::create(&out, options).unwrap();
    assert!(run.table::<FrameRow>().unwrap().is_none());
    assert!(run.table::<PacketRow>().unwrap().is_none());
    assert!(run.capture().unwrap().is_none());
    let queues = run.table::<QueueRow>().unwrap().unwrap();
    run.close_table(queues).unwrap();
    let exchanges = run.table::<ExchangeRow>().unwrap().unwrap();
    run.close_table(exchanges).unwrap();
    assert_eq!(run.finish(manifest()).unwrap().level, Level::Analysis);
    assert_eq!(names(&out), ["exchanges.parquet", "manifest.json", "queues.parquet"]);
}

#[test]
fn a_finished_run_is_replaced_only_when_asked() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("run");
    write(&out, Options::default(), 1).unwrap();
    assert!(matches!(write(&out, Options::default(), 2), Err(WriteError::Exists(..))));
    let count = || read::rows::<LagRow>(&out.join("lag.parquet")).unwrap().next().unwrap().unwrap().count;
    assert_eq!(count(), 1);
    write(&out, Options { replace: true, ..Options::default() }, 2).unwrap();
    assert_eq!(count(), 2);
    assert_eq!(names(home.path()), ["run"]);
}

#[test]
fn what_is_no_run_is_never_touched() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("thesis");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("chapter.tex"), "years of work").unwrap();
    let options = Options { replace: true, ..Options::default() };
    assert!(matches!(write(&out, options, 1), Err(WriteError::NotRecords(..))));
    assert!(matches!(write(&out.join("chapter.tex"), options, 1), Err(WriteError::NotRecords(..))));
    assert_eq!(names(&out), ["chapter.tex"]);
    let empty = home.path().join("empty");
    fs::create_dir(&empty).unwrap();
    write(&empty, Options { replace: true, ..Options::default() }, 1).unwrap();
}

#[test]
fn a_file_is_written_once() {
    let home = tempfile::tempdir().unwrap();
    let mut run = RunWriter::create(&home.path().join("run"), Options::default()).unwrap();
    let _first = run.file("log.txt").unwrap();
    assert!(matches!(run.file("log.txt"), Err(WriteError::Twice(_))));
}

#[test]
fn fault_01_an_unfinished_run_never_has_the_name_and_is_removed() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("run");
    let mut run = RunWriter::create(&out, Options::default()).unwrap();
    let mut table = run.table::<LagRow>().unwrap().unwrap();
    table.push(&lag(1)).unwrap();
    assert!(!out.exists() && run.partial().exists());
    drop(table);
    drop(run);
    assert_eq!(names(home.path()), Vec::<String>::new());
}

#[test]
fn fault_01_leftovers_of_killed_writers_are_removed_and_living_ones_kept() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("run");
    let living = RunWriter::create(&out, Options::default()).unwrap();
    // What a killed writer leaves: a partial directory that nobody has locked.
    let dead = home.path().join("run.partial-1-0");
    fs::create_dir(&dead).unwrap();
    fs::write(dead.join("frames.parquet"), "half").unwrap();
    let other = home.path().join("run2.partial-1-0");
    fs::create_dir(&other).unwrap();
    let run = RunWriter::create(&out, Options::default()).unwrap();
    assert!(!dead.exists());
    assert!(other.exists(), "belongs to another run");
    assert!(living.partial().exists());
    assert_ne!(living.partial(), run.partial());
}

#[test]
fn fault_02_a_full_disk_is_named_with_the_bytes_needed() {
    let home = tempfile::tempdir().unwrap();
    let earlier = home.path().join("earlier");
    write(&earlier, Options::default(), 1).unwrap();

    // `/dev/full` answers every write as a full disk does.
    let out = home.path().join("run");
    let mut run = RunWriter::create(&out, Options { expected_bytes: 5_000, ..Options::default() }).unwrap();
    std::os::unix::fs::symlink("/dev/full", run.partial().join("lag.parquet")).unwrap();
    let mut table = run.table::<LagRow>().unwrap().unwrap();
    let failed = (0..1_000_000).find_map(|i| table.push(&lag(i)).err());
    let error = failed.or_else(|| run.close_table(table).err()).expect("the disk is full");
    assert!(matches!(error, WriteError::DiskFull { needed: 5_000.., .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("lag.parquet") && text.contains("bytes or more"), "{text}");

    let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
    assert!(
        matches!(run.error("air.pcapng", full), WriteError::DiskFull { path, .. } if path.ends_with("air.pcapng"))
    );
    drop(run);
    assert_eq!(names(home.path()), ["earlier"]);
    read::verify(&earlier, &read::manifest(&earlier).unwrap()).unwrap();
}

#[test]
fn fault_02_a_run_that_cannot_fit_is_refused_beforehand() {
    let home = tempfile::tempdir().unwrap();
    let options = Options { expected_bytes: u64::MAX, ..Options::default() };
    let error = RunWriter::create(&home.path().join("run"), options).unwrap_err();
    assert!(matches!(error, WriteError::DiskFull { needed: u64::MAX, free, .. } if free > 0), "{error}");
    assert_eq!(names(home.path()), Vec::<String>::new());
}

#[test]
fn fault_07_damage_and_other_versions_are_told_apart() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("run");
    let manifest = write(&out, Options::default(), 1).unwrap();
    let table = out.join("lag.parquet");
    let mut bytes = fs::read(&table).unwrap();
    bytes[20] ^= 1;
    fs::write(&table, &bytes).unwrap();
    assert!(matches!(read::verify(&out, &manifest), Err(ReadError::Damaged { path, .. }) if path == table));

    let path = out.join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"schema\": 1", "\"schema\": 9", 1)).unwrap();
    assert!(matches!(read::manifest(&out), Err(ReadError::Version { found: 9, expected: 1, .. })));
    fs::write(&path, &text[..text.len() / 2]).unwrap();
    assert!(matches!(read::manifest(&out), Err(ReadError::Manifest { .. })));
}

#[test]
fn a_simulated_manifest_holds_no_host_facts() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("run");
    write(&out, Options::default(), 1).unwrap();
    let text = fs::read_to_string(out.join("manifest.json")).unwrap();
    assert!(!text.contains("\"host\"") && !text.contains("\"lag\""), "{text}");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["kind"], "run");
    assert_eq!(value["testbed"], "sim");
    assert_eq!(value["seed"], 42);
    assert_eq!(value["tables"]["lag.parquet"]["rows"], 1);
}
