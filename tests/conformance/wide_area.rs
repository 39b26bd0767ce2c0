//! Wide-area links: a file takes as long with the kernel's TCP and real programs as with ours.
//!
//! The links are stated, driven by a trace, and GPRS; the model of each is the same in both testbeds, so what differs is TCP
//! and the programs.

use std::path::Path;

use airperf_record::{ExchangeRow, Options, Row, read};
use airperf_scenario::Scenario;
use airperf_tests::in_time::PUNCTUAL_US;
use airperf_units::StreamKey;

use crate::kernel_tcp::{possible, turn};
use crate::valid;

const SCENARIOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/");

/// Service times in seconds, sent to done; with the handshake, due to done, where the channel is waited for.
fn seconds(directory: &Path, handshake: bool) -> Vec<f64> {
    let rows = read::rows::<ExchangeRow>(&directory.join(ExchangeRow::FILE)).unwrap();
    let begun = |row: &ExchangeRow| if handshake { row.due_ns } else { row.sent_ns }.unwrap();
    rows.map(Result::unwrap).map(|row| (row.done_ns.unwrap() - begun(&row)) as f64 / 1e9).collect()
}

/// The scenario of this name with other values, in both testbeds.
fn both(name: &str, overrides: &[(&str, &str)]) -> Option<(Vec<f64>, Vec<f64>)> {
    if !possible(&[]) {
        return None;
    }
    let _turn = turn();
    let path = format!("{SCENARIOS}{name}.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let embedded = [("emu.server_program", "embedded"), ("emu.client_program", "embedded")];
    let overrides = overrides.iter().chain(&embedded).map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    let scenario = Scenario::parse(&text, &path, &overrides.collect::<Vec<_>>());
    let scenario = scenario.unwrap_or_else(|problems| panic!("{problems}"));
    let folder = tempfile::tempdir().unwrap();
    let (sim, key) = (folder.path().join("sim"), StreamKey::new(1));
    airperf_sim::run(&scenario, &text, key, &sim, Options::default()).unwrap();
    valid::emulated(&scenario, &text, folder.path(), &[], PUNCTUAL_US)?;
    let emu = folder.path().join("run");
    let replayed = airperf_emu::replay(&emu).unwrap();
    assert_eq!(replayed.first_difference, None, "the arrivals give other frames in virtual time");
    let rrc = scenario.resolved()["link"]["rrc"].as_str();
    let handshake = rrc.is_some_and(|rrc| rrc != "none");
    Some((seconds(&sim, handshake), seconds(&emu, handshake)))
}

fn agree(name: &str, overrides: &[(&str, &str)]) {
    let Some((sim, emu)) = both(name, overrides) else { return };
    println!("{name} {overrides:?}: sim {sim:?} s, emu {emu:?} s");
    assert_eq!(sim.len(), emu.len());
    let (ours, kernels): (f64, f64) = (sim.iter().sum(), emu.iter().sum());
    let ratio = kernels / ours;
    assert!((0.97..1.03).contains(&ratio), "emu takes {ratio:.4} of sim's time: {emu:?} against {sim:?}");
}

#[test]
fn a_file_over_gprs_takes_as_long_with_the_kernels_tcp() {
    agree(
        "gprs-transfer",
        &[("duration", "1s"), ("drain", "20s"), ("client.rate", "1/s"), ("client.size", "30kB")],
    );
}

#[test]
fn a_file_over_a_stated_link_takes_as_long_with_the_kernels_tcp() {
    agree("slow-4g", &[("duration", "4s"), ("drain", "6s"), ("client.size", "100kB")]);
}

#[test]
fn a_file_waits_for_its_channel_as_long_with_the_kernels_tcp() {
    let umts = [("link.rrc", "umts"), ("client.size", "20kB")];
    agree("slow-4g", &[&umts[..], &[("duration", "2s"), ("drain", "6s")]].concat());
}

#[test]
fn a_file_over_a_trace_takes_as_long_with_the_kernels_tcp() {
    agree("lte-trace", &[("duration", "4s"), ("drain", "6s"), ("client.size", "100kB")]);
}
