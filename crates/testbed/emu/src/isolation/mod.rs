//! The lab: one anonymous network namespace per station, each with a device whose packets we hold.
//!
//! Nothing has a name in the system: namespaces and devices are held by descriptors, so the death of
//! this process, however sudden, frees them all. Order of means: a user namespace of our own when the
//! caller is not root and may open /dev/net/tun, root otherwise. Where there is no TUN, a veth pair and a
//! packet socket take its place. See namespaces(7).
//!
//! Left out: running programs in the lab (`process`), and what TCP is told (`kernel`).

mod chain;
mod netlink;
mod plan;
mod veth;

use std::ffi::CString;
use std::io::IoSliceMut;
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::{Mutex, PoisonError};

use nix::errno::Errno;
use nix::sched::CloneFlags;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, RecvMsg, SockFlag, SockType, recvmsg, send, socketpair,
};
use nix::unistd::{ForkResult, Pid, fork, getpid};

pub(crate) use chain::{Block, Ground};
pub(crate) use netlink::RouteMetrics;
use plan::{Report, Step};

/// The lab's subnet; station `i` is host `i + 1`. Private (RFC 1918) and seen only inside the namespaces.
const SUBNET: [u8; 3] = [10, 77, 0];
const PREFIX: u8 = 24;
/// Most stations a lab can hold: host numbers 1..=250 of the subnet.
pub(crate) const MOST_STATIONS: u16 = 250;
/// Interface index asked of the kernel, out of the way of the fall-back devices it may add by itself.
const INTERFACE_INDEX: u32 = 77;
const INTERFACE: &str = "air0";

/// The address of a station.
pub(crate) const fn address_of(station: u16) -> Ipv4Addr {
    Ipv4Addr::new(SUBNET[0], SUBNET[1], SUBNET[2], station as u8 + 1)
}

/// The station that has an address, if it is one of the first `stations`.
pub(crate) fn station_of(address: [u8; 4], stations: u16) -> Option<u16> {
    let host = u16::from(address[3]);
    (address[..3] == SUBNET && (1..=stations).contains(&host)).then(|| host - 1)
}

/// How the namespaces are come by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// A user namespace of our own: needs no privilege but a readable and writable /dev/net/tun.
    UserNamespace,
    /// The caller's own privilege (root, or `CAP_SYS_ADMIN` and `CAP_NET_ADMIN`).
    Privileged,
}

impl Isolation {
    /// What this process should use: a user namespace unless it is root.
    pub fn for_this_process() -> Self {
        if nix::unistd::geteuid().is_root() { Self::Privileged } else { Self::UserNamespace }
    }

    /// Its name in manifests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UserNamespace => "user namespace",
            Self::Privileged => "root",
        }
    }
}

/// Why a lab could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// Too many stations for the subnet.
    #[error("{0} stations asked for, but a lab holds at most {MOST_STATIONS}: use fewer clients")]
    TooManyStations(u16),
    /// No address is left for a layer.
    #[error(
        "no more layers fit here: five within each other, fifteen next to each other; end another airperf shell"
    )]
    TooManyLayers,
    /// A step was refused.
    #[error("could not {step}: {errno}; {}", remedy(*.errno))]
    Refused {
        /// What was tried.
        step: String,
        /// The kernel's answer.
        errno: Errno,
    },
    /// The set-up process ended without a word.
    #[error("the process that sets up the lab died before it was done; see the kernel's log (dmesg)")]
    KeeperDied,
    /// A system call in this process failed.
    #[error("could not {what}: {errno}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The kernel's answer.
        errno: Errno,
    },
}

fn remedy(errno: Errno) -> &'static str {
    match errno {
        Errno::EPERM | Errno::EACCES => {
            "run as root, or allow /dev/net/tun and unprivileged user namespaces (see `airperf doctor`)"
        }
        Errno::ENOENT | Errno::ENODEV | Errno::ENXIO => "load the tun module (modprobe tun)",
        Errno::ENOSPC | Errno::EUSERS => {
            "raise the limits user.max_net_namespaces and user.max_user_namespaces"
        }
        _ => "run `airperf doctor` to see what this machine lacks",
    }
}

/// How packets come out of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceKind {
    /// A TUN device.
    #[default]
    Tun,
    /// A veth pair and a packet socket, where the kernel has no TUN.
    Veth,
}

impl DeviceKind {
    /// TUN where /dev/net/tun can be opened.
    pub fn for_this_machine() -> Self {
        let tun = std::fs::OpenOptions::new().read(true).write(true).open("/dev/net/tun");
        if tun.is_ok() { Self::Tun } else { Self::Veth }
    }

    /// Its name in manifests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tun => "tun",
            Self::Veth => "veth",
        }
    }
}

/// Our end of a station's device.
#[derive(Debug)]
pub(crate) struct Device {
    fd: OwnedFd,
    kind: DeviceKind,
    address: Ipv4Addr,
}

impl Device {
    /// The next packet the station has sent; `EAGAIN` when there is none.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        nix::unistd::read(&self.fd, buffer)
    }

    /// Hands a packet to the station; whether the kernel took it.
    pub(crate) fn write(&self, packet: &[u8]) -> bool {
        match self.kind {
            DeviceKind::Tun => nix::unistd::write(&self.fd, packet) == Ok(packet.len()),
            DeviceKind::Veth => veth::send(&self.fd, self.address, packet),
        }
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// What every station of a lab is told.
#[derive(Clone, Debug, Default)]
pub(crate) struct StationSettings {
    /// What its device is.
    pub(crate) device: DeviceKind,
    /// Longest IP packet, bytes.
    pub(crate) mtu: u32,
    /// Packets the TUN device holds for us between the kernel and the model's queue.
    pub(crate) device_queue: u32,
    /// Files under /proc/sys/net and what to write there, before the device exists.
    pub(crate) sysctls: Vec<(String, String)>,
    /// Metrics of the route to the other stations.
    pub(crate) metrics: RouteMetrics,
}

/// One station of the lab.
#[derive(Debug)]
pub(crate) struct Station {
    /// Its device; `None` once the medium has taken it.
    device: Option<Device>,
    /// Its network namespace.
    pub(crate) network: OwnedFd,
}

/// A lab; dropping it frees everything.
#[derive(Debug)]
pub(crate) struct Lab {
    pub(crate) stations: Vec<Station>,
    /// The user namespace that owns the network namespaces, when one was made.
    pub(crate) user: Option<OwnedFd>,
    /// Settings the kernel refused, as `path: reason`.
    pub(crate) refused: Vec<String>,
    keeper: Pid,
    /// One question and one answer at a time.
    socket: Mutex<OwnedFd>,
}

impl Lab {
    /// Sets up `count` stations.
    ///
    /// # Errors
    /// [`LabError`], with the step that failed and what to do.
    pub(crate) fn new(
        count: u16,
        isolation: Isolation,
        settings: &StationSettings,
    ) -> Result<Self, LabError> {
        if count > MOST_STATIONS {
            return Err(LabError::TooManyStations(count));
        }
        let steps = steps(count, isolation, settings);
        let (mut lab, devices) = Self::carry_out(&steps, count)?;
        for (number, (station, fd)) in lab.stations.iter_mut().zip(devices).enumerate() {
            let address = address_of(number as u16);
            station.device = Some(Device { fd, kind: settings.device, address });
        }
        Ok(lab)
    }

    /// Carries out a plan that makes `count` network namespaces: the lab, and the devices in the order they were made.
    fn carry_out(steps: &[Step], count: u16) -> Result<(Self, Vec<OwnedFd>), LabError> {
        let (ours, theirs) =
            socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)
                .map_err(|errno| LabError::System { what: "make a socket pair", errno })?;
        let mut networks: Vec<RawFd> = vec![-1; usize::from(count)];
        let parent = getpid().as_raw();
        // SAFETY: the child runs `carry_out`, which makes system calls only and never returns.
        let keeper = match unsafe { fork() }.map_err(|errno| LabError::System { what: "fork", errno })? {
            ForkResult::Child => plan::carry_out(steps, theirs.as_raw_fd(), &mut networks, parent),
            ForkResult::Parent { child } => child,
        };
        drop(theirs);
        let mut lab =
            Self { stations: Vec::new(), user: None, refused: Vec::new(), keeper, socket: Mutex::new(ours) };
        let mut devices = Vec::new();
        loop {
            let (report, fd) = receive(lab.socket.get_mut().unwrap_or_else(PoisonError::into_inner))?;
            if report.step == Report::DONE {
                return Ok((lab, devices));
            }
            let step = steps.get(report.step as usize).ok_or(LabError::KeeperDied)?;
            match (step, fd) {
                (_, None) => {
                    let errno = Errno::from_raw(report.errno);
                    let Step::Write { path, needed: false, .. } = step else {
                        return Err(LabError::Refused { step: step.describe(), errno });
                    };
                    lab.refused.push(format!("{}: {errno}", path.to_string_lossy()));
                }
                (Step::Tun { .. } | Step::PacketSocket { .. }, Some(fd)) => devices.push(fd),
                (Step::SendNamespace { network: true, .. }, Some(network)) => {
                    lab.stations.push(Station { device: None, network });
                }
                (_, Some(fd)) => lab.user = Some(fd),
            }
        }
    }

    /// A fresh TCP socket that lives in a station's namespace.
    ///
    /// # Errors
    /// What the kernel said, say that descriptors ran out.
    pub(crate) fn socket(&self, station: u16) -> Result<OwnedFd, LabError> {
        let system = |errno| LabError::System { what: "open a socket in a station's namespace", errno };
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        send(socket.as_raw_fd(), &u32::from(station).to_ne_bytes(), MsgFlags::MSG_NOSIGNAL)
            .map_err(system)?;
        match receive(&socket)? {
            (_, Some(fd)) => Ok(fd),
            (report, None) => Err(system(Errno::from_raw(report.errno))),
        }
    }

    /// Hands over the devices, in the order of the stations.
    pub(crate) fn take_devices(&mut self) -> Vec<Device> {
        self.stations.iter_mut().filter_map(|station| station.device.take()).collect()
    }

    /// Packets the kernel dropped at a station's device because it was full; `None` when not known.
    pub(crate) fn device_drops(&self, station: u16) -> Option<u64> {
        // After opening a socket there, the keeper is in the station's namespace and /proc shows it.
        self.socket(station).ok()?;
        let table = std::fs::read_to_string(format!("/proc/{}/net/dev", self.keeper)).ok()?;
        drops_of(&table, INTERFACE)
    }

    /// Connects from one station to a port of another, giving up after `timeout`.
    ///
    /// A station that connects to itself goes over its loopback device and leaves nothing on the air.
    ///
    /// # Errors
    /// As [`Lab::socket`], or why the connection failed.
    pub(crate) fn connect(
        &self,
        from: u16,
        to: u16,
        port: u16,
        timeout: std::time::Duration,
    ) -> Result<TcpStream, LabError> {
        use nix::sys::socket::{SockaddrIn, connect, setsockopt, sockopt};
        let socket = self.socket(from)?;
        let limit = nix::sys::time::TimeVal::new(timeout.as_secs() as i64, timeout.subsec_micros().into());
        let [a, b, c, d] = address_of(to).octets();
        setsockopt(&socket, sockopt::SendTimeout, &limit)
            .and_then(|()| setsockopt(&socket, sockopt::ReceiveTimeout, &limit))
            .and_then(|()| connect(socket.as_raw_fd(), &SockaddrIn::new(a, b, c, d, port)))
            .map_err(|errno| LabError::System { what: "connect inside the lab", errno })?;
        Ok(TcpStream::from(socket))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // The keeper also ends by itself when its socket closes; waiting keeps no zombie behind.
        let _ = nix::sys::signal::kill(self.keeper, nix::sys::signal::Signal::SIGKILL);
        let _ = nix::sys::wait::waitpid(self.keeper, None);
    }
}

/// Packets dropped on their way out of an interface, of a table as in /proc/net/dev (proc_pid_net(5): transmit, drop).
fn drops_of(table: &str, interface: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| line.trim_start().strip_prefix(interface)?.strip_prefix(':'))?;
    line.split_whitespace().nth(11)?.parse().ok()
}

/// Reads one report and the descriptor that may come with it.
fn receive(socket: &OwnedFd) -> Result<(Report, Option<OwnedFd>), LabError> {
    let mut bytes = [0u8; 8];
    let mut space = nix::cmsg_space!(RawFd);
    let mut parts = [IoSliceMut::new(&mut bytes)];
    let message: RecvMsg<'_, '_, ()> = loop {
        match recvmsg(socket.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::MSG_CMSG_CLOEXEC) {
            Err(Errno::EINTR) => {}
            other => break other.map_err(|errno| LabError::System { what: "hear from the lab", errno })?,
        }
    };
    let whole = message.bytes == 8;
    let mut fd = None;
    for control in message.cmsgs().into_iter().flatten() {
        if let ControlMessageOwned::ScmRights(fds) = control {
            // SAFETY: the kernel has just put these descriptors into our table; nobody else owns them.
            fd = fds.into_iter().map(|raw| unsafe { OwnedFd::from_raw_fd(raw) }).next_back();
        }
    }
    if whole { Ok((Report::from_bytes(bytes), fd)) } else { Err(LabError::KeeperDied) }
}

/// Writes the plan of a whole lab.
fn steps(count: u16, isolation: Isolation, settings: &StationSettings) -> Vec<Step> {
    let mut steps = Vec::new();
    if isolation == Isolation::UserNamespace {
        // Identity maps: programs see the ids they had (user_namespaces(7), "Defining user and group ID
        // mappings"; groups need "deny" first).
        let (uid, gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
        steps.push(Step::Unshare(CloneFlags::CLONE_NEWUSER));
        steps.push(write("/proc/self/setgroups", "deny", true));
        steps.push(write("/proc/self/uid_map", &format!("{uid} {uid} 1"), true));
        steps.push(write("/proc/self/gid_map", &format!("{gid} {gid} 1"), true));
        steps.push(Step::SendNamespace { path: path("/proc/self/ns/user"), network: false });
    }
    for station in 0..count {
        let address = address_of(station);
        steps.push(Step::Unshare(CloneFlags::CLONE_NEWNET));
        // The air carries the workload and nothing else: no router solicitations, no neighbour discovery.
        for interfaces in ["all", "default"] {
            steps.push(write(&format!("/proc/sys/net/ipv6/conf/{interfaces}/disable_ipv6"), "1", false));
        }
        for (name, value) in &settings.sysctls {
            steps.push(write(&format!("/proc/sys/net/{name}"), value, false));
        }
        match settings.device {
            DeviceKind::Tun => {
                let mut tun = request(INTERFACE);
                tun.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
                steps.push(Step::Tun { request: tun, index: INTERFACE_INDEX });
            }
            DeviceKind::Veth => steps.extend(veth::steps(address, settings.mtu)),
        }
        let noarp = if settings.device == DeviceKind::Veth { libc::IFF_NOARP } else { 0 };
        let up = |r: &mut libc::ifreq| r.ifr_ifru.ifru_flags = (libc::IFF_UP | noarp) as i16;
        let set_mtu = |r: &mut libc::ifreq| r.ifr_ifru.ifru_mtu = settings.mtu as i32;
        let set_address = |r: &mut libc::ifreq| r.ifr_ifru.ifru_addr = sockaddr(address);
        let mask = sockaddr(Ipv4Addr::from(u32::MAX << (32 - PREFIX)));
        let set_mask = |r: &mut libc::ifreq| r.ifr_ifru.ifru_netmask = mask;
        let queue = netlink::set_queue(INTERFACE_INDEX, settings.device_queue);
        steps.extend([
            interface("bring the loopback device up", libc::SIOCSIFFLAGS, "lo", up),
            interface("set the MTU", libc::SIOCSIFMTU, INTERFACE, set_mtu),
            Step::Netlink { message: queue, what: "set the length of the device's queue" },
            interface("set the station's address", libc::SIOCSIFADDR, INTERFACE, set_address),
            interface("set the subnet's mask", libc::SIOCSIFNETMASK, INTERFACE, set_mask),
            interface("bring the device up", libc::SIOCSIFFLAGS, INTERFACE, up),
        ]);
        let subnet = Ipv4Addr::new(SUBNET[0], SUBNET[1], SUBNET[2], 0);
        let route = netlink::replace_route(subnet, PREFIX, address, INTERFACE_INDEX, settings.metrics);
        steps.push(Step::Netlink { message: route, what: "set the route of the lab's subnet" });
        steps.push(Step::SendNamespace { path: path("/proc/self/ns/net"), network: true });
    }
    steps
}

/// An interface ioctl whose request is filled in by `fill`.
fn interface(what: &'static str, code: libc::c_ulong, name: &str, fill: impl Fn(&mut libc::ifreq)) -> Step {
    let mut request = request(name);
    fill(&mut request);
    Step::Interface { code: code as _, request, what }
}

fn path(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

fn write(file: &str, text: &str, needed: bool) -> Step {
    Step::Write { path: path(file), bytes: text.as_bytes().to_vec(), needed }
}

fn request(name: &str) -> libc::ifreq {
    // SAFETY: an ifreq is plain data for which all zeros is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request
}

fn sockaddr(address: Ipv4Addr) -> libc::sockaddr {
    // SAFETY: sockaddr_in and sockaddr have the same size and no invalid bit patterns.
    unsafe {
        std::mem::transmute(libc::sockaddr_in {
            sin_family: libc::AF_INET as libc::sa_family_t,
            sin_port: 0,
            sin_addr: libc::in_addr { s_addr: u32::from(address).to_be() },
            sin_zero: [0; 8],
        })
    }
}

#[cfg(test)]
mod tests;
