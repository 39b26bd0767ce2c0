//! Feeds the parsers damaged input: `airperf-fuzz SECONDS SEED OUT`, one line of Markdown per target.
//!
//! A good input is damaged a few times and parsed. A panic is a bug: the input is written to the folder
//! OUT and the exit code is 1. The slowest input is reported, because an input that takes long is one too.
//!
//! Left out: coverage guidance. It needs a nightly compiler and finds more; this runs anywhere, in some minutes. An input
//! that found something is kept under corpus/, and is a good input from then on.

mod captures;
mod conversation;
mod damage;
mod kept;
mod targets;

use airperf_units::StreamKey;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use targets::Target;

/// What one target came to.
struct Found {
    inputs: u64,
    accepted: u64,
    slowest: Duration,
    crash: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [seconds, seed, out] = arguments.as_slice() else {
        eprintln!("usage: airperf-fuzz SECONDS SEED OUT");
        return ExitCode::from(2);
    };
    let (Ok(seconds), Ok(seed)) = (seconds.parse(), seed.parse()) else {
        eprintln!("airperf-fuzz: SECONDS and SEED are whole numbers");
        return ExitCode::from(2);
    };
    println!("| target | inputs | accepted | slowest input, ms | crash |\n|---|--:|--:|--:|---|");
    let mut crashed = false;
    for target in targets::ALL {
        let found = fuzz(target, Duration::from_secs(seconds), u64::MAX, seed, Path::new(out));
        let crash = found.crash.as_deref().map_or("none".to_owned(), |path| path.display().to_string());
        let slowest = found.slowest.as_secs_f64() * 1e3;
        println!("| {} | {} | {} | {slowest:.2} | {crash} |", target.name, found.inputs, found.accepted);
        crashed |= found.crash.is_some();
    }
    ExitCode::from(u8::from(crashed))
}

/// Feeds a target until its time is up or it has had `most` inputs.
fn fuzz(target: &Target, budget: Duration, most: u64, seed: u64, out: &Path) -> Found {
    let mut draws = StreamKey::new(seed).stream(target.name);
    let seeds = (target.seeds)();
    let mut found = Found { inputs: 0, accepted: 0, slowest: Duration::ZERO, crash: None };
    let start = Instant::now();
    while start.elapsed() < budget && found.inputs < most {
        let mut input = seeds[draws.up_to(seeds.len() as u32 - 1) as usize].clone();
        let times = draws.up_to(6);
        for _ in 0..times {
            damage::once(&mut input, target.words, &mut draws);
        }
        let clock = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| (target.parse)(&input)));
        found.slowest = found.slowest.max(clock.elapsed());
        found.inputs += 1;
        match outcome {
            Ok(accepted) => found.accepted += u64::from(accepted),
            Err(_) => {
                found.crash = Some(keep(target.name, &input, out));
                break;
            }
        }
    }
    found
}

/// Writes the input of a crash where a test can pick it up.
fn keep(name: &str, input: &[u8], out: &Path) -> PathBuf {
    let path = out.join(format!("fuzz-{name}.bin"));
    if let Err(error) = std::fs::create_dir_all(out).and_then(|()| std::fs::write(&path, input)) {
        eprintln!("airperf-fuzz: cannot keep the input: {}: {error}: {input:?}", path.display());
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number of inputs that takes some seconds; which they are depends on the seed only.
    const INPUTS: u64 = 4_000;

    #[test]
    fn damaged_inputs_end_no_parser() {
        for target in targets::ALL {
            let found = fuzz(target, Duration::MAX, INPUTS, 3, &std::env::temp_dir());
            assert!(found.crash.is_none(), "{}: {:?}", target.name, found.crash);
            assert!(found.slowest < Duration::from_secs(5), "{}: {:?}", target.name, found.slowest);
            assert!(found.accepted > INPUTS / 50, "{}: only {} are accepted", target.name, found.accepted);
        }
    }

    #[test]
    fn anonymised_captures_have_the_same_frames_and_connections() {
        for seed in kept::captures() {
            let [before, after] = captures::before_and_after(&seed);
            assert_eq!(before, after);
        }
    }

    #[test]
    fn every_seed_is_accepted() {
        for target in targets::ALL {
            for (n, seed) in (target.seeds)().iter().enumerate() {
                assert!((target.parse)(seed), "{}: seed {n}", target.name);
            }
        }
    }
}
