//! Emulated runs that this machine had time for.
//!
//! A run during which the machine slept says nothing of the model: it is made again. A machine that sleeps every time
//! cannot make the comparison: its test is skipped, loudly, if the medium's own timers were late; that the medium or a
//! program was slow on a punctual machine is a failure.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use airperf_record::Manifest;

use crate::skipped;

const ATTEMPTS: u32 = 4;

/// Of all tests together: on a machine that is late for minutes they must still end.
static AGAIN: AtomicU32 = AtomicU32::new(8);

/// How late no delivery may be where single transfers of half a second are compared within 3%, whatever 99 of 100 were.
pub const PUNCTUAL_US: f64 = 5_000.0;

/// A program whose processor is away this long in a run may miss the 50 ms in which its connections must open.
const STOLEN_MS: u64 = 50;

/// Of an emulated run that was late: how, and what the machine's own timers did meanwhile.
#[derive(Debug)]
pub struct Late {
    /// What came too late.
    pub why: String,
    /// What the run's scenario allows of the 99th percentile of lateness.
    pub limit_p99_us: f64,
    /// How late timers were, 99th percentile.
    pub timers_p99_us: f64,
    /// The most that one was late.
    pub timers_max_us: f64,
}

/// What the first run that was in time came to; none, which is said, where the machine was late each time.
///
/// # Errors
/// Those of `run`.
///
/// # Panics
/// Where no run is in time, and the machine was not always at fault.
pub fn one_in_time<T, E>(mut run: impl FnMut() -> Result<Result<T, Late>, E>) -> Result<Option<T>, E> {
    let mut slept = true;
    let mut why = String::new();
    for _ in 0..ATTEMPTS {
        let stolen_before = stolen_ms();
        let late = match run()? {
            Ok(made) => return Ok(Some(made)),
            Err(late) => late,
        };
        let (p99, max, stolen) = (late.timers_p99_us, late.timers_max_us, stolen_ms() - stolen_before);
        slept &= p99 > late.limit_p99_us / 2.0 || max > PUNCTUAL_US || stolen > STOLEN_MS;
        why = format!(
            "{}; timers at most {max:.0} µs late (p99 {p99:.0} µs), processors away {stolen} ms",
            late.why
        );
        eprintln!("AGAIN: {why}");
        if AGAIN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err() {
            break;
        }
    }
    assert!(slept, "no run in time, and the machine was not always at fault: {why}");
    skipped(&format!("this machine is late, whatever runs on it: {why}"));
    Ok(None)
}

/// The first valid run that `run` made in `directory`, no delivery of which was later than `latest_us`; as
/// [`one_in_time`].
///
/// # Errors
/// Those of `run`.
pub fn in_time<E>(
    directory: &Path,
    latest_us: f64,
    mut run: impl FnMut() -> Result<Manifest, E>,
) -> Result<Option<Manifest>, E> {
    one_in_time(|| {
        let manifest = run()?;
        let lag = manifest.lag.as_ref().expect("an emulated run says how late it was");
        if manifest.valid && lag.max_us <= latest_us {
            return Ok(Ok(manifest));
        }
        fs::remove_dir_all(directory).expect("a run's directory can be removed");
        let timers = &manifest.host.as_ref().expect("an emulated run says where it was")["timer_lag_us"];
        let us = |name: &str| timers[name].as_f64().expect("a number");
        Ok(Err(Late {
            why: format!("{:?}; deliveries at most {:.0} µs late", manifest.why_invalid, lag.max_us),
            limit_p99_us: lag.limit_p99_us,
            timers_p99_us: us("p99"),
            timers_max_us: us("max"),
        }))
    })
}

/// How long the processors of a virtual machine were given to others since it started; see proc_stat(5), "steal".
fn stolen_ms() -> u64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks = text.lines().next().and_then(|line| line.split_whitespace().nth(8)?.parse::<u64>().ok());
    ticks.unwrap_or(0) * 10
}
