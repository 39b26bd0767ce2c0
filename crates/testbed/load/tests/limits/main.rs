//! What this machine lacks, for real: descriptors and ports. In a process of its own, whose limits these tests change.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::ops::ControlFlow;
use std::process::Command;
use std::sync::Mutex;

use airperf_load::{LoadResult, Plan};
use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, setrlimit};
use serde_json::json;

/// Descriptors that this process may have.
const FILES: u64 = 64;
/// The limits are the process's, so one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Connections to a listener that accepts none of them, so that all stay open.
fn unanswered(address: SocketAddr, connections: u64) -> LoadResult {
    let plan = json!({
        "schema": 1,
        "target": { "address": address.ip(), "port": address.port() },
        "arrivals": { "rate_micro": 1_000_000_000u64 },
        "connections": connections,
        "timeout_ns": 300_000_000u64,
    });
    let plan: Plan = serde_json::from_value(plan).unwrap();
    let result = airperf_load::run(&plan, None, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(result.connections.due, connections, "the schedule went on: {result:?}");
    assert_eq!(result.errors.connect, 0, "nothing of it is the server's: {result:?}");
    assert_eq!(result.response_ms.count, 0);
    assert!(result.generator_limited, "{result:?}");
    result
}

#[test]
fn fault_11_descriptors_that_run_out_are_the_clients_limit() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, FILES, FILES).unwrap();
    let result = unanswered(listener.local_addr().unwrap(), 100);
    assert_eq!(result.local.fd + result.errors.reply, 100, "{result:?}");
    assert!((100 - FILES..100).contains(&result.local.fd), "{:?}", result.local);
    assert!(result.why.iter().any(|why| why.contains("raise the limit (ulimit -n)")), "{:?}", result.why);
    assert!(result.why.iter().any(|why| why.contains("no descriptor left")), "{:?}", result.why);
}

#[test]
fn fault_11_ports_that_run_out_are_the_clients_limit() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if unshare(CloneFlags::CLONE_NEWNET).is_err() {
        writeln!(std::io::stderr(), "SKIPPED: making a network namespace needs root").unwrap();
        return;
    }
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).status();
    if !up.is_ok_and(|status| status.success()) {
        writeln!(std::io::stderr(), "SKIPPED: there is no program ip").unwrap();
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:1080").unwrap();
    // Fewer than are looked at in turn, and more than one look.
    for (low, high) in [(50_000, 50_003), (50_000, 50_019)] {
        let range = format!("{low} {high}");
        std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", range).unwrap();
        let result = unanswered(listener.local_addr().unwrap(), 24);
        let ports = high + 1 - low;
        assert_eq!((result.local.port, result.errors.reply), (24 - ports, ports), "{result:?}");
        assert!(result.why.iter().any(|why| why.contains("no port was left")), "{:?}", result.why);
    }
}
