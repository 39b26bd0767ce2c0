//! The link, its observer, and the way from an endpoint to its transmit queue.
//!
//! With back-pressure whoever finds its transmit queue full waits in a line of its station; see [`Pressure`].

use crate::pressure::{Pressure, Waiter};
use crate::{Observer, Payload};
use airperf_link::{Arrival, Destination, FrameEvent, Link, LossCause, Outlet, Packet, StationId};
use airperf_tcp::{Flags, Segment, Transmit};
use airperf_units::Time;

/// A link and who watches it.
pub(crate) struct Net<L, O> {
    pub(crate) link: L,
    pub(crate) observer: O,
    /// Packets whose way over the link has ended, and copies of such.
    pub(crate) inbox: Vec<(Time, Payload, Fate)>,
    pub(crate) packets: u32,
    pub(crate) refused: u64,
    pub(crate) lost: u64,
    pub(crate) frames: u64,
    /// Frames and octets the server's interface sent since its processor was last charged.
    pub(crate) server_load: (u64, u64),
    /// Who waits for room in a transmit queue; `None` without back-pressure.
    pub(crate) pressure: Option<Box<Pressure>>,
    /// Whether a transmit queue for which somebody waits has got room.
    pub(crate) room_freed: bool,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Arrived,
    Lost,
    /// It had arrived before; this is a copy that the link made.
    Copy,
}

/// Which way a segment goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub(crate) from: StationId,
    pub(crate) to: StationId,
    pub(crate) connection: u32,
    pub(crate) slot: u32,
    pub(crate) to_server: bool,
}

/// One end's access to its transmit queue, at one instant.
pub(crate) struct Port<'a, L, O> {
    pub(crate) net: &'a mut Net<L, O>,
    pub(crate) under_way: &'a mut u32,
    pub(crate) now: Time,
    pub(crate) route: Route,
}

impl<L: Link<Payload>, O: Observer> Transmit for Port<'_, L, O> {
    #[inline]
    fn transmit(&mut self, segment: &Segment) -> bool {
        // A reset belongs to no endpoint that could wait for it: the segment itself stands in line.
        let taken = if segment.flags.has(Flags::RST) && !self.net.has_room(self.route.from) {
            self.net.wait(self.route.from, Waiter::Reset { route: self.route, segment: *segment });
            true
        } else {
            self.net.offer(self.now, self.route, segment)
        };
        *self.under_way += u32::from(taken);
        taken
    }

    fn has_room(&mut self) -> bool {
        let Route { from, connection, slot, to_server, .. } = self.route;
        let room = self.net.has_room(from);
        if !room {
            self.net.wait(from, Waiter::Endpoint { slot, number: connection, to_server });
        }
        room
    }
}

impl<L: Link<Payload>, O: Observer> Net<L, O> {
    pub(crate) fn new(link: L, observer: O) -> Self {
        Self {
            link,
            observer,
            inbox: Vec::with_capacity(16),
            packets: 0,
            refused: 0,
            lost: 0,
            frames: 0,
            server_load: (0, 0),
            pressure: None,
            room_freed: false,
        }
    }

    /// Offers a segment to a transmit queue; false when it was refused.
    #[inline]
    pub(crate) fn offer(&mut self, now: Time, route: Route, segment: &Segment) -> bool {
        let Route { from, to, connection, slot, to_server } = route;
        let packet = Packet {
            to: Destination::Station(to),
            bytes: segment.ip_bytes(),
            payload: Payload { segment: *segment, connection, packet: self.packets, slot, to_server },
        };
        self.packets += 1;
        let queued = self.link.arrive(now, from, packet) == Arrival::Queued;
        self.observer.offered(now, from, &packet, queued);
        self.refused += u64::from(!queued);
        // Servers of pages have as many processors as they need.
        if !to_server && packet.payload.browser().is_none() {
            self.server_load.0 += 1;
            self.server_load.1 += u64::from(packet.bytes);
        }
        queued
    }

    /// Whether `from`'s transmit queue has room, and nobody was first.
    fn has_room(&self, from: StationId) -> bool {
        self.pressure.as_ref().is_none_or(|p| p.may_pass(from) && p.has_place(from, &self.link.queue(from)))
    }

    fn wait(&mut self, from: StationId, waiter: Waiter) {
        if let Some(pressure) = &mut self.pressure {
            pressure.wait(from, waiter);
        }
    }

    /// The next in line where there is room; its turn lasts until it has passed or there is no room.
    pub(crate) fn next_waiter(&mut self) -> Option<Waiter> {
        let Self { pressure, link, room_freed, .. } = self;
        let next = pressure.as_mut()?.next(|station| link.queue(station));
        *room_freed = next.is_some();
        next
    }

    /// Lets the link run until something arrived or was lost, which is then in the inbox, or until `end`;
    /// returns when that was.
    #[inline]
    pub(crate) fn run_until(&mut self, end: Time) -> Time {
        let mut outlet = Inbox {
            inbox: &mut self.inbox,
            observer: &mut self.observer,
            lost: &mut self.lost,
            frames: &mut self.frames,
            pressure: self.pressure.as_deref_mut(),
            room_freed: &mut self.room_freed,
        };
        self.link.run(end, &mut outlet)
    }
}

struct Inbox<'a, O> {
    inbox: &'a mut Vec<(Time, Payload, Fate)>,
    observer: &'a mut O,
    lost: &'a mut u64,
    frames: &'a mut u64,
    pressure: Option<&'a mut Pressure>,
    room_freed: &'a mut bool,
}

impl<O: Observer> Outlet<Payload> for Inbox<'_, O> {
    #[inline]
    fn delivered(&mut self, at: Time, _to: StationId, packet: &Packet<Payload>) {
        self.observer.delivered(at, packet);
        self.inbox.push((at, packet.payload, Fate::Arrived));
    }

    fn duplicated(&mut self, at: Time, _to: StationId, packet: &Packet<Payload>) {
        self.inbox.push((at, packet.payload, Fate::Copy));
    }

    fn lost(&mut self, at: Time, _from: StationId, packet: &Packet<Payload>, cause: LossCause) {
        *self.lost += 1;
        self.observer.lost(at, packet, cause);
        self.inbox.push((at, packet.payload, Fate::Lost));
    }

    #[inline]
    fn departed(&mut self, at: Time, from: StationId, packet: &Packet<Payload>) {
        self.observer.departed(at, packet);
        if let Some(pressure) = &mut self.pressure {
            *self.room_freed |= pressure.freed(from);
        }
    }

    #[inline]
    fn frame(&mut self, frame: &FrameEvent, packet: Option<&Packet<Payload>>) {
        *self.frames += 1;
        self.observer.frame(frame, packet);
    }

    #[inline]
    fn is_waiting(&self) -> bool {
        !self.inbox.is_empty() || *self.room_freed
    }
}
