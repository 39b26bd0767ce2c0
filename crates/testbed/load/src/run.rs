//! One load, from plan to result.
//!
//! The generator has a thread of its own; the calling one tells of the progress, watches the clocks and
//! looks whether to stop, so that neither an interpreter nor a terminal delays an arrival.
//!
//! Left out: choosing a directory, and what a result means.

use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use airperf_clock::{ClockWatch, RunClock};
use airperf_record::WriteError;

use crate::engine::{Client, Engine, Finished};
use crate::limits;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::result::LoadResult;
use crate::rows::Rows;

/// How often the caller is asked whether to go on.
const LOOK: Duration = Duration::from_millis(100);
/// How often the clocks are compared.
const LOOKS_PER_WATCH: u32 = 10;
/// From the call to the first arrival where no start is given: time to make everything ready.
const LEAD_NS: u64 = 5_000_000;
/// The text of the histograms.
const LOG: &str = "histograms.hlog";

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The plan cannot be carried out; nothing was started.
    #[error("{}", .0.join("\n"))]
    Plan(Vec<String>),
    /// A client's namespace cannot be entered; nothing was started.
    #[error(
        "cannot open the network namespace of client {client}: {error}; does it exist, and may you enter it?"
    )]
    Namespace {
        /// Its place in the plan.
        client: usize,
        /// What the system said.
        error: std::io::Error,
    },
    /// The system refused what the generator itself needs; nothing was started.
    #[error("cannot {what}: {error}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        error: std::io::Error,
    },
    /// The records cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Generates the load of a plan; with `out_dir` also writes its tables there, whole or not at all.
///
/// `progress` is called on the calling thread, ten times a second; once a second with news. When it breaks,
/// the load ends at once and the result says so.
///
/// # Errors
/// What is wrong with the plan or missing on the machine, before anything is sent; or what could not be written.
pub fn run(
    plan: &Plan,
    out_dir: Option<&Path>,
    progress: &mut dyn FnMut(Option<Progress>) -> ControlFlow<()>,
) -> Result<LoadResult, LoadError> {
    let problems = plan.check();
    if !problems.is_empty() {
        return Err(LoadError::Plan(problems));
    }
    let clients = clients(plan)?;
    let notes = limits::prepare(plan);
    let rows = out_dir.map(|folder| Rows::create(folder, plan.users.is_some())).transpose()?;
    let start_ns = plan.start_at_ns.unwrap_or_else(|| RunClock::monotonic_now_ns() + LEAD_NS);
    let clock = RunClock::starting_at(start_ns);
    let mut watch = ClockWatch::start();
    let stop = AtomicBool::new(false);
    let finished = std::thread::scope(|scope| -> Result<Finished, LoadError> {
        let (tell, news) = channel();
        let stop = &stop;
        let work = move || Engine::new(plan, clients, clock, rows, stop, tell).map(Engine::run);
        let thread = std::thread::Builder::new()
            .name("airperf-load".to_owned())
            .spawn_scoped(scope, work)
            .map_err(|error| LoadError::System { what: "start the generator's thread", error })?;
        let mut looks = 0;
        loop {
            let told = match news.recv_timeout(LOOK) {
                Ok(told) => Some(told),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break, // the generator is done
            };
            looks += 1;
            if looks % LOOKS_PER_WATCH == 0 {
                watch.look();
            }
            if !stop.load(Relaxed) && progress(told).is_break() {
                stop.store(true, Relaxed);
            }
        }
        let finished = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        finished.map_err(|errno| LoadError::System {
            what: "make an epoll and a timer",
            error: std::io::Error::from_raw_os_error(errno),
        })
    })?;
    watch.look();
    conclude(plan, finished, watch.complaints(), notes)
}

fn conclude(
    plan: &Plan,
    mut finished: Finished,
    clocks: Vec<String>,
    notes: Vec<String>,
) -> Result<LoadResult, LoadError> {
    let (writer, dropped) = finished.rows.take().map(Rows::finish).transpose()?.unzip();
    let result = LoadResult::of(plan, &finished, dropped.unwrap_or(0), clocks, notes);
    if let Some(mut writer) = writer {
        let mut file = writer.file(LOG)?;
        file.write_all(result.hdr_log.as_bytes()).map_err(|error| file.error(error))?;
        writer.close(file)?;
        let [plan, told] = [serde_json::to_value(plan), serde_json::to_value(&result)]
            .map(|value| value.expect("plans and results are plain data"));
        writer.finish(plan, told)?;
    }
    Ok(result)
}

/// The clients of a plan, their namespaces open.
fn clients(plan: &Plan) -> Result<Vec<Client>, LoadError> {
    let apart = plan.clients.iter().any(|client| client.netns.is_some());
    let each = plan.clients.iter().enumerate().map(|(number, client)| {
        let wrong = |error| LoadError::Namespace { client: number, error };
        let mut made = Client::of(plan, number).map_err(wrong)?;
        if apart && client.netns.is_none() {
            // The thread moves about, so the one it began in has to be found again.
            made.netns = Some(File::open("/proc/thread-self/ns/net").map_err(wrong)?);
        }
        Ok(made)
    });
    each.collect()
}
