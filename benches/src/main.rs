//! Measures one thing per process and prints it as one line of `name=value` pairs.
//!
//! `airperf-bench kernel N SECONDS` · `airperf-bench per-slot N SECONDS` ·
//! `airperf-bench domain N SIMULATED_SECONDS` ·
//! `airperf-bench stack CLIENTS RATE SIMULATED_SECONDS` · `airperf-bench allocations RATE` ·
//! `airperf-bench memory RATE SIMULATED_SECONDS` · `airperf-bench make-capture FILE CONNECTIONS [AT_ONCE PACKETS]` ·
//! `airperf-bench capture FILE none|summary|all THREADS`.
//! `benches/run.py` runs them beside ns-3 and writes the table. A process of its own per figure keeps
//! peak memory and allocation counts apart.
//!
//! `stack` repeats in its process, `kernel` and `per-slot` time batches of a millisecond or so; they tell the
//! median, which a neighbour on the machine moves less than a sum. Left out: intervals; the caller repeats.

mod capture;
mod counting;
mod kernel;
mod per_slot;
mod saturated;
mod stack;

use std::path::Path;
use std::process::ExitCode;

/// What a measurement found, in the order it is printed.
type Figures = Vec<(&'static str, f64)>;

/// The middle one of an odd number of times, else the upper of the two.
fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

#[global_allocator]
static ALLOCATOR: counting::Allocator = counting::Allocator;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(figures) = measure(&arguments) else {
        eprintln!("airperf-bench: not understood: {arguments:?}; see the head of benches/src/main.rs");
        return ExitCode::from(2);
    };
    let line: Vec<String> = figures.iter().map(|(name, value)| format!("{name}={value}")).collect();
    println!("{}", line.join(" "));
    ExitCode::SUCCESS
}

fn measure(arguments: &[String]) -> Option<Figures> {
    let (what, numbers) = arguments.split_first()?;
    match (what.as_str(), numbers) {
        ("make-capture", [path, connections]) => {
            return capture::make(Path::new(path), connections.parse().ok()?, capture::AT_ONCE, u64::MAX);
        }
        ("make-capture", [path, numbers @ ..]) => {
            let numbers: Vec<u64> = numbers.iter().map(|n| n.parse().ok()).collect::<Option<_>>()?;
            let &[connections, at_once, packets] = numbers.as_slice() else { return None };
            return capture::make(Path::new(path), connections, at_once, packets);
        }
        ("capture", [path, tables, threads]) => {
            return capture::measure(Path::new(path), tables, threads.parse().ok()?);
        }
        _ => {}
    }
    let numbers: Vec<u64> = numbers.iter().map(|n| n.parse().ok()).collect::<Option<_>>()?;
    match (what.as_str(), numbers.as_slice()) {
        ("kernel", &[stations, seconds]) => Some(kernel::measure(stations.try_into().ok()?, seconds)),
        ("per-slot", &[stations, seconds]) => Some(per_slot::measure(stations.try_into().ok()?, seconds)),
        ("domain", &[stations, seconds]) => Some(saturated::measure(stations.try_into().ok()?, seconds)),
        ("stack", &[clients, rate, seconds]) => Some(stack::speed(clients, rate, seconds)),
        ("allocations", &[rate]) => Some(stack::allocations(rate)),
        ("memory", &[rate, seconds]) => Some(stack::memory(rate, seconds)),
        _ => None,
    }
}
