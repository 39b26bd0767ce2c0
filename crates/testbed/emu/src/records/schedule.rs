//! When a load generator's schedule began, found from the SYNs it sent.
//!
//! An open-loop generator opens connection i at `start + i/rate`, never before, and sometimes late. So no
//! connection can have been due after it was opened, and the start is the smallest `opened - i/rate` of
//! all: one that was opened on time tells it exactly. This takes a pass over all events before records
//! are made of them.
//!
//! Left out: arrivals that are not at equal times; nobody but the generator knows when those were due.

use std::collections::HashMap;
use std::io;

use airperf_scenario::Scenario;
use airperf_units::Time;
use airperf_wire::{Flags, Ipv4, Tcp};

use super::words::deterministic_rate_micro;
use crate::medium::Event;
use crate::spool::SpoolReader;

/// When each station's connections are due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Schedules(Vec<Option<Schedule>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Schedule {
    rate_micro: u64,
    start_ns: u64,
}

/// Nanoseconds from the start to connection `index`.
const fn offset_ns(index: u64, rate_micro: u64) -> u64 {
    (index as u128 * 1_000_000_000_000_000 / rate_micro as u128) as u64
}

impl Schedules {
    /// Reads all events and finds the starts.
    pub(super) fn find(scenario: &Scenario, mut spool: SpoolReader) -> io::Result<Self> {
        let mut found = vec![None; scenario.stations.len()];
        for client in &scenario.clients {
            found[client.station.index()] = deterministic_rate_micro(&client.workload)
                .map(|rate_micro| Schedule { rate_micro, start_ns: u64::MAX });
        }
        let mut opened = vec![0u64; found.len()];
        let mut last: HashMap<(u16, u16), u32> = HashMap::new();
        while let Some(event) = spool.next()? {
            let Event::Offered { at, from, bytes, .. } = event else { continue };
            let Some(Some(schedule)) = found.get_mut(from.index()) else { continue };
            let Some((port, sequence)) = syn(bytes) else { continue };
            // The same SYN again is no new connection.
            if last.insert((from.0, port), sequence) == Some(sequence) {
                continue;
            }
            let index = &mut opened[from.index()];
            let start_ns = at.as_ns().saturating_sub(offset_ns(*index, schedule.rate_micro));
            schedule.start_ns = schedule.start_ns.min(start_ns);
            *index += 1;
        }
        Ok(Self(found))
    }

    /// When the `index`-th connection of a station was due; `None` when that is not known.
    pub(super) fn due(&self, station: u16, index: u64) -> Option<Time> {
        let schedule = self.0.get(usize::from(station))?.as_ref()?;
        Some(Time::from_ns(schedule.start_ns.checked_add(offset_ns(index, schedule.rate_micro))?))
    }
}

/// Port and sequence number of a SYN that opens a connection.
fn syn(packet: &[u8]) -> Option<(u16, u32)> {
    let ip = Ipv4::parse(packet).ok()?;
    let tcp = Tcp::parse(&ip).ok()?;
    (tcp.flags().has(Flags::SYN) && !tcp.flags().has(Flags::ACK)).then(|| (tcp.source_port(), tcp.seq()))
}
