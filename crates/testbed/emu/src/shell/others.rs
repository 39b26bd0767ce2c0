//! The other clients of a link's scenario beside the command: real programs in namespaces of their own, and their server.
//!
//! The command takes the place of the scenario's first client. The rest ask the scenario's server, which runs in the
//! namespace around the layer, for what the scenario says, from the command's start to its end or the end of the
//! scenario's duration; see `clients` and `server`, which emulated runs have as well.
//!
//! Left out: what the programs say of themselves: they are ended with the command. What they were sent is counted at
//! their devices.

use std::ffi::OsString;
use std::sync::Arc;

use airperf_clock::RunClock;
use airperf_scenario::Scenario;
use airperf_units::{StreamKey, Time};

use super::ShellError;
use super::report::OtherReport;
use crate::clients::Clients;
use crate::isolation::Lab;
use crate::process::{Identity, Place};
use crate::realtime::Cores;
use crate::registry::{self, Entry};
use crate::run::{CLIENT_NICE, SERVER_FIXED, SERVER_NICE};
use crate::server::Server;
use crate::wants;

/// The other clients and their server. Fields are dropped in order: programs before the lab they run in.
pub(super) struct Others {
    clients: Clients,
    server: Server,
    scenario: Scenario,
    clock: RunClock,
    identity: Option<Identity>,
    cores: Cores,
    entry: Entry,
    lab: Arc<Lab>,
}

impl Others {
    /// Starts the server, and makes the clients ready of all stations but the command's.
    pub(super) fn start(
        scenario: &Scenario,
        key: StreamKey,
        lab: Arc<Lab>,
        own_parts: &[OsString],
    ) -> Result<Self, ShellError> {
        let mut scenario = scenario.clone();
        scenario.clients.remove(0);
        let entry = Entry::new(&registry::default_state_dir())
            .map_err(|error| ShellError::Medium(format!("no private directory for programs: {error}")))?;
        let wants = wants::of(&scenario, key);
        let mut clients = Clients::of(&scenario, &wants, !own_parts.is_empty())?;
        let (identity, cores) = (Identity::for_programs().filter(|_| can_change_identity()), Cores::choose());
        let here = place(&lab, scenario.server.station.0, identity, cores, SERVER_NICE);
        let here = Place { fixed: Some(SERVER_FIXED), ..here };
        let mut server = Server::start(&scenario, &wants, &lab, &here, own_parts, entry.private())?;
        let client = |station| place(&lab, station, identity, cores, CLIENT_NICE);
        clients.prepare(own_parts, &client, entry.private())?;
        server.begin()?;
        let clock = RunClock::starting_at(RunClock::monotonic_now_ns() + clients.lead().as_ns());
        clients.begin(&scenario, &clock)?;
        Ok(Self { clients, server, scenario, clock, identity, cores, entry, lab })
    }

    /// Starts those that are due; why their load is not what the scenario says, if it is not.
    pub(super) fn look(&mut self) -> Result<Option<String>, ShellError> {
        let now = self.clock.now();
        let (lab, identity, cores) = (&self.lab, self.identity, self.cores);
        let client = |station| place(lab, station, identity, cores, CLIENT_NICE);
        self.clients.start_due(now, lab, &client, self.entry.private())?;
        if self.server.ended() {
            return Ok(Some(format!("the other clients' server ended: {}", self.server.complaints())));
        }
        let over = now > Time::ZERO + self.scenario.duration;
        let why = || format!("the other clients ended after {}, before the command", self.scenario.duration);
        Ok(over.then(why))
    }

    /// What they were; the octets are those of their devices.
    pub(super) fn describe(&self, octets: &[[u64; 2]]) -> Vec<OtherReport> {
        let stations = &self.scenario.stations;
        let of = |(station, program): (u16, &'static str)| OtherReport {
            station: stations[usize::from(station)].name.clone(),
            program,
            down_bytes: octets.get(usize::from(station) - 2).map_or(0, |sums| sums[0]),
            up_bytes: octets.get(usize::from(station) - 2).map_or(0, |sums| sums[1]),
        };
        self.clients.programs().map(of).collect()
    }
}

fn place(lab: &Lab, station: u16, identity: Option<Identity>, cores: Cores, nice: i32) -> Place<'_> {
    let network = &lab.stations[usize::from(station)].network;
    Place { network, user: None, identity, cores: cores.programs, nice, fixed: None }
}

/// Whether this process may become somebody else: within a user namespace of one user there is nobody.
fn can_change_identity() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace()
        .nth(2)
        .and_then(|length| length.parse::<u64>().ok())
        .is_some_and(|length| length > 65_534)
}
