//! What this machine has of what emulation needs: one sentence each, and what to do where it lacks.
//!
//! Left out: trying whether the machine is fast enough; each run measures its own lag.

use std::path::Path;

use nix::sys::resource::{Resource, getrlimit};

use crate::isolation::{DeviceKind, Isolation, Lab, StationSettings};
use crate::programs::{apache, find, httperf, version};
use crate::realtime;

/// Descriptors below which a client of a few hundred open connections runs out.
const DESCRIPTORS: u64 = 1_024;

/// One thing a run needs or profits from.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Need {
    /// Short name.
    pub name: &'static str,
    /// Whether it is there.
    pub ok: bool,
    /// Whether emulation is impossible without it.
    pub required: bool,
    /// What was seen.
    pub why: String,
    /// What to do; empty when it is there.
    pub remedy: String,
}

impl Need {
    fn new(name: &'static str, required: bool, seen: Result<String, String>, remedy: &str) -> Self {
        match seen {
            Ok(why) => Self { name, ok: true, required, why, remedy: String::new() },
            Err(why) => Self { name, ok: false, required, why, remedy: remedy.into() },
        }
    }
}

/// Looks at everything emulation needs.
pub fn probe() -> Vec<Need> {
    vec![
        Need::new(
            "tun",
            false,
            tun(),
            "without it a veth pair is used; load the module (modprobe tun) and allow reading and writing /dev/net/tun",
        ),
        Need::new(
            "namespaces",
            true,
            namespaces(),
            "run as root, or allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, \
             user.max_user_namespaces) with /dev/net/tun readable and writable",
        ),
        program(
            "apache2",
            apache::installed(),
            "-v",
            "apt install apache2-bin; without it the built-in server is used",
        ),
        program(
            "httperf",
            httperf::installed(),
            "--version",
            "apt install httperf; without it the generator of airperf load is used",
        ),
        Need::new(
            "realtime",
            false,
            realtime(),
            "run as root or raise RLIMIT_RTPRIO (ulimit -r 50); without it deliveries are late more often",
        ),
        Need::new("descriptors", true, descriptors(), "raise the limit: ulimit -n 4096"),
        program("tshark", find(&["/usr/bin/tshark"]), "--version", "apt install tshark, to look at captures"),
        program(
            "chromium",
            find(&["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]),
            "--version",
            "apt install chromium, to look at reports",
        ),
    ]
}

fn tun() -> Result<String, String> {
    std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/net/tun")
        .map(|_| "/dev/net/tun can be opened".into())
        .map_err(|error| format!("/dev/net/tun: {error}"))
}

fn namespaces() -> Result<String, String> {
    let isolation = Isolation::for_this_process();
    let device = DeviceKind::for_this_machine();
    let settings = StationSettings { device, mtu: 1500, device_queue: 100, ..StationSettings::default() };
    Lab::new(2, isolation, &settings)
        .map(|_| format!("a lab of two stations was set up by way of {}", isolation.name()))
        .map_err(|error| error.to_string())
}

fn program(name: &'static str, path: Option<&Path>, argument: &str, remedy: &str) -> Need {
    let seen = path.map(|path| version(path, argument).unwrap_or_else(|| path.display().to_string()));
    Need::new(name, false, seen.ok_or_else(|| "not installed".into()), remedy)
}

fn realtime() -> Result<String, String> {
    // On a thread of its own: what is granted must not stay with the caller.
    let granted = std::thread::spawn(realtime::ask_priority).join().unwrap_or(false);
    if granted { Ok("SCHED_FIFO is granted".into()) } else { Err("SCHED_FIFO is refused".into()) }
}

fn descriptors() -> Result<String, String> {
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).map_err(|errno| errno.to_string())?;
    let seen = format!("{soft} descriptors");
    if soft >= DESCRIPTORS { Ok(seen) } else { Err(format!("{seen}, {DESCRIPTORS} are needed")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_need_says_why_and_what_to_do() {
        let needs = probe();
        let names: Vec<&str> = needs.iter().map(|need| need.name).collect();
        assert_eq!(
            names,
            ["tun", "namespaces", "apache2", "httperf", "realtime", "descriptors", "tshark", "chromium"]
        );
        for need in needs {
            assert!(!need.why.is_empty() && need.ok == need.remedy.is_empty(), "{need:?}");
        }
    }
}
