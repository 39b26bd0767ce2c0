//! Real programs and the kernel's TCP against the modelled ones, over the same modelled medium.
//!
//! The scenario's TCP is set to what the kernel does: initial timeout 1 s, 4 ms ticks, no feedback when
//! the (modelled) transmit queue refuses a packet. Emulation takes its own time on the machine, so the
//! tests here run one at a time and judge medians.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use airperf_record::{ConnectionRow, Options, Row, read};
use airperf_scenario::Scenario;
use airperf_tests::in_time::PUNCTUAL_US;
use airperf_tests::skipped;
use airperf_units::StreamKey;

use crate::valid;

const TEXT: &str = r#"
schema = 1
name = "kernel-tcp"
duration = "3s"
drain = "4s"
[link]
kind = "wifi"
retry_limit = 16
[tcp]
profile = "linux-2.4.18"
initial_rto = "1s"
jiffy = "4ms"
timestamp_tick = "1ms"
synack_scan = "0s"
local_drop_feedback = false
[server]
[[client]]
rate = "1/s"
size = "1MiB"
host_gap = "150us"
host_gap_spread = 0.5
[emu]
server_program = "embedded"
client_program = "embedded"
"#;

static TURN: Mutex<()> = Mutex::new(());

fn seconds(directory: &Path) -> Vec<f64> {
    let rows = read::rows::<ConnectionRow>(&directory.join(ConnectionRow::FILE)).unwrap();
    let mut times: Vec<f64> = rows
        .map(Result::unwrap)
        .map(|row| (row.last_frame_ns.unwrap() - row.opened_ns) as f64 / 1e9)
        .collect();
    times.sort_by(f64::total_cmp);
    times
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

/// Runs are timed: one at a time.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this machine can emulate and has these programs; says why not.
pub(crate) fn possible(programs: &[&str]) -> bool {
    let needed = |need: &airperf_emu::Need| need.required || programs.contains(&need.name);
    let lacking: Vec<_> = airperf_emu::probe().into_iter().filter(|need| needed(need) && !need.ok).collect();
    for need in &lacking {
        skipped(&format!("{}: {}; {}", need.name, need.why, need.remedy));
    }
    lacking.is_empty()
}

fn both(overrides: &[(&str, &str)]) -> Option<(Vec<f64>, Vec<f64>)> {
    if !possible(&[]) {
        return None;
    }
    let _turn = turn();
    let overrides: Vec<_> = overrides.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let scenario = Scenario::parse(TEXT, "kernel.toml", &overrides).unwrap_or_else(|p| panic!("{p}"));
    let folder = tempfile::tempdir().unwrap();
    let sim = folder.path().join("sim");
    airperf_sim::run(&scenario, TEXT, StreamKey::new(1), &sim, Options::default()).unwrap();
    valid::emulated(&scenario, TEXT, folder.path(), &[], PUNCTUAL_US)?;
    Some((seconds(&sim), seconds(&folder.path().join("run"))))
}

/// Issue 2: bulk 1 MB over emu, and over sim with the same medium: times within 3 %.
#[test]
fn a_bulk_transfer_takes_as_long_as_with_the_kernels_tcp() {
    // Three transfers a run, far enough apart not to meet.
    let Some((sim, emu)) = both(&[("duration", "9s"), ("client.rate", "0.334/s")]) else { return };
    println!("bulk 1 MiB: sim {sim:?} s, emu {emu:?} s");
    let ratio = median(&emu) / median(&sim);
    assert!((0.97..1.03).contains(&ratio), "emu takes {ratio:.4} of sim's time: {emu:?} against {sim:?}");
}

/// A transaction of the study: short transfers see the handshake, delayed ACKs and programs.
#[test]
fn a_small_transaction_takes_as_long_as_with_the_kernels_tcp() {
    let Some((sim, emu)) = both(&[("client.rate", "10/s"), ("client.size", "1KiB")]) else { return };
    println!("1 KiB: sim median {:.6} s, emu median {:.6} s", median(&sim), median(&emu));
    let ratio = median(&emu) / median(&sim);
    assert!((0.90..1.10).contains(&ratio), "emu takes {ratio:.4} of sim's time");
}
