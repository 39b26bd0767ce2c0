//! Setting up the lab as a list of system calls, carried out by a forked child that never allocates.
//!
//! A user namespace can only be entered by a process with one thread, and the caller (a Python
//! interpreter, say) has many. So the parent writes a plan — everything allocated, formatted and laid
//! out — and a fork carries it out with system calls alone, sending the descriptors it makes back over
//! a socket. Afterwards the child stays as the lab's *keeper*, which opens sockets inside namespaces on
//! request, until its socket closes or its parent dies.
//!
//! References: namespaces(7), user_namespaces(7), netdevice(7), `Documentation/networking/tuntap.rst`.
//! Left out: running programs; see `process`.

use std::ffi::CString;
use std::os::fd::RawFd;

use nix::errno::Errno;
use nix::sched::CloneFlags;

/// One step of the plan.
#[derive(Debug)]
pub(super) enum Step {
    /// Leave these kinds of namespace for fresh ones.
    Unshare(CloneFlags),
    /// Write a file under /proc; `needed` says whether a refusal ends the set-up.
    Write { path: CString, bytes: Vec<u8>, needed: bool },
    /// Open a TUN device with this name and interface index, and send its descriptor back.
    Tun { request: libc::ifreq, index: u32 },
    /// An interface ioctl (netdevice(7)); `what` it does, as a verb.
    Interface { code: libc::Ioctl, request: libc::ifreq, what: &'static str },
    /// Switch an offload of an interface off (`ETHTOOL_S…` of struct ethtool_value).
    Ethtool { request: libc::ifreq, command: u32 },
    /// A request to rtnetlink, acknowledged by the kernel; `what` it does, as a verb.
    Netlink { message: Vec<u8>, what: &'static str },
    /// Open a packet socket for the IP packets of an interface, and send its descriptor back.
    PacketSocket { index: u32 },
    /// Send a descriptor of a namespace (`/proc/self/ns/…`) back.
    SendNamespace { path: CString, network: bool },
}

// SAFETY note for `libc::ifreq`: it is plain data; the unions in it are only read by the kernel.

impl Step {
    /// What the step does, for an error message.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Unshare(flags) => format!("unshare({flags:?})"),
            Self::Write { path, .. } => format!("write {}", path.to_string_lossy()),
            Self::Tun { .. } => "open /dev/net/tun and create the TUN device".into(),
            Self::Ethtool { command, .. } => format!("switch an offload off (ethtool command {command:#x})"),
            Self::Interface { what, .. } | Self::Netlink { what, .. } => (*what).into(),
            Self::PacketSocket { .. } => "open a packet socket".into(),
            Self::SendNamespace { path, .. } => format!("open {}", path.to_string_lossy()),
        }
    }

    fn needed(&self) -> bool {
        !matches!(self, Self::Write { needed: false, .. })
    }
}

/// What the child says: which step, and 0 or an errno; a descriptor may come with it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) step: u32,
    pub(super) errno: i32,
}

impl Report {
    /// `step` of the report that the whole plan was carried out.
    pub(super) const DONE: u32 = u32::MAX;
    /// `step` of a report that carries a socket asked for.
    pub(super) const SOCKET: u32 = u32::MAX - 1;

    pub(super) fn to_bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&self.step.to_ne_bytes());
        bytes[4..].copy_from_slice(&self.errno.to_ne_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: [u8; 8]) -> Self {
        let [a, b, c, d, e, f, g, h] = bytes;
        Self { step: u32::from_ne_bytes([a, b, c, d]), errno: i32::from_ne_bytes([e, f, g, h]) }
    }
}

/// Carries the plan out in the child and then serves sockets; never returns and never allocates.
///
/// `networks` must have room for every network namespace of the plan.
pub(super) fn carry_out(steps: &[Step], socket: RawFd, networks: &mut [RawFd], parent: libc::pid_t) -> ! {
    // SAFETY: plain system calls on values we own; nothing here touches the heap or a lock, as a fork
    // of a process with several threads demands (signal-safety(7)).
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent {
            libc::_exit(1);
        }
        // Descriptors of the parent must not be kept open by us: only the socket stays.
        if socket > 3 {
            libc::close_range(3, socket as u32 - 1, 0);
        }
        libc::close_range(socket as u32 + 1, u32::MAX, 0);
    }
    let mut made = 0;
    for (number, step) in steps.iter().enumerate() {
        let number = number as u32;
        match perform(step) {
            Ok(None) => {}
            Ok(Some(fd)) => {
                send(socket, Report { step: number, errno: 0 }, Some(fd));
                if matches!(step, Step::SendNamespace { network: true, .. }) && made < networks.len() {
                    networks[made] = fd;
                    made += 1;
                } else {
                    // SAFETY: the parent holds its own copy now; ours is not used again.
                    unsafe { libc::close(fd) };
                }
            }
            Err(errno) => {
                send(socket, Report { step: number, errno: errno as i32 }, None);
                if step.needed() {
                    // SAFETY: ends this process at once, running no destructors of the parent's.
                    unsafe { libc::_exit(1) };
                }
            }
        }
    }
    send(socket, Report { step: Report::DONE, errno: 0 }, None);
    serve(socket, &networks[..made])
}

/// Hands out one fresh TCP socket per request: the request is the index of a network namespace.
fn serve(socket: RawFd, networks: &[RawFd]) -> ! {
    loop {
        let mut request = [0u8; 4];
        // SAFETY: reads into a buffer of the length given.
        let got = unsafe { libc::recv(socket, request.as_mut_ptr().cast(), request.len(), 0) };
        if got != request.len() as isize {
            // SAFETY: as above. The parent closed its end, or is gone.
            unsafe { libc::_exit(0) };
        }
        let index = u32::from_ne_bytes(request) as usize;
        let made = networks.get(index).ok_or(Errno::EINVAL).and_then(|&network| {
            // SAFETY: `network` is an open namespace descriptor of this process; socket(2) takes integers.
            unsafe {
                Errno::result(libc::setns(network, libc::CLONE_NEWNET))?;
                Errno::result(libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0))
            }
        });
        match made {
            Ok(fd) => {
                send(socket, Report { step: Report::SOCKET, errno: 0 }, Some(fd));
                // SAFETY: sent above and not used again.
                unsafe { libc::close(fd) };
            }
            Err(errno) => {
                send(socket, Report { step: Report::SOCKET, errno: errno as i32 }, None);
            }
        }
    }
}

/// Does one step; a descriptor comes back when the step makes one.
fn perform(step: &Step) -> Result<Option<RawFd>, Errno> {
    match step {
        Step::Unshare(flags) => nix::sched::unshare(*flags).map(|()| None),
        Step::Write { path, bytes, .. } => {
            let fd = open(path, libc::O_WRONLY)?;
            // SAFETY: `bytes` is valid for its length; `fd` was opened above and is closed once.
            unsafe {
                let written = Errno::result(libc::write(fd, bytes.as_ptr().cast(), bytes.len()));
                libc::close(fd);
                written.map(|_| None)
            }
        }
        Step::Tun { request, index } => {
            let fd = open(c"/dev/net/tun", libc::O_RDWR | libc::O_NONBLOCK)?;
            // SAFETY: the ioctls read an unsigned int and an ifreq, which outlive the calls.
            unsafe {
                Errno::result(libc::ioctl(fd, libc::TUNSETIFINDEX as _, std::ptr::from_ref(index)))?;
                Errno::result(libc::ioctl(fd, libc::TUNSETIFF as _, std::ptr::from_ref(request)))?;
            }
            Ok(Some(fd))
        }
        Step::Interface { code, request, .. } => {
            // SAFETY: socket(2) takes integers; the ioctl reads an ifreq that outlives the call.
            unsafe {
                let fd =
                    Errno::result(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0))?;
                let done = Errno::result(libc::ioctl(fd, *code, std::ptr::from_ref(request)));
                libc::close(fd);
                done.map(|_| None)
            }
        }
        Step::Ethtool { request, command } => ethtool(request, *command).map(|()| None),
        Step::Netlink { message, .. } => netlink(message).map(|()| None),
        Step::PacketSocket { index } => packet_socket(*index).map(Some),
        Step::SendNamespace { path, .. } => open(path, libc::O_RDONLY).map(Some),
    }
}

fn open(path: &std::ffi::CStr, flags: libc::c_int) -> Result<RawFd, Errno> {
    // SAFETY: the path is a NUL-terminated string that outlives the call.
    Errno::result(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) })
}

fn ethtool(request: &libc::ifreq, command: u32) -> Result<(), Errno> {
    let mut value = [command, 0]; // struct ethtool_value: command, data
    let mut request = *request;
    request.ifr_ifru.ifru_data = value.as_mut_ptr().cast();
    // SAFETY: socket(2) takes integers; the ioctl reads an ifreq and the value it points to, both locals.
    unsafe {
        let fd = Errno::result(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0))?;
        let done = Errno::result(libc::ioctl(fd, libc::SIOCETHTOOL as _, &raw const request));
        libc::close(fd);
        done.map(drop)
    }
}

/// Opens a packet socket that hears what comes in on an interface, IP packets without their frames.
fn packet_socket(index: u32) -> Result<RawFd, Errno> {
    let protocol = (libc::ETH_P_IP as u16).to_be();
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: the address and the option are locals of the sizes given, and plain data.
    unsafe {
        let fd = Errno::result(libc::socket(libc::AF_PACKET, kind, i32::from(protocol)))?;
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol;
        address.sll_ifindex = index as i32;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        Errno::result(libc::bind(fd, (&raw const address).cast(), length))?;
        let on: libc::c_int = 1;
        let (level, option) = (libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING);
        let size = size_of::<libc::c_int>() as libc::socklen_t;
        Errno::result(libc::setsockopt(fd, level, option, (&raw const on).cast(), size))?;
        Ok(fd)
    }
}

/// Sends one request to rtnetlink and reads the kernel's acknowledgement.
fn netlink(message: &[u8]) -> Result<(), Errno> {
    // SAFETY: buffers are valid for the lengths given; the descriptor is closed once.
    unsafe {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        let fd = Errno::result(libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE))?;
        let mut reply = [0u8; 256];
        let got = Errno::result(libc::send(fd, message.as_ptr().cast(), message.len(), 0))
            .and_then(|_| Errno::result(libc::recv(fd, reply.as_mut_ptr().cast(), reply.len(), 0)));
        libc::close(fd);
        // struct nlmsgerr follows the 16 bytes of nlmsghdr: a negative errno, or 0 for "done".
        match got? {
            n if n >= 20 => match i32::from_ne_bytes([reply[16], reply[17], reply[18], reply[19]]) {
                0 => Ok(()),
                error => Err(Errno::from_raw(-error)),
            },
            _ => Err(Errno::EBADMSG),
        }
    }
}

/// Sends a report, with a descriptor when there is one, using only the stack.
fn send(socket: RawFd, report: Report, fd: Option<RawFd>) {
    let bytes = report.to_bytes();
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut control = [0u64; 4]; // aligned as cmsghdr demands, larger than CMSG_SPACE of one descriptor
    // SAFETY: every pointer is to a local that outlives the call; the control buffer has room for one
    // descriptor, as CMSG_SPACE says.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        if let Some(fd) = fd {
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(size_of::<RawFd>() as u32) as _;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
            libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(fd);
        }
        libc::sendmsg(socket, &raw const message, libc::MSG_NOSIGNAL);
    }
}
