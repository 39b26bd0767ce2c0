//! A simulation with its records: a run directory.

use crate::record::Recorder;
use crate::{SimulateError, Simulated, Totals, simulate};
use airperf_link::QueueStats;
use airperf_record::{
    Level, Manifest, Options, QueueTotals, RunWriter, ScenarioInfo, StationInfo, Testbed,
    Totals as ManifestTotals, WriteError,
};
use airperf_scenario::Scenario;
use airperf_units::StreamKey;
use std::collections::BTreeMap;
use std::path::Path;

/// Why there is no run directory.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The link cannot be built.
    #[error(transparent)]
    Link(#[from] SimulateError),
    /// The records cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Simulates a scenario and writes the run directory `directory`, whole or not at all.
///
/// `text` is the scenario as the user wrote it. Same scenario and key, same bytes.
///
/// # Errors
/// A link that cannot be built, or records that cannot be written.
pub fn run(
    scenario: &Scenario,
    text: &str,
    key: StreamKey,
    directory: &Path,
    options: Options,
) -> Result<Manifest, RunError> {
    let mut writer = RunWriter::create(directory, options)?;
    let recorder = Recorder::new(&mut writer, scenario, key)?;
    let Simulated { totals, queues, airtime, late_arrivals, observer } = simulate(scenario, key, recorder)?;

    let names: Vec<&str> = scenario.stations.iter().map(|s| s.name.as_str()).collect();
    let (frames, packets) = observer.close(&mut writer, &names)?;
    if options.level != Level::Summary {
        scenario.files.iter().try_for_each(|file| writer.text(&file.name(), &file.text))?;
    }
    let elapsed = scenario.run_time();
    let scenario_info = ScenarioInfo {
        name: scenario.name.clone(),
        text: text.to_owned(),
        sha256: scenario.sha256(),
        resolved: scenario.resolved().clone(),
    };
    let mut manifest = Manifest::new(Testbed::Sim, scenario_info, key.seed);
    manifest.point = key.point;
    manifest.repetition = key.repetition;
    manifest.duration_s = scenario.duration.as_secs_f64();
    manifest.elapsed_s = elapsed.as_secs_f64();
    manifest.stations = (0u16..)
        .zip(&scenario.stations)
        .map(|(id, s)| StationInfo { id, name: s.name.clone(), role: s.role.name().to_owned() })
        .collect();
    let queue = |q: &QueueStats| QueueTotals {
        mean: q.area as f64 / elapsed.as_ns().max(1) as f64,
        max: q.max,
        offered: q.offered,
        dropped: q.dropped,
        departed: q.departed,
        lost: q.lost,
    };
    manifest.totals = ManifestTotals {
        airtime: airtime.into_iter().map(|(what, time)| (what.to_owned(), time.as_secs_f64())).collect(),
        queues: names.iter().zip(&queues).map(|(name, q)| ((*name).to_owned(), queue(q))).collect(),
        frames,
        packets,
        late_arrivals,
        counts: counts(&totals, scenario),
    };
    Ok(writer.finish(manifest)?)
}

fn counts(totals: &Totals, scenario: &Scenario) -> BTreeMap<String, u64> {
    let flows = (!scenario.flows.is_empty()).then_some(("flow_bytes_in_time", totals.flow_bytes));
    let admission = totals.admission.into_iter().flat_map(|admission| {
        [
            ("admission_admitted", admission.admitted),
            ("admission_deferred", admission.deferred),
            ("admission_refused", admission.refused),
            ("admission_abandoned", admission.abandoned),
        ]
    });
    [
        ("connections", totals.connections),
        ("exchanges", totals.exchanges),
        ("exchanges_in_time", totals.exchanges_in_time),
        ("failed_connect", totals.failed_connect),
        ("failed_send", totals.failed_send),
        ("failed_reply", totals.failed_reply),
        ("failed_receive", totals.failed_receive),
        ("failed_reset", totals.failed_reset),
        ("wasted_bytes", totals.wasted_bytes),
        ("pages", totals.pages),
        ("pages_complete", totals.pages_complete),
        ("syns_ignored", totals.syns_ignored),
        ("handshake_acks_ignored", totals.acks_ignored),
        ("connections_alive_most", totals.alive_most),
    ]
    .into_iter()
    .chain(admission)
    .chain(flows)
    .map(|(what, count)| (what.to_owned(), count))
    .collect()
}
