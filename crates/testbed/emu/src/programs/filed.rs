//! A program whose output goes to a file: what it reports, and what it complains of.
//!
//! Left out: what a report means; that is each program's.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command};

use super::{ProgramError, last_lines};
use crate::process::{Place, Program};

/// A running program and its two files.
#[derive(Debug)]
pub(crate) struct Filed {
    name: &'static str,
    program: Program,
    /// Open from the start: whatever sweeps temporary files cannot take the report from us.
    text: File,
    said: Vec<u8>,
    pub(crate) report: PathBuf,
    complaints: PathBuf,
}

impl Filed {
    /// Starts it; its report goes to `<files>.txt`, its complaints to `<files>.stderr`.
    ///
    /// # Errors
    /// When a file cannot be made or the program cannot be started.
    pub(crate) fn start(
        name: &'static str,
        command: &mut Command,
        place: &Place<'_>,
        files: &Path,
    ) -> Result<Self, ProgramError> {
        let (report, complaints) = (files.with_extension("txt"), files.with_extension("stderr"));
        let create = |path: &Path| File::create(path).map_err(wrong(name, "create", path));
        command.current_dir("/").stdout(create(&report)?).stderr(create(&complaints)?);
        let text = File::open(&report).map_err(wrong(name, "open", &report))?;
        let program = Program::start(command, place).map_err(|error| ProgramError::NotStarted {
            program: name,
            why: error.to_string(),
            stderr: String::new(),
        })?;
        Ok(Self { name, program, text, said: Vec::new(), report, complaints })
    }

    /// The way to talk to it, if its command has one.
    pub(crate) fn take_input(&mut self) -> Option<ChildStdin> {
        self.program.take_input()
    }

    /// Whether it has ended; an end with an error is an error.
    ///
    /// # Errors
    /// When it failed, with the end of what it said.
    pub(crate) fn ended(&mut self) -> Result<bool, ProgramError> {
        match self.program.ended() {
            Ok(None) => Ok(false),
            Ok(Some(status)) if status.success() => Ok(true),
            Ok(Some(status)) => Err(self.failed(status.to_string())),
            Err(error) => Err(self.failed(error.to_string())),
        }
    }

    /// An error of this program, with the end of what it complained of.
    pub(crate) fn failed(&self, why: String) -> ProgramError {
        ProgramError::NotStarted { program: self.name, why, stderr: last_lines(&self.complaints, 5) }
    }

    /// The end of what it complained of.
    pub(crate) fn complaints(&self) -> String {
        last_lines(&self.complaints, 10)
    }

    /// Ends it if it still runs.
    pub(crate) fn kill(&mut self) {
        self.program.kill();
    }

    /// What it has written so far.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn text(&mut self) -> Result<String, ProgramError> {
        let read = self.text.read_to_end(&mut self.said);
        read.map_err(wrong(self.name, "read", &self.report))?;
        Ok(String::from_utf8_lossy(&self.said).into_owned())
    }
}

/// What went wrong with a file of a program's.
pub(crate) fn wrong(
    program: &'static str,
    what: &'static str,
    path: &Path,
) -> impl FnOnce(std::io::Error) -> ProgramError + use<> {
    let path = path.to_owned();
    move |error| ProgramError::File { program, what, path, error }
}
