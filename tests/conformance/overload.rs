//! Beyond saturation: Apache, httperf and the kernel's TCP against the modelled ones.
//!
//! What decides there are the kernel's timers, its limits of half-open connections and when it sends a FIN
//! (docs/models/tcp.md). The published study needs emulation and simulation to agree within 10%.

use std::path::Path;

use airperf_record::{Manifest, Options};
use airperf_scenario::Scenario;
use airperf_units::StreamKey;

use crate::kernel_tcp::{possible, turn};
use crate::valid;

const E1: &str = include_str!("../../scenarios/bai2006-e1.toml");
const SECONDS: f64 = 20.0;

fn scenario() -> Scenario {
    let overrides = [
        ("client.rate", "160/s"),
        ("duration", "20s"),
        ("drain", "1s"),
        ("tcp.profile", "linux-6"),
        ("record.level", "analysis"),
    ];
    let overrides: Vec<_> = overrides.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    Scenario::parse(E1, "bai2006-e1", &overrides).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Transactions per second completed while load was offered.
fn carried(manifest: &Manifest) -> f64 {
    manifest.totals.counts["exchanges_in_time"] as f64 / SECONDS
}

fn simulated(folder: &Path, repetition: u64) -> f64 {
    let key = StreamKey { repetition, ..StreamKey::new(1) };
    let directory = folder.join(format!("sim-{repetition}"));
    carried(&airperf_sim::run(&scenario(), E1, key, &directory, Options::default()).unwrap())
}

#[test]
fn todays_kernel_carries_what_its_model_says_at_twice_the_load() {
    if !possible(&["apache2", "httperf"]) {
        return;
    }
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let sim = (0..5).map(|repetition| simulated(folder.path(), repetition)).sum::<f64>() / 5.0;
    let Some(manifest) = valid::emulated(&scenario(), E1, folder.path(), &[], f64::INFINITY) else { return };
    let emu = carried(&manifest);
    println!(
        "| carried at 160/s, emu beside sim | {emu:.1} | {sim:.1} | {:+.1}% | ±10% |",
        (emu / sim - 1.0) * 100.0
    );
    assert!((emu / sim - 1.0).abs() <= 0.10, "emu carries {emu:.1}/s, sim {sim:.1}/s");
}
