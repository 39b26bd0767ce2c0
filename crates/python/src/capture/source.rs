//! Files and the standard input as sources, and a watch over Ctrl-C and progress.

use crate::error;
use airperf_wire::container::{Limits, Source};
use pyo3::prelude::*;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// Time between two looks at signals.
const LOOK: Duration = Duration::from_millis(100);

/// What is shared with a reader that may run on another thread.
#[derive(Debug)]
struct Shared {
    /// The thread that was called from Python. Python sees signals on its first thread only: were another to
    /// look, this one would find that it had just been done.
    caller: ThreadId,
    raised: Option<PyErr>,
    told: Option<Instant>,
}

/// Looks for Ctrl-C and tells of progress; what is raised ends everything that asks it.
#[derive(Debug)]
pub(super) struct Watch {
    progress: Option<Py<PyAny>>,
    shared: Arc<Mutex<Shared>>,
}

impl Watch {
    /// A watch that tells `progress`.
    pub(super) fn new(progress: Option<Py<PyAny>>) -> Self {
        let caller = std::thread::current().id();
        Self { progress, shared: Arc::new(Mutex::new(Shared { caller, raised: None, told: None })) }
    }

    /// Looks around if it is time to; whether to go on. `done` and `total` are bytes.
    pub(super) fn tell(&self, done: u64, total: Option<u64>) -> bool {
        look(&self.shared, |py| match &self.progress {
            Some(progress) => progress.call1(py, (done, total)).map(drop),
            None => Ok(()),
        })
    }

    /// A result, or what was raised meanwhile: that is the reason, whatever it made the result say.
    pub(super) fn outcome<T>(self, result: PyResult<T>) -> PyResult<T> {
        let raised = self.shared.lock().unwrap_or_else(PoisonError::into_inner).raised.take();
        match (result, raised) {
            (Err(_), Some(raised)) => Err(raised),
            (result, _) => result,
        }
    }
}

/// Looks for signals and calls `then`, unless that was done just now or is for another thread to do; false once
/// anything was raised.
fn look(shared: &Mutex<Shared>, then: impl FnOnce(Python<'_>) -> PyResult<()>) -> bool {
    let is_due = {
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.raised.is_some() {
            return false;
        }
        let is_due = shared.caller == std::thread::current().id()
            && shared.told.is_none_or(|told| told.elapsed() >= LOOK);
        if is_due {
            shared.told = Some(Instant::now());
        }
        is_due
    };
    if !is_due {
        return true;
    }
    // The lock is not held: Python may take its time.
    match Python::attach(|py| py.check_signals().and_then(|()| then(py))) {
        Ok(()) => true,
        Err(raised) => {
            shared.lock().unwrap_or_else(PoisonError::into_inner).raised = Some(raised);
            false
        }
    }
}

/// Opens every path; "-" is the standard input.
pub(super) fn open(paths: &[String], watch: &Watch) -> PyResult<Vec<Source>> {
    let open = |path: &String| {
        let source = if path == "-" {
            let stream = Box::new(StandardInput { shared: watch.shared.clone() });
            Source::stream("standard input", stream, Limits::default())
        } else {
            Source::open(Path::new(path), Limits::default())
        };
        source.map_err(|error| error::open(&error))
    };
    paths.iter().map(open).collect()
}

/// The standard input, which does not keep anybody waiting after Ctrl-C.
#[derive(Debug)]
struct StandardInput {
    shared: Arc<Mutex<Shared>>,
}

impl Read for StandardInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let input = io::stdin();
        let wait = Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as i64 };
        loop {
            if !look(&self.shared, |_| Ok(())) {
                return Err(io::Error::other("interrupted"));
            }
            match poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&wait)) {
                Ok(0) | Err(Errno::INTR) => {}
                // Straight from the descriptor: what a buffer held could not be polled for.
                Ok(_) => return rustix::io::read(input.as_fd(), buffer).map_err(io::Error::from),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
