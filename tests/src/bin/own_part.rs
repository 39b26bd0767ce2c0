//! A part of airperf in a process of its own for emulated runs in tests: what `part.py` is in the wheel.
//!
//! Its orders are those of `crates/testbed/emu/src/programs/own.rs`. Leaves out being told to stop: it is ended.

use std::io::{BufRead, Write};
use std::net::{SocketAddr, TcpListener};
use std::ops::ControlFlow;
use std::path::Path;

use airperf_http::{AdmissionConfig, Policy, Refusal};
use airperf_proxy::{Options, Upstream};
use airperf_units::Duration;
use serde_json::{Value, json};

type Failed = Box<dyn std::error::Error>;

fn order() -> Result<String, Failed> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

fn say(text: &str) -> Result<(), Failed> {
    let mut out = std::io::stdout().lock();
    Ok(writeln!(out, "{text}").and_then(|()| out.flush())?)
}

fn load() -> Result<(), Failed> {
    let (folder, plan) = (order()?, serde_json::from_str(&order()?)?);
    let result = airperf_load::run(&plan, Some(Path::new(&folder)), &mut |_| ControlFlow::Continue(()))?;
    say(&serde_json::to_string(&result)?)
}

fn proxy() -> Result<(), Failed> {
    let told: Value = serde_json::from_str(&order()?)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let admission = &told["admission"];
    let policy = match text(&admission["policy"]).as_str() {
        "adaptive" => Policy::Adaptive { target: Duration::from_ns(number(&admission["target_ns"])) },
        _ => Policy::Concurrent { limit: number(&admission["limit"]) as u32 },
    };
    let refusal = if admission["refusal"] == "reset" { Refusal::Reset } else { Refusal::Unavailable };
    let wait = Duration::from_ns(number(&admission["wait_ns"]));
    let listener = TcpListener::bind(text(&told["listen"]).parse::<SocketAddr>()?)?;
    let options = Options {
        upstream: Upstream::At(text(&told["upstream"]).parse()?),
        admission: Some(AdmissionConfig { policy, wait, refusal }),
        max_connections: number(&told["max_connections"]) as u32,
        backlog: Some(number(&told["backlog"]) as u32),
    };
    airperf_proxy::serve(listener, options, &mut |served| {
        let counts = json!({ "counts": served.counts }).to_string();
        if say(&counts).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(())
}

fn main() -> Result<(), Failed> {
    let role = std::env::args().nth(1).unwrap_or_default();
    say("ready")?;
    match role.as_str() {
        "load" => load(),
        "proxy" => proxy(),
        other => Err(format!("no part {other:?}").into()),
    }
}
