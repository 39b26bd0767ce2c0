//! The server's admission control at work: asking, deferring, refusing, and giving places back.
//!
//! Left out: the policy; see [`airperf_http::Admission`].

use super::World;
use crate::gate::Gate;
use crate::net::{Port, Route};
use crate::server::Handle;
use crate::{Observer, Payload};
use airperf_http::{Refusal, Verdict};
use airperf_link::Link;
use airperf_units::Time;

/// Octets of a refusal: status line, `Retry-After: 1`, `Content-Length: 0`, `Connection: close`, blank line.
const REFUSAL_BYTES: u32 = 34 + 16 + 19 + 19 + 2;

impl<L: Link<Payload>, O: Observer> World<L, O> {
    /// Before a process looks at its connection: gives a place back when a reply is acknowledged, and asks for one
    /// when a request is there.
    #[inline]
    pub(super) fn pass_gate(&mut self, now: Time, handle: Handle) {
        if self.server.admission.is_some() {
            self.ask_admission(now, handle);
        }
    }

    fn ask_admission(&mut self, now: Time, handle: Handle) {
        let Some(admission) = &mut self.server.admission else { return };
        let Some(c) = self.connections.get(handle.slot, handle.number) else { return };
        if let Gate::Serving { since, answered: Some(seen) } = c.gate
            && c.server_tcp.acknowledged_bytes() == c.server_tcp.written_bytes()
        {
            admission.done(now, since);
            c.gate = Gate::Idle { seen };
        }
        let Gate::Idle { seen } = c.gate else { return };
        if c.server_tcp.received_bytes() == seen {
            return;
        }
        match admission.ask(handle) {
            Verdict::Admitted => c.gate = Gate::Serving { since: now, answered: None },
            Verdict::Deferred => c.gate = Gate::Waiting { seen, until: now + admission.config().wait },
            Verdict::Refused => self.refuse(now, handle),
        }
    }

    /// Refuses the request of a connection: its process closes when it next looks.
    fn refuse(&mut self, now: Time, handle: Handle) {
        let Self { net, connections, clients, server, .. } = self;
        let Handle { slot, number } = handle;
        let Some(admission) = &server.admission else { return };
        let Some(c) = connections.get(slot, number) else { return };
        let to = clients[c.client_index as usize].station;
        let route = Route { from: server.station, to, connection: number, slot, to_server: false };
        let mut port = Port { net, under_way: &mut c.under_way, now, route };
        c.gate = Gate::Open;
        c.session.on_broken();
        match admission.config().refusal {
            Refusal::Unavailable => c.server_tcp.write(now, &server.stack, REFUSAL_BYTES, &mut port),
            Refusal::Reset => c.server_tcp.abort(&mut port),
        }
    }

    /// A request that waits for its admission may have waited long enough.
    #[inline]
    pub(super) fn gate_timer(&mut self, now: Time, handle: Handle) {
        let Some(c) = self.connections.get(handle.slot, handle.number) else { return };
        if c.gate.deadline() > now {
            return;
        }
        if let Some(admission) = &mut self.server.admission {
            admission.expired(handle);
        }
        self.refuse(now, handle);
        self.drive_session(now, handle);
    }

    /// A process closes its connection: whatever it had of admission control is given back.
    #[inline]
    pub(super) fn leave_gate(&mut self, now: Time, handle: Handle) {
        let Some(admission) = &mut self.server.admission else { return };
        let Some(c) = self.connections.get(handle.slot, handle.number) else { return };
        match std::mem::replace(&mut c.gate, Gate::Open) {
            Gate::Serving { since, .. } => admission.done(now, since),
            Gate::Waiting { .. } => {
                admission.withdraw(handle);
            }
            Gate::Open | Gate::Idle { .. } => {}
        }
    }

    /// Gives free places to requests that wait; whether there were any.
    #[inline]
    pub(super) fn admit_waiting(&mut self, now: Time) -> bool {
        let mut any = false;
        while let Some(handle) = self.server.admission.as_mut().and_then(|admission| admission.admit_next()) {
            any = true;
            if let Some(c) = self.connections.get(handle.slot, handle.number) {
                c.gate = Gate::Serving { since: now, answered: None };
            }
            self.drive_session(now, handle);
            self.settle(now, handle.slot, handle.number);
        }
        any
    }
}
