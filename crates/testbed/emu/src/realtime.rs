//! What a thread that must not be late asks of the kernel: a fixed priority, a core of its own, memory
//! that stays. Each is asked for and done without when refused; the manifest says which were granted.
//!
//! See sched(7), mlockall(2). Left out: isolating cores from interrupts, which needs boot options.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::mman::{MlockAllFlags, mlockall, munlockall};
use nix::unistd::Pid;

/// Priority under `SCHED_FIFO`: above programs, below the kernel's own threads at 50 and more.
const PRIORITY: libc::c_int = 40;

/// Which cores the medium and the programs run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cores {
    /// The medium's; `None` when there is only one core.
    pub(crate) medium: Option<usize>,
    /// Bit set of the programs' cores; `None` leaves them where they are.
    pub(crate) programs: Option<CpuSet>,
}

impl Cores {
    /// The last core this process may use is the medium's, the others are the programs'.
    pub(crate) fn choose() -> Self {
        let none = Self { medium: None, programs: None };
        let Ok(mut allowed) = sched_getaffinity(Pid::from_raw(0)) else { return none };
        let cores: Vec<usize> =
            (0..CpuSet::count()).filter(|&core| allowed.is_set(core).unwrap_or(false)).collect();
        match cores.as_slice() {
            [_, .., last] if allowed.unset(*last).is_ok() => {
                Self { medium: Some(*last), programs: Some(allowed) }
            }
            _ => none,
        }
    }
}

/// What the kernel granted.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Granted {
    /// Fixed priority (`SCHED_FIFO`).
    pub fixed_priority: bool,
    /// The core the medium was kept on.
    pub core: Option<usize>,
    /// Memory locked.
    pub memory_locked: bool,
}

/// Asks for a fixed priority for the calling thread; whether it was granted.
pub(crate) fn ask_priority() -> bool {
    let param = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: passes a valid sched_param; 0 means the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const param) == 0 }
}

/// Asks for everything on behalf of the calling thread.
pub(crate) fn ask(core: Option<usize>) -> Granted {
    let fixed_priority = ask_priority();
    let core = core.filter(|&core| {
        let mut only = CpuSet::new();
        only.set(core).and_then(|()| sched_setaffinity(Pid::from_raw(0), &only)).is_ok()
    });
    // What exists now; not what is yet to come, which is other people's (an interpreter's, say).
    let memory_locked = mlockall(MlockAllFlags::MCL_CURRENT).is_ok();
    Granted { fixed_priority, core, memory_locked }
}

/// Gives back what outlives the thread.
pub(crate) fn give_back(granted: &Granted) {
    if granted.memory_locked {
        let _ = munlockall();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medium_and_programs_do_not_share_a_core_when_there_are_two() {
        let cores = Cores::choose();
        if let (Some(medium), Some(programs)) = (cores.medium, cores.programs) {
            assert!(!programs.is_set(medium).unwrap());
            assert!((0..CpuSet::count()).any(|core| programs.is_set(core).unwrap()));
        } else {
            eprintln!("one core only: nothing to check");
        }
    }

    #[test]
    fn asking_never_fails() {
        let granted = std::thread::spawn(|| ask(Cores::choose().medium)).join().unwrap();
        give_back(&granted);
    }
}
