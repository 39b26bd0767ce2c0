//! Runs a program in a station's namespace so that neither it nor any descendant can outlive us.
//!
//! A program such as Apache forks, and the kernel's "kill me when my parent dies" is not inherited. So
//! each program is the first process of a PID namespace of its own: when the first dies, the kernel
//! kills all the others (pid_namespaces(7)). Between us and it stands a *keeper*, a fork that waits for
//! it and mirrors its exit status. Us → keeper → program are tied by `PR_SET_PDEATHSIG` (prctl(2)).
//!
//! Programs are started from argument vectors with an empty environment, without privilege when we are
//! root, with `no_new_privs`, in a session of their own (Ctrl-C does not reach them).
//!
//! Left out: talking to the programs; see `programs`.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};

use nix::sched::{CloneFlags, CpuSet, sched_setaffinity, setns, unshare};
use nix::sys::signal::Signal;
use nix::unistd::{
    ForkResult, Gid, Pid, Uid, fork, getpid, getppid, setgroups, setresgid, setresuid, setsid,
};

/// Where and as whom a program runs.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    /// Namespace of the station.
    pub(crate) network: &'a OwnedFd,
    /// User namespace that owns it, if one was made.
    pub(crate) user: Option<&'a OwnedFd>,
    /// Whom to become.
    pub(crate) identity: Option<Identity>,
    /// Cores to stay on.
    pub(crate) cores: Option<CpuSet>,
    /// Precedence over others on the machine, as a nice value; done without when refused.
    pub(crate) nice: i32,
    /// A fixed priority (`SCHED_RR`) above all nice values, for programs that sleep when they have nothing to do; done
    /// without when refused.
    pub(crate) fixed: Option<i32>,
}

/// A user without privilege.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) user: Uid,
    pub(crate) group: Gid,
}

impl Identity {
    /// Whom programs should run as: nobody in particular when we are not root, else the user behind
    /// `sudo`, else `nobody` (65534 on every Linux distribution we know).
    pub(crate) fn for_programs() -> Option<Self> {
        if !nix::unistd::geteuid().is_root() {
            return None;
        }
        let id =
            |name| std::env::var(name).ok().and_then(|text| text.parse().ok()).filter(|&id: &u32| id != 0);
        let (user, group) = id("SUDO_UID").zip(id("SUDO_GID")).unwrap_or((65_534, 65_534));
        Some(Self { user: Uid::from_raw(user), group: Gid::from_raw(group) })
    }
}

/// A running program; dropping it kills it and everything it started.
#[derive(Debug)]
pub(crate) struct Program {
    keeper: Child,
}

impl Program {
    /// Starts `command` at `place`. The calling thread must outlive the program.
    ///
    /// # Errors
    /// When a system call is refused or the program cannot be executed.
    pub(crate) fn start(command: &mut Command, place: &Place<'_>) -> io::Result<Self> {
        let network = place.network.as_raw_fd();
        let user = place.user.map(AsRawFd::as_raw_fd);
        let (identity, cores, nice, us) = (place.identity, place.cores, place.nice, getpid());
        let fixed = place.fixed;
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LC_ALL", "C").env("TZ", "UTC");
        // SAFETY: the closure runs between fork and exec. It makes system calls only, on values copied
        // before the fork; the descriptors are open for as long as the `Place` is borrowed.
        unsafe {
            command.pre_exec(move || {
                let fd = |raw| std::os::fd::BorrowedFd::borrow_raw(raw);
                setsid()?;
                if let Some(user) = user {
                    setns(fd(user), CloneFlags::CLONE_NEWUSER)?;
                }
                setns(fd(network), CloneFlags::CLONE_NEWNET)?;
                // Only now: a change of credentials, by setns above or setresuid below, forgets the signal.
                die_with_parent()?;
                if getppid() != us {
                    return Err(io::Error::from_raw_os_error(libc::ESRCH));
                }
                unshare(CloneFlags::CLONE_NEWPID)?;
                let keeper = become_keeper_and_go_on_as_child()?;
                if let Some(cores) = &cores {
                    sched_setaffinity(Pid::from_raw(0), cores)?;
                }
                take_precedence(nice, fixed);
                if let Some(Identity { user, group }) = identity {
                    setgroups(&[])?;
                    setresgid(group, group, group)?;
                    setresuid(user, user, user)?;
                }
                nix::sys::prctl::set_no_new_privs()?;
                die_with_parent()?;
                // A keeper that died before that call is noticed here.
                if has_ended(keeper) { Err(io::Error::from_raw_os_error(libc::ESRCH)) } else { Ok(()) }
            });
        }
        command.spawn().map(|keeper| Self { keeper })
    }

    /// The way to talk to it, if its command has one.
    pub(crate) fn take_input(&mut self) -> Option<std::process::ChildStdin> {
        self.keeper.stdin.take()
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// What waitpid(2) said.
    pub(crate) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.keeper.try_wait()
    }

    /// Kills it and everything it started; when this returns, all are gone.
    pub(crate) fn kill(&mut self) {
        // Reaped already if it has ended, and then its number may be another's.
        if let Ok(None) = self.keeper.try_wait() {
            let _ = nix::sys::signal::kill(Pid::from_raw(self.keeper.id() as i32), Signal::SIGTERM);
        }
        let _ = self.keeper.wait();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Asks for precedence within our session and, where the kernel groups by session (sched(7), "The
/// autogroup feature"), for the session among others; and for a fixed priority. Done without when refused.
fn take_precedence(nice: i32, fixed: Option<i32>) {
    let mut digits = [b'-', b'0' + (nice.unsigned_abs() / 10) as u8, b'0' + (nice.unsigned_abs() % 10) as u8];
    if nice >= 0 {
        digits[0] = b'+';
    }
    // SAFETY: system calls on integers, a constant path and a local buffer.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, nice);
        let fd = libc::open(c"/proc/self/autogroup".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if fd >= 0 {
            libc::write(fd, digits.as_ptr().cast(), digits.len());
            libc::close(fd);
        }
        if let Some(sched_priority) = fixed {
            let param = libc::sched_param { sched_priority };
            libc::sched_setscheduler(0, libc::SCHED_RR, &raw const param);
        }
    }
}

fn die_with_parent() -> io::Result<()> {
    Ok(nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?)
}

/// Forks: the parent stays behind as keeper for good, the child returns as process 1 of its namespace,
/// with a descriptor of its keeper.
fn become_keeper_and_go_on_as_child() -> io::Result<libc::c_int> {
    // SAFETY: called between fork and exec, where there is one thread, and the parent only waits.
    unsafe {
        let keeper = libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) as libc::c_int;
        match fork()? {
            ForkResult::Parent { child } => keep(child),
            ForkResult::Child => Ok(keeper),
        }
    }
}

/// Whether the process behind a PID descriptor has ended: then the descriptor is readable (pidfd_open(2)).
fn has_ended(process: libc::c_int) -> bool {
    let mut gone = libc::pollfd { fd: process, events: libc::POLLIN, revents: 0 };
    // SAFETY: poll(2) on one local; a descriptor of -1, from a kernel without them, is ignored.
    unsafe { libc::poll(&raw mut gone, 1, 0) != 0 }
}

/// Waits for the program and ends as it did; kills it when asked to by `SIGTERM`.
///
/// The first process of a PID namespace can only be waited for when all others are gone.
fn keep(program: Pid) -> ! {
    // SAFETY: system calls on integers and locals. All descriptors are closed, so that pipes of the
    // program, and the pipe on which the standard library waits for exec, do not stay open here.
    unsafe {
        libc::close_range(0, u32::MAX, 0);
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        libc::sigaddset(&raw mut signals, libc::SIGTERM);
        libc::sigaddset(&raw mut signals, libc::SIGCHLD);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut());
        loop {
            let mut status = 0;
            match libc::waitpid(program.as_raw(), &raw mut status, libc::WNOHANG) {
                0 => {}
                ended if ended == program.as_raw() => {
                    let status = ExitStatus::from_raw(status);
                    libc::_exit(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
                }
                _ => libc::_exit(1),
            }
            if libc::sigwaitinfo(&raw const signals, std::ptr::null_mut()) == libc::SIGTERM {
                libc::kill(program.as_raw(), libc::SIGKILL);
            }
        }
    }
}

#[cfg(test)]
mod tests;
