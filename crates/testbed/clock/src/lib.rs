//! The clock of a run in real time, and the watch on clocks that jump.
//!
//! A run is timed by `CLOCK_MONOTONIC` from its start. `CLOCK_REALTIME` and `CLOCK_BOOTTIME` are only
//! compared with it: when the first moves against it the wall clock was stepped, when the second does
//! the machine slept, and either makes the run invalid (faults row 9). See clock_gettime(2).
//!
//! Left out: waiting, which each testbed does with what else it waits for.

use airperf_units::{Duration, Time};
use nix::time::{ClockId, clock_gettime};

/// A wall-clock step larger than this makes a run invalid.
const LARGEST_STEP: Duration = Duration::from_ms(50);

/// Nanoseconds on one of the system's clocks.
fn read(clock: ClockId) -> u64 {
    // These clocks exist on every Linux since 2.6.39; a failure here is a bug of ours.
    let now = clock_gettime(clock).expect("CLOCK_MONOTONIC, CLOCK_REALTIME and CLOCK_BOOTTIME exist");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

/// Time since the start of the run.
#[derive(Clone, Copy, Debug)]
pub struct RunClock {
    start_ns: u64,
}

impl RunClock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { start_ns: read(ClockId::CLOCK_MONOTONIC) }
    }

    /// A clock whose zero is this reading of `CLOCK_MONOTONIC`, in nanoseconds; before it, [`Self::now`] is zero.
    pub const fn starting_at(start_ns: u64) -> Self {
        Self { start_ns }
    }

    /// What `CLOCK_MONOTONIC` reads now, in nanoseconds.
    pub fn monotonic_now_ns() -> u64 {
        read(ClockId::CLOCK_MONOTONIC)
    }

    /// The present.
    #[inline]
    pub fn now(&self) -> Time {
        Time::from_ns(read(ClockId::CLOCK_MONOTONIC).saturating_sub(self.start_ns))
    }

    /// An instant of the run on `CLOCK_MONOTONIC`, for an absolute timer.
    pub const fn monotonic_ns(&self, at: Time) -> u64 {
        self.start_ns.saturating_add(at.as_ns())
    }
}

/// Where the clocks stand against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offsets {
    wall_ns: i128,
    boot_ns: i128,
}

/// Notices steps of the wall clock and suspends of the machine.
#[derive(Clone, Debug)]
pub struct ClockWatch {
    last: Offsets,
    largest_wall_step: Duration,
    slept: Duration,
}

impl ClockWatch {
    /// Starts watching.
    pub fn start() -> Self {
        Self { last: offsets(), largest_wall_step: Duration::ZERO, slept: Duration::ZERO }
    }

    /// Looks at the clocks; to be called every second or so.
    pub fn look(&mut self) {
        self.compare(offsets());
    }

    fn compare(&mut self, now: Offsets) {
        let step = Duration::from_ns((now.wall_ns - self.last.wall_ns).unsigned_abs() as u64);
        let slept = Duration::from_ns((now.boot_ns - self.last.boot_ns).unsigned_abs() as u64);
        self.largest_wall_step = self.largest_wall_step.max(step);
        self.slept = self.slept.max(slept);
        self.last = now;
    }

    /// Why the clocks make the run invalid; empty when they do not.
    pub fn complaints(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        if self.slept > LARGEST_STEP {
            complaints.push(format!(
                "the machine was suspended for {:.1} s during the run",
                self.slept.as_secs_f64()
            ));
        } else if self.largest_wall_step > LARGEST_STEP {
            let ms = self.largest_wall_step.as_secs_f64() * 1e3;
            complaints.push(format!("the wall clock was stepped by {ms:.0} ms during the run"));
        }
        complaints
    }
}

fn offsets() -> Offsets {
    // The monotonic clock is read on both sides, so that a preemption between the reads halves.
    let before = i128::from(read(ClockId::CLOCK_MONOTONIC));
    let wall = i128::from(read(ClockId::CLOCK_REALTIME));
    let boot = i128::from(read(ClockId::CLOCK_BOOTTIME));
    let after = i128::from(read(ClockId::CLOCK_MONOTONIC));
    let middle = (before + after) / 2;
    Offsets { wall_ns: wall - middle, boot_ns: boot - middle }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch() -> ClockWatch {
        let last = Offsets { wall_ns: 1_000_000_000_000, boot_ns: 0 };
        ClockWatch { last, largest_wall_step: Duration::ZERO, slept: Duration::ZERO }
    }

    #[test]
    fn fault_09_a_step_or_a_suspend_is_noticed_and_drift_is_not() {
        let mut quiet = watch();
        for i in 1..100 {
            quiet.compare(Offsets { wall_ns: 1_000_000_000_000 + i * 40_000_000, boot_ns: 0 });
        }
        assert_eq!(quiet.complaints(), Vec::<String>::new());

        let mut stepped = watch();
        stepped.compare(Offsets { wall_ns: 1_000_000_000_000 - 51_000_000, boot_ns: 0 });
        assert_eq!(stepped.complaints(), ["the wall clock was stepped by 51 ms during the run"]);

        let mut slept = watch();
        slept.compare(Offsets { wall_ns: 1_002_500_000_000, boot_ns: 2_500_000_000 });
        assert_eq!(slept.complaints(), ["the machine was suspended for 2.5 s during the run"]);
    }

    #[test]
    fn the_clocks_of_this_machine_stand_still_against_each_other() {
        let mut watch = ClockWatch::start();
        watch.look();
        assert!(watch.largest_wall_step < LARGEST_STEP && watch.slept < LARGEST_STEP, "{watch:?}");
    }
}
