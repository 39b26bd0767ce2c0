//! A command whose only network is an emulated link to where it was started, as Mahimahi's shells have it.
//!
//! Every layer is a scenario's link between two TUN devices: one in the network namespace around the layer, as station 0,
//! and one in a namespace of its own, as station 1, with the default route. The command runs in the innermost. Each layer
//! has a thread that drives the same model as emulated runs do, with the same clock and the same rules about lateness,
//! and checks in-band what came out of it (`check`). References: namespaces(7); Netravali et al., "Mahimahi: accurate
//! record-and-replay for HTTP", USENIX ATC 2015.
//!
//! Left out: records of frames and packets (capture in the inner namespace), name servers, and any way to the world
//! outside.

mod check;
mod layer;
mod others;
mod report;
mod stated;

use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::{Duration as WallDuration, Instant};

use airperf_clock::ClockWatch;
use airperf_scenario::Scenario;
use airperf_units::StreamKey;
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid, getppid};

use crate::isolation::DeviceKind;
use crate::isolation::{Ground, Lab, LabError, StationSettings};
use crate::kernel;
use crate::programs::ProgramError;
use crate::realtime::Cores;
use crate::spool::Spool;
use layer::Layer;
pub(crate) use layer::LayerOutcome;
use others::Others;
pub use report::{DirectionReport, LayerReport, OtherReport, ShellReport, Wanted};

/// The variable in which the command finds the address of the outermost end, where what listens around the layers is.
const OUTSIDE: &str = "AIRPERF_OUTSIDE";
/// The variable with the instant at which the innermost link was at its beginning, nanoseconds of `CLOCK_MONOTONIC`.
const ZERO: &str = "AIRPERF_LINK_ZERO";
/// How often the caller hears of it.
const LOOK: WallDuration = WallDuration::from_millis(50);
/// How long a command that was asked to end may take before it is killed.
const PATIENCE: WallDuration = WallDuration::from_secs(5);

/// Why a command could not be run over its layers.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// The namespaces and devices could not be made.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// A link's thread failed.
    #[error("the medium's thread failed: {0}")]
    Medium(String),
    /// No link to run the command over.
    #[error("no layer: a command is run over one link at least")]
    NoLayer,
    /// A program that plays another client, or their server.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// Several layers, of which one has other clients.
    #[error(
        "{0}: a link with other clients is a layer by itself; leave out the other --net, or its clients but one"
    )]
    Crowded(String),
    /// The command cannot be executed.
    #[error("{command}: {error}")]
    Command {
        /// Its name.
        command: String,
        /// What the system said.
        error: io::Error,
    },
}

/// Runs a command over layers of links, the outermost first, with the caller's own environment and standard streams.
///
/// A link that is the only layer has the other clients of its scenario, too, as real programs; `own_parts` is a command as
/// in [`EmuOptions`](crate::EmuOptions). `tell` is called some times a second on the calling thread, which must live until the
/// command has ended; when it breaks, the command is asked to end (`SIGTERM`), and killed if it does not.
///
/// # Errors
/// What could not be made or started. That the command fails is no error; its status is in the report.
pub fn shell(
    layers: &[(Scenario, u64)],
    command: &[OsString],
    own_parts: &[OsString],
    tell: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<ShellReport, ShellError> {
    Ok(over(layers, command, own_parts, None, tell)?.report)
}

/// What a shell leaves.
pub(crate) struct Over {
    pub(crate) report: ShellReport,
    /// What came of each layer.
    pub(crate) layers: Vec<LayerOutcome>,
    /// The instant at which the innermost link was at its beginning, nanoseconds of `CLOCK_MONOTONIC`.
    pub(crate) zero_ns: u64,
    /// Settings that the kernel refused.
    pub(crate) refused: Vec<String>,
    /// Packets dropped at the devices of the innermost layer.
    pub(crate) drops: [Option<u64>; 2],
}

/// How the only layer is recorded.
pub(crate) struct Recording<'a> {
    /// Where events go.
    pub(crate) spool: Spool,
    /// What TCP is told at both ends.
    pub(crate) settings: &'a StationSettings,
}

/// What [`shell`] does; a layer may be recorded when it is the only one and has no other clients.
pub(crate) fn over(
    layers: &[(Scenario, u64)],
    command: &[OsString],
    own_parts: &[OsString],
    recording: Option<Recording<'_>>,
    tell: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Over, ShellError> {
    let (Some((program, arguments)), false) = (command.split_first(), layers.is_empty()) else {
        return Err(ShellError::NoLayer);
    };
    let ground = Ground::here()?;
    let crowded = layers.iter().find(|(scenario, _)| scenario.clients.len() > 1);
    let (lab, hops) = match (layers, crowded) {
        (_, None) => {
            let mtus: Vec<u32> = layers.iter().map(|(scenario, _)| scenario.link.mtu()).collect();
            Lab::chain(&ground, &mtus, recording.as_ref().map(|recording| recording.settings))?
        }
        ([(scenario, _)], Some(_)) => {
            let settings = kernel::settings(scenario, DeviceKind::Tun);
            let stations = scenario.stations.len() as u16;
            let (lab, hop) = Lab::star(&ground, stations, scenario.link.mtu(), &settings)?;
            (lab, vec![hop])
        }
        (_, Some((scenario, _))) => return Err(ShellError::Crowded(scenario.name.clone())),
    };
    let lab = Arc::new(lab);
    // In a chain every station is the inside of a layer, in a star the first is what is around it.
    let inner = |number: usize| (number + usize::from(crowded.is_some())) as u16;
    let outside = hops.first().filter(|_| !ground.is_inside()).map(|hop| hop.block.outer().to_string());
    let mut variables: Vec<(&str, String)> = outside.map(|address| (OUTSIDE, address)).into_iter().collect();
    let (core, mut made, mut working) = (Cores::choose().medium, vec![], vec![]);
    let mut spool = recording.map(|recording| recording.spool);
    for ((scenario, seed), hop) in layers.iter().zip(hops) {
        made.push((hop.block, hop.outer));
        working.push(Layer::start(scenario, StreamKey::new(*seed), hop.devices, core, spool.take())?);
    }
    let mut others = match (layers, crowded) {
        ([(scenario, seed)], Some(_)) => {
            Some(Others::start(scenario, StreamKey::new(*seed), lab.clone(), own_parts)?)
        }
        _ => None,
    };
    let zero_ns = working.last().map_or(0, Layer::zero_ns);
    variables.push((ZERO, zero_ns.to_string()));
    let mut watch = ClockWatch::start();
    let mut child = start(program, arguments, variables, &lab, inner(layers.len() - 1))?;
    let attended = attend(&mut child, program, &working, others.as_mut(), &mut watch, tell);
    let (status, uneven) = attended.inspect_err(|_| {
        // It has no network any more.
        let _ = child.kill();
        let _ = child.wait();
    })?;
    let all_drops: Vec<_> = made
        .iter()
        .enumerate()
        .map(|(number, (_, name))| {
            let around = number.checked_sub(1).map(|before| before as u16);
            lab.hop_drops(around, name, inner(number))
        })
        .collect();
    let innermost = all_drops.last().copied().unwrap_or_default();
    let (mut reports, mut outcomes) = (Vec::new(), Vec::new());
    for (((scenario, seed), layer), ((block, _), drops)) in
        layers.iter().zip(working).zip(made.into_iter().zip(all_drops))
    {
        let outcome = layer.finish()?;
        let mut report = LayerReport::new(scenario, *seed, block, drops, &outcome);
        report.others = others.as_ref().map_or(Vec::new(), |others| others.describe(&outcome.others));
        report.why_invalid.extend(uneven.clone());
        reports.push(report);
        outcomes.push(outcome);
    }
    let clocks = watch.complaints();
    let report = ShellReport { status, enclosed: ground.is_enclosed(), clocks, layers: reports };
    Ok(Over { report, layers: outcomes, zero_ns, refused: lab.refused.clone(), drops: innermost })
}

/// Waits for the command's end: its status, and why the other clients did not load the link throughout, if so.
fn attend(
    child: &mut Child,
    program: &OsString,
    working: &[Layer],
    mut others: Option<&mut Others>,
    watch: &mut ClockWatch,
    tell: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<(i32, Option<String>), ShellError> {
    let (mut asked, mut uneven): (Option<Instant>, Option<String>) = (None, None);
    loop {
        let ended = ended_within(child, LOOK)
            .map_err(|error| ShellError::Command { command: program.to_string_lossy().into(), error })?;
        watch.look();
        if let Some(status) = ended {
            return Ok((status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)), uneven));
        }
        if let Some(others) = others.as_mut() {
            uneven = uneven.or(others.look()?);
        }
        let ill = working.iter().any(Layer::is_over);
        match asked {
            None if tell().is_break() || ill => {
                asked = Some(Instant::now());
                let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM);
            }
            Some(since) if since.elapsed() > PATIENCE => {
                let _ = child.kill();
            }
            _ => {}
        }
    }
}

/// Starts the command in the innermost namespace; it does not outlive this thread.
fn start(
    program: &OsString,
    arguments: &[OsString],
    variables: Vec<(&str, String)>,
    lab: &Lab,
    station: u16,
) -> Result<Child, ShellError> {
    let failed = |error| ShellError::Command { command: program.to_string_lossy().into(), error };
    let innermost = &lab.stations[usize::from(station)];
    let (network, us) = (innermost.network.as_raw_fd(), getpid());
    let mut command = Command::new(program);
    command.args(arguments).envs(variables);
    // SAFETY: the closure runs between fork and exec and makes system calls only, on values copied before the fork; the
    // lab, and with it the descriptor, outlives the call.
    unsafe {
        command.pre_exec(move || {
            setns(std::os::fd::BorrowedFd::borrow_raw(network), CloneFlags::CLONE_NEWNET)?;
            nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
            if getppid() == us { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
        });
    }
    command.spawn().map_err(failed)
}

/// How a child ended, if it does within this time.
fn ended_within(child: &mut Child, time: WallDuration) -> io::Result<Option<std::process::ExitStatus>> {
    // SAFETY: pidfd_open(2) takes integers; poll(2) reads one local; the descriptor is closed once.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, child.id(), 0) as libc::c_int;
        let mut ended = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        // Without such descriptors (Linux before 5.3) this only waits.
        libc::poll(&raw mut ended, 1, time.as_millis() as libc::c_int);
        if fd >= 0 {
            libc::close(fd);
        }
    }
    child.try_wait()
}
