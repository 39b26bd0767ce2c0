//! The programs of a run: a server and its clients, installed or built in.
//!
//! Left out: how they are kept inside their station; see `process`.

pub(crate) mod apache;
pub(crate) mod embedded;
pub(crate) mod filed;
pub(crate) mod generator;
pub(crate) mod httperf;
pub(crate) mod own;
pub(crate) mod proxy;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::isolation::LabError;

/// Port of the server, in its own namespace: above 1024, so no privilege is needed.
pub(crate) const PORT: u16 = 8080;

/// Why a program could not play its part.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It is not installed.
    #[error(
        "{program} is not installed (looked in {looked}): install it ({package}), or choose \"embedded\" in [emu]"
    )]
    Missing {
        /// The program.
        program: &'static str,
        /// Where it was looked for.
        looked: &'static str,
        /// Debian's package.
        package: &'static str,
    },
    /// It is asked for what it has no way to do.
    #[error("{program} cannot {what} (key `{key}`): leave {chosen} at \"auto\", or choose another program")]
    Unable {
        /// The program.
        program: &'static str,
        /// What it cannot do.
        what: &'static str,
        /// The key of the scenario that asks for it.
        key: &'static str,
        /// The key of the scenario that chose it.
        chosen: &'static str,
    },
    /// It is a part of airperf, and the caller did not say how to start it.
    #[error(
        "{program} is a part of airperf that this caller has no command for: use `airperf run --testbed emu`"
    )]
    NotTold {
        /// The part.
        program: &'static str,
    },
    /// No program of this testbed can do it yet.
    #[error(
        "the emulated testbed cannot {what} yet (key `{key}`): leave it out, or use the simulated testbed"
    )]
    NotYet {
        /// What cannot be done.
        what: &'static str,
        /// The key of the scenario that asks for it.
        key: &'static str,
    },
    /// It did not start or ended at once.
    #[error("{program} did not start: {why}{}", tail(.stderr))]
    NotStarted {
        /// The program.
        program: &'static str,
        /// What was seen.
        why: String,
        /// The end of what it wrote.
        stderr: String,
    },
    /// A file of its could not be made or read.
    #[error("{program}: cannot {what} {}: {error}", .path.display())]
    File {
        /// The program.
        program: &'static str,
        /// What was tried.
        what: &'static str,
        /// Which file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// What it wrote makes no sense.
    #[error("{program} wrote a report that cannot be read: {why}; its text is in {}", .path.display())]
    Report {
        /// The program.
        program: &'static str,
        /// What is missing.
        why: String,
        /// Where the text is.
        path: PathBuf,
    },
    /// The lab would not help.
    #[error(transparent)]
    Lab(#[from] LabError),
}

fn tail(stderr: &str) -> String {
    if stderr.trim().is_empty() { String::new() } else { format!("; it said:\n{}", stderr.trim_end()) }
}

/// The first of `candidates` that is an executable file.
pub(crate) fn find(candidates: &[&'static str]) -> Option<&'static Path> {
    use std::os::unix::fs::PermissionsExt;
    candidates
        .iter()
        .map(|&path| Path::new(path))
        .find(|path| path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0))
}

/// The last lines of a text file, for error messages; control characters become spaces.
pub(crate) fn last_lines(path: &Path, lines: usize) -> String {
    let text = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text[text.len().saturating_sub(4_096)..]).into_owned();
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..]
        .join("\n")
        .chars()
        .map(|c| if c.is_control() && c != '\n' { ' ' } else { c })
        .collect()
}

/// The version that `program argument` tells, for the manifest; `None` when it does not run.
pub(crate) fn version(program: &Path, argument: &str) -> Option<String> {
    let output = std::process::Command::new(program)
        .arg(argument)
        .env_clear()
        .env("LC_ALL", "C")
        .stdin(std::process::Stdio::null())
        .output()
        .ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    // The word with the number in it: "Apache/2.4.62" of "Server version: Apache/2.4.62 (Debian)".
    let numbered = |word: &&str| word.contains('.') && word.chars().any(|c| c.is_ascii_digit());
    text.lines()
        .filter(|line| !line.contains("warning"))
        .find_map(|line| line.split_whitespace().find(numbered))
        .map(|word| word.trim_end_matches('.').to_owned())
}

/// What the server is to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Serving {
    /// Where it listens in its station.
    pub(crate) listen: (Ipv4Addr, u16),
    /// Octets of each object, by its path with the leading slash.
    pub(crate) objects: BTreeMap<String, u64>,
    /// Octets wanted of status line and header.
    pub(crate) header_bytes: u32,
    /// Processes.
    pub(crate) processes: u32,
    /// Connections waiting for a process.
    pub(crate) backlog: u32,
    /// Seconds a process waits for a further request.
    pub(crate) keep_alive: Duration,
    /// Requests on one connection; `None` for any number.
    pub(crate) requests_per_connection: Option<u32>,
}

impl Serving {
    /// The first object, by which the server is tried; `None` when nobody asks for anything.
    pub(crate) fn first(&self) -> Option<(&str, u64)> {
        self.objects.first_key_value().map(|(path, &bytes)| (path.as_str(), bytes))
    }
}

/// Octets of a request of httperf 0.9, or of the generator, without its path.
///
/// `GET  HTTP/1.1`, `User-Agent: httperf/0.9.0`, `Host: ` with the address, with a body its length, blank line.
fn request_bytes_without_path(host: &str, body_bytes: u64) -> usize {
    let length = if body_bytes > 0 { format!("Content-Length: {body_bytes}\r\n").len() } else { 0 };
    "GET  HTTP/1.1\r\nUser-Agent: httperf/0.9.0\r\nHost: \r\n\r\n".len() + host.len() + length
}

/// A path that makes the request `request_bytes` long, or as short as it can be; with a size in it where there are
/// several.
pub(crate) fn path_for(host: &str, request_bytes: u32, body_bytes: u64, size: Option<u64>) -> String {
    let mut path = size.map_or("/o".to_owned(), |size| format!("/o{size}"));
    let room = (request_bytes as usize).saturating_sub(request_bytes_without_path(host, body_bytes));
    path.extend(std::iter::repeat_n('x', room.min(2_000).saturating_sub(path.len())));
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_of_the_study_has_74_octets() {
        let path = path_for("10.77.0.1", 74, 0, None);
        let request = format!("GET {path} HTTP/1.1\r\nUser-Agent: httperf/0.9.0\r\nHost: 10.77.0.1\r\n\r\n");
        assert_eq!(request.len(), 74);
        assert_eq!(path_for("10.77.0.1", 10, 0, None), "/o"); // cannot be shorter
        assert_eq!(path_for("10.77.0.1", 74, 0, Some(1_024)).len(), path.len());
        assert_eq!(path_for("10.77.0.1", 94, 1, None), "/oxxxxxxxxxxxx");
    }

    #[test]
    fn an_error_shows_the_end_of_a_log_and_no_control_characters() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, "one\ntwo\x1b[31m\nthree\n").unwrap();
        assert_eq!(last_lines(&path, 2), "two [31m\nthree");
        assert_eq!(last_lines(Path::new("/no/such/log"), 2), "");
    }
}
