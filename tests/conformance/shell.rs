//! A trace through `airperf shell`, flooded by iperf3: every second carries what its trace has opportunities for.
//!
//! The packets are counted where they leave the real device, on the real clock; what they should be is read from the
//! trace's file. The test runs in a network namespace of its own, as root. The traces have no opportunity in the last and
//! the first 20 ms of a second: a packet on time to that is in its second.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use airperf_emu::{DirectionReport, ShellReport, shell};
use airperf_scenario::Scenario;
use airperf_tests::in_time::{Late, one_in_time};
use airperf_tests::skipped;

use crate::kernel_tcp::turn;

/// What tells the test that it is in its namespace already.
const INSIDE: &str = "AIRPERF_TEST_INSIDE";

/// The outer end of the first layer in a fresh namespace.
const OUTSIDE: &str = "100.68.0.1";

/// A trace of `seconds` with this many opportunities per second at unevenly spread times, and in every third second a fifth
/// less.
fn trace(per_second: u64, seconds: u64) -> String {
    let mut text = String::new();
    for second in 0..seconds {
        let count = if second % 3 == 2 { per_second * 4 / 5 } else { per_second };
        let mut at: Vec<u64> = (0..count)
            .map(|n| {
                let even = n * 960 / count;
                second * 1000 + 20 + (even + (n * 7919 + second * 31) % 13).min(959)
            })
            .collect();
        at.sort_unstable();
        at.iter().for_each(|ms| writeln!(text, "{ms}").unwrap());
    }
    // A round ends with its last opportunity; this one ends whole seconds.
    text.push_str(&format!("{}\n", seconds * 1000));
    text
}

/// Whether this process is in a namespace of its own; if not, the test of this name is run again in one.
fn inside(name: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let lacks = |program: &str| Command::new(program).arg("--version").output().is_err();
    let can = Command::new("unshare").args(["--net", "--", "test", "-c", "/dev/net/tun"]).output();
    if lacks("iperf3") || !can.is_ok_and(|done| done.status.success()) {
        skipped(&format!("{name}: it needs iperf3 (apt-get install iperf3), /dev/net/tun and root"));
        return false;
    }
    let test = std::env::current_exe().unwrap();
    let words =
        ["--exact", &format!("shell::{name}"), "--include-ignored", "--nocapture"].map(OsString::from);
    let mut command = Command::new("unshare");
    command.args(["--net", "--"]).arg(test).args(words).env(INSIDE, "1");
    assert!(command.status().unwrap().success(), "see above");
    false
}

/// A server that ends with the test.
struct Iperf(Child);

impl Drop for Iperf {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn flood(text: &str, mbps: u64, up: bool, seconds: u64) -> ShellReport {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("link.trace");
    std::fs::write(&path, text).unwrap();
    let scenario = format!(
        "schema = 1\nname = \"flood\"\nduration = \"1s\"\n[link]\nkind = \"trace\"\n[link.down]\ntrace = {path:?}\n\
         queue = 300\n[link.up]\ntrace = {path:?}\nqueue = 300\n[[client]]\nrate = \"1/s\"\nsize = \"1B\"\n[emu]\n\
         lag_p99_limit = \"1ms\"\n"
    );
    let scenario = Scenario::parse(&scenario, "flood", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let server = Command::new("iperf3").args(["-s", "--forceflush"]).stdout(Stdio::null()).spawn().unwrap();
    let _server = Iperf(server);
    std::thread::sleep(Duration::from_millis(300));
    // Full packets, a third more than the link carries.
    let rate = format!("{}K", mbps * 1333);
    let (limit, time) = ((seconds + 10).to_string(), seconds.to_string());
    let mut command =
        vec!["timeout", &limit, "iperf3", "-c", OUTSIDE, "-u", "-b", &rate, "-l", "1472", "-t", &time];
    command.extend(["--logfile", "/dev/null"]);
    command.extend((!up).then_some("-R"));
    let command: Vec<OsString> = command.into_iter().map(OsString::from).collect();
    let begun = Instant::now();
    let mut go_on = || match begun.elapsed() {
        late if late > Duration::from_secs(seconds + 20) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    shell(&[(scenario, 1)], &command, &[], &mut go_on).unwrap_or_else(|e| panic!("{e}"))
}

fn every_second_carries_its_trace(name: &str, mbps: u64, up: bool, seconds: u64) {
    let _turn = turn();
    if !inside(name) {
        return;
    }
    let text = trace(mbps * 1_000_000 / 12_000, 6);
    let one = || {
        let report = flood(&text, mbps, up, seconds);
        let layer = &report.layers[0];
        let way: &DirectionReport = if up { &layer.up } else { &layer.down };
        let off = way.worst_second.unwrap_or(f64::NAN);
        println!(
            "what={mbps} Mbit/s trace {}, {} busy seconds; ours={off:.5}; tolerance=0.001; late p99 {:?} µs",
            if up { "up" } else { "down" },
            way.busy_seconds,
            layer.lag_p99_us
        );
        // A machine that stood still for 20 ms has moved a packet to the next second, or let the queue run empty; it says so.
        let late = layer.lag_max_us > 20_000.0;
        assert!(late || way.busy_seconds >= seconds - 2, "the queue was not kept full: {report:?}");
        assert!(late || off.abs() <= 0.001, "off by {off:.4} though no packet was late: {report:?}");
        if off.abs() <= 0.001 && way.busy_seconds >= seconds - 2 {
            assert!(way.lost.is_empty());
            return Ok::<_, Infallible>(Ok(()));
        }
        Ok(Err(Late {
            why: format!("a second off by {off:.4}; packets at most {:.0} µs late", layer.lag_max_us),
            limit_p99_us: layer.lag_p99_limit_us,
            timers_p99_us: layer.timer_lag_p99_us.unwrap_or(0.0),
            timers_max_us: layer.timer_lag_max_us,
        }))
    };
    let Ok(_) = one_in_time(one);
}

#[test]
fn every_second_of_a_trace_of_1_mbit_is_delivered_within_a_thousandth() {
    let name = "every_second_of_a_trace_of_1_mbit_is_delivered_within_a_thousandth";
    every_second_carries_its_trace(name, 1, false, 4);
}

#[test]
fn every_second_of_a_trace_of_10_mbit_is_delivered_within_a_thousandth() {
    let name = "every_second_of_a_trace_of_10_mbit_is_delivered_within_a_thousandth";
    every_second_carries_its_trace(name, 10, true, 4);
}

#[test]
#[ignore = "the machine must be quiet; make conform"]
fn every_second_of_a_trace_of_100_mbit_is_delivered_within_a_thousandth() {
    let name = "every_second_of_a_trace_of_100_mbit_is_delivered_within_a_thousandth";
    every_second_carries_its_trace(name, 100, false, 4);
}
