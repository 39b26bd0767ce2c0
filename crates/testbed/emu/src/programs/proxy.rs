//! The proxy of `airperf proxy` before the server: admission control by the very code that runs outside.
//!
//! It listens where clients expect the server; the server then listens on the loopback device of its station, where
//! nothing is on the air. Reference: `docs/models/http.md`, admission control.
//!
//! Left out: deciding who is admitted; that is another testbed's, in a process of its own.

use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, Instant};

use airperf_scenario::{AdmissionConfig, AdmissionPolicy, Refusal};
use serde_json::{Value, json};

use super::own::Own;
use super::{PORT, ProgramError};
use crate::process::Place;

const NAME: &str = "airperf proxy";
/// Its role, as its command is told it.
const ROLE: &str = "proxy";
/// Port of the server behind it, on the loopback device.
pub(crate) const BEHIND: u16 = PORT + 1;

/// How long to wait for what it says next.
const NEWS_LIMIT: Duration = Duration::from_secs(2);

/// What it did, of what it tells; the names are those of the simulated server's counts.
const COUNTS: [&str; 4] = ["admitted", "deferred", "refused", "abandoned"];

/// A running proxy.
#[derive(Debug)]
pub(crate) struct Proxy {
    own: Own,
    /// What it had counted when the run began: the server was tried through it.
    before: [u64; 4],
}

impl Proxy {
    /// Starts it at `address`; when this returns it soon listens.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start(
        command: &[OsString],
        admission: AdmissionConfig,
        address: Ipv4Addr,
        (most, backlog): (u32, u32),
        place: &Place<'_>,
        folder: &Path,
    ) -> Result<Self, ProgramError> {
        let mut own = Own::start(command, NAME, ROLE, place, &folder.join("airperf-proxy"))?;
        own.wait()?;
        own.tell(&[&options(admission, address, most, backlog).to_string()])?;
        Ok(Self { own, before: [0; 4] })
    }

    /// The run begins: what was counted before is not of it.
    pub(crate) fn begin(&mut self) -> Result<(), ProgramError> {
        self.before = self.told()?;
        Ok(())
    }

    /// Whether it has ended, which it should not.
    pub(crate) fn ended(&mut self) -> bool {
        !matches!(self.own.filed.ended(), Ok(false))
    }

    /// The end of what it complained of.
    pub(crate) fn complaints(&self) -> String {
        self.own.filed.complaints()
    }

    /// What it counted in the run.
    ///
    /// # Errors
    /// When what it says cannot be read.
    pub(crate) fn counts(&mut self) -> Result<Vec<(String, u64)>, ProgramError> {
        let now = self.told()?;
        let counts = COUNTS.iter().zip(now.iter().zip(self.before));
        Ok(counts
            .map(|(name, (now, before))| (format!("admission_{name}"), now.saturating_sub(before)))
            .collect())
    }

    /// What it says next: it tells four times a second, and what it said last may be older than the last request.
    fn told(&mut self) -> Result<[u64; 4], ProgramError> {
        let (began, told) = (Instant::now(), self.own.text()?.lines().count());
        while self.own.text()?.lines().count() <= told && began.elapsed() < NEWS_LIMIT {
            std::thread::sleep(Duration::from_millis(5));
        }
        let text = self.own.text()?;
        let said = text.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok());
        Ok(COUNTS.map(|name| said.as_ref().and_then(|said| said["counts"][name].as_u64()).unwrap_or(0)))
    }
}

fn options(admission: AdmissionConfig, address: Ipv4Addr, most: u32, backlog: u32) -> Value {
    let AdmissionConfig { policy, wait, refusal } = admission;
    let (policy, limit, target_ns) = match policy {
        AdmissionPolicy::Concurrent { limit } => ("concurrent", limit, 1),
        AdmissionPolicy::Adaptive { target } => ("adaptive", 1, target.as_ns()),
    };
    json!({
        "listen": format!("{address}:{PORT}"),
        "upstream": format!("{}:{BEHIND}", Ipv4Addr::LOCALHOST),
        "admission": {
            "policy": policy,
            "limit": limit,
            "target_ns": target_ns,
            "wait_ns": wait.as_ns(),
            "refusal": if refusal == Refusal::Reset { "reset" } else { "503" },
        },
        "max_connections": most,
        "backlog": backlog,
    })
}
