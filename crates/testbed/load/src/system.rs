//! The system calls of the generator, one thin function each, with the error number where they fail.
//!
//! See socket(7), tcp(7), ip(7), epoll(7), timerfd_create(2), network_namespaces(7). Left out: io_uring;
//! what a connection costs lies in TCP, not in entering the kernel.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::RawFd;

/// The number of an error.
pub(crate) type Errno = i32;

pub(crate) fn checked(result: libc::c_int) -> Result<libc::c_int, Errno> {
    if result < 0 { Err(errno()) } else { Ok(result) }
}

fn counted(result: isize) -> Result<usize, Errno> {
    if result < 0 { Err(errno()) } else { Ok(result as usize) }
}

fn errno() -> Errno {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// An address as the kernel takes it.
#[derive(Clone, Copy)]
pub(crate) struct Address {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Address").field("family", &self.storage.ss_family).finish_non_exhaustive()
    }
}

impl Address {
    pub(crate) fn new(address: SocketAddr) -> Self {
        // SAFETY: zero is a valid sockaddr_storage, which is large and aligned enough for both others.
        unsafe {
            let mut storage: libc::sockaddr_storage = std::mem::zeroed();
            let length = match address {
                SocketAddr::V4(v4) => {
                    let place = (&raw mut storage).cast::<libc::sockaddr_in>();
                    (*place).sin_family = libc::AF_INET as libc::sa_family_t;
                    (*place).sin_port = v4.port().to_be();
                    (*place).sin_addr.s_addr = u32::from_ne_bytes(v4.ip().octets());
                    size_of::<libc::sockaddr_in>()
                }
                SocketAddr::V6(v6) => {
                    let place = (&raw mut storage).cast::<libc::sockaddr_in6>();
                    (*place).sin6_family = libc::AF_INET6 as libc::sa_family_t;
                    (*place).sin6_port = v6.port().to_be();
                    (*place).sin6_addr.s6_addr = v6.ip().octets();
                    (*place).sin6_scope_id = v6.scope_id();
                    size_of::<libc::sockaddr_in6>()
                }
            };
            Self { storage, length: length as libc::socklen_t }
        }
    }

    /// Any port of an address.
    pub(crate) fn any_port(address: IpAddr) -> Self {
        Self::new(SocketAddr::new(address, 0))
    }

    fn as_ptr(&self) -> *const libc::sockaddr {
        (&raw const self.storage).cast()
    }
}

/// A TCP socket that never blocks.
#[inline]
pub(crate) fn socket(address: &Address) -> Result<RawFd, Errno> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: socket(2) on integers.
    checked(unsafe { libc::socket(libc::c_int::from(address.storage.ss_family), kind, 0) })
}

/// Sets an integer option.
pub(crate) fn set_option(fd: RawFd, level: i32, name: i32, value: i32) -> Result<(), Errno> {
    let length = size_of::<i32>() as libc::socklen_t;
    // SAFETY: setsockopt(2) reads one integer that outlives the call.
    checked(unsafe { libc::setsockopt(fd, level, name, (&raw const value).cast(), length) }).map(drop)
}

/// Binds to an address and leaves the port to connect(2), which knows the other end and so has more to choose from.
pub(crate) fn bind(fd: RawFd, source: &Address) -> Result<(), Errno> {
    set_option(fd, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)?;
    // SAFETY: bind(2) reads an address that outlives the call.
    checked(unsafe { libc::bind(fd, source.as_ptr(), source.length) }).map(drop)
}

/// Lets connect(2) choose among these ports only, both included; 0 and 0 for all there are. Linux 6.3.
pub(crate) fn choose_ports(fd: RawFd, low: u16, high: u16) -> Result<(), Errno> {
    const IP_LOCAL_PORT_RANGE: i32 = 51; // linux/in.h; not in libc yet
    set_option(fd, libc::IPPROTO_IP, IP_LOCAL_PORT_RANGE, i32::from(low) | i32::from(high) << 16)
}

/// Begins to connect; `Ok` also when that takes time.
#[inline]
pub(crate) fn connect(fd: RawFd, target: &Address) -> Result<(), Errno> {
    // SAFETY: connect(2) reads an address that outlives the call.
    match checked(unsafe { libc::connect(fd, target.as_ptr(), target.length) }) {
        Ok(_) | Err(libc::EINPROGRESS) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// What became of a connection: 0, or why it broke.
pub(crate) fn pending_error(fd: RawFd) -> Errno {
    let (mut error, mut length): (i32, _) = (0, size_of::<i32>() as libc::socklen_t);
    // SAFETY: getsockopt(2) writes one integer.
    let result = unsafe {
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_ERROR, (&raw mut error).cast(), &raw mut length)
    };
    if result < 0 { errno() } else { error }
}

/// Sends what fits.
#[inline]
pub(crate) fn send(fd: RawFd, bytes: &[u8]) -> Result<usize, Errno> {
    // SAFETY: send(2) reads `bytes`.
    counted(unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) })
}

/// Sends what fits of several pieces as one.
pub(crate) fn send_all(fd: RawFd, pieces: &[io::IoSlice<'_>]) -> Result<usize, Errno> {
    // SAFETY: an IoSlice has the layout of an iovec; sendmsg(2) reads them and what they point to.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = pieces.as_ptr().cast_mut().cast();
        message.msg_iovlen = pieces.len() as _;
        counted(libc::sendmsg(fd, &raw const message, libc::MSG_NOSIGNAL))
    }
}

/// Receives what is there; 0 at the end of the stream.
#[inline]
pub(crate) fn receive(fd: RawFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: recv(2) writes into `buffer`.
    counted(unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), 0) })
}

/// Closes; with `reset` without the closing handshake.
#[inline]
pub(crate) fn close(fd: RawFd, reset: bool) {
    // SAFETY: setsockopt(2) reads one linger; the descriptor is ours and not used again.
    unsafe {
        if reset {
            let linger = libc::linger { l_onoff: 1, l_linger: 0 };
            let length = size_of::<libc::linger>() as libc::socklen_t;
            libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_LINGER, (&raw const linger).cast(), length);
        }
        libc::close(fd);
    }
}

/// Processor time of the calling thread, user and system, seconds.
pub(crate) fn thread_cpu_s() -> (f64, f64) {
    // SAFETY: getrusage(2) fills a valid rusage.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    (seconds(usage.ru_utime), seconds(usage.ru_stime))
}
