//! The connections under way: a slab whose places are used again, and the order of their timeouts.
//!
//! All connections of a plan have the same patience, so the one that was touched longest ago is the next to
//! run out of it: a doubly linked list through the slab, newest at its end, keeps that order at a constant
//! cost. Nothing is allocated for a connection once as many were open before.
//!
//! Left out: what connections do; see `engine`.

use std::collections::VecDeque;
use std::os::fd::RawFd;

use crate::response::Parser;
use crate::visits::Wish;

/// No place.
const NOWHERE: u32 = u32::MAX;

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not in use.
    Free,
    /// The handshake.
    Connecting,
    /// The socket: to send, or to receive.
    Open,
    /// The user.
    Thinking,
}

/// A request that has no complete reply yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub(crate) template: u32,
    pub(crate) index: u32,
    pub(crate) due_ns: u64,
    /// When its first octet was handed to TCP; `None` before.
    pub(crate) sent_ns: Option<u64>,
}

/// One connection, or one session and its present connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) fd: RawFd,
    /// Counts the uses of this place, so that late news of an earlier one is noticed.
    pub(crate) generation: u32,
    pub(crate) phase: Phase,
    pub(crate) client: u16,
    /// Whether it was due within the warm-up.
    pub(crate) warming: bool,
    pub(crate) number: u64,
    pub(crate) due_ns: u64,
    /// When its session began; as `opened_ns` without sessions.
    pub(crate) began_ns: u64,
    pub(crate) opened_ns: u64,
    pub(crate) established_ns: Option<u64>,
    /// Its steps; `None` for plain requests.
    pub(crate) session: Option<u32>,
    /// The user it belongs to, one of several connections perhaps, and what that user asks next on it.
    pub(crate) visit: Option<u32>,
    pub(crate) wish: Option<Wish>,
    /// The next step to take, and how many there are.
    pub(crate) step: u32,
    pub(crate) steps: u32,
    /// When the next step became due.
    pub(crate) step_due_ns: u64,
    /// When the first of the steps that are asked together became due.
    pub(crate) burst_due_ns: u64,
    /// Whether the thinking before the next step is over.
    pub(crate) thought: bool,
    /// Exchanges completed on the present connection.
    pub(crate) completed: u32,
    /// Requests without a complete reply, oldest first.
    pub(crate) waiting: VecDeque<Exchange>,
    /// How many of the newest of them are not wholly sent.
    pub(crate) unsent: u32,
    /// Octets of the oldest unsent one that are.
    pub(crate) sent_bytes: u64,
    pub(crate) parser: Parser,
    /// When the first octet of the present reply came.
    pub(crate) first_byte_ns: Option<u64>,
    pub(crate) bytes_up: u64,
    pub(crate) bytes_down: u64,
    pub(crate) touched_ns: u64,
    newer: u32,
    older: u32,
    listed: bool,
}

impl Connection {
    fn new() -> Self {
        Self {
            fd: -1,
            generation: 0,
            phase: Phase::Free,
            client: 0,
            warming: false,
            number: 0,
            due_ns: 0,
            began_ns: 0,
            opened_ns: 0,
            established_ns: None,
            session: None,
            visit: None,
            wish: None,
            step: 0,
            steps: 0,
            step_due_ns: 0,
            burst_due_ns: 0,
            thought: false,
            completed: 0,
            waiting: VecDeque::new(),
            unsent: 0,
            sent_bytes: 0,
            parser: Parser::default(),
            first_byte_ns: None,
            bytes_up: 0,
            bytes_down: 0,
            touched_ns: 0,
            newer: NOWHERE,
            older: NOWHERE,
            listed: false,
        }
    }
}

/// All connections.
#[derive(Debug)]
pub(crate) struct Slab {
    places: Vec<Connection>,
    free: Vec<u32>,
    oldest: u32,
    newest: u32,
}

impl Slab {
    pub(crate) fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new(), oldest: NOWHERE, newest: NOWHERE }
    }

    /// A free place, which is now in use.
    pub(crate) fn take(&mut self) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Connection::new());
            self.places.len() as u32 - 1
        });
        let connection = &mut self.places[place as usize];
        connection.generation = connection.generation.wrapping_add(1);
        place
    }

    /// Gives a place back.
    pub(crate) fn give(&mut self, place: u32) {
        self.unlist(place);
        self.places[place as usize].phase = Phase::Free;
        self.free.push(place);
    }

    #[inline]
    pub(crate) fn get(&mut self, place: u32) -> &mut Connection {
        &mut self.places[place as usize]
    }

    /// The connection an event is about, unless its place has another by now.
    #[inline]
    pub(crate) fn find(&mut self, token: u64) -> Option<u32> {
        let (place, generation) = (token as u32, (token >> 32) as u32);
        let connection = self.places.get(place as usize)?;
        (connection.generation == generation && connection.phase != Phase::Free).then_some(place)
    }

    /// What [`Self::find`] takes.
    #[inline]
    pub(crate) fn token(&self, place: u32) -> u64 {
        u64::from(self.places[place as usize].generation) << 32 | u64::from(place)
    }

    /// Places in use.
    pub(crate) fn in_use(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// All places in use.
    pub(crate) fn all(&self) -> Vec<u32> {
        (0..self.places.len() as u32).filter(|&i| self.places[i as usize].phase != Phase::Free).collect()
    }

    /// Starts a connection's patience anew.
    #[inline]
    pub(crate) fn touch(&mut self, place: u32, now_ns: u64) {
        self.places[place as usize].touched_ns = now_ns;
        if self.newest == place {
            return;
        }
        self.unlist(place);
        let newest = self.newest;
        let connection = &mut self.places[place as usize];
        (connection.older, connection.newer, connection.listed) = (newest, NOWHERE, true);
        match newest {
            NOWHERE => self.oldest = place,
            _ => self.places[newest as usize].newer = place,
        }
        self.newest = place;
    }

    /// Ends a connection's patience: nothing is waited for.
    pub(crate) fn unlist(&mut self, place: u32) {
        let connection = &mut self.places[place as usize];
        if !std::mem::take(&mut connection.listed) {
            return;
        }
        let (older, newer) = (connection.older, connection.newer);
        match older {
            NOWHERE => self.oldest = newer,
            _ => self.places[older as usize].newer = newer,
        }
        match newer {
            NOWHERE => self.newest = older,
            _ => self.places[newer as usize].older = older,
        }
    }

    /// The connection whose patience began first, and when.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<(u32, u64)> {
        (self.oldest != NOWHERE).then(|| (self.oldest, self.places[self.oldest as usize].touched_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_touched_longest_ago_is_first() {
        let mut slab = Slab::new();
        let places: Vec<u32> = (0..4).map(|_| slab.take()).collect();
        for (now, &place) in (1..).zip(&places) {
            slab.get(place).phase = Phase::Open;
            slab.touch(place, now);
        }
        slab.touch(places[0], 10);
        slab.unlist(places[2]);
        let mut order = Vec::new();
        while let Some((place, _)) = slab.oldest() {
            order.push(place);
            slab.give(place);
        }
        assert_eq!(order, [places[1], places[3], places[0]]);
        slab.give(places[2]);
        assert_eq!(slab.in_use(), 0);
    }

    #[test]
    fn late_news_of_an_earlier_connection_is_noticed() {
        let mut slab = Slab::new();
        let place = slab.take();
        slab.get(place).phase = Phase::Open;
        let token = slab.token(place);
        assert_eq!(slab.find(token), Some(place));
        slab.give(place);
        assert_eq!(slab.find(token), None);
        assert_eq!(slab.take(), place);
        slab.get(place).phase = Phase::Connecting;
        assert_eq!(slab.find(token), None);
    }
}
