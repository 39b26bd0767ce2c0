//! The server's side: listening socket, TCP, processes and processor.

use super::World;
use crate::net::{Port, Route};
use crate::server::Handle;
use crate::{Observer, Payload};
use airperf_http::SessionStep;
use airperf_link::Link;
use airperf_tcp::{Flags, HalfOpen, Signals, State};
use airperf_units::Time;

impl<L: Link<Payload>, O: Observer> World<L, O> {
    #[inline]
    pub(super) fn server_receives(&mut self, now: Time, payload: &Payload) {
        let Self { net, connections, clients, server, totals, .. } = self;
        let (slot, number) = (payload.slot, payload.connection);
        let Some(c) = connections.get(slot, number) else { return };
        let to = clients[c.client_index as usize].station;
        let route = Route { from: server.station, to, connection: number, slot, to_server: false };
        let mut port = Port { net, under_way: &mut c.under_way, now, route };
        let flags = payload.segment.flags;
        let state = c.server_tcp.state();
        if state == State::Closed && flags.has(Flags::SYN) {
            if server.listener.admits_syn() {
                self.answer_syn(now, payload);
            } else {
                totals.syns_ignored += 1;
            }
            return;
        }
        let half_open = state == State::SynReceived;
        if half_open && !flags.has(Flags::SYN) && !flags.has(Flags::RST) && !server.listener.admits_ack() {
            c.server_tcp.note_ignored_ack();
            totals.acks_ignored += 1;
            return;
        }
        let young = c.server_tcp.is_young();
        let signals = c.server_tcp.receive(now, &server.stack, &payload.segment, &mut port);
        if half_open && c.server_tcp.state() != State::SynReceived {
            server.listener.left(young);
            if signals.has(Signals::ESTABLISHED) {
                server.listener.queued();
                server.waiting.push_back(Handle { slot, number });
            }
        }
        if signals.has(Signals::RESET) {
            c.session.on_broken();
        }
        if c.session.holds_process() {
            self.drive_session(now, Handle { slot, number });
        }
        self.employ_processes(now);
    }

    #[inline]
    fn answer_syn(&mut self, now: Time, payload: &Payload) {
        let (slot, number) = (payload.slot, payload.connection);
        let Some(client_index) = self.connections.get(slot, number).map(|c| c.client_index) else { return };
        let inherited = self.inherited(client_index, true);
        let Self { net, connections, clients, server, .. } = self;
        let Some(c) = connections.get(slot, number) else { return };
        let to = clients[client_index as usize].station;
        let route = Route { from: server.station, to, connection: number, slot, to_server: false };
        let mut port = Port { net, under_way: &mut c.under_way, now, route };
        c.server_tcp.accept(now, &server.stack, &payload.segment, inherited, &mut port);
        if c.server_tcp.state() == State::SynReceived {
            server.listener.opened();
        }
    }

    /// Lets idle processes accept connections.
    #[inline]
    pub(super) fn employ_processes(&mut self, now: Time) {
        loop {
            while self.server.idle_processes > 0 {
                let Some(handle) = self.server.waiting.pop_front() else { break };
                self.server.listener.accepted();
                let Some(c) = self.connections.get(handle.slot, handle.number) else { continue };
                self.server.idle_processes -= 1;
                c.session.accept(&self.server.config, now);
                self.drive_session(now, handle);
                self.settle(now, handle.slot, handle.number);
            }
            if !self.admit_waiting(now) {
                return;
            }
        }
    }

    /// Lets the process that holds a connection do what it can.
    #[inline]
    pub(super) fn drive_session(&mut self, now: Time, handle: Handle) {
        loop {
            self.pass_gate(now, handle);
            let Some(c) = self.connections.get(handle.slot, handle.number) else { return };
            let received = c.gate.visible(c.server_tcp.received_bytes());
            let closed = c.server_tcp.peer_has_closed();
            let step = c.session.advance(&self.server.config, now, received, closed);
            if !self.session_does(now, handle, step) {
                return;
            }
        }
    }

    /// Does what a process wants; whether it goes on at once.
    #[inline]
    pub(super) fn session_does(&mut self, now: Time, handle: Handle, step: SessionStep) -> bool {
        let Self { net, connections, clients, server, .. } = self;
        let Handle { slot, number } = handle;
        let Some(c) = connections.get(slot, number) else { return false };
        let to = clients[c.client_index as usize].station;
        let route = Route { from: server.station, to, connection: number, slot, to_server: false };
        let mut port = Port { net, under_way: &mut c.under_way, now, route };
        match step {
            SessionStep::Wait => false,
            SessionStep::Compute(cost) => {
                server.cpu.submit(now, handle, cost);
                false
            }
            SessionStep::Write(bytes) => {
                c.gate.answer(c.server_tcp.received_bytes());
                c.server_tcp.write(now, &server.stack, bytes, &mut port);
                true
            }
            SessionStep::Close => {
                c.server_tcp.close(now, &server.stack, &mut port);
                server.idle_processes += 1;
                self.leave_gate(now, handle);
                false
            }
        }
    }

    /// The server's processor has done a job.
    pub(super) fn compute(&mut self, now: Time) {
        let Some(handle) = self.server.cpu.take_done(now) else { return };
        let Some(c) = self.connections.get(handle.slot, handle.number) else { return };
        let step = c.session.on_computed();
        if step != SessionStep::Close {
            self.session_does(now, handle, step);
            self.drive_session(now, handle);
        } else {
            self.session_does(now, handle, step);
        }
        self.employ_processes(now);
        self.settle(now, handle.slot, handle.number);
    }

    /// TCP may have given a connection up; `half_open` says whether it still was, and young.
    pub(super) fn server_given_up(
        &mut self,
        slot: u32,
        number: u32,
        signals: Signals,
        half_open: Option<bool>,
    ) {
        if !signals.has(Signals::GIVEN_UP) {
            return;
        }
        if let Some(young) = half_open {
            self.server.listener.left(young);
        }
        let Some(c) = self.connections.get(slot, number) else { return };
        c.session.on_broken();
    }

    pub(super) fn server_timer(&mut self, now: Time, slot: u32, number: u32) {
        let Self { net, connections, clients, server, .. } = self;
        let Some(c) = connections.get(slot, number) else { return };
        if c.server_tcp.deadline(&server.stack) <= now {
            let to = clients[c.client_index as usize].station;
            let route = Route { from: server.station, to, connection: number, slot, to_server: false };
            let mut port = Port { net, under_way: &mut c.under_way, now, route };
            let retries = server.listener.synack_retries(server.stack.config().synack_retries);
            let (half_open, young) = (c.server_tcp.state() == State::SynReceived, c.server_tcp.is_young());
            let (signals, change) = c.server_tcp.on_timer(now, &server.stack, retries, &mut port);
            if change == HalfOpen::Aged {
                server.listener.aged();
            }
            self.server_given_up(slot, number, signals, half_open.then_some(young));
        }
        self.gate_timer(now, Handle { slot, number });
        let Some(c) = self.connections.get(slot, number) else { return };
        if c.session.deadline() <= now {
            let step = c.session.on_timer(now);
            self.session_does(now, Handle { slot, number }, step);
        } else if c.session.holds_process() {
            self.drive_session(now, Handle { slot, number });
        }
        self.employ_processes(now);
    }
}
