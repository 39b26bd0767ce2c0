//! Who plays the clients in a run: the programs chosen, started when due, asked for their reports.
//!
//! Left out: the programs themselves; see `programs`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use airperf_clock::RunClock;
use airperf_record::PageRow;
use airperf_scenario::{ClientProgram, Scenario};
use airperf_units::{Duration, Time};
use airperf_workload::{ArrivalProcess, Distribution};

use crate::isolation::{Lab, address_of};
use crate::process::Place;
use crate::programs::generator::{self, Generator};
use crate::programs::httperf::{self, Asking, Httperf, Report};
use crate::programs::{ProgramError, embedded, version};
use crate::wants::{self, Each, Want};

/// Connections opened later than this after they were due, at the 99th percentile, were bunched by the machine and not
/// by the network: several of the study's transactions (10 ms) long.
pub(crate) const LATEST_SCHEDULE: Duration = Duration::from_ms(50);

/// What plays a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Httperf,
    Generator,
    Embedded,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Httperf => "httperf",
            Self::Generator => generator::NAME,
            Self::Embedded => "embedded",
        }
    }

    fn version(self) -> Option<String> {
        match self {
            Self::Httperf => httperf::installed().and_then(|path| version(path, "--version")),
            Self::Generator | Self::Embedded => Some(env!("CARGO_PKG_VERSION").to_owned()),
        }
    }

    /// What a client wants that this does not do, with the key that says so.
    fn lacks(self, client: &airperf_scenario::Client) -> Option<(&'static str, &'static str)> {
        let none = Distribution::Fixed(0);
        let (workload, plan) = (&client.workload, &client.workload.session);
        let generates = self == Self::Generator;
        let (progress, reset) = (client.http.timeout_rule != Default::default(), client.http.abort_resets);
        let wants = [
            (!generates && workload.arrivals == ArrivalProcess::Once, "kind", "browse"),
            (
                wants::is_boundless(workload),
                "think_time",
                "have users who never think and want objects of random size",
            ),
            (
                self == Self::Httperf && !httperf::can(workload.arrivals),
                "arrivals",
                "open connections by this arrival process",
            ),
            (!generates && workload.size.fixed().is_none(), "size", "fetch objects of random size"),
            (!generates && workload.upload != none, "upload", "send requests with bodies"),
            (!generates && plan.embedded != none, "embedded", "fetch pages that embed objects"),
            (!generates && plan.think_time != none, "think_time", "think between pages"),
            (!generates && plan.patience.is_some(), "patience", "leave a page"),
            (!generates && progress, "timeout_rule", "restart timers"),
            (!generates && reset, "abort", "reset connections"),
            (
                generates && progress && !reset,
                "abort",
                "close after its timers were restarted; set abort = \"reset\"",
            ),
            (
                generates && reset && !progress,
                "timeout_rule",
                "reset without restarting timers; set timeout_rule = \"progress\"",
            ),
            (!generates && workload.plain().is_none(), "pages", "make such sessions"),
        ];
        wants.into_iter().find(|(wanted, ..)| *wanted).map(|(_, key, what)| (key, what))
    }
}

/// Which program plays a client: the one chosen, or the first that can do it.
fn kind(
    choice: ClientProgram,
    can_generate: bool,
    client: &airperf_scenario::Client,
) -> Result<Kind, ProgramError> {
    let chosen = match choice {
        ClientProgram::Httperf => Kind::Httperf,
        ClientProgram::Load => Kind::Generator,
        ClientProgram::Embedded => Kind::Embedded,
        ClientProgram::Auto => {
            let there = [
                (Kind::Httperf, httperf::installed().is_some()),
                (Kind::Generator, can_generate),
                (Kind::Embedded, true),
            ];
            let able = |&&(kind, there): &&(Kind, bool)| there && kind.lacks(client).is_none();
            if let Some((kind, _)) = there.iter().find(able) {
                return Ok(*kind);
            }
            let (key, what) =
                Kind::Generator.lacks(client).unwrap_or(("kind", "do this without its generator"));
            return Err(ProgramError::NotYet { what, key });
        }
    };
    let program = chosen.name();
    match chosen.lacks(client) {
        _ if chosen == Kind::Generator && !can_generate => Err(ProgramError::NotTold { program }),
        Some((key, what)) => Err(ProgramError::Unable { program, what, key, chosen: "emu.client_program" }),
        None => Ok(chosen),
    }
}

#[derive(Debug)]
enum Running {
    Httperf(Httperf),
    Generator(Generator),
    Embedded(embedded::Client),
}

#[derive(Debug)]
struct Client {
    station: u16,
    server: u16,
    start: Time,
    kind: Kind,
    want: Want,
    asking: Asking,
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
    /// When its connections were due, where that is known.
    #[serde(skip)]
    pub(crate) due: Option<Due>,
    /// The pages of its users.
    #[serde(skip)]
    pub(crate) pages: Vec<PageRow>,
    /// Number of its station.
    #[serde(skip)]
    pub(crate) number: u16,
}

/// When the connections of a station were due, in the order in which they were opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// So long after the first, whenever that was.
    After(Arc<[Duration]>),
    /// As its program says of each.
    Told(Arc<[Opened]>),
}

/// When a connection that was opened was due, and so each of its exchanges, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opened {
    pub(crate) due: Time,
    /// Whether that was its client's schedule: others may have waited for one another.
    pub(crate) scheduled: bool,
    pub(crate) exchanges: Box<[Time]>,
}

/// All clients of a run.
#[derive(Debug)]
pub(crate) struct Clients(Vec<Client>);

impl Clients {
    /// The scenario's clients with what they want, none of them started.
    pub(crate) fn of(scenario: &Scenario, wants: &[Want], can_generate: bool) -> Result<Self, ProgramError> {
        let end = Time::ZERO + scenario.duration;
        let server = scenario.server.station.0;
        let clients = scenario.clients.iter().zip(wants).map(|(client, want)| {
            let kind = kind(scenario.emu.client_program, can_generate, client)?;
            let start = want.due.first().copied().unwrap_or(end);
            let (calls, uri) = match &want.each {
                Each::Plain { requests, path, .. } => (*requests, path.clone()),
                Each::Users { .. } => (1, String::new()),
            };
            let asking = Asking {
                server: address_of(server).to_string(),
                uri,
                rate: client.workload.rate.as_f64(),
                connections: want.due.len() as u64,
                calls,
                timeout_s: client.http.timeout.map(|timeout| timeout.as_secs_f64()),
                poisson: client.workload.arrivals == ArrivalProcess::Poisson,
                offsets: want.due.iter().map(|&due| due - start).collect(),
            };
            let (station, want) = (client.station.0, want.clone());
            Ok(Client { station, server, start, kind, want, asking, running: None, started: false })
        });
        clients.collect::<Result<_, _>>().map(Self)
    }

    /// Makes ready what takes long to: processes of our own.
    ///
    /// # Errors
    /// When one does not get ready.
    pub(crate) fn prepare<'p>(
        &mut self,
        command: &[OsString],
        place: &dyn Fn(u16) -> Place<'p>,
        folder: &Path,
    ) -> Result<(), ProgramError> {
        let generating = |client: &&mut Client| client.kind == Kind::Generator && !client.want.due.is_empty();
        for client in self.0.iter_mut().filter(generating) {
            let files = folder.join(format!("{}-{}", generator::NAME, client.station));
            let generator = Generator::start(command, &place(client.station), &files)?;
            client.running = Some(Running::Generator(generator));
        }
        for client in &mut self.0 {
            if let Some(Running::Generator(generator)) = &mut client.running {
                generator.wait()?;
            }
        }
        Ok(())
    }

    /// How long before the run's zero the medium starts to lock its memory, and those that are ready to read their plans.
    pub(crate) fn lead(&self) -> Duration {
        let of = |client: &Client| match client.kind {
            // Reading a plan takes a fraction of a microsecond for each number in it.
            Kind::Generator => Duration::from_ms(50) + Duration::from_us(4 * client.asking.connections),
            _ => Duration::ZERO,
        };
        Duration::from_ms(100) + self.0.iter().map(of).sum()
    }

    /// Hands plans to those that are ready: they begin together, by the clock of the run.
    ///
    /// # Errors
    /// When one does not listen.
    pub(crate) fn begin(&mut self, scenario: &Scenario, clock: &RunClock) -> Result<(), ProgramError> {
        let zero_ns = clock.monotonic_ns(Time::ZERO);
        for (number, (client, said)) in self.0.iter_mut().zip(&scenario.clients).enumerate() {
            if let Some(Running::Generator(generator)) = &mut client.running {
                let plan = generator::plan(scenario, said, number, &client.want, LATEST_SCHEDULE, zero_ns);
                generator.begin(&plan)?;
                client.started = true;
            }
        }
        Ok(())
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
            client.running = Some(if client.kind == Kind::Httperf {
                let files = folder.join(format!("httperf-{station}"));
                Running::Httperf(Httperf::start(&client.asking, &place, &files)?)
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

    /// Every client's station, and the program that plays it.
    pub(crate) fn programs(&self) -> impl Iterator<Item = (u16, &'static str)> + '_ {
        self.0.iter().map(|client| (client.station, client.kind.name()))
    }

    /// Whether every client has been started and has ended.
    pub(crate) fn all_ended(&mut self) -> Result<bool, ProgramError> {
        let mut all = true;
        for client in &mut self.0 {
            all &= client.started
                && match &mut client.running {
                    None => true,
                    Some(Running::Httperf(httperf)) => httperf.ended()?,
                    Some(Running::Generator(generator)) => generator.ended()?,
                    Some(Running::Embedded(embedded)) => embedded.ended(),
                };
        }
        Ok(all)
    }

    /// Ends all clients and collects what they report.
    pub(crate) fn report(&mut self, scenario: &Scenario) -> Result<Vec<ClientReport>, ProgramError> {
        let mut reports = Vec::new();
        for client in &mut self.0 {
            let offsets = || Some(Due::After(client.asking.offsets.clone()));
            let mut pages = Vec::new();
            let (report, text, due) = match client.running.take() {
                None => (None, String::new(), offsets()),
                Some(Running::Httperf(httperf)) => {
                    let (report, text) = httperf.report()?;
                    // It draws the times of Poisson arrivals itself.
                    (report, text, if client.asking.poisson { None } else { offsets() })
                }
                Some(Running::Embedded(embedded)) => (Some(embedded.report()), String::new(), offsets()),
                Some(Running::Generator(generator)) => {
                    let left = generator.report(&client.want.due)?;
                    pages = left.pages;
                    (left.report, left.text, Some(Due::Told(left.opened.into())))
                }
            };
            reports.push(ClientReport {
                station: scenario.stations[usize::from(client.station)].name.clone(),
                number: client.station,
                program: client.kind.name(),
                version: client.kind.version(),
                wanted: client.asking.connections,
                report,
                text,
                due,
                pages,
            });
        }
        Ok(reports)
    }
}

/// When the connections of each station were due, of those clients that know it.
pub(crate) fn schedules(reports: &[ClientReport]) -> BTreeMap<u16, Due> {
    reports.iter().filter_map(|report| Some((report.number, report.due.clone()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use airperf_units::StreamKey;

    fn of(keys: &str, can_generate: bool) -> Result<Vec<&'static str>, String> {
        let text = format!(
            "schema = 1\nname = \"roles\"\nduration = \"1s\"\nlink = {{ kind = \"wifi\" }}\n[[client]]\n{keys}"
        );
        let scenario = Scenario::parse(&text, "roles", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let wants = wants::of(&scenario, StreamKey::new(1));
        let clients = Clients::of(&scenario, &wants, can_generate).map_err(|error| error.to_string())?;
        Ok(clients.0.iter().map(|client| client.kind.name()).collect())
    }

    const PLAIN: &str = "rate = \"10/s\"\nsize = \"1KiB\"\n";

    #[test]
    fn what_no_program_does_yet_is_refused_by_its_key() {
        assert!(of(PLAIN, false).is_ok());
        assert!(of(&format!("{PLAIN}requests_per_connection = 5\n"), false).is_ok());
        for (keys, key) in [
            ("kind = \"browse\"\nsize = \"exponential(mean 1KiB)\"\n", "`think_time`"),
            (&format!("{PLAIN}timeout_rule = \"progress\"\n"), "`abort`"),
            (&format!("{PLAIN}abort = \"reset\"\n"), "`timeout_rule`"),
        ] {
            let told = of(keys, true).expect_err(keys);
            assert!(told.contains(key) && told.contains("simulated testbed"), "{keys}: {told}");
        }
    }

    #[test]
    fn the_generator_does_what_httperf_and_the_built_in_client_do_not() {
        for (keys, key) in [
            ("rate = \"10/s\"\nsize = \"exponential(mean 1KiB)\"\n", "`size`"),
            (&format!("{PLAIN}upload = \"1KiB\"\n"), "`upload`"),
            (&format!("{PLAIN}embedded = 3\nrequests_per_connection = 4\n"), "`embedded`"),
            (
                &format!("{PLAIN}think_time = \"1s\"\npages = 2\nrequests_per_connection = 2\n"),
                "`think_time`",
            ),
            (&format!("{PLAIN}timeout_rule = \"progress\"\nabort = \"reset\"\n"), "`timeout_rule`"),
            ("kind = \"browse\"\nsize = \"1KiB\"\n", "`kind`"),
            (&format!("{PLAIN}patience = \"1s\"\n"), "`patience`"),
            (&format!("{PLAIN}pages = 3\n"), "`pages`"),
            (&format!("{PLAIN}embedded = 3\nconnections = 2\nparse_time = \"1ms\"\n"), "`embedded`"),
        ] {
            assert_eq!(of(keys, true), Ok(vec!["airperf-load"]), "{keys}");
            assert!(of(keys, false).is_err(), "{keys}");
            for program in ["httperf", "embedded"] {
                let text = format!("{keys}[emu]\nclient_program = \"{program}\"\n");
                let told = of(&text, true).expect_err(&text);
                assert!(told.contains(program) && told.contains(key), "{text}: {told}");
            }
        }
    }

    #[test]
    fn the_generator_is_refused_where_nobody_said_how_to_start_it() {
        let text = format!("{PLAIN}[emu]\nclient_program = \"airperf-load\"\n");
        assert_eq!(of(&text, true), Ok(vec!["airperf-load"]));
        assert!(of(&text, false).unwrap_err().contains("airperf run"));
    }

    #[test]
    fn clients_may_want_objects_of_different_sizes() {
        let text = format!("{PLAIN}[[client]]\nrate = \"10/s\"\nsize = \"2KiB\"\n");
        assert_eq!(of(&text, false).map(|programs| programs.len()), Ok(2));
    }
}
