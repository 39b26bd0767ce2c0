//! One emulated run, from scenario to run directory.
//!
//! Order: what is needed is checked; the lab is set up; the server starts and serves over its loopback
//! device; the medium takes the devices and the clock starts; each client starts when it is due; when
//! the load is over and every client has ended, or the run's time is up, the medium closes; the events
//! become tables. At any earlier end, dropping what was made frees it all, and so does our death.
//!
//! Left out: parsing scenarios (the caller's), and everything after the run directory (analysis).

mod medium_thread;
mod outcome;
mod visits;

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration as WallDuration, SystemTime, UNIX_EPOCH};

use airperf_clock::{ClockWatch, RunClock};
use airperf_link::Link;
use airperf_record::{Manifest, Options, RunWriter, WriteError};
use airperf_scenario::{OverLink, Scenario};
use airperf_units::{Duration, StreamKey, Time};
use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit};

use crate::clients::{self, Clients};
use crate::isolation::{Device, DeviceKind, Isolation, Lab, LabError};
use crate::kernel;
use crate::pool::Handle;
use crate::process::{Identity, Place};
use crate::programs::ProgramError;
use crate::realtime::Cores;
use crate::records::{Records, RecordsError};
use crate::registry::{self, Entry};
use crate::server::Server;
use crate::spool::{self, Spool};
use crate::wants;
use medium_thread::MediumThread;
pub use visits::{LoadSeen, ObjectSeen, Visitor, Visits, visit, visit_settings};

/// Name of the spool in the unfinished run directory.
const SPOOL: &str = "events.spool";
/// How long after the last client's end the medium goes on: the last FINs and their acknowledgements.
const LINGER: Duration = Duration::from_ms(500);
/// How often the run looks around.
const LOOK: WallDuration = WallDuration::from_millis(20);
/// How often the caller hears of it.
const REPORT_EVERY: Duration = Duration::from_ms(500);
/// Descriptors we need besides those of the stations.
const DESCRIPTORS: u64 = 128;

/// Precedence of the server: above the clients, for httperf polls without a pause and shares its core.
pub(crate) const SERVER_NICE: i32 = -15;
/// Fixed priority of the server: below the medium's.
pub(crate) const SERVER_FIXED: i32 = 20;
/// Precedence of the clients: above everything else on the machine that is not of the kernel. No fixed priority: httperf
/// never sleeps, and the kernel would stop it with all others of the core for 50 ms of each second.
pub(crate) const CLIENT_NICE: i32 = -10;

/// Why there is no run directory.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The lab could not be set up.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// A program did not play its part.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The server ended before the load did.
    #[error("the server ended in the middle of the run; it said:\n{0}")]
    ServerEnded(String),
    /// The link cannot be built.
    #[error(transparent)]
    Link(#[from] airperf_wifi::ConfigError),
    /// The records cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The events could not be made records.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// Flows, which no program here plays.
    #[error(
        "the emulated testbed has no programs for [[flow]] tables (bulk transfers, datagrams and streams): \
         use --testbed sim, or leave them out"
    )]
    Flows,
    /// Browsers beside clients, or several.
    #[error(
        "the emulated testbed has a real browser for one [[browser]] of a scenario without [[client]]: use --testbed sim, or \
         load the page beside other clients: airperf browse URL --site PAGE --net SCENARIO"
    )]
    Browsers,
    /// The browser, or what it was started with, failed.
    #[error("{0}")]
    Browser(String),
    /// Fewer descriptors than needed.
    #[error(
        "this process may open {have} files, a run of this scenario needs {need}: raise the limit (ulimit -n)"
    )]
    Descriptors {
        /// The limit.
        have: u64,
        /// What is needed.
        need: u64,
    },
    /// A file or directory the run needs could not be made.
    #[error("cannot {what}: {error}")]
    File {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        error: std::io::Error,
    },
    /// The medium could not start, or ended early.
    #[error("the medium's thread failed: {0}")]
    Medium(String),
    /// The caller asked to stop.
    #[error("interrupted; nothing is left of the run")]
    Interrupted,
}

impl RunError {
    /// Whether the machine lacks something, so that nothing was started (exit code 4 of the contracts).
    pub const fn is_lack(&self) -> bool {
        matches!(
            self,
            Self::Lab(_)
                | Self::Flows
                | Self::Browsers
                | Self::Descriptors { .. }
                | Self::Program(ProgramError::Missing { .. } | ProgramError::Lab(_))
        )
    }
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// What is going on: `starting`, `running` or `recording`.
    pub phase: &'static str,
    /// Seconds of the run that have passed.
    pub elapsed_s: f64,
    /// Seconds it may take at most.
    pub total_s: f64,
}

/// What a caller may choose besides the scenario.
#[derive(Clone, Debug, Default)]
pub struct EmuOptions {
    /// How to write the run directory.
    pub record: Options,
    /// How namespaces are come by; `None` lets the process's privileges decide.
    pub isolation: Option<Isolation>,
    /// How packets come out of stations; `None` for TUN devices where there are any.
    pub device: Option<DeviceKind>,
    /// A command, program and arguments, that becomes a part of airperf when it is told which, `load` or `proxy`; see the
    /// reference of [`airperf_emu`](crate). Empty when there is none, and then no scenario may ask for one.
    pub own_parts: Vec<OsString>,
    /// Where running runs are registered; `None` for [`registry::default_state_dir`].
    pub state_dir: Option<PathBuf>,
}

/// Runs a scenario with real programs and writes the run directory `directory`, whole or not at all.
///
/// `text` is the scenario as the user wrote it. `progress` is called about twice a second on the calling
/// thread, which must live until the run is over; when it breaks, the run is torn down.
///
/// # Errors
/// What the machine lacks, what a program said, or what could not be written; see [`RunError`].
pub fn run(
    scenario: &Scenario,
    text: &str,
    key: StreamKey,
    directory: &Path,
    options: &EmuOptions,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Manifest, RunError> {
    if !scenario.flows.is_empty() {
        return Err(RunError::Flows);
    }
    if !scenario.browsers.is_empty() {
        // A real one needs a network namespace with the page's hosts: see `visit`.
        return Err(RunError::Browsers);
    }
    if let Some((key, what)) = kernel::beyond(scenario) {
        return Err(ProgramError::NotYet { what, key }.into());
    }
    let state = options.state_dir.clone().unwrap_or_else(registry::default_state_dir);
    // What cannot be read of a registry must not stop a run; it is the business of `clean`.
    let _ = registry::clean(&state);
    check_descriptors(scenario)?;
    let file = |what| move |error| RunError::File { what, error };
    let mut entry = Entry::new(&state).map_err(file("register the run and make its private directory"))?;
    let mut writer = RunWriter::create(directory, options.record)?;
    entry.add(writer.partial()).map_err(file("register the run directory"))?;

    let spool_path = writer.partial().join(SPOOL);
    let (spool, spooler) = spool::open(&spool_path).map_err(file("open a file for the run's events"))?;
    let (mut run, devices) = Running::set_up(scenario, key, &entry, options)?;
    run.begin(scenario)?;
    let medium = start_medium(scenario, key, spool, devices, &run)?;
    run.go(scenario, &medium, progress)?;
    let medium = medium.finish()?;
    let programs = run.report(scenario)?;
    let tell = Progress {
        phase: "recording",
        elapsed_s: medium.closing.as_secs_f64(),
        total_s: scenario.run_time().as_secs_f64(),
    };
    if progress(tell).is_break() {
        return Err(RunError::Interrupted);
    }
    spooler.finish().map_err(file("write the run's events"))?;
    let due = clients::schedules(&programs.clients);
    let records = Records::new(&mut writer, scenario, key.seed, run.epoch_ns, &spool_path, due)?;
    let sums = records.write(&spool_path, medium.closing, &mut writer)?;
    scenario.files.iter().try_for_each(|file| writer.text(&file.name(), &file.text))?;
    std::fs::remove_file(&spool_path).map_err(file("remove the file of the run's events"))?;
    outcome::write_lag(&mut writer, &medium)?;
    outcome::write_pages(&mut writer, &programs)?;
    outcome::keep_reports(&mut writer, &programs)?;
    let seen = outcome::Seen { medium, sums, programs, clocks: run.watch.complaints() };
    let manifest = outcome::manifest(scenario, text, key, seen);
    Ok(writer.finish(manifest)?)
}

fn start_medium(
    scenario: &Scenario,
    key: StreamKey,
    spool: Spool,
    devices: Vec<Device>,
    run: &Running,
) -> Result<MediumThread, RunError> {
    let parts = medium_thread::Parts {
        devices,
        clock: run.clock,
        end: Time::ZERO + scenario.run_time(),
        core: run.cores.medium,
        sample_every: scenario.record.queue_interval,
        mtu: scenario.link.mtu(),
    };
    scenario.link.build(key, Start { packets: scenario.link.packets(), spool, parts })?
}

/// Starts the medium over whatever link it is.
struct Start {
    packets: u32,
    spool: Spool,
    parts: medium_thread::Parts,
}

impl OverLink<Handle> for Start {
    type Output = Result<MediumThread, RunError>;

    fn over<L: Link<Handle> + Send + 'static>(self, link: L) -> Self::Output {
        MediumThread::start(link, self.packets, self.spool, self.parts)
    }
}

fn check_descriptors(scenario: &Scenario) -> Result<(), RunError> {
    let need = DESCRIPTORS + 4 * scenario.stations.len() as u64;
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((have, _)) if have < need => Err(RunError::Descriptors { have, need }),
        _ => Ok(()),
    }
}

/// What lives while a run lasts. Fields are dropped in order: programs before the lab they run in.
struct Running {
    clients: Clients,
    server: Server,
    lab: Arc<Lab>,
    folder: PathBuf,
    isolation: Isolation,
    device: DeviceKind,
    settings: Vec<(String, String)>,
    identity: Option<Identity>,
    cores: Cores,
    clock: RunClock,
    watch: ClockWatch,
    epoch_ns: u64,
}

impl Running {
    fn set_up(
        scenario: &Scenario,
        key: StreamKey,
        entry: &Entry,
        options: &EmuOptions,
    ) -> Result<(Self, Vec<Device>), RunError> {
        let isolation = options.isolation.unwrap_or_else(Isolation::for_this_process);
        let wants = wants::of(scenario, key);
        let mut clients = Clients::of(scenario, &wants, !options.own_parts.is_empty())?;
        let device = options.device.unwrap_or_else(DeviceKind::for_this_machine);
        let settings = kernel::settings(scenario, device);
        let mut lab = Lab::new(scenario.stations.len() as u16, isolation, &settings)?;
        let devices = lab.take_devices();
        // Root inside a user namespace of our own has nobody to become.
        let identity = match isolation {
            Isolation::Privileged => Identity::for_programs(),
            Isolation::UserNamespace => None,
        };
        let cores = Cores::choose();
        let server_place = place(&lab, scenario.server.station.0, identity, cores, SERVER_NICE);
        let server_place = Place { fixed: Some(SERVER_FIXED), ..server_place };
        let server =
            Server::start(scenario, &wants, &lab, &server_place, &options.own_parts, entry.private())?;
        let place = |station| place(&lab, station, identity, cores, CLIENT_NICE);
        clients.prepare(&options.own_parts, &place, entry.private())?;
        let run = Self {
            clients,
            server,
            folder: entry.private().to_owned(),
            isolation,
            device,
            settings: settings.sysctls,
            identity,
            cores,
            clock: RunClock::start(),
            watch: ClockWatch::start(),
            epoch_ns: 0,
            lab: Arc::new(lab),
        };
        Ok((run, devices))
    }

    /// Sets the run's zero, far enough ahead for clients that have to be told.
    fn begin(&mut self, scenario: &Scenario) -> Result<(), RunError> {
        self.server.begin()?;
        let lead_ns = self.clients.lead().as_ns();
        self.clock = RunClock::starting_at(RunClock::monotonic_now_ns() + lead_ns);
        let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64);
        self.epoch_ns = now_ns + lead_ns;
        Ok(self.clients.begin(scenario, &self.clock)?)
    }

    /// Starts the clients when they are due and waits for the end of the load.
    fn go(
        &mut self,
        scenario: &Scenario,
        medium: &MediumThread,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), RunError> {
        let total_s = scenario.run_time().as_secs_f64();
        let (mut next_report, mut over_since) = (Time::ZERO, None);
        let zero_ns = self.clock.monotonic_ns(Time::ZERO);
        while RunClock::monotonic_now_ns() < zero_ns {
            std::thread::sleep(WallDuration::from_millis(1));
        }
        while !medium.is_over() {
            let now = self.clock.now();
            if now >= next_report {
                next_report = now + REPORT_EVERY;
                self.watch.look();
                if progress(Progress { phase: "running", elapsed_s: now.as_secs_f64(), total_s }).is_break() {
                    return Err(RunError::Interrupted);
                }
                if self.server.ended() {
                    return Err(RunError::ServerEnded(self.server.complaints()));
                }
            }
            let lab = &self.lab;
            let place = |station| place(lab, station, self.identity, self.cores, CLIENT_NICE);
            self.clients.start_due(now, lab, &place, &self.folder)?;
            let over = now >= Time::ZERO + scenario.duration && self.clients.all_ended()?;
            match over_since {
                _ if !over => over_since = None,
                None => over_since = Some(now),
                Some(since) if now >= since + LINGER => medium.stop(),
                Some(_) => {}
            }
            let wait = self
                .clients
                .next_start(now)
                .map_or(LOOK, |next| LOOK.min(WallDuration::from_nanos(next.saturating_since(now).as_ns())));
            std::thread::sleep(wait);
        }
        self.watch.look();
        Ok(())
    }

    /// Ends the programs, and says what they were and what they reported.
    fn report(&mut self, scenario: &Scenario) -> Result<outcome::Programs, RunError> {
        let clients = self.clients.report(scenario)?;
        let drops = (0..scenario.stations.len() as u16).map(|s| self.lab.device_drops(s)).collect();
        Ok(outcome::Programs {
            isolation: self.isolation.name(),
            device: self.device.name(),
            unprivileged: self.identity.is_some() || !nix::unistd::geteuid().is_root(),
            settings: std::mem::take(&mut self.settings),
            refused: self.lab.refused.clone(),
            server: self.server.describe(),
            admission: self.server.counts()?,
            clients,
            device_drops: drops,
        })
    }
}

fn place(lab: &Lab, station: u16, identity: Option<Identity>, cores: Cores, nice: i32) -> Place<'_> {
    let network = &lab.stations[usize::from(station)].network;
    Place { network, user: lab.user.as_ref(), identity, cores: cores.programs, nice, fixed: None }
}

impl From<Errno> for RunError {
    fn from(errno: Errno) -> Self {
        Self::Medium(errno.to_string())
    }
}
