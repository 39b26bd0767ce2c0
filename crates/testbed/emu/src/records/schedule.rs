//! When connections and exchanges were due: as their client says, or found from the SYNs it sent.
//!
//! The generator of ours says when each connection was due that it opened, and each exchange: only it knows when a
//! user had thought. Of others the schedule is known and not its
//! beginning: an open-loop generator opens connection i at its start plus the i-th offset of the schedule, never before, and
//! sometimes late. So no connection can have been due after it was opened, and the start is the smallest `opened -
//! offset` of all: one that was opened on time tells it exactly. This takes a pass over all events before records
//! are made of them.
//!
//! Left out: times that the generator draws itself; nobody else knows when its connections were due.

use std::collections::{BTreeMap, HashMap};
use std::io;

use airperf_units::{Duration, Time};
use airperf_wire::{Flags, Ipv4, Tcp};

use crate::clients::Due;
use crate::medium::Event;
use crate::spool::SpoolReader;

/// When each station's connections are due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Schedules(BTreeMap<u16, Schedule>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Schedule {
    due: Due,
    start: Time,
}

impl Schedules {
    /// Reads all events and finds the starts of the stations whose starts are not known.
    pub(super) fn find(due: BTreeMap<u16, Due>, mut spool: SpoolReader) -> io::Result<Self> {
        let schedule = |(station, due)| (station, Schedule { due, start: Time::MAX });
        let mut found: BTreeMap<u16, Schedule> = due.into_iter().map(schedule).collect();
        let mut opened: HashMap<u16, usize> = HashMap::new();
        let mut last: HashMap<(u16, u16), u32> = HashMap::new();
        while let Some(event) = spool.next()? {
            let Event::Offered { at, from, bytes, .. } = event else { continue };
            let Some(schedule) = found.get_mut(&from.0) else { continue };
            let Some((port, sequence)) = syn(bytes) else { continue };
            // The same SYN again is no new connection.
            if last.insert((from.0, port), sequence) == Some(sequence) {
                continue;
            }
            let index = opened.entry(from.0).or_default();
            if let Due::After(offsets) = &schedule.due
                && let Some(&offset) = offsets.get(*index)
            {
                let start = at.saturating_since(Time::ZERO + offset);
                schedule.start = schedule.start.min(Time::ZERO + start);
            }
            *index += 1;
        }
        Ok(Self(found))
    }

    /// When the `index`-th connection of a station was due; `None` when that is not known.
    pub(super) fn connection(&self, station: u16, index: u64) -> Option<Time> {
        let schedule = self.0.get(&station)?;
        let index = usize::try_from(index).ok()?;
        match &schedule.due {
            Due::After(offsets) => Some(schedule.start + *offsets.get(index)?),
            Due::Told(opened) => Some(opened.get(index)?.due),
        }
    }

    /// How long after its schedule wanted it the `index`-th connection of a station was opened, which was `at`; `None` for
    /// one that could not be opened sooner.
    pub(super) fn lag(&self, station: u16, index: u64, at: Time) -> Option<Duration> {
        let due = self.connection(station, index)?;
        let scheduled = match &self.0.get(&station)?.due {
            Due::After(_) => true,
            Due::Told(opened) => opened.get(usize::try_from(index).ok()?)?.scheduled,
        };
        scheduled.then(|| at.saturating_since(due))
    }

    /// When an exchange, by its place on that connection, was due, as its client says.
    pub(super) fn exchange(&self, station: u16, index: u64, place: u32) -> Option<Time> {
        let Due::Told(opened) = &self.0.get(&station)?.due else { return None };
        opened.get(usize::try_from(index).ok()?)?.exchanges.get(place as usize).copied()
    }
}

/// Port and sequence number of a SYN that opens a connection.
fn syn(packet: &[u8]) -> Option<(u16, u32)> {
    let ip = Ipv4::parse(packet).ok()?;
    let tcp = Tcp::parse(ip.payload(), ip.payload_len()).ok()?;
    (tcp.flags().has(Flags::SYN) && !tcp.flags().has(Flags::ACK)).then(|| (tcp.source_port(), tcp.seq()))
}
