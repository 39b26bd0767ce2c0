//! The contract of a link, and the links that need no medium-access model of their own.
//!
//! A link owns its stations' transmit queues. A driver hands it packets with [`Link::arrive`], asks
//! [`Link::next_event`] when something will next become true, and collects what has with
//! [`Link::poll`]. Time is an argument: the same code runs in virtual time (`sim`), in real time
//! (`emu`), and again over a recorded arrivals log.
//!
//! The contract is exact at every instant: polling late or often changes nothing. It is generic over
//! the payload `P`, which the link carries and never looks at.
//!
//! Left out: addresses, headers and bytes; those belong to whoever made the packet.

pub mod access;
mod agenda;
pub mod ethernet;
mod event;
mod places;
mod stats;
pub mod switch;
pub mod trace;

pub use agenda::Agenda;
pub use event::{Destination, DropCause, FrameEvent, FrameKind, Heard, LossCause, Outcome, StationId};
pub use places::Places;
pub(crate) use stats::Usage;
pub use stats::{QueueMeter, QueueStats};

use airperf_units::Time;

/// The station on the network's side, of links that have one.
pub const NETWORK: StationId = StationId(0);

/// An IP packet as the link sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<P> {
    /// Where it goes on this link.
    pub to: Destination,
    /// Length of the IP packet in bytes, headers included.
    pub bytes: u32,
    /// What the driver wants back when the packet is delivered or lost.
    pub payload: P,
}

impl<P> Packet<P> {
    /// Why a link of `stations` stations cannot carry this packet of `from`, if it cannot.
    pub fn impossible(&self, from: StationId, stations: usize, mtu: u32) -> Option<DropCause> {
        let nowhere = self.to.station().is_some_and(|to| to.index() >= stations || to == from);
        if self.bytes > mtu {
            Some(DropCause::TooLong)
        } else if nowhere {
            Some(DropCause::NoSuchStation)
        } else {
            None
        }
    }

    /// Where this packet of `from` goes over a link between stations and the network's side: neither a broadcast nor a
    /// packet between two stations goes anywhere.
    pub fn across(&self, from: StationId) -> Option<StationId> {
        self.to.station().filter(|&to| (from == NETWORK) != (to == NETWORK))
    }
}

/// What became of a packet offered to a transmit queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It waits or is being sent; its fate comes through the [`Outlet`].
    Queued,
    /// It was refused and never existed on the link.
    Dropped(DropCause),
}

/// A shared medium or wire with one transmit queue per station.
pub trait Link<P> {
    /// Offers a packet to `from`'s transmit queue at `now`.
    ///
    /// The driver must have polled up to `now` first. An arrival stamped before the link's present is
    /// moved up to the present; [`Link::late_arrivals`] counts those.
    ///
    /// # Panics
    /// If `from` is not a station of this link.
    fn arrive(&mut self, now: Time, from: StationId, packet: Packet<P>) -> Arrival;

    /// Hands out, in order of time, everything that has become true by `now`.
    fn poll<O: Outlet<P>>(&mut self, now: Time, out: &mut O);

    /// Does as [`Link::poll`] up to the first instant at which the outlet says that it is
    /// [waiting](Outlet::is_waiting), or up to `end`; returns which. A driver that must answer deliveries at
    /// their own instant needs no other call.
    fn run<O: Outlet<P>>(&mut self, end: Time, out: &mut O) -> Time {
        while let Some(at) = self.next_event().filter(|&at| at <= end) {
            self.poll(at, out);
            if out.is_waiting() {
                return at;
            }
        }
        self.poll(end, out);
        end
    }

    /// When something will next become true if nothing arrives before; `None` when nothing will.
    fn next_event(&self) -> Option<Time>;

    /// The present: the latest instant given to [`Link::poll`] or [`Link::arrive`].
    fn present(&self) -> Time;

    /// How many arrivals were stamped before the present and moved up to it.
    fn late_arrivals(&self) -> u64;

    /// Occupancy and counters of a station's transmit queue, from the start of the run to the present.
    fn queue(&self, station: StationId) -> QueueStats;

    /// Number of stations; their ids are `0..stations`.
    fn stations(&self) -> u16;

    /// Elapsed time by what the medium was doing, in a fixed order; sums to the present exactly.
    fn airtime(&self) -> Vec<(&'static str, airperf_units::Duration)>;
}

/// Where a link puts what [`Link::poll`] finds. Every method but `delivered` may be left as it is.
pub trait Outlet<P> {
    /// A packet reached `to`. For a broadcast this is called once per receiver.
    fn delivered(&mut self, at: Time, to: StationId, packet: &Packet<P>);

    /// A packet that was [delivered](Self::delivered) reached `to` once more: the link made a copy of it.
    fn duplicated(&mut self, at: Time, to: StationId, packet: &Packet<P>) {
        let _ = (at, to, packet);
    }

    /// The link gave a packet up.
    fn lost(&mut self, at: Time, from: StationId, packet: &Packet<P>, cause: LossCause) {
        let _ = (at, from, packet, cause);
    }

    /// The sender is done with a packet (delivered, or lost after the last attempt) and frees its place.
    ///
    /// Called once for every packet that was queued, after `delivered` or `lost`.
    fn departed(&mut self, at: Time, from: StationId, packet: &Packet<P>) {
        let _ = (at, from, packet);
    }

    /// A frame was on the air. Called in order of `frame.start`; `packet` is what it carried, if any.
    fn frame(&mut self, frame: &FrameEvent, packet: Option<&Packet<P>>) {
        let _ = (frame, packet);
    }

    /// Whether the driver must act on what it was handed before time goes on; [`Link::run`] then stops.
    fn is_waiting(&self) -> bool {
        false
    }
}
