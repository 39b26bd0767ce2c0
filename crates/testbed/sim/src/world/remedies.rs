//! What the remedies need of the host: waking who waits for its transmit queue, and letting connections share.
//!
//! Left out: the remedies themselves; see `airperf_tcp`.

use super::World;
use crate::net::{Port, Route};
use crate::pressure::Waiter;
use crate::server::Handle;
use crate::{Observer, Payload};
use airperf_link::Link;
use airperf_tcp::{Inherited, SharedState};
use airperf_units::Time;

impl<L: Link<Payload>, O: Observer> World<L, O> {
    /// Lets whoever waits for a transmit queue send, while there is room.
    #[inline]
    pub(super) fn give_room(&mut self, now: Time) {
        if self.net.room_freed {
            while let Some(waiter) = self.net.next_waiter() {
                self.let_pass(now, waiter);
            }
        }
    }

    #[cold]
    fn let_pass(&mut self, now: Time, waiter: Waiter) {
        let (slot, number, to_server) = match waiter {
            Waiter::Reset { route, segment } => {
                let queued = self.net.offer(now, route, &segment);
                debug_assert!(queued, "there was room");
                return;
            }
            Waiter::Endpoint { slot, number, to_server } => (slot, number, to_server),
        };
        let Self { net, connections, clients, server, .. } = self;
        let Some(c) = connections.get(slot, number) else { return };
        let host = &clients[c.client_index as usize];
        let (client, at) = (host.station, server.station);
        let (from, to) = if to_server { (client, at) } else { (at, client) };
        let route = Route { from, to, connection: number, slot, to_server };
        let mut port = Port { net, under_way: &mut c.under_way, now, route };
        if to_server {
            let signals = c.client_tcp.on_room(now, &host.stack, &mut port);
            self.tell_client(now, slot, number, signals);
        } else {
            let signals = c.server_tcp.on_room(now, &server.stack, &mut port);
            self.server_given_up(slot, number, signals, None);
            self.drive_session(now, Handle { slot, number });
            self.employ_processes(now);
        }
        self.settle(now, slot, number);
    }

    /// What a new connection of a client takes over, at the client's end or at the server's.
    #[inline]
    pub(super) fn inherited(&mut self, client_index: u32, at_server: bool) -> Option<Inherited> {
        let Self { connections, clients, server, .. } = self;
        let kind = server.stack.config().shared_state;
        if kind == SharedState::None {
            return None;
        }
        let shared = &clients[client_index as usize].shared[usize::from(at_server)];
        let alive = connections.alive_of(client_index);
        shared.inherit(kind, alive.map(|c| if at_server { &mut c.server_tcp } else { &mut c.client_tcp }))
    }
}
