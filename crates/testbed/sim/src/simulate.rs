//! A simulation without files: what benches, tests and studies of single numbers use.

use crate::world::World;
use crate::{Observer, Payload, Totals};
use airperf_link::{Link, QueueStats, StationId};
use airperf_scenario::{OverLink, Scenario};
use airperf_units::{Duration, StreamKey, Time};

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
    Ok(scenario.link.build(key, Simulate { scenario, key, observer })?)
}

struct Simulate<'a, O> {
    scenario: &'a Scenario,
    key: StreamKey,
    observer: O,
}

impl<O: Observer> OverLink<Payload> for Simulate<'_, O> {
    type Output = Simulated<O>;

    fn over<L: Link<Payload> + Send + 'static>(self, link: L) -> Simulated<O> {
        simulate_over(self.scenario, self.key, link, self.observer)
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
