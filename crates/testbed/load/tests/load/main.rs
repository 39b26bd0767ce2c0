//! Loads over loopback against a server that does as it is told.

mod behaviour;
mod faults;
mod server;
mod visits;

use std::net::SocketAddr;
use std::ops::ControlFlow;

use airperf_load::{LoadResult, Plan};
use serde_json::{Value, json};

/// Nobody listens here. A port that was free a moment ago would be another test's server's.
const NOBODY: &str = "127.0.0.1:1";

/// A plan for a server, `more` replacing what it names.
fn plan(address: SocketAddr, more: Value) -> Plan {
    let mut plan = json!({
        "schema": 1,
        "target": { "address": address.ip(), "port": address.port(), "host": "test", "paths": ["/a"] },
        "arrivals": { "process": "deterministic", "rate_micro": 200_000_000u64 },
        "connections": 20,
        "timeout_ns": 300_000_000u64,
    });
    for (key, value) in more.as_object().unwrap() {
        plan[key] = value.clone();
    }
    serde_json::from_value(plan).unwrap()
}

fn run(plan: &Plan) -> LoadResult {
    let result = airperf_load::run(plan, None, &mut |_| ControlFlow::Continue(())).unwrap();
    accounted(&result);
    result
}

/// Every connection and every exchange has exactly one outcome.
fn accounted(result: &LoadResult) {
    let c = result.connections;
    let local = result.local.fd
        + result.local.file_table
        + result.local.port
        + result.local.limit
        + result.local.other;
    let early = if result.session_ms.is_some() { 0 } else { c.closed_early };
    assert_eq!(c.due, c.completed + c.failed + c.unfinished + early + local, "{result:?}");
    let e = result.errors;
    let failed = e.connect + e.send + e.reply + e.receive + e.reset + e.framing;
    assert!(result.sent <= result.completed + failed + result.unfinished, "{result:?}");
    assert!(result.sent >= result.completed, "{result:?}");
    assert_eq!(result.response_ms.count, result.completed);
    assert_eq!(result.causes.values().sum::<u64>(), c.failed);
}
