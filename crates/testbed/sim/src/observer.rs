//! Who watches a simulation. Every method may be left as it is; `()` watches nothing and costs nothing,
//! because the simulation is compiled for its observer.

use crate::{FlowEnded, ObjectSeen, Payload};
use airperf_http::{Ask, Exchange};
use airperf_link::{FrameEvent, LossCause, Packet, QueueStats, StationId};
use airperf_units::{Duration, Time};
use airperf_workload::Page;

/// A connection that the workload opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Its number in the run.
    pub connection: u32,
    /// The client's station.
    pub client: StationId,
    /// The server's station.
    pub server: StationId,
    /// When the workload wanted it.
    pub due: Time,
}

/// A connection about which nothing more will happen, or the run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its number in the run.
    pub connection: u32,
    /// Octets the server received.
    pub bytes_up: u64,
    /// Octets the client received.
    pub bytes_down: u64,
}

/// Watches a simulation.
pub trait Observer {
    /// How often [`Self::queue`] is to be called for every station; `None` for never.
    fn queue_interval(&self) -> Option<Duration> {
        None
    }

    /// A connection is opened.
    fn opened(&mut self, now: Time, opened: &Opened) {
        let _ = (now, opened);
    }

    /// A request is written to a connection.
    fn asked(&mut self, now: Time, connection: u32, ask: &Ask) {
        let _ = (now, connection, ask);
    }

    /// A packet was offered to `from`'s transmit queue, which took or refused it.
    fn offered(&mut self, now: Time, from: StationId, packet: &Packet<Payload>, queued: bool) {
        let _ = (now, from, packet, queued);
    }

    /// A packet reached its destination.
    fn delivered(&mut self, at: Time, packet: &Packet<Payload>) {
        let _ = (at, packet);
    }

    /// The link gave a packet up.
    fn lost(&mut self, at: Time, packet: &Packet<Payload>, cause: LossCause) {
        let _ = (at, packet, cause);
    }

    /// The sender is done with a packet: no more frames will carry it.
    fn departed(&mut self, at: Time, packet: &Packet<Payload>) {
        let _ = (at, packet);
    }

    /// A frame was on the air.
    fn frame(&mut self, frame: &FrameEvent, packet: Option<&Packet<Payload>>) {
        let _ = (frame, packet);
    }

    /// The client's handshake is complete.
    fn established(&mut self, now: Time, connection: u32) {
        let _ = (now, connection);
    }

    /// An exchange is over, or the run ended before it was.
    fn exchange(&mut self, now: Time, connection: u32, exchange: &Exchange) {
        let _ = (now, connection, exchange);
    }

    /// A page of a client's station is over, or the run ended before it was.
    fn page(&mut self, now: Time, client: StationId, page: &Page) {
        let _ = (now, client, page);
    }

    /// A load of a browser is over; called for every object of the page in order, before [`Self::page`].
    fn object(&mut self, now: Time, seen: &ObjectSeen<'_>) {
        let _ = (now, seen);
    }

    /// A connection is over, or the run ended before it was.
    fn ended(&mut self, ended: &Ended) {
        let _ = ended;
    }

    /// The run is over; called for every flow of the scenario in order.
    fn flow(&mut self, ended: &FlowEnded) {
        let _ = ended;
    }

    /// A station's transmit queue at the end of an interval.
    fn queue(&mut self, now: Time, station: StationId, stats: &QueueStats) {
        let _ = (now, station, stats);
    }
}

impl Observer for () {}
