//! The emulated testbed: real programs around the modelled medium, in real time.
//!
//! Every station is a network namespace of its own with a TUN device; one thread owns all devices and
//! drives the scenario's link with them, the same link that the simulated testbed drives in virtual time.
//! [`run()`] makes a run directory, [`visit()`] one of page loads by a real browser, [`replay()`] repeats one in virtual time and compares, [`probe()`] says what
//! the machine lacks, [`clean`] removes what a killed run left.
//!
//! Reference: namespaces(7), `Documentation/networking/tuntap.rst`, timerfd_create(2). Left out: real
//! radios, serving pages and their names (the crate `host`), machines other than Linux.

/// Says past the test harness's capture that a test could not run here, why, and how many so far.
#[cfg(test)]
macro_rules! skipped {
    ($($why:tt)*) => {{
        use std::io::Write;
        static SKIPPED: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let count = SKIPPED.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        let _ = writeln!(
            std::io::stderr(),
            "\nSKIPPED {}:{} ({count} here so far): {}",
            file!(),
            line!(),
            format_args!($($why)*)
        );
    }};
}

mod arrivals;
mod clients;
mod isolation;
mod kernel;
mod lag;
mod live;
mod medium;
mod pool;
mod probe;
mod process;
mod programs;
mod realtime;
mod records;
mod registry;
mod replay;
mod run;
mod server;
mod shell;
mod spool;
mod wants;

pub use arrivals::ArrivalsError;
pub use isolation::{DeviceKind, Isolation, LabError};
pub use probe::{Need, probe};
pub use programs::ProgramError;
pub use realtime::Granted;
pub use records::RecordsError;
pub use registry::{clean, default_state_dir};
pub use replay::{FrameDifference, ReplayError, Replayed, replay};
pub use run::{
    EmuOptions, LoadSeen, ObjectSeen, Progress, RunError, Visitor, Visits, run, visit, visit_settings,
};
pub use shell::{DirectionReport, LayerReport, OtherReport, ShellError, ShellReport, Wanted, shell};
