//! A simulation without files: what benches, tests and studies of single numbers use.

use crate::world::World;
use crate::{Observer, Payload, Totals};
use airperf_link::ethernet::Ethernet;
use airperf_link::switch::Switch;
use airperf_link::{Link, QueueStats, StationId};
use airperf_scenario::{LinkConfig, Scenario};
use airperf_units::{Duration, StreamKey, Time};
use airperf_wifi::Domain;

/// What a simulation came to.
#[derive(Debug)]
pub struct Simulated<O> {
    /// Sums over the run.
    pub totals: Totals,
    /// Transmit queues, by station.
    pub queues: Vec<QueueStats>,
    /// Elapsed time by what the medium was doing; sums to the run's time.
    pub airtime: Vec<(&'static str, Duration)>,
    /// Arrivals stamped before the link's present; the simulation makes none.
    pub late_arrivals: u64,
    /// The observer.
    pub observer: O,
}

/// A link that cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// The 802.11 link.
    #[error(transparent)]
    Wifi(#[from] airperf_wifi::ConfigError),
}

/// Simulates a scenario with the streams of `key`, watched by `observer`.
///
/// # Errors
/// A link that cannot be built. A [`Scenario`] that was read from text has been checked and gives none.
pub fn simulate<O: Observer>(
    scenario: &Scenario,
    key: StreamKey,
    observer: O,
) -> Result<Simulated<O>, SimulateError> {
    match &scenario.link {
        LinkConfig::Wifi { config, .. } => {
            let link: Domain<Payload> = Domain::new(config.clone(), key)?;
            Ok(simulate_over(scenario, key, link, observer))
        }
        LinkConfig::Ethernet(config) => {
            let link: Ethernet<Payload> = Ethernet::new(config.clone(), key);
            Ok(simulate_over(scenario, key, link, observer))
        }
        LinkConfig::Switch(config) => {
            let link: Switch<Payload> = Switch::new(config.clone());
            Ok(simulate_over(scenario, key, link, observer))
        }
    }
}

/// Simulates a scenario over `link` in place of the scenario's own.
pub fn simulate_over<L: Link<Payload>, O: Observer>(
    scenario: &Scenario,
    key: StreamKey,
    link: L,
    observer: O,
) -> Simulated<O> {
    let end = Time::ZERO + scenario.run_time();
    let (totals, link, observer) = World::new(scenario, &key, link, observer).run(end);
    Simulated {
        totals,
        queues: (0..link.stations()).map(|s| link.queue(StationId(s))).collect(),
        airtime: link.airtime(),
        late_arrivals: link.late_arrivals(),
        observer,
    }
}
