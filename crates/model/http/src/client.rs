//! One connection of a client: requests, one after the other or pipelined, and a user's patience in each phase.
//!
//! Which requests a connection carries is its owner's to say ([`Client::ask`]); the client keeps the order of replies
//! (RFC 9112 §9.3.2) and the timers. Reference for the timers: httperf 0.8/0.9. Its `--timeout` bounds the wait for
//! the connection, then for the first octet of each reply, then for the rest of that reply; the last timer runs from
//! the first octet and is not restarted by later ones. With [`TimeoutRule::Progress`] every octet that gets through
//! restarts it. When it expires the error is counted and the connection closed; no timer guards the closing handshake.
//!
//! Leaves out pipelining behind a request with a body, which RFC 9112 §9.3.2 advises against.

use crate::config::{ClientConfig, TimeoutRule};
use airperf_units::Time;
use std::collections::VecDeque;

/// In which phase an exchange failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No connection in time.
    Connect,
    /// The request's body did not get through in time.
    Send,
    /// No first octet of the reply in time.
    Reply,
    /// The reply began but did not end in time.
    Receive,
    /// The connection was reset or closed by the server, or given up by TCP.
    Reset,
}

/// A request to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// When it was wanted.
    pub due: Time,
    /// Octets of request line and header.
    pub head_bytes: u32,
    /// Octets of the request's body.
    pub body_bytes: u32,
    /// Octets of the reply, header included.
    pub reply_bytes: u32,
}

impl Ask {
    /// Octets of the request.
    #[inline]
    pub const fn request_bytes(&self) -> u32 {
        self.head_bytes + self.body_bytes
    }
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
    /// Octets of the request handed to TCP.
    pub request_bytes: u32,
    /// Octets of reply received, header included.
    pub response_bytes: u32,
    /// Why it failed.
    pub failure: Option<Failure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Connecting,
    Idle,
    Sending,
    Waiting,
    Receiving,
    Over,
}

/// One connection of a client.
#[derive(Clone, Debug)]
pub struct Client {
    /// The oldest request without its whole reply; of the past when idle.
    head: Ask,
    sent: Time,
    first_byte: Time,
    deadline: Time,
    index: u32,
    /// Octets of the stream at which the current reply begins.
    reply_start: u32,
    /// Octets of all requests written, and of those acknowledged that the client was told of.
    written: u32,
    acknowledged: u32,
    /// Octets of all replies that were asked for.
    replies: u32,
    phase: Phase,
    /// Requests behind the head, with the time each was written.
    behind: VecDeque<(Ask, Time)>,
}

const NEVER: Time = Time::MAX;

impl Client {
    /// Opens a connection at `now` for a first request.
    #[inline]
    pub fn open(config: &ClientConfig, now: Time, first: Ask) -> Self {
        Self {
            head: first,
            sent: NEVER,
            first_byte: NEVER,
            deadline: patience(config, now),
            index: 0,
            reply_start: 0,
            written: 0,
            acknowledged: 0,
            replies: first.reply_bytes,
            phase: Phase::Connecting,
            behind: VecDeque::new(),
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

    /// Whether [`Self::on_acknowledged`] would be of use.
    #[inline]
    pub fn is_sending(&self) -> bool {
        self.phase == Phase::Sending
    }

    /// Requests without their whole replies.
    pub fn outstanding(&self) -> usize {
        match self.phase {
            Phase::Idle | Phase::Over => 0,
            _ => 1 + self.behind.len(),
        }
    }

    /// Requests made or to be made on it so far.
    pub fn requests(&self) -> u32 {
        self.index + self.outstanding() as u32
    }

    /// Octets of all replies asked for so far.
    pub fn replies_bytes(&self) -> u32 {
        self.replies
    }

    /// Adds a request; writes it if the connection stands. Returns whether it does.
    #[inline]
    pub fn ask(&mut self, config: &ClientConfig, now: Time, ask: Ask) -> bool {
        self.replies = self.replies.saturating_add(ask.reply_bytes);
        match self.phase {
            Phase::Idle => {
                self.head = ask;
                self.write_head(config, now);
                true
            }
            Phase::Connecting => {
                self.behind.push_back((ask, NEVER));
                false
            }
            _ => {
                self.behind.push_back((ask, now));
                self.written += ask.request_bytes();
                true
            }
        }
    }

    fn write_head(&mut self, config: &ClientConfig, now: Time) {
        self.phase = if self.head.body_bytes > 0 { Phase::Sending } else { Phase::Waiting };
        self.sent = now;
        self.first_byte = NEVER;
        self.deadline = patience(config, now);
        self.written += self.head.request_bytes();
    }

    /// The handshake is complete: what was asked for so far goes out. Calls `write` for each request.
    #[inline]
    pub fn on_connected(&mut self, config: &ClientConfig, now: Time, mut write: impl FnMut(&Ask)) {
        if self.phase != Phase::Connecting {
            return;
        }
        self.write_head(config, now);
        write(&self.head);
        for (ask, sent) in &mut self.behind {
            *sent = now;
            self.written += ask.request_bytes();
            write(ask);
        }
    }

    /// `acknowledged` octets of the stream have got through to the server.
    pub fn on_acknowledged(&mut self, config: &ClientConfig, now: Time, acknowledged: u32) {
        if self.phase != Phase::Sending || acknowledged == self.acknowledged {
            return;
        }
        self.acknowledged = acknowledged;
        if acknowledged >= self.written {
            self.phase = Phase::Waiting;
            self.deadline = patience(config, now);
        } else if config.timeout_rule == TimeoutRule::Progress {
            self.deadline = patience(config, now);
        }
    }

    /// `received` octets of the stream are there. Returns the exchange that this completes; with pipelining ask again
    /// until there is none.
    #[inline]
    pub fn on_readable(&mut self, config: &ClientConfig, now: Time, received: u32) -> Option<Exchange> {
        let expecting = matches!(self.phase, Phase::Waiting | Phase::Receiving | Phase::Sending);
        if !expecting || received <= self.reply_start {
            return None;
        }
        if self.phase != Phase::Receiving {
            self.phase = Phase::Receiving;
            self.first_byte = now;
            self.deadline = patience(config, now);
        } else if config.timeout_rule == TimeoutRule::Progress {
            self.deadline = patience(config, now);
        }
        if received < self.reply_start + self.head.reply_bytes {
            return None;
        }
        let ended = self.end_exchange(Some(now), received, None);
        self.next_head(config, now);
        Some(ended)
    }

    fn next_head(&mut self, config: &ClientConfig, now: Time) {
        self.reply_start += self.head.reply_bytes;
        self.index += 1;
        (self.phase, self.deadline) = (Phase::Idle, NEVER);
        if let Some((ask, sent)) = self.behind.pop_front() {
            (self.head, self.sent, self.first_byte) = (ask, sent, NEVER);
            (self.phase, self.deadline) = (Phase::Waiting, patience(config, now));
        }
    }

    /// Why the user's patience is at an end now, if it is; [`Self::fail`] follows.
    pub fn on_timer(&self, now: Time) -> Option<Failure> {
        if now >= self.deadline { self.doing() } else { None }
    }

    /// What would have failed if the user left now; `None` when nothing is outstanding.
    pub fn doing(&self) -> Option<Failure> {
        match self.phase {
            Phase::Connecting => Some(Failure::Connect),
            Phase::Sending => Some(Failure::Send),
            Phase::Waiting => Some(Failure::Reply),
            Phase::Receiving => Some(Failure::Receive),
            Phase::Idle | Phase::Over => None,
        }
    }

    /// The oldest outstanding exchange ends without its reply: failed, or, at the end of the run, just unfinished. Ask
    /// again until there is none; then the client is done with the connection.
    pub fn fail(&mut self, received: u32, failure: Option<Failure>) -> Option<Exchange> {
        if self.outstanding() == 0 {
            self.finish();
            return None;
        }
        let ended = self.end_exchange(None, received, failure);
        // What came counts for the oldest only.
        self.reply_start = u32::MAX;
        self.index += 1;
        match self.behind.pop_front() {
            Some((ask, sent)) => (self.head, self.sent, self.first_byte) = (ask, sent, NEVER),
            None => self.finish(),
        }
        Some(ended)
    }

    /// Takes back the requests of which no octet of reply came, so that they can be made on another connection, oldest
    /// first (RFC 9112 §9.3.1 allows that for methods without effects).
    pub fn take_unanswered(&mut self, received: u32) -> Vec<Ask> {
        let mut asks: Vec<Ask> = Vec::new();
        if self.outstanding() > 0 && received <= self.reply_start {
            asks.push(self.head);
            self.phase = Phase::Idle;
        }
        asks.extend(self.behind.drain(..).map(|(ask, _)| ask));
        asks
    }

    /// The client is done with the connection.
    #[inline]
    pub fn finish(&mut self) {
        self.phase = Phase::Over;
        self.deadline = NEVER;
    }

    fn end_exchange(&self, done: Option<Time>, received: u32, failure: Option<Failure>) -> Exchange {
        let seen = |at: Time| (at != NEVER).then_some(at);
        let sent = seen(self.sent).filter(|_| self.phase != Phase::Connecting);
        Exchange {
            index: self.index,
            due: self.head.due,
            sent,
            first_byte: seen(self.first_byte),
            done,
            request_bytes: if sent.is_some() { self.head.request_bytes() } else { 0 },
            response_bytes: received.saturating_sub(self.reply_start).min(self.head.reply_bytes),
            failure,
        }
    }
}

#[inline]
fn patience(config: &ClientConfig, now: Time) -> Time {
    config.timeout.map_or(NEVER, |timeout| now + timeout)
}
