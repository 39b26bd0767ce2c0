//! Whole runs on this machine: real programs, real clock. They need a lab, so that where TUN devices or
//! namespaces are missing every test here says loudly that it was skipped, and why.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use airperf_emu::{DeviceKind, EmuOptions, Isolation, Progress, RunError, clean, probe, replay, run};
use airperf_record::{ConnectionRow, ExchangeRow, Manifest, PacketRow, QueueRow, read};
use airperf_scenario::Scenario;
use airperf_tests::in_time::in_time;
use airperf_units::{StreamKey, Time};
use airperf_workload::Schedule;

/// Says past the test harness's capture that a test could not run here, why, and how many so far.
macro_rules! skipped {
    ($($why:tt)*) => {{
        use std::io::Write;
        static SKIPPED: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let count = SKIPPED.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        let _ = writeln!(
            std::io::stderr(),
            "\nSKIPPED {}:{} ({count} here so far): {}",
            file!(),
            line!(),
            format_args!($($why)*)
        );
    }};
}

const TEXT: &str = r#"
schema = 1
name = "short"
duration = "2s"
drain = "3s"
link = { kind = "wifi" }
tcp = { profile = "linux-2.4.18" }
[server]
[[client]]
rate = "20/s"
size = "1KiB"
timeout = "5s"
[emu]
lag_p99_limit = "1s"
"#;

/// Runs are timed: one at a time.
static TURN: Mutex<()> = Mutex::new(());

/// Whether a lab can be set up here; says so when not.
fn possible() -> bool {
    let lacking: Vec<_> = probe().into_iter().filter(|need| need.required && !need.ok).collect();
    for need in &lacking {
        skipped!("{} — {}; {}", need.name, need.why, need.remedy);
    }
    lacking.is_empty()
}

fn scenario(overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<_> = overrides.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Scenario::parse(TEXT, "short.toml", &overrides).unwrap_or_else(|problems| panic!("{problems}"))
}

fn options(folder: &Path) -> EmuOptions {
    EmuOptions { state_dir: Some(folder.join("state")), ..EmuOptions::default() }
}

fn go_on(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn run_in(folder: &Path, overrides: &[(&str, &str)], options: &EmuOptions) -> Result<Manifest, RunError> {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    run(&scenario(overrides), TEXT, StreamKey::new(7), &folder.join("run"), options, &mut go_on)
}

/// Half the least retransmission timeout of Linux: where a delivery is later, TCP may send again what was not lost.
const LATEST_US: f64 = 100_000.0;

/// As [`run_in`] where only a valid run is of use; none where the machine has no time for it.
fn valid_run_in(
    folder: &Path,
    overrides: &[(&str, &str)],
    options: &EmuOptions,
) -> Result<Option<Manifest>, RunError> {
    in_time(&folder.join("run"), LATEST_US, || run_in(folder, overrides, options))
}

fn rows<R: airperf_record::Row>(folder: &Path) -> Vec<R> {
    let rows = read::rows(&folder.join("run").join(R::FILE)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn check_records(folder: &Path, manifest: &Manifest) {
    assert_eq!(manifest.totals.counts["connections"], 40);
    assert_eq!(manifest.totals.counts["exchanges"], 40);
    read::verify(&folder.join("run"), manifest).unwrap();

    let connections: Vec<ConnectionRow> = rows(folder);
    assert_eq!(connections.len(), 40);
    for (i, row) in connections.iter().enumerate() {
        assert_eq!((row.class, row.error, row.exchanges), ("syn_fin", None, 1));
        // The study's ten packets a transaction: six from the client, four from the server.
        assert_eq!((row.segments_up, row.segments_down), (6, 4), "{row:?}");
        let due = row.due_ns.unwrap();
        assert_eq!(due - connections[0].due_ns.unwrap(), i as u64 * 50_000_000);
        assert!(row.opened_ns >= due, "due {} ns after it was opened", due - row.opened_ns);
    }
    let exchanges: Vec<ExchangeRow> = rows(folder);
    assert!(exchanges.iter().all(|row| row.request_bytes == 74 && row.response_bytes == 259 + 1_024));
    let packets: Vec<PacketRow> = rows(folder);
    assert_eq!(packets.len(), 400);
    assert!(packets.iter().all(|row| row.fate == "delivered" && row.attempts >= 1));
    let airtime: f64 = manifest.totals.airtime.values().sum();
    assert!((airtime - manifest.elapsed_s).abs() < 1e-6, "{airtime} of {}", manifest.elapsed_s);
    let queues: Vec<QueueRow> = rows(folder);
    assert_eq!(queues.len(), 2 * (manifest.elapsed_s / 0.1) as usize);
}

#[test]
fn installed_programs_give_the_studys_ten_packets_and_a_replay_the_same_frames() {
    if !possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(manifest) = valid_run_in(folder.path(), &[], &options(folder.path())).unwrap() else { return };
    check_records(folder.path(), &manifest);
    assert_eq!(names(folder.path()), ["run", "state"]);
    assert_eq!(names(&folder.path().join("state/emu")), [""; 0]);

    let replayed = replay(&folder.path().join("run")).unwrap();
    assert_eq!(replayed.first_difference, None);
    assert_eq!(replayed.frames, manifest.totals.frames.sent);
}

#[test]
fn the_built_in_programs_do_the_same() {
    if !possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let embedded = [("emu.server_program", "embedded"), ("emu.client_program", "embedded")];
    if let Some(manifest) = valid_run_in(folder.path(), &embedded, &options(folder.path())).unwrap() {
        check_records(folder.path(), &manifest);
    }
}

#[test]
fn a_user_namespace_does_too() {
    if !possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Root inside the namespace is nobody outside, but Apache refuses to run as any root.
    let embedded = [("emu.server_program", "embedded")];
    let options = EmuOptions { isolation: Some(Isolation::UserNamespace), ..options(folder.path()) };
    match valid_run_in(folder.path(), &embedded, &options) {
        Err(RunError::Lab(error)) => skipped!("{error}"),
        other => {
            if let Some(manifest) = other.unwrap() {
                check_records(folder.path(), &manifest);
            }
        }
    }
}

#[test]
fn fault_39_without_tun_a_run_is_the_same() {
    if !possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let options = EmuOptions { device: Some(DeviceKind::Veth), ..options(folder.path()) };
    match valid_run_in(folder.path(), &[], &options) {
        Err(RunError::Lab(error)) => skipped!("{error}"),
        other => {
            if let Some(manifest) = other.unwrap() {
                check_records(folder.path(), &manifest);
            }
        }
    }
}

#[test]
fn the_wire_works_as_the_air_does() {
    if !possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = TEXT.replace("kind = \"wifi\"", "kind = \"ethernet\"");
    let scenario = Scenario::parse(&text, "wire.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let directory = folder.path().join("run");
    let options = options(folder.path());
    let made = in_time(&directory, LATEST_US, || {
        run(&scenario, &text, StreamKey::new(7), &directory, &options, &mut go_on)
    });
    let Some(manifest) = made.unwrap() else { return };
    check_records(folder.path(), &manifest);
    assert_eq!(replay(&directory).unwrap().first_difference, None);
}

#[test]
fn a_capture_opens_without_a_complaint() {
    if !possible() {
        return;
    }
    if !Path::new("/usr/bin/tshark").is_file() {
        return skipped!("tshark is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    if valid_run_in(folder.path(), &[], &options(folder.path())).unwrap().is_none() {
        return;
    }
    let seen = Command::new("/usr/bin/tshark")
        .args(["-n", "-r"])
        .arg(folder.path().join("run/air.pcapng"))
        // What the MAC sends again after a collision carries the segment that TCP sent once.
        .args([
            "-Y",
            "_ws.malformed || wlan.fcs.status == 0 || tcp.checksum.status == 0 \
             || tcp.analysis.flags && wlan.fc.retry == 0",
        ])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&seen.stdout), "");
}

#[test]
fn fault_10_a_run_later_than_its_scenario_allows_is_invalid() {
    if !possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let manifest = run_in(folder.path(), &[("emu.lag_p99_limit", "1us")], &options(folder.path())).unwrap();
    assert!(!manifest.valid);
    assert!(manifest.why_invalid[0].contains("later than"), "{:?}", manifest.why_invalid);
}

#[test]
fn fault_05_an_interrupted_run_leaves_nothing() {
    if !possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let began = Instant::now();
    let mut private = Vec::new();
    let mut stop = |progress: Progress| {
        private = private_directories(folder.path());
        if progress.elapsed_s > 0.4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let directory = folder.path().join("run");
    let error = run(&scenario(&[]), TEXT, StreamKey::new(7), &directory, &options(folder.path()), &mut stop);
    assert!(matches!(error, Err(RunError::Interrupted)), "{error:?}");
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(names(folder.path()), ["state"]);
    assert_eq!(names(&folder.path().join("state/emu")), [""; 0]);
    assert!(!private.is_empty());
    assert_eq!(programs_of(&private), Vec::<String>::new());
}

/// Command lines of programs that run for runs with these directories.
fn programs_of(private: &[PathBuf]) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| private.iter().any(|directory| line.contains(&directory.display().to_string())))
        .collect()
}

/// Directories that runs registered in `folder` have written down.
fn private_directories(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("state/emu")).into_iter().flatten().flatten();
    entries
        .flat_map(|e| {
            fs::read_to_string(e.path()).unwrap_or_default().lines().map(PathBuf::from).collect::<Vec<_>>()
        })
        .collect()
}

/// Network namespaces that processes are in.
fn network_namespaces() -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let links = entries.filter_map(|entry| fs::read_link(entry.path().join("ns/net")).ok());
    links.collect::<std::collections::HashSet<_>>().len()
}

const CHILD: &str = "AIRPERF_EMU_TEST_FOLDER";

/// Not a test by itself: the process that the next test kills.
#[test]
fn a_run_to_be_killed() {
    if let Some(folder) = std::env::var_os(CHILD).map(PathBuf::from) {
        run_in(&folder, &[("duration", "60s")], &options(&folder)).unwrap();
    }
}

#[test]
fn fault_01_a_killed_run_leaves_nothing() {
    if !possible() {
        return;
    }
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    // At any moment: while the lab is set up, while the server starts, while the load runs.
    for wait_ms in [20, 60, 200, 1_500] {
        let folder = tempfile::tempdir().unwrap();
        let before = network_namespaces();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_run_to_be_killed"])
            .env(CHILD, folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(wait_ms));
        child.kill().unwrap();
        child.wait().unwrap();
        // Processes take a moment to die, and hold the run's lock until then.
        let registered = private_directories(folder.path());
        let left = || {
            clean(&folder.path().join("state")).unwrap();
            let directories = registered.iter().filter(|directory| directory.exists()).count();
            (programs_of(&registered).len(), directories, network_namespaces().saturating_sub(before))
        };
        let patience = Instant::now();
        while left() != (0, 0, 0) {
            let left = left();
            assert!(
                patience.elapsed() < Duration::from_secs(5),
                "killed after {wait_ms} ms: {left:?} is left"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(names(folder.path()).iter().all(|name| name == "state"), "{:?}", names(folder.path()));
    }
}

#[test]
fn self_similar_arrivals_come_when_the_schedule_has_them_due() {
    if !possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let similar = [("client.arrivals", "self-similar"), ("client.hurst", "0.8"), ("client.rate", "50/s")];
    if valid_run_in(folder.path(), &similar, &options(folder.path())).unwrap().is_none() {
        return;
    }

    let scenario = scenario(&similar);
    let end = Time::ZERO + scenario.duration;
    let schedule = Schedule::new(scenario.clients[0].workload.clone(), end, &StreamKey::new(7), 0);
    let due: Vec<u64> = schedule.map(|demand| demand.due.as_ns()).collect();
    let rows: Vec<ConnectionRow> = rows(folder.path());
    assert_eq!(rows.len(), due.len());
    let first = rows[0].due_ns.unwrap();
    for (row, due_ns) in rows.iter().zip(&due) {
        assert_eq!(row.due_ns.unwrap() - first, due_ns - due[0]);
        assert!(row.opened_ns >= row.due_ns.unwrap());
    }

    // httperf cannot do this, and nothing is started when it must.
    let must = [similar[0], similar[1], ("emu.client_program", "httperf")];
    let error = run_in(&folder.path().join("other"), &must, &options(folder.path())).unwrap_err();
    assert!(error.to_string().contains("httperf cannot open connections by this arrival process"), "{error}");
}
