//! How a connection begins: a socket of its client, the handshake, and its first request at once if that can be.
//!
//! Sockets are registered once, edge-triggered, or looked at one by one (`poll`). See connect(2), tcp(7), network_namespaces(7).
//!
//! Left out: when; see `engine`.

use std::os::fd::RawFd;

use nix::sched::{CloneFlags, setns};

use crate::connection::Phase;
use crate::engine::Engine;
use crate::stats::{Cause, Outcome};
use crate::system::{self, Errno};

impl Engine<'_> {
    /// Gives a connection its number and beginning.
    pub(crate) fn number(&mut self, place: u32, now: u64) {
        let number = self.numbers;
        self.numbers += 1;
        let connection = self.slab.get(place);
        (connection.number, connection.opened_ns, connection.established_ns) = (number, now, None);
        (connection.completed, connection.bytes_up, connection.bytes_down) = (0, 0, 0);
        (connection.unsent, connection.sent_bytes, connection.first_byte_ns) = (0, 0, None);
        connection.due_ns = connection.step_due_ns;
        connection.waiting.clear();
    }

    /// Opens the connection of a place: the `first` one, which was due, or another one of a session.
    pub(crate) fn connect(&mut self, place: u32, first: bool) {
        let client = self.slab.get(place).client;
        let socket = self.socket(client);
        let now = self.now();
        self.number(place, now);
        let connected = socket.and_then(|fd| {
            self.slab.get(place).fd = fd;
            self.dial(client, fd)
        });
        let connection = self.slab.get(place);
        connection.phase = Phase::Connecting;
        let (fd, warming) = (connection.fd, connection.warming);
        if first {
            let late = now.saturating_sub(connection.due_ns);
            self.stats(warming).schedule_error.record(late);
        }
        if let Err(errno) = connected {
            let (cause, local) = Cause::of(errno);
            if !local {
                self.opened(warming, now);
                self.ask(place, now);
            }
            return self.end(place, if local { Outcome::Local } else { Outcome::Connect }, Some(cause));
        }
        self.opened(warming, now);
        self.slab.touch(place, now);
        self.ask(place, now);
        let eager = self.may_be_eager(client);
        if eager && !self.send_at_once(place, client) {
            return;
        }
        let events = libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET;
        let connection = self.slab.get(place);
        let writes = connection.phase == Phase::Connecting || connection.unsent > 0 || self.plan.pipeline > 1;
        let later = writes || connection.steps > 1;
        let token = self.slab.token(place);
        if !writes && later && self.only_answers && self.poll.look_at(fd, token) {
            return;
        }
        if let Err(errno) = self.poll.add(fd, token, events | if later { libc::EPOLLOUT } else { 0 }) {
            self.end(place, Outcome::Local, Some(Cause::of(errno).0));
        }
    }

    fn opened(&mut self, warming: bool, now: u64) {
        let stats = self.stats(warming);
        stats.opened += 1;
        stats.last_opened_ns = now;
        stats.sample().connections += 1;
    }

    /// Tries to send before anything was heard; whether the connection is still there.
    fn send_at_once(&mut self, place: u32, client: u16) -> bool {
        let now = self.now();
        if !self.flush(place, now) {
            return false;
        }
        let sent = self.slab.get(place).bytes_up > 0;
        let eager = &mut self.clients[usize::from(client)].eager;
        *eager = if sent { 8 } else { eager.saturating_sub(1) };
        if sent {
            self.established(place, now);
        }
        true
    }

    pub(crate) fn established(&mut self, place: u32, now: u64) {
        let connection = self.slab.get(place);
        (connection.phase, connection.established_ns) = (Phase::Open, Some(now));
        let (took, warming) = (now - connection.opened_ns, connection.warming);
        let stats = self.stats(warming);
        stats.established += 1;
        stats.connect.record(took);
        self.slab.touch(place, now);
    }

    /// A socket of a client, in its namespace and bound to its address.
    pub(crate) fn socket(&mut self, client: u16) -> Result<RawFd, Errno> {
        if let Some((_, fd)) = self.ready.take_if(|ready| ready.0 == client) {
            return Ok(fd);
        }
        let at = usize::from(client);
        if let Some(netns) = &self.clients[at].netns
            && self.entered != Some(client)
        {
            setns(netns, CloneFlags::CLONE_NEWNET).map_err(|errno| errno as Errno)?;
            self.entered = Some(client);
        }
        let fd = system::socket(&self.target)?;
        let made = self.dress(fd, at);
        if made.is_err() {
            system::close(fd, false);
        }
        made.map(|()| fd)
    }

    /// Makes the socket of the next arrival; what fails now will fail again when it is due, and be told then.
    pub(crate) fn make_ready(&mut self) {
        let Some(client) = self.arrivals.peek().map(|arrival| arrival.client) else { return };
        self.ready = self.socket(client).ok().map(|fd| (client, fd));
    }

    fn dress(&self, fd: RawFd, client: usize) -> Result<(), Errno> {
        if let Some(bytes) = self.plan.receive_buffer_bytes {
            system::set_option(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, bytes as i32)?;
        }
        if let Some(bytes) = self.plan.send_buffer_bytes {
            system::set_option(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, bytes as i32)?;
        }
        // One write makes one segment of a small request; several need Nagle's algorithm out of their way.
        if self.plan.pipeline > 1 || self.plan.body_bytes > 0 || self.plan.has_sessions() {
            system::set_option(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
        }
        match &self.clients[client].source {
            Some(source) => system::bind(fd, source),
            None => Ok(()),
        }
    }

    /// Begins to connect a socket of a client, from a port of the client's choice if that can be had.
    pub(crate) fn dial(&mut self, client: u16, fd: RawFd) -> Result<(), Errno> {
        if let Some((low, high)) = self.clients[usize::from(client)].ports.next()
            && system::choose_ports(fd, low, high).is_ok()
        {
            match system::connect(fd, &self.target) {
                Err(libc::EADDRNOTAVAIL) => system::choose_ports(fd, 0, 0)?,
                connected => return connected,
            }
        }
        system::connect(fd, &self.target)
    }

    /// Whether to try to send right after connect(2): where both ends share a kernel the handshake is over by
    /// then. A network takes longer, and after some failures the attempt is made now and then only.
    pub(crate) fn may_be_eager(&self, client: u16) -> bool {
        self.clients[usize::from(client)].eager > 0 || self.numbers.is_multiple_of(256)
    }
}
