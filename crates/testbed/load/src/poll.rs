//! What the generator waits for: sockets, and a timer.
//!
//! epoll(7) waits for any number, but a server on the same machine pays for it: its kernel enters every reply in the list of
//! what is ready. A closed loop that looks all the time needs no list. So a few lasting connections of one are looked at with
//! poll(2), which leaves nothing with a socket unless it sleeps.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::system::{Errno, checked};

/// Most connections that are looked at one by one: each look takes as long as there are of them.
const FEW: usize = 64;

/// Many descriptors waited for at once, and a timer.
#[derive(Debug)]
pub(crate) struct Poll {
    epoll: OwnedFd,
    timer: OwnedFd,
    armed_ns: u64,
    /// epoll's own descriptor, then those looked at one by one.
    looked_at: Vec<libc::pollfd>,
    /// Tokens of the latter.
    tokens: Vec<u64>,
}

/// The token of the timer.
pub(crate) const TIMER: u64 = u64::MAX;

impl Poll {
    pub(crate) fn new() -> Result<Self, Errno> {
        // SAFETY: both calls give a new descriptor, which nobody else owns.
        let (epoll, timer) = unsafe {
            let epoll = OwnedFd::from_raw_fd(checked(libc::epoll_create1(libc::EPOLL_CLOEXEC))?);
            let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
            let timer = checked(libc::timerfd_create(libc::CLOCK_MONOTONIC, flags))?;
            (epoll, OwnedFd::from_raw_fd(timer))
        };
        let looked_at = vec![looking_at(epoll.as_raw_fd(), libc::POLLIN)];
        let poll = Self { epoll, timer, armed_ns: 0, looked_at, tokens: Vec::new() };
        poll.add(poll.timer.as_raw_fd(), TIMER, libc::EPOLLIN | libc::EPOLLET)?;
        Ok(poll)
    }

    /// Watches a descriptor; it is forgotten when it is closed.
    #[inline]
    pub(crate) fn add(&self, fd: RawFd, token: u64, events: i32) -> Result<(), Errno> {
        let mut event = libc::epoll_event { events: events as u32, u64: token };
        // SAFETY: epoll_ctl(2) reads one event.
        let result =
            unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &raw mut event) };
        checked(result).map(drop)
    }

    /// Looks at a descriptor for what is to be read, one by one; false when there are too many for that.
    pub(crate) fn look_at(&mut self, fd: RawFd, token: u64) -> bool {
        if self.tokens.len() == FEW {
            return false;
        }
        self.looked_at.push(looking_at(fd, libc::POLLIN | libc::POLLRDHUP));
        self.tokens.push(token);
        true
    }

    /// Forgets a descriptor that is to be closed, should it be one of those looked at one by one.
    #[inline]
    pub(crate) fn forget(&mut self, fd: RawFd) {
        if let Some(place) = self.looked_at[1..].iter().position(|one| one.fd == fd) {
            self.looked_at.swap_remove(place + 1);
            self.tokens.swap_remove(place);
        }
    }

    /// Makes the timer end the wait at this reading of `CLOCK_MONOTONIC`. An edge-triggered timer that is set
    /// again need not be read.
    #[inline]
    pub(crate) fn arm(&mut self, at_ns: u64) {
        if self.armed_ns == at_ns {
            return;
        }
        self.armed_ns = at_ns;
        let value =
            libc::timespec { tv_sec: (at_ns / 1_000_000_000) as _, tv_nsec: (at_ns % 1_000_000_000) as _ };
        let spec =
            libc::itimerspec { it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        // SAFETY: timerfd_settime(2) reads one itimerspec.
        unsafe {
            let (timer, flags) = (self.timer.as_raw_fd(), libc::TFD_TIMER_ABSTIME);
            libc::timerfd_settime(timer, flags, &raw const spec, std::ptr::null_mut());
        }
    }

    /// Waits for events, at most so many milliseconds; how many there are.
    #[inline]
    pub(crate) fn wait(&mut self, events: &mut [libc::epoll_event], timeout_ms: i32) -> usize {
        if self.tokens.is_empty() {
            return self.wait_for_any(events, timeout_ms);
        }
        // SAFETY: poll(2) reads and writes as many entries as it is told of.
        let ready = unsafe {
            libc::poll(self.looked_at.as_mut_ptr(), self.looked_at.len() as libc::nfds_t, timeout_ms)
        };
        if ready <= 0 {
            return 0; // none, or interrupted by a signal
        }
        let (any, few) = (self.looked_at[0].revents != 0, self.looked_at[1..].iter().zip(&self.tokens));
        let mut heard = if any { self.wait_for_any(events, 0) } else { 0 };
        for (event, (one, token)) in events[heard..].iter_mut().zip(few.filter(|(one, _)| one.revents != 0)) {
            // The flags of poll(2) have epoll's values.
            *event = libc::epoll_event { events: u32::from(one.revents.cast_unsigned()), u64: *token };
            heard += 1;
        }
        heard
    }

    fn wait_for_any(&self, events: &mut [libc::epoll_event], timeout_ms: i32) -> usize {
        // SAFETY: epoll_wait(2) writes at most as many events as there is room for.
        let result = unsafe {
            let (epoll, room) = (self.epoll.as_raw_fd(), events.len() as i32);
            libc::epoll_wait(epoll, events.as_mut_ptr(), room, timeout_ms)
        };
        result.max(0) as usize // interrupted by a signal: nothing
    }
}

fn looking_at(fd: RawFd, events: i16) -> libc::pollfd {
    libc::pollfd { fd, events, revents: 0 }
}
