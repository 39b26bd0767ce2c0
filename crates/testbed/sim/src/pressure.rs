//! Lines before full transmit queues, one for each station, first come first served.
//!
//! Model: [`airperf_tcp::Config::back_pressure`]. What stands in line is an endpoint that wants to send, not what it
//! will send, except for resets, which belong to no endpoint any more. Left out: priorities among the waiting.

use crate::net::Route;
use airperf_link::{QueueStats, StationId};
use airperf_scenario::Scenario;
use airperf_tcp::Segment;
use std::collections::VecDeque;

/// Who waits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waiter {
    /// The client's or the server's end of a connection.
    Endpoint { slot: u32, number: u32, to_server: bool },
    /// A reset.
    Reset { route: Route, segment: Segment },
}

#[derive(Debug)]
struct Line {
    places: u32,
    waiting: VecDeque<Waiter>,
}

/// The lines of all stations.
#[derive(Debug)]
pub(crate) struct Pressure {
    lines: Vec<Line>,
    /// Stations where somebody waits and a place became free.
    freed: Vec<StationId>,
    /// Whose first in line is passing now.
    passing: Option<StationId>,
}

impl Pressure {
    /// Empty lines, if the scenario's TCP has back-pressure.
    pub(crate) fn of(scenario: &Scenario) -> Option<Box<Self>> {
        if !scenario.tcp.back_pressure {
            return None;
        }
        let places = |station| scenario.link.queue_packets(StationId(station));
        let line = |station| Line { places: places(station), waiting: VecDeque::new() };
        let lines = (0..scenario.stations.len() as u16).map(line).collect();
        Some(Box::new(Self { lines, freed: Vec::new(), passing: None }))
    }

    /// Whether `station`'s queue takes another packet.
    pub(crate) fn has_place(&self, station: StationId, queue: &QueueStats) -> bool {
        queue.depth < self.lines[station.index()].places
    }

    /// Whether nobody at `station` is first.
    pub(crate) fn may_pass(&self, station: StationId) -> bool {
        self.passing == Some(station) || self.lines[station.index()].waiting.is_empty()
    }

    pub(crate) fn wait(&mut self, station: StationId, waiter: Waiter) {
        self.lines[station.index()].waiting.push_back(waiter);
    }

    /// A packet left `station`'s queue; whether somebody waited for that.
    pub(crate) fn freed(&mut self, station: StationId) -> bool {
        let awaited = !self.lines[station.index()].waiting.is_empty();
        if awaited && !self.freed.contains(&station) {
            self.freed.push(station);
        }
        awaited
    }

    /// The next in line at a station that has room.
    pub(crate) fn next(&mut self, queue: impl Fn(StationId) -> QueueStats) -> Option<Waiter> {
        while let Some(&station) = self.freed.first() {
            if self.has_place(station, &queue(station))
                && let Some(waiter) = self.lines[station.index()].waiting.pop_front()
            {
                self.passing = Some(station);
                return Some(waiter);
            }
            self.freed.remove(0);
        }
        self.passing = None;
        None
    }
}
