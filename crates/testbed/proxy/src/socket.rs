//! What the proxy asks of sockets beside reading and writing.
//!
//! Reference: tcp(7), `SIOCOUTQ`; socket(7), `SO_LINGER`; listen(2). Left out: systems other than Linux.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// Changes how many connections may wait at a listening socket for being accepted.
pub(crate) fn listen_again(listener: &impl AsRawFd, backlog: u32) -> io::Result<()> {
    let backlog = libc::c_int::try_from(backlog).unwrap_or(libc::c_int::MAX);
    // SAFETY: listen(2) on integers; the descriptor is open while it is borrowed.
    if unsafe { libc::listen(listener.as_raw_fd(), backlog) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// A client's socket, for as long as its connection is served.
#[derive(Debug)]
pub(crate) struct ClientSocket(Cell<Option<RawFd>>);

impl ClientSocket {
    pub(crate) fn of(stream: &impl AsRawFd) -> Self {
        Self(Cell::new(Some(stream.as_raw_fd())))
    }

    /// The connection is over: the number may be another's from now on.
    pub(crate) fn forget(&self) {
        self.0.set(None);
    }

    /// Octets written and not yet acknowledged by the client; 0 once the connection is over.
    pub(crate) fn unacknowledged(&self) -> usize {
        let Some(fd) = self.0.get() else { return 0 };
        let mut octets: libc::c_int = 0;
        // SAFETY: `fd` is open, for `forget` is called before it is closed, on this same thread; SIOCOUTQ, which is
        // TIOCOUTQ, writes one int.
        let answer = unsafe { libc::ioctl(fd, libc::TIOCOUTQ, &raw mut octets) };
        if answer == 0 { usize::try_from(octets).unwrap_or(0) } else { 0 }
    }

    /// Closing will reset the connection instead of ending it.
    pub(crate) fn reset_on_close(&self) {
        let Some(fd) = self.0.get() else { return };
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        // SAFETY: `fd` is open as above; the option's value is a local of the type and size it wants.
        unsafe {
            libc::setsockopt(
                fd,
                libc::SOL_SOCKET,
                libc::SO_LINGER,
                (&raw const linger).cast(),
                size_of::<libc::linger>() as libc::socklen_t,
            );
        }
    }
}
