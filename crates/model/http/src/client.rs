//! One connection of a client: requests in sequence, and a user's patience in three phases.
//!
//! Reference: httperf 0.8/0.9. Its `--timeout` bounds the wait for the connection, then for the first octet
//! of each reply, then for the rest of that reply; the last timer runs from the first octet and is not
//! restarted by later ones. When it expires the error is counted and the connection closed; no timer guards
//! the closing handshake. Leaves out pipelining and think times.

use crate::config::ClientConfig;
use airperf_units::Time;

/// In which phase an exchange failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No connection in time.
    Connect,
    /// No first octet of the reply in time.
    Reply,
    /// The reply began but did not end in time.
    Receive,
    /// The connection was reset or closed by the server, or given up by TCP.
    Reset,
}

/// An exchange that is over, in success or failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Its place on the connection, from 0.
    pub index: u32,
    /// When it was wanted: the connection's due time, or the end of the exchange before.
    pub due: Time,
    /// When the request was handed to TCP.
    pub sent: Option<Time>,
    /// When the first octet of the reply was there.
    pub first_byte: Option<Time>,
    /// When the last octet was there.
    pub done: Option<Time>,
    /// Octets of reply received, header included.
    pub response_bytes: u32,
    /// Why it failed.
    pub failure: Option<Failure>,
}

/// What the client wants done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientStep {
    /// Octets to write.
    pub write: u32,
    /// Whether to close the connection.
    pub close: bool,
    /// The exchange that ended.
    pub ended: Option<Exchange>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Connecting,
    Waiting,
    Receiving,
    Over,
}

/// One connection of a client.
#[derive(Clone, Debug)]
pub struct Client {
    due: Time,
    sent: Time,
    first_byte: Time,
    deadline: Time,
    index: u32,
    /// Octets of one reply.
    reply: u32,
    /// Octets of the stream at which the current reply begins.
    reply_start: u32,
    phase: Phase,
}

const NEVER: Time = Time::MAX;

impl Client {
    /// Opens a connection at `now` that was due at `due`; each reply will have `reply_bytes`.
    #[inline]
    pub fn open(config: &ClientConfig, now: Time, due: Time, reply_bytes: u32) -> Self {
        Self {
            due,
            sent: NEVER,
            first_byte: NEVER,
            deadline: patience(config, now),
            index: 0,
            reply: reply_bytes,
            reply_start: 0,
            phase: Phase::Connecting,
        }
    }

    /// When [`Self::on_timer`] is needed; [`Time::MAX`] for never.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// Whether the client is done with the connection.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// The handshake is complete: the first request goes out.
    #[inline]
    pub fn on_connected(&mut self, config: &ClientConfig, now: Time) -> ClientStep {
        if self.phase != Phase::Connecting {
            return ClientStep::default();
        }
        self.request(config, now)
    }

    fn request(&mut self, config: &ClientConfig, now: Time) -> ClientStep {
        self.phase = Phase::Waiting;
        self.sent = now;
        self.first_byte = NEVER;
        self.deadline = patience(config, now);
        ClientStep { write: config.request_bytes, ..ClientStep::default() }
    }

    /// `received` octets of the stream are there.
    #[inline]
    pub fn on_readable(&mut self, config: &ClientConfig, now: Time, received: u32) -> ClientStep {
        if !matches!(self.phase, Phase::Waiting | Phase::Receiving) || received <= self.reply_start {
            return ClientStep::default();
        }
        if self.phase == Phase::Waiting {
            self.phase = Phase::Receiving;
            self.first_byte = now;
            self.deadline = patience(config, now);
        }
        if received < self.reply_start + self.reply {
            return ClientStep::default();
        }
        let ended = Some(self.end_exchange(Some(now), received, None));
        self.reply_start += self.reply;
        self.index += 1;
        self.due = now;
        if self.index == config.requests_per_connection {
            self.phase = Phase::Over;
            self.deadline = NEVER;
            return ClientStep { close: true, ended, write: 0 };
        }
        ClientStep { ended, ..self.request(config, now) }
    }

    /// The user's patience is at an end.
    pub fn on_timer(&mut self, now: Time, received: u32) -> ClientStep {
        if now < self.deadline {
            return ClientStep::default();
        }
        let failure = match self.phase {
            Phase::Connecting => Failure::Connect,
            Phase::Waiting => Failure::Reply,
            Phase::Receiving => Failure::Receive,
            Phase::Over => return ClientStep::default(),
        };
        self.fail(received, failure)
    }

    /// The connection broke, or the server closed it with a reply outstanding.
    pub fn on_broken(&mut self, received: u32) -> ClientStep {
        if self.phase == Phase::Over {
            return ClientStep::default();
        }
        self.fail(received, Failure::Reset)
    }

    fn fail(&mut self, received: u32, failure: Failure) -> ClientStep {
        let ended = Some(self.end_exchange(None, received, Some(failure)));
        self.phase = Phase::Over;
        self.deadline = NEVER;
        ClientStep { close: true, ended, write: 0 }
    }

    /// The exchange under way when the run ends, if there is one: neither done nor failed.
    pub fn unfinished(&self, received: u32) -> Option<Exchange> {
        (self.phase != Phase::Over).then(|| self.end_exchange(None, received, None))
    }

    fn end_exchange(&self, done: Option<Time>, received: u32, failure: Option<Failure>) -> Exchange {
        let seen = |at: Time| (at != NEVER).then_some(at);
        Exchange {
            index: self.index,
            due: self.due,
            sent: seen(self.sent).filter(|_| self.phase != Phase::Connecting),
            first_byte: seen(self.first_byte),
            done,
            response_bytes: received.saturating_sub(self.reply_start).min(self.reply),
            failure,
        }
    }
}

#[inline]
fn patience(config: &ClientConfig, now: Time) -> Time {
    config.timeout.map_or(NEVER, |timeout| now + timeout)
}
