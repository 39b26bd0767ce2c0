//! The thread that owns the medium.
//!
//! Left out: what the medium does; see `medium`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use airperf_clock::RunClock;
use airperf_link::Link;
use airperf_units::{Duration, Time};

use super::RunError;
use crate::isolation::Device;
use crate::live::{Live, Toward};
use crate::medium::{Medium, MediumOutcome};
use crate::pool::Handle;
use crate::realtime;
use crate::spool::Spool;

/// What the thread is given.
pub(super) struct Parts {
    pub(super) devices: Vec<Device>,
    pub(super) clock: RunClock,
    pub(super) end: Time,
    pub(super) core: Option<usize>,
    pub(super) sample_every: Duration,
    pub(super) mtu: u32,
}

/// The thread; dropping it stops it.
pub(super) struct MediumThread {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<MediumOutcome>>,
}

impl MediumThread {
    /// Starts the medium; `packets` is how many its queues hold together.
    pub(super) fn start<L>(link: L, packets: u32, spool: Spool, parts: Parts) -> Result<Self, RunError>
    where
        L: Link<Handle> + Send + 'static,
    {
        let stop = Arc::new(AtomicBool::new(false));
        let Parts { devices, clock, end, core, sample_every, mtu } = parts;
        let toward = Toward::Address(devices.len() as u16);
        let mut live = Live::new(clock, devices, toward, stop.clone())?;
        let mut medium = Medium::new(link, spool, packets as usize + 16, mtu as usize, sample_every);
        let work = move || {
            let granted = realtime::ask(core);
            let closing = medium.run(&mut live, end);
            medium.recorder.close();
            realtime::give_back(&granted);
            let (outcome, spool) = medium.outcome(closing, granted, live.refused());
            MediumOutcome { spool_delayed: spool.delayed, ..outcome }
        };
        let thread = std::thread::Builder::new().name("emu-medium".into()).spawn(work);
        let thread = thread.map_err(|error| RunError::Medium(error.to_string()))?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Whether the medium has closed.
    pub(super) fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Asks the medium to close now.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// What came of it.
    pub(super) fn finish(mut self) -> Result<MediumOutcome, RunError> {
        let ended = self.thread.take().map(JoinHandle::join);
        ended.and_then(Result::ok).ok_or_else(|| RunError::Medium("it panicked; this is a bug".into()))
    }
}

impl Drop for MediumThread {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
