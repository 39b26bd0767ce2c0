//! Emulated runs for comparisons, as far as this machine has time for them.

use std::ops::ControlFlow;
use std::path::Path;

use airperf_emu::EmuOptions;
use airperf_record::Manifest;
use airperf_scenario::Scenario;
use airperf_tests::in_time::in_time;
use airperf_units::StreamKey;

/// The run of a scenario in emulation, in `folder/run`; no delivery of it was later than `latest_us`.
pub(crate) fn emulated(
    scenario: &Scenario,
    text: &str,
    folder: &Path,
    own_parts: &[std::ffi::OsString],
    latest_us: f64,
) -> Option<Manifest> {
    let options = EmuOptions {
        state_dir: Some(folder.join("state")),
        own_parts: own_parts.to_vec(),
        ..EmuOptions::default()
    };
    let directory = folder.join("run");
    let mut go_on = |_| ControlFlow::Continue(());
    in_time(&directory, latest_us, || {
        airperf_emu::run(scenario, text, StreamKey::new(1), &directory, &options, &mut go_on)
    })
    .unwrap()
}
