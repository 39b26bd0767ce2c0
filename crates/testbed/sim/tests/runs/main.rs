//! Whole simulated runs, in one program: what each of several would compile again takes longer than its tests.

use airperf_scenario::Scenario;
use airperf_sim::{Observer, Simulated, simulate};
use airperf_units::{Duration, StreamKey};

mod access;
mod behaviour;
mod browsers;
mod flows;
mod gprs;
mod records;
mod remedies;
mod sessions;
mod wired;

/// A scenario with other values; paths of traces and pages in it are seen from the folder of scenarios.
fn scenario(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    let name = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scenarios/test.toml");
    let overrides: Vec<_> = overrides.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Scenario::parse(text, name, &overrides).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A run, whose airtime adds up and in which nothing came late.
fn balanced<O: Observer>(scenario: &Scenario, observer: O) -> Simulated<O> {
    let run = simulate(scenario, StreamKey::new(1), observer).expect("a link");
    let total: Duration = run.airtime.iter().map(|(_, time)| *time).sum();
    assert_eq!((total, run.late_arrivals), (scenario.run_time(), 0));
    run
}
