//! Who plays server and clients in a run: the programs chosen, started when due, asked for their reports.
//!
//! Left out: the programs themselves; see `programs`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use airperf_scenario::{Program, Scenario};
use airperf_units::{Duration, StreamKey, Time};
use airperf_workload::{ArrivalProcess, Distribution, Schedule};
use serde_json::{Value, json};

use crate::isolation::{Lab, address_of};
use crate::process::Place;
use crate::programs::apache::{self, Apache};
use crate::programs::httperf::{self, Asking, Httperf, Report};
use crate::programs::{ProgramError, Serving, embedded, path_for, version};

/// Whether the installed program plays a part.
fn installed(choice: Program, is_there: bool) -> bool {
    match choice {
        Program::Installed => true, // and if it is not there, its start says so
        Program::Embedded => false,
        Program::Auto => is_there,
    }
}

/// The server of a run.
#[derive(Debug)]
pub(crate) enum Server {
    Apache(Apache),
    Embedded(embedded::Server),
}

impl Server {
    /// Starts the scenario's server and waits until it serves.
    pub(crate) fn start(
        scenario: &Scenario,
        lab: &Lab,
        place: &Place<'_>,
        folder: &Path,
    ) -> Result<Self, ProgramError> {
        let http = &scenario.server.http;
        if http.admission.is_some() {
            return Err(ProgramError::NotYet { what: "control admission", key: "server.admission" });
        }
        let station = scenario.server.station.0;
        let serving = Serving {
            uri: uri(scenario),
            object_bytes: object_bytes(scenario),
            header_bytes: http.reply_header_bytes,
            processes: http.max_clients,
            backlog: http.backlog,
            keep_alive: std::time::Duration::from_nanos(http.keep_alive_timeout.as_ns()),
            requests_per_connection: http.max_requests_per_connection,
        };
        if installed(scenario.emu.server_program, apache::installed().is_some()) {
            Apache::start(&serving, station, lab, place, folder).map(Self::Apache)
        } else {
            embedded::Server::start(&serving, station, lab, place.cores).map(Self::Embedded)
        }
    }

    /// Whether it has ended, which it should not.
    pub(crate) fn ended(&mut self) -> bool {
        match self {
            Self::Apache(apache) => apache.ended(),
            Self::Embedded(_) => false,
        }
    }

    /// The end of what it wrote.
    pub(crate) fn complaints(&self) -> String {
        match self {
            Self::Apache(apache) => apache.complaints(),
            Self::Embedded(_) => String::new(),
        }
    }

    /// What it is, for the manifest.
    pub(crate) fn describe(&self) -> Value {
        match self {
            Self::Apache(server) => json!({
                "program": "apache2",
                "version": apache::installed().and_then(|path| version(path, "-v")),
                "reply_header_bytes": server.header_bytes,
            }),
            Self::Embedded(server) => json!({
                "program": "embedded",
                "version": env!("CARGO_PKG_VERSION"),
                "reply_header_bytes": server.header_bytes,
            }),
        }
    }
}

/// Path of the object: as long as the first client's requests need it to be.
fn uri(scenario: &Scenario) -> String {
    let host = address_of(scenario.server.station.0).to_string();
    path_for(&host, scenario.clients.first().map_or(0, |client| client.http.request_bytes))
}

/// Octets of the object; today all clients ask for the same.
fn object_bytes(scenario: &Scenario) -> u64 {
    let first = scenario.clients.first();
    first.and_then(|client| client.workload.size.fixed()).unwrap_or_default()
}

/// What a client wants that neither httperf nor the built-in client does, with the key that says so.
fn beyond(
    client: &airperf_scenario::Client,
    first: &airperf_scenario::Client,
) -> Option<(&'static str, &'static str)> {
    let none = Distribution::Fixed(0);
    let (workload, plan) = (&client.workload, &client.workload.session);
    let wants = [
        (workload.arrivals == ArrivalProcess::Once, "kind", "browse"),
        (workload.size.fixed().is_none(), "size", "fetch objects of random size"),
        (workload.size != first.workload.size, "size", "serve each client objects of its own size"),
        (workload.upload != none, "upload", "send requests with bodies"),
        (plan.embedded != none, "embedded", "fetch pages that embed objects"),
        (plan.think_time != none, "think_time", "think between pages"),
        (plan.patience.is_some(), "patience", "leave a page"),
        (client.http.timeout_rule != Default::default(), "timeout_rule", "restart timers"),
        (client.http.abort_resets, "abort", "reset connections"),
        (workload.plain().is_none(), "pages", "make sessions of several connections"),
    ];
    wants.into_iter().find(|(wanted, ..)| *wanted).map(|(_, key, what)| (key, what))
}

#[derive(Debug)]
enum Running {
    Httperf(Httperf),
    Embedded(embedded::Client),
}

#[derive(Debug)]
struct Client {
    station: u16,
    server: u16,
    start: Time,
    asking: Asking,
    installed: bool,
    running: Option<Running>,
    started: bool,
}

/// What a client was and said.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct ClientReport {
    /// Its station's name.
    pub(crate) station: String,
    /// The program.
    pub(crate) program: &'static str,
    /// Its version.
    pub(crate) version: Option<String>,
    /// Connections the scenario wants of it.
    pub(crate) wanted: u64,
    /// Its own totals; `None` when the run was over before it reported.
    pub(crate) report: Option<Report>,
    /// The text it wrote.
    #[serde(skip)]
    pub(crate) text: String,
}

/// All clients of a run.
#[derive(Debug)]
pub(crate) struct Clients(Vec<Client>);

impl Clients {
    /// The scenario's clients, none of them started.
    pub(crate) fn of(scenario: &Scenario, key: StreamKey) -> Result<Self, ProgramError> {
        let end = Time::ZERO + scenario.duration;
        let there = httperf::installed().is_some();
        let server = scenario.server.station.0;
        let clients = scenario.clients.iter().enumerate().map(|(index, client)| {
            if let Some((key, what)) = beyond(client, &scenario.clients[0]) {
                return Err(ProgramError::NotYet { what, key });
            }
            let arrivals = client.workload.arrivals;
            let schedule = Schedule::new(client.workload.clone(), end, &key, index as u64);
            let due: Vec<Time> = schedule.map(|demand| demand.due).collect();
            let start = due.first().copied().unwrap_or(end);
            let asking = Asking {
                server: address_of(server).to_string(),
                uri: uri(scenario),
                rate: client.workload.rate.as_f64(),
                connections: due.len() as u64,
                calls: client.workload.plain().map_or(1, |plain| plain.requests),
                timeout_s: client.http.timeout.map(|timeout| timeout.as_secs_f64()),
                poisson: arrivals == ArrivalProcess::Poisson,
                offsets: due.iter().map(|&due| due - start).collect(),
            };
            let able = httperf::can(arrivals);
            let installed = installed(scenario.emu.client_program, there && able);
            if installed && !able {
                let what = "open connections by this arrival process";
                return Err(ProgramError::Unable { program: "httperf", what, key: "emu.client_program" });
            }
            let station = client.station.0;
            Ok(Client { station, server, start, asking, installed, running: None, started: false })
        });
        clients.collect::<Result<_, _>>().map(Self)
    }

    /// When each station's connections are due after its first; without those whose client draws its own times.
    pub(crate) fn offsets(&self) -> BTreeMap<u16, Arc<[Duration]>> {
        let told = self.0.iter().filter(|client| !(client.installed && client.asking.poisson));
        told.map(|client| (client.station, client.asking.offsets.clone())).collect()
    }

    /// Starts the clients that are due.
    pub(crate) fn start_due<'p>(
        &mut self,
        now: Time,
        lab: &Arc<Lab>,
        place: &dyn Fn(u16) -> Place<'p>,
        folder: &Path,
    ) -> Result<(), ProgramError> {
        for client in self.0.iter_mut().filter(|client| !client.started && client.start <= now) {
            client.started = true;
            if client.asking.connections == 0 {
                continue;
            }
            let (station, place) = (client.station, place(client.station));
            client.running = Some(if client.installed {
                Running::Httperf(Httperf::start(
                    &client.asking,
                    &place,
                    &folder.join(format!("httperf-{station}")),
                )?)
            } else {
                let cores = place.cores;
                Running::Embedded(embedded::Client::start(
                    &client.asking,
                    station,
                    client.server,
                    lab,
                    cores,
                )?)
            });
        }
        Ok(())
    }

    /// When the next client is due after `now`.
    pub(crate) fn next_start(&self, now: Time) -> Option<Time> {
        self.0.iter().filter(|client| !client.started).map(|client| client.start.max(now)).min()
    }

    /// Whether every client has been started and has ended.
    pub(crate) fn all_ended(&mut self) -> Result<bool, ProgramError> {
        let mut all = true;
        for client in &mut self.0 {
            all &= client.started
                && match &mut client.running {
                    None => true,
                    Some(Running::Httperf(httperf)) => httperf.ended()?,
                    Some(Running::Embedded(embedded)) => embedded.ended(),
                };
        }
        Ok(all)
    }

    /// Ends all clients and collects what they report.
    pub(crate) fn report(&mut self, scenario: &Scenario) -> Result<Vec<ClientReport>, ProgramError> {
        let installed_version = httperf::installed().and_then(|path| version(path, "--version"));
        let mut reports = Vec::new();
        for client in &mut self.0 {
            let (report, text) = match client.running.take() {
                None => (None, String::new()),
                Some(Running::Httperf(httperf)) => httperf.report()?,
                Some(Running::Embedded(embedded)) => (Some(embedded.report()), String::new()),
            };
            let (program, version) = if client.installed {
                ("httperf", installed_version.clone())
            } else {
                ("embedded", Some(env!("CARGO_PKG_VERSION").to_owned()))
            };
            let station = scenario.stations[usize::from(client.station)].name.clone();
            reports.push(ClientReport {
                station,
                program,
                version,
                wanted: client.asking.connections,
                report,
                text,
            });
        }
        Ok(reports)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_program_does_yet_is_refused_by_its_key() {
        let of = |keys: &str| {
            let text = format!(
                "schema = 1\nname = \"roles\"\nduration = \"1s\"\nlink = {{ kind = \"wifi\" }}\n[[client]]\n{keys}"
            );
            let scenario =
                Scenario::parse(&text, "roles", &[]).unwrap_or_else(|problems| panic!("{problems}"));
            Clients::of(&scenario, StreamKey::new(1)).map(drop).map_err(|error| error.to_string())
        };
        let plain = "rate = \"10/s\"\nsize = \"1KiB\"\n";
        assert_eq!(of(plain), Ok(()));
        assert_eq!(of(&format!("{plain}requests_per_connection = 5\n")), Ok(()));
        for (keys, key) in [
            ("kind = \"browse\"\nsize = \"1KiB\"\n", "`kind`"),
            ("rate = \"10/s\"\nsize = \"exponential(mean 1KiB)\"\n", "`size`"),
            (&format!("{plain}[[client]]\nrate = \"10/s\"\nsize = \"2KiB\"\n"), "`size`"),
            (&format!("{plain}upload = \"1KiB\"\n"), "`upload`"),
            (&format!("{plain}embedded = 3\n"), "`embedded`"),
            (&format!("{plain}think_time = \"1s\"\npages = 2\n"), "`think_time`"),
            (&format!("{plain}patience = \"1s\"\n"), "`patience`"),
            (&format!("{plain}timeout_rule = \"progress\"\n"), "`timeout_rule`"),
            (&format!("{plain}abort = \"reset\"\n"), "`abort`"),
            (&format!("{plain}pages = 3\n"), "`pages`"),
        ] {
            let told = of(keys).expect_err(keys);
            assert!(told.contains(key) && told.contains("simulated testbed"), "{keys}: {told}");
        }
    }
}
