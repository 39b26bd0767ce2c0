//! Both ends of a connection and both programs, in one place, and the table of all of them.
//!
//! A place is given to the next connection as soon as nothing can happen to this one any more. A client in
//! TIME-WAIT is forgotten early when the server's end is gone and no packet of the connection is under way,
//! because then nobody could tell the difference; so memory follows the connections that are alive.

use crate::gate::Gate;
use airperf_http::{Client, Session};
use airperf_tcp::{Endpoint, State};
use airperf_units::Time;

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) number: u32,
    /// Index of the client among clients.
    pub(crate) client_index: u32,
    /// The user whose session it serves; [`NOBODY`] for a plain one, and when the session is done with it.
    pub(crate) user: u32,
    /// Packets accepted by a transmit queue and neither delivered nor lost.
    pub(crate) under_way: u32,
    /// The earliest wake-up asked for.
    pub(crate) wake: Time,
    pub(crate) client: Client,
    pub(crate) session: Session,
    pub(crate) gate: Gate,
    pub(crate) client_tcp: Endpoint,
    pub(crate) server_tcp: Endpoint,
}

impl Connection {
    /// Whether nothing can happen to it any more, TIME-WAIT's end apart.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.under_way == 0
            && self.server_tcp.state() == State::Closed
            && matches!(self.client_tcp.state(), State::Closed | State::TimeWait)
            && self.client.is_over()
            && !self.session.holds_process()
    }
}

/// The connections, by place.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    places: Vec<Connection>,
    free: Vec<u32>,
    most: usize,
}

/// The number of a place nobody holds, and of no user.
pub(crate) const NOBODY: u32 = u32::MAX;

impl Connections {
    pub(crate) fn insert(&mut self, connection: Connection) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.places[slot as usize] = connection;
            return slot;
        }
        assert!(self.places.len() < crate::timers::MOST as usize, "too many connections are alive");
        self.places.push(connection);
        self.most = self.places.len();
        (self.places.len() - 1) as u32
    }

    /// The connection at `slot`, if it is still the one numbered `number`.
    #[inline]
    pub(crate) fn get(&mut self, slot: u32, number: u32) -> Option<&mut Connection> {
        let connection = &mut self.places[slot as usize];
        (connection.number == number).then_some(connection)
    }

    /// Whoever is at `slot`; a place nobody holds asks for no wake-up.
    pub(crate) fn at(&mut self, slot: u32) -> &mut Connection {
        &mut self.places[slot as usize]
    }

    pub(crate) fn free(&mut self, slot: u32) {
        let place = &mut self.places[slot as usize];
        place.number = NOBODY;
        place.wake = Time::MAX;
        self.free.push(slot);
    }

    /// The most that were alive at once.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Those alive of one client, by place.
    pub(crate) fn alive_of(&mut self, client_index: u32) -> impl Iterator<Item = &mut Connection> {
        self.places.iter_mut().filter(move |c| c.number != NOBODY && c.client_index == client_index)
    }

    /// Those alive, in order of their numbers.
    pub(crate) fn alive(&mut self) -> Vec<&mut Connection> {
        let mut alive: Vec<_> = self.places.iter_mut().filter(|c| c.number != NOBODY).collect();
        alive.sort_unstable_by_key(|c| c.number);
        alive
    }
}
