//! One connection of a server: a process reads requests, computes, writes replies and closes.
//!
//! Reference: Apache 1.3 with keep-alive. A process takes the connection from accept to close; it closes
//! when it reads the end of the stream, when nothing is asked for too long, or after its quota of requests.
//! Processor time is asked for before and after the reply. Leaves out lingering close, which matters only
//! to a server that closes first with data still arriving.

use crate::config::ServerConfig;
use airperf_units::{Duration, Time};
use std::collections::VecDeque;

/// What the process does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionStep {
    /// Waits.
    Wait,
    /// Computes for so long; [`Session::on_computed`] follows.
    Compute(Duration),
    /// Writes so many octets; ask again with [`Session::advance`].
    Write(u32),
    /// Closes; the process is free.
    Close,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No process has accepted the connection.
    Unaccepted,
    Reading,
    ComputingReply,
    Replying,
    ComputingAfter,
    Closed,
}

/// One connection of a server.
#[derive(Clone, Debug)]
pub struct Session {
    deadline: Time,
    /// Octets of the requests read so far.
    read: u32,
    /// Octets of the next request and its reply; 0 when the client has asked for no more.
    request: u32,
    reply: u32,
    /// Those behind it.
    behind: VecDeque<(u32, u32)>,
    served: u32,
    phase: Phase,
    broken: bool,
}

const NEVER: Time = Time::MAX;

impl Default for Session {
    fn default() -> Self {
        Self::new()
    }
}

impl Session {
    /// A connection on which nothing has been asked for.
    #[inline]
    pub fn new() -> Self {
        Self {
            deadline: NEVER,
            read: 0,
            request: 0,
            reply: 0,
            behind: VecDeque::new(),
            served: 0,
            phase: Phase::Unaccepted,
            broken: false,
        }
    }

    /// The client's stream goes on with a request of `request_bytes`, which wants a reply of `reply_bytes`. To be told
    /// when the client writes it: what a server would read from the request itself.
    #[inline]
    pub fn expect(&mut self, request_bytes: u32, reply_bytes: u32) {
        if self.request == 0 {
            (self.request, self.reply) = (request_bytes, reply_bytes);
        } else {
            self.behind.push_back((request_bytes, reply_bytes));
        }
    }

    /// When [`Self::on_timer`] is needed; [`Time::MAX`] for never.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// Whether a process holds the connection.
    #[inline]
    pub fn holds_process(&self) -> bool {
        !matches!(self.phase, Phase::Unaccepted | Phase::Closed)
    }

    /// A process accepts the connection.
    #[inline]
    pub fn accept(&mut self, config: &ServerConfig, now: Time) {
        self.phase = Phase::Reading;
        self.deadline = now + config.request_timeout;
    }

    /// What the process does, given the stream so far.
    #[inline]
    pub fn advance(
        &mut self,
        config: &ServerConfig,
        now: Time,
        received: u32,
        peer_closed: bool,
    ) -> SessionStep {
        match self.phase {
            Phase::Reading if self.broken => self.close(),
            Phase::Reading if self.request > 0 && received >= self.read + self.request => {
                self.deadline = NEVER;
                self.compute(self.cpu_before(config), Phase::ComputingReply)
            }
            Phase::Reading if peer_closed => self.close(),
            Phase::Replying => {
                self.served += 1;
                self.read += self.request;
                (self.request, self.reply) = self.behind.pop_front().unwrap_or_default();
                if config.max_requests_per_connection == Some(self.served) {
                    return self.close();
                }
                self.deadline = now + config.keep_alive_timeout;
                let after = if self.served == 1 { config.cpu_per_connection_after } else { Duration::ZERO };
                if after == Duration::ZERO {
                    self.phase = Phase::Reading;
                    return self.advance(config, now, received, peer_closed);
                }
                self.compute(after, Phase::ComputingAfter)
            }
            _ => SessionStep::Wait,
        }
    }

    fn cpu_before(&self, config: &ServerConfig) -> Duration {
        let first = if self.served == 0 { config.cpu_per_connection_before } else { Duration::ZERO };
        first + config.cpu_per_request
    }

    fn compute(&mut self, cost: Duration, phase: Phase) -> SessionStep {
        self.phase = phase;
        if cost == Duration::ZERO { self.computed() } else { SessionStep::Compute(cost) }
    }

    fn computed(&mut self) -> SessionStep {
        match self.phase {
            Phase::ComputingReply if self.broken => self.close(),
            Phase::ComputingReply => {
                self.phase = Phase::Replying;
                SessionStep::Write(self.reply)
            }
            Phase::ComputingAfter => {
                self.phase = Phase::Reading;
                SessionStep::Wait
            }
            _ => SessionStep::Wait,
        }
    }

    /// A computation is over. After [`SessionStep::Wait`] or [`SessionStep::Write`] ask again with
    /// [`Self::advance`].
    pub fn on_computed(&mut self) -> SessionStep {
        self.computed()
    }

    /// The process has waited too long for a request.
    pub fn on_timer(&mut self, now: Time) -> SessionStep {
        if self.phase == Phase::Reading && now >= self.deadline { self.close() } else { SessionStep::Wait }
    }

    /// The connection broke: the process notices when it next reads or writes.
    pub fn on_broken(&mut self) {
        self.broken = true;
    }

    fn close(&mut self) -> SessionStep {
        self.phase = Phase::Closed;
        self.deadline = NEVER;
        SessionStep::Close
    }
}
