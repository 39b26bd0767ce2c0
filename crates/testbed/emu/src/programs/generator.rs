//! The generator of `airperf load` as a client: a plan, and what it measured.
//!
//! It opens every connection when the scenario's schedule has it due, on the clock of the run, so it needs no guess when
//! a connection was due. Reference: `docs/reference/load.md`; the plan's layout is that of `airperf_load::Plan`, schema 1.
//!
//! Left out: generating load; that is another testbed's, in a process of its own.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use airperf_record::load::{ConnectionRow, ExchangeRow};
use airperf_record::{PageRow, ReadError, Row, read};
use airperf_scenario::{Client, Scenario};
use airperf_units::{Duration, StreamKey, Time};
use airperf_workload::Users;
use serde_json::{Value, json};

use super::httperf::{RECEIVE_BUFFER, Report, Times};
use super::own::Own;
use super::{PORT, ProgramError};
use crate::clients::Opened;
use crate::isolation::address_of;
use crate::process::Place;
use crate::wants::{Each, SIZED, Want};

pub(crate) const NAME: &str = "airperf-load";
/// Its role, as its command is told it.
const ROLE: &str = "load";
/// How long after the run's end it may take to sum up.
const LAST_WORDS: std::time::Duration = std::time::Duration::from_secs(5);

/// The plan of a client's load, the `number`-th of its scenario; `start_ns` is the run's zero on CLOCK_MONOTONIC.
pub(crate) fn plan(
    scenario: &Scenario,
    client: &Client,
    number: usize,
    want: &Want,
    bound: Duration,
    start_ns: u64,
) -> Value {
    let server = address_of(scenario.server.station.0).to_string();
    let due: Vec<u64> = want.due.iter().map(|due| due.as_ns()).collect();
    let workload = &client.workload;
    let (requests, path, body_bytes, users) = match &want.each {
        Each::Plain { requests, path, body_bytes, .. } => (*requests, path.clone(), *body_bytes, None),
        Each::Users { key, .. } => {
            let users = (Users::of(workload), *key);
            (workload.session.requests_per_connection, SIZED.to_owned(), 0, Some(users))
        }
    };
    let (users, key) = users.unzip();
    let key = key.unwrap_or(StreamKey::new(scenario.seed));
    json!({
        "schema": 1,
        "target": {
            "address": server, "port": PORT, "host": server, "paths": [path],
            "request_bytes": users.is_some().then_some(client.http.request_bytes),
        },
        "clients": [{ "number": number }],
        "allow": [server],
        "arrivals": {
            "process": "listed",
            "rate_micro": workload.rate.as_micro(),
            "due_ns": due,
        },
        "duration_ns": scenario.duration.as_ns(),
        "connections": due.len(),
        "requests_per_connection": requests,
        "pipeline": if users.is_some() { workload.session.pipeline } else { 1 },
        "users": users,
        "body_bytes": body_bytes,
        "timeout_ns": client.http.timeout.map(|timeout| timeout.as_ns()),
        "timeout_rule": if client.http.abort_resets { "progress" } else { "httperf" },
        "drain_ns": scenario.drain.as_ns(),
        "start_at_ns": start_ns,
        "schedule_bound_ns": bound.as_ns(),
        "receive_buffer_bytes": RECEIVE_BUFFER,
        "seed": key.seed,
        "point": key.point,
        "repetition": key.repetition,
    })
}

/// A running generator.
#[derive(Debug)]
pub(crate) struct Generator {
    own: Own,
    /// Where it leaves its tables.
    folder: PathBuf,
}

/// What a generator leaves.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) report: Option<Report>,
    /// Its result.
    pub(crate) text: String,
    /// The connections that it opened, in that order.
    pub(crate) opened: Vec<Opened>,
    /// The pages of its users, in the order in which they ended.
    pub(crate) pages: Vec<PageRow>,
}

impl Generator {
    /// Starts it, without load; `files` is where it may leave things.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start(command: &[OsString], place: &Place<'_>, files: &Path) -> Result<Self, ProgramError> {
        let own = Own::start(command, NAME, ROLE, place, files)?;
        Ok(Self { own, folder: files.with_extension("tables") })
    }

    /// Waits until it can begin without delay.
    ///
    /// # Errors
    /// When it does not get there.
    pub(crate) fn wait(&mut self) -> Result<(), ProgramError> {
        self.own.wait()
    }

    /// Hands it its plan, which says when to begin.
    ///
    /// # Errors
    /// When it does not listen.
    pub(crate) fn begin(&mut self, plan: &Value) -> Result<(), ProgramError> {
        self.own.tell(&[&self.folder.display().to_string(), &plan.to_string()])
    }

    /// Whether it has ended; an end with an error is an error.
    ///
    /// # Errors
    /// When it failed, with the end of what it said.
    pub(crate) fn ended(&mut self) -> Result<bool, ProgramError> {
        self.own.filed.ended()
    }

    /// What it measured, of connections (or sessions) that were `scheduled`, in order; ends it if it has not summed up some time after the run's end.
    ///
    /// # Errors
    /// When it failed, or left something that cannot be understood.
    pub(crate) fn report(mut self, scheduled: &[Time]) -> Result<Left, ProgramError> {
        if !self.own.ends_within(LAST_WORDS)? {
            self.own.filed.kill();
            return Ok(Left { report: None, text: self.own.text()?, opened: Vec::new(), pages: Vec::new() });
        }
        let text = self.own.text()?;
        let path = self.own.filed.report.clone();
        let unreadable = |why: String| ProgramError::Report { program: NAME, why, path };
        let result: Value = serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
        let table = |error: ReadError| ProgramError::Report {
            program: NAME,
            why: error.to_string(),
            path: self.folder.clone(),
        };
        let opened = opened(&self.folder, scheduled).map_err(table)?;
        let pages = pages(&self.folder.join(PageRow::FILE)).map_err(table)?;
        Ok(Left { report: Some(summed(&result)), text, opened, pages })
    }
}

/// The pages of its users; none where it has no users.
fn pages(path: &Path) -> Result<Vec<PageRow>, ReadError> {
    if path.exists() { read::rows(path)?.collect() } else { Ok(Vec::new()) }
}

/// The connections in its tables that were opened, in that order.
fn opened(folder: &Path, scheduled: &[Time]) -> Result<Vec<Opened>, ReadError> {
    let mut exchanges: HashMap<u64, Vec<(u32, Time)>> = HashMap::new();
    for row in read::rows::<ExchangeRow>(&folder.join(ExchangeRow::FILE))? {
        let row = row?;
        exchanges.entry(row.connection).or_default().push((row.index, Time::from_ns(row.due_ns)));
    }
    let mut opened = Vec::new();
    for row in read::rows::<ConnectionRow>(&folder.join(ConnectionRow::FILE))? {
        let row = row?;
        opened.extend(row.opened_ns.map(|at| (at, row.connection, Time::from_ns(row.due_ns))));
    }
    opened.sort_unstable();
    let of = |(_, connection, due)| {
        let mut exchanges = exchanges.remove(&connection).unwrap_or_default();
        exchanges.sort_unstable();
        let exchanges = exchanges.into_iter().map(|(_, due)| due).collect();
        Opened { due, scheduled: scheduled.binary_search(&due).is_ok(), exchanges }
    };
    Ok(opened.into_iter().map(of).collect())
}

/// Its result as the totals that every client gives.
fn summed(result: &Value) -> Report {
    let count = |path: &str| result.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    let mean = |path: &str| result.pointer(path).and_then(|times| times.get("mean")?.as_f64());
    Report {
        connections: count("/connections/due"),
        requests: count("/sent"),
        replies: count("/completed"),
        duration_s: result["elapsed_s"].as_f64().unwrap_or(0.0),
        client_timeouts: count("/causes/timeout"),
        socket_timeouts: count("/causes/tcp_timeout"),
        refused: count("/causes/refused"),
        resets: count("/causes/reset") + count("/causes/closed"),
        no_descriptor: count("/local/fd"),
        no_port: count("/local/port"),
        file_table_full: count("/local/file_table"),
        other_errors: count("/local/other")
            + ["unreachable", "framing", "other"].iter().map(|c| count(&format!("/causes/{c}"))).sum::<u64>(),
        times: Some(Times {
            response_ms: mean("/response_ms"),
            service_ms: mean("/service_ms"),
            connect_ms: mean("/connect_ms"),
            first_byte_ms: mean("/first_byte_ms"),
            transfer_ms: mean("/transfer_ms"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_gives_the_totals_of_every_client() {
        let result = json!({
            "connections": { "due": 40 }, "sent": 39, "completed": 38, "elapsed_s": 2.5,
            "causes": { "timeout": 1, "reset": 2, "closed": 3, "other": 9 },
            "local": { "fd": 4, "port": 0, "file_table": 0, "other": 5 },
            "response_ms": { "mean": 9.5 }, "service_ms": { "mean": null },
        });
        let report = summed(&result);
        assert_eq!((report.connections, report.requests, report.replies), (40, 39, 38));
        assert_eq!((report.client_timeouts, report.resets, report.client_limited()), (1, 5, 4));
        assert_eq!(report.other_errors, 5 + 9);
        let times = report.times.unwrap();
        assert_eq!((times.response_ms, times.service_ms), (Some(9.5), None));
    }
}
