//! One connection of a page's load, with both of its programs: which octets of its two streams are whose.
//!
//! What stands in a stream is known when it is written; what has arrived is told as a number of octets. Left out: which
//! object goes where, which is [`super::PageLoad`]'s.

use super::config::{FRAME_BYTES, FRAME_HEADER_BYTES, UNSENT_BYTES};
use airperf_units::Time;
use std::collections::VecDeque;

/// What a part of a stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A handshake of TLS.
    Greeting,
    /// Of an object: its request, or so many octets of its reply.
    Object(u32),
    /// The header of a frame.
    Frame,
}

/// A stream of octets, with what they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Octets {
    parts: VecDeque<(What, u32)>,
    written: u32,
    read: u32,
}

impl Octets {
    /// Writes `bytes` octets more.
    pub(super) fn write(&mut self, what: What, bytes: u32) {
        self.written += bytes;
        match self.parts.back_mut() {
            Some((last, end)) if *last == what && matches!(what, What::Object(_)) && bytes > 0 => {
                *end = self.written
            }
            _ => self.parts.push_back((what, self.written)),
        }
    }

    /// The next of what is there, if `arrived` octets are: what they are, how many, and whether they end their part.
    pub(super) fn read(&mut self, arrived: u32) -> Option<(What, u32, bool)> {
        let (what, end) = *self.parts.front()?;
        let until = arrived.min(end);
        if until <= self.read && self.read < end {
            return None;
        }
        let bytes = until - self.read;
        self.read = until;
        if until == end {
            self.parts.pop_front();
        }
        Some((what, bytes, until == end))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Connecting,
    Greeting,
    Open,
    Over,
}

/// One connection.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    /// Its server, a place among the page's hosts.
    pub(super) server: u32,
    pub(super) phase: Phase,
    /// Whether its replies come in frames.
    pub(super) frames: bool,
    /// Objects asked for and not complete.
    pub(super) outstanding: Vec<u32>,
    pub(super) up: Octets,
    pub(super) down: Octets,
    /// Requests that the server has, in order, and when it can answer them.
    pub(super) thinking: VecDeque<(u32, Time)>,
    /// Replies begun, with the octets that are left of each; pushed ones wait for the others.
    replies: VecDeque<(u32, u32)>,
    pushes: VecDeque<(u32, u32)>,
    pub(super) unsent: u32,
}

impl Lane {
    pub(super) fn new(server: u32, frames: bool) -> Self {
        Self {
            server,
            phase: Phase::Connecting,
            frames,
            outstanding: Vec::new(),
            up: Octets::default(),
            down: Octets::default(),
            thinking: VecDeque::new(),
            replies: VecDeque::new(),
            pushes: VecDeque::new(),
            unsent: 0,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// When the server can answer next.
    pub(super) fn ready(&self) -> Time {
        match self.frames {
            true => self.thinking.iter().map(|&(_, ready)| ready).min().unwrap_or(Time::MAX),
            false => self.thinking.front().map_or(Time::MAX, |&(_, ready)| ready),
        }
    }

    /// The next request that the server can answer at `now`.
    pub(super) fn answer(&mut self, now: Time) -> Option<u32> {
        let place = match self.frames {
            true => self.thinking.iter().position(|&(_, ready)| ready <= now)?,
            false => (self.ready() <= now).then_some(0)?,
        };
        self.thinking.remove(place).map(|(object, _)| object)
    }

    /// Begins a reply of `bytes` octets; `pushed` ones go out when nothing else does.
    pub(super) fn reply(&mut self, object: u32, bytes: u32, pushed: bool) {
        if pushed { self.pushes.push_back((object, bytes)) } else { self.replies.push_back((object, bytes)) }
    }

    /// Writes what the server can write now; the octets of it.
    pub(super) fn pump(&mut self) -> u32 {
        let mut bytes = 0;
        while !self.frames || self.unsent + bytes < UNSENT_BYTES {
            let pushing = self.replies.is_empty();
            let queue = if pushing { &mut self.pushes } else { &mut self.replies };
            let Some((object, left)) = queue.pop_front() else { break };
            if !self.frames {
                self.down.write(What::Object(object), left);
                bytes += left;
                continue;
            }
            let part = left.min(FRAME_BYTES);
            self.down.write(What::Frame, FRAME_HEADER_BYTES);
            self.down.write(What::Object(object), part);
            bytes += FRAME_HEADER_BYTES + part;
            match left - part {
                0 => {}
                // Requested replies take turns; pushed ones go one after the other.
                rest if pushing => queue.push_front((object, rest)),
                rest => queue.push_back((object, rest)),
            }
        }
        self.unsent += bytes;
        bytes
    }
}
