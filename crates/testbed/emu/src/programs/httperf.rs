//! httperf, the study's client: open loop, one connection after the other whatever becomes of them.
//!
//! Its flags are those of the study (connection rate, number of connections, calls per connection, 5 s
//! timeouts). Never `--hog`: explicit ports stall after some 33,000 connections. See httperf(1) and
//! Mosberger & Jin, "httperf: a tool for measuring Web server performance", 1998.
//!
//! Left out: exact Poisson arrivals. httperf's are rounded to 1 ms ticks ([`DIFFERENCE`], in the manifest).

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::filed::Filed;
use super::{PORT, ProgramError, find};
use crate::process::Place;
use airperf_units::Duration;
use airperf_workload::ArrivalProcess;

const NAME: &str = "httperf";
/// Octets of the receive buffer of each client's socket (SO_RCVBUF). httperf always sets one; this is as large as the
/// kernel's own for a window without scaling. A buffer that was set does not grow, and then the kernel acknowledges fewer
/// segments: past saturation that decides whose queue overflows, so who stands in for httperf sets the same.
pub(crate) const RECEIVE_BUFFER: u32 = 65_536;
/// In what its Poisson arrivals differ from the scenario's.
pub(crate) const DIFFERENCE: &str = "httperf rounds the times between Poisson arrivals to 1 ms";

/// Whether it can open connections by such a process.
pub(crate) const fn can(arrivals: ArrivalProcess) -> bool {
    matches!(arrivals, ArrivalProcess::Deterministic | ArrivalProcess::Poisson)
}

/// Where httperf is, if it is installed.
pub(crate) fn installed() -> Option<&'static Path> {
    find(&["/usr/bin/httperf", "/usr/local/bin/httperf"])
}

/// What a client is to ask for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asking {
    /// Address of the server.
    pub(crate) server: String,
    /// Path of the object.
    pub(crate) uri: String,
    /// Connections per second.
    pub(crate) rate: f64,
    /// Connections in all.
    pub(crate) connections: u64,
    /// Requests on each.
    pub(crate) calls: u32,
    /// Longest wait in each phase, seconds.
    pub(crate) timeout_s: Option<f64>,
    /// Exponential instead of equal times between connections.
    pub(crate) poisson: bool,
    /// When each connection is due after the first, for a client that can open them so.
    pub(crate) offsets: Arc<[Duration]>,
}

/// The argument vector of a client.
fn arguments(asking: &Asking) -> Vec<String> {
    let mut arguments = vec![
        format!("--server={}", asking.server),
        format!("--port={PORT}"),
        format!("--uri={}", asking.uri),
        format!("--num-conns={}", asking.connections),
        format!("--num-calls={}", asking.calls),
        format!("--recv-buffer={RECEIVE_BUFFER}"),
    ];
    if asking.poisson {
        arguments.push(format!("--period=e{}", 1.0 / asking.rate));
    } else {
        arguments.push(format!("--rate={}", asking.rate));
    }
    if let Some(timeout) = asking.timeout_s {
        arguments.push(format!("--timeout={timeout}"));
    }
    arguments
}

/// A running httperf.
#[derive(Debug)]
pub(crate) struct Httperf(Filed);

impl Httperf {
    /// Starts it; its report goes to `<files>.txt`, its complaints to `<files>.stderr`.
    ///
    /// # Errors
    /// When it is missing or cannot be started.
    pub(crate) fn start(asking: &Asking, place: &Place<'_>, files: &Path) -> Result<Self, ProgramError> {
        let path = installed().ok_or(ProgramError::Missing {
            program: NAME,
            looked: "/usr/bin, /usr/local/bin",
            package: "apt install httperf",
        })?;
        let mut command = Command::new(path);
        command.args(arguments(asking)).stdin(Stdio::null());
        Filed::start(NAME, &mut command, place, files).map(Self)
    }

    /// Whether it has ended; an end with an error is an error.
    ///
    /// # Errors
    /// When it failed, with the end of what it said.
    pub(crate) fn ended(&mut self) -> Result<bool, ProgramError> {
        self.0.ended()
    }

    /// Ends it if it still runs, and reads its report: the totals, `None` when it was cut off before it
    /// reported, and the text.
    ///
    /// # Errors
    /// When a report is there and cannot be understood.
    pub(crate) fn report(mut self) -> Result<(Option<Report>, String), ProgramError> {
        self.0.kill();
        let text = self.0.text()?;
        if !text.contains("Errors:") {
            return Ok((None, text));
        }
        let path = self.0.report;
        let report = Report::parse(&text).map_err(|why| ProgramError::Report { program: NAME, why, path })?;
        Ok((Some(report), text))
    }
}

/// The totals of httperf's report.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub(crate) struct Report {
    /// Connections initiated.
    pub(crate) connections: u64,
    /// Requests sent.
    pub(crate) requests: u64,
    /// Replies received.
    pub(crate) replies: u64,
    /// Length of the test, seconds.
    pub(crate) duration_s: f64,
    /// Connections that ran into the client's timeout.
    pub(crate) client_timeouts: u64,
    /// Connections that ran into a timeout of TCP.
    pub(crate) socket_timeouts: u64,
    /// Connections refused.
    pub(crate) refused: u64,
    /// Connections reset.
    pub(crate) resets: u64,
    /// Connections not made for want of a descriptor: a limit of the client, not of the network.
    pub(crate) no_descriptor: u64,
    /// Connections not made for want of a port: likewise.
    pub(crate) no_port: u64,
    /// Connections not made because the system's file table was full: likewise.
    pub(crate) file_table_full: u64,
    /// Other errors.
    pub(crate) other_errors: u64,
    /// Times as the client took them; `None` where it takes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) times: Option<Times>,
}

/// Times as a client took them, means in milliseconds; `None` without a measurement.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub(crate) struct Times {
    /// From due to the last octet of the reply; httperf does not know it.
    pub(crate) response_ms: Option<f64>,
    /// From the request to the last octet of the reply.
    pub(crate) service_ms: Option<f64>,
    /// The handshake.
    pub(crate) connect_ms: Option<f64>,
    /// From the request to the first octet of the reply.
    pub(crate) first_byte_ms: Option<f64>,
    /// From the first octet of the reply to its last.
    pub(crate) transfer_ms: Option<f64>,
}

impl Report {
    /// Reads the report; `Err` names the number that is missing.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let number = |line: &str, before: &str| -> Result<f64, String> {
            let missing = || format!("no number after {before:?} in a line that begins with {line:?}");
            text.lines()
                .filter_map(|l| l.strip_prefix(line))
                .find_map(|rest| rest.split_once(before))
                .and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok())
                .ok_or_else(missing)
        };
        let count = |line: &str, before: &str| number(line, before).map(|n| n as u64);
        // Its zeros without a single reply are no measurements.
        let replied = count("Total:", "replies ")? > 0;
        let time = |line: &str, before: &str| number(line, before).ok().filter(|_| replied);
        let first_byte_ms = time("Reply time [ms]:", "response ");
        let transfer_ms = time("Reply time [ms]:", "transfer ");
        Ok(Self {
            times: Some(Times {
                response_ms: None,
                service_ms: first_byte_ms.zip(transfer_ms).map(|(response, transfer)| response + transfer),
                connect_ms: time("Connection time [ms]:", "connect "),
                first_byte_ms,
                transfer_ms,
            }),
            connections: count("Total:", "connections ")?,
            requests: count("Total:", "requests ")?,
            replies: count("Total:", "replies ")?,
            duration_s: number("Total:", "test-duration ")?,
            client_timeouts: count("Errors:", "client-timo ")?,
            socket_timeouts: count("Errors:", "socket-timo ")?,
            refused: count("Errors:", "connrefused ")?,
            resets: count("Errors:", "connreset ")?,
            no_descriptor: count("Errors:", "fd-unavail ")?,
            no_port: count("Errors:", "addrunavail ")?,
            file_table_full: count("Errors:", "ftab-full ")?,
            other_errors: count("Errors:", "other ")?,
        })
    }

    /// Connections the client itself could not make.
    pub(crate) const fn client_limited(&self) -> u64 {
        self.no_descriptor + self.no_port + self.file_table_full
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isolation::{Isolation, Lab, StationSettings};

    const REPORT: &str = "\
httperf --client=0/1 --server=10.77.0.1 --port=8080 --uri=/o --rate=100 --num-conns=3000 --num-calls=1
Maximum connect burst length: 1

Total: connections 3000 requests 2938 replies 2931 test-duration 34.990 s

Connection rate: 85.7 conn/s (11.7 ms/conn, <=412 concurrent connections)
Connection time [ms]: min 8.2 avg 1203.1 max 9134.5 median 611.5 stddev 1402.9
Connection time [ms]: connect 512.4
Connection length [replies/conn]: 1.000
Reply rate [replies/s]: min 83.6 avg 85.2 max 86.6 stddev 1.1 (6 samples)
Reply time [ms]: response 690.0 transfer 0.7
Errors: total 69 client-timo 62 socket-timo 1 connrefused 2 connreset 4
Errors: fd-unavail 5 addrunavail 6 ftab-full 7 other 8
";

    #[test]
    fn the_totals_of_a_report_are_read() {
        let report = Report::parse(REPORT).unwrap();
        assert_eq!((report.connections, report.requests, report.replies), (3_000, 2_938, 2_931));
        assert_eq!(report.duration_s, 34.990);
        assert_eq!(
            (report.client_timeouts, report.socket_timeouts, report.refused, report.resets),
            (62, 1, 2, 4)
        );
        assert_eq!((report.client_limited(), report.other_errors), (18, 8));
        let times = report.times.unwrap();
        assert_eq!((times.connect_ms, times.service_ms, times.response_ms), (Some(512.4), Some(690.7), None));
    }

    #[test]
    fn fault_39_a_report_is_read_though_its_folder_was_removed() {
        if installed().is_none() {
            return skipped!("httperf is not installed");
        }
        let settings = StationSettings { mtu: 1500, device_queue: 100, ..Default::default() };
        let lab = match Lab::new(1, Isolation::for_this_process(), &settings) {
            Ok(lab) => lab,
            Err(error) => return skipped!("{error}"),
        };
        let network = &lab.stations[0].network;
        let place =
            Place { network, user: lab.user.as_ref(), identity: None, cores: None, nice: 0, fixed: None };
        let asking = Asking {
            server: "10.77.0.1".into(), // nobody listens
            uri: "/o".into(),
            rate: 100.0,
            connections: 2,
            calls: 1,
            timeout_s: Some(1.0),
            poisson: false,
            offsets: Arc::default(),
        };
        let folder = tempfile::tempdir().unwrap();
        let mut httperf = Httperf::start(&asking, &place, &folder.path().join("httperf-1")).unwrap();
        drop(folder);
        while !httperf.ended().unwrap() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let (report, text) = httperf.report().unwrap();
        assert_eq!(report.unwrap().refused, 2, "{text}");
    }

    #[test]
    fn a_cut_report_says_what_is_missing() {
        let cut = &REPORT[..REPORT.find("fd-unavail").unwrap()];
        let why = Report::parse(cut).unwrap_err();
        assert!(why.contains("fd-unavail"), "{why}");
    }

    #[test]
    fn the_flags_are_those_of_the_study() {
        let asking = Asking {
            server: "10.77.0.1".into(),
            uri: "/o".into(),
            rate: 100.0,
            connections: 3_000,
            calls: 1,
            timeout_s: Some(5.0),
            poisson: false,
            offsets: Arc::default(),
        };
        let flags = arguments(&asking).join(" ");
        assert_eq!(
            flags,
            "--server=10.77.0.1 --port=8080 --uri=/o --num-conns=3000 --num-calls=1 --recv-buffer=65536 --rate=100 --timeout=5"
        );
        assert!(arguments(&Asking { poisson: true, ..asking }).contains(&"--period=e0.01".into()));
    }
}
