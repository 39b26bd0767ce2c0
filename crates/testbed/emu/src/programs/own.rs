//! Parts of airperf itself that play in a station's namespace: the load generator and the proxy.
//!
//! Testbeds do not use each other's code, and nothing of ours may share a process with the medium. So the caller tells
//! a command that becomes such a part when it is told which, `load` or `proxy`: it says `ready` on a line when it can
//! begin without delay, reads its orders from its input, and writes what it has to say after that.
//!
//! They run with our own privilege, for they are ourselves; programs of others do not.
//!
//! Left out: the orders; see `generator` and `proxy`.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use super::ProgramError;
use super::filed::Filed;
use crate::process::Place;

/// How long it may take to get ready; an interpreter that starts on a busy machine takes a second.
const READY_LIMIT: Duration = Duration::from_secs(20);
/// Its fixed priority where its place says none: below the server's.
const PRIORITY: i32 = 10;
/// What it says when it is.
const READY: &str = "ready\n";

/// A running part of airperf.
#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) filed: Filed,
    input: Option<ChildStdin>,
}

impl Own {
    /// Starts `command role`; it is ready when [`Self::wait`] returns.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start(
        command: &[OsString],
        name: &'static str,
        role: &str,
        place: &Place<'_>,
        files: &Path,
    ) -> Result<Self, ProgramError> {
        let [program, arguments @ ..] = command else {
            return Err(ProgramError::NotTold { program: name });
        };
        let place = Place { identity: None, fixed: place.fixed.or(Some(PRIORITY)), ..*place };
        let mut command = Command::new(program);
        command.args(arguments).arg(role).stdin(Stdio::piped());
        let mut filed = Filed::start(name, &mut command, &place, files)?;
        let input = filed.take_input();
        Ok(Self { filed, input })
    }

    /// Waits until it is ready.
    ///
    /// # Errors
    /// When it has ended, or takes too long, with the end of what it said.
    pub(crate) fn wait(&mut self) -> Result<(), ProgramError> {
        let began = Instant::now();
        while !self.filed.text()?.starts_with(READY) {
            if self.filed.ended()? || began.elapsed() > READY_LIMIT {
                return Err(self.filed.failed(format!("it is not ready after {:?}", began.elapsed())));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Gives it an order.
    ///
    /// # Errors
    /// When it does not listen.
    pub(crate) fn tell(&mut self, lines: &[&str]) -> Result<(), ProgramError> {
        let Some(input) = &mut self.input else { return Ok(()) };
        let order: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
        let told = input.write_all(order.as_bytes());
        told.map_err(|error| self.filed.failed(error.to_string()))
    }

    /// Whether it has ended by itself within so long.
    pub(crate) fn ends_within(&mut self, limit: Duration) -> Result<bool, ProgramError> {
        let began = Instant::now();
        loop {
            let ended = self.filed.ended()?;
            if ended || began.elapsed() > limit {
                return Ok(ended);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What it said after it was ready.
    pub(crate) fn text(&mut self) -> Result<String, ProgramError> {
        Ok(self.filed.text()?.strip_prefix(READY).unwrap_or_default().to_owned())
    }
}
