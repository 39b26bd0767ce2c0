//! Flows that are no Web: the hosts' ends of datagram flows and of bulk transfers.
//!
//! A flow's packets carry its number in place of a connection's place, so that they pass by everything that is about
//! connections. Datagrams have no connection; a bulk transfer has one, whose number stands in the records, opened by
//! the flow's station whichever way the data goes (as netperf and iperf do). Its sender writes as fast as TCP takes
//! it, its receiver reads at once; neither waits for the server's processes. The server's processor is charged for
//! the packets' interrupts only. Left out: limits of sockets' buffers beside TCP's window.

use crate::Payload;
use airperf_link::StationId;
use airperf_scenario::Scenario;
use airperf_tcp::{Endpoint, Segment, Stack, State};
use airperf_units::{StreamKey, Time};
use airperf_workload::{Datagram, DatagramPace, Datagrams, FlowKind, Meter, Quality};
use std::collections::VecDeque;

/// Datagrams that a saturated flow keeps in its transmit queue; fewer where that is shorter. Ours: what a socket
/// buffer of 64 KiB holds of full packets, so that a queue of 100 is shared with others.
const WINDOW: usize = 32;
/// A saturated flow whose queue is full of others' packets tries again after this long.
pub(crate) const RETRY: airperf_units::Duration = airperf_units::Duration::from_ms(10);

/// A flow.
pub(crate) struct Flow {
    pub(crate) station: StationId,
    pub(crate) to_server: bool,
    pub(crate) start: Time,
    pub(crate) end: Time,
    /// The earliest wake-up asked for.
    pub(crate) wake: Time,
    /// Packets under way of a transfer.
    pub(crate) under_way: u32,
    pub(crate) kind: Kind,
}

pub(crate) enum Kind {
    Datagrams(Box<Sender>),
    Bulk(Box<Bulk>),
}

/// A flow of datagrams, with what is known of them at the other end.
pub(crate) struct Sender {
    datagrams: Datagrams,
    pub(crate) next: Option<Datagram>,
    window: Option<usize>,
    pub(crate) number: u32,
    /// Offered and queued, not yet arrived or lost, oldest first: a station sends in order.
    on_the_way: VecDeque<(Time, u32)>,
    pub(crate) meter: Meter,
}

impl Sender {
    /// The datagram to send at `now`, if one is due and the window is open.
    pub(crate) fn due(&mut self, now: Time) -> Option<Datagram> {
        let open = self.window.is_none_or(|window| self.on_the_way.len() < window);
        let datagram = self.next.filter(|datagram| open && datagram.due <= now)?;
        self.next = self.datagrams.next();
        Some(datagram)
    }

    pub(crate) fn sent(&mut self, now: Time, bytes: u32, queued: bool) {
        self.number += 1;
        self.meter.offered(bytes, queued);
        if queued {
            self.on_the_way.push_back((now, bytes));
        }
    }

    pub(crate) fn ended(&mut self, now: Time, arrived: bool) {
        let (sent, bytes) = self.on_the_way.pop_front().expect("what arrives was sent");
        if arrived { self.meter.arrived(sent, now, bytes) } else { self.meter.lost() }
    }

    pub(crate) fn is_saturated(&self) -> bool {
        self.window.is_some()
    }

    /// When it next wants to send, without being woken by an arrival.
    pub(crate) fn deadline(&self, now: Time) -> Time {
        match (self.next, self.window) {
            (None, _) => Time::MAX,
            (Some(datagram), _) if datagram.due > now => datagram.due,
            (Some(_), Some(_)) if self.on_the_way.is_empty() => now + RETRY,
            _ => Time::MAX,
        }
    }
}

/// Both ends of a bulk transfer.
pub(crate) struct Bulk {
    pub(crate) number: Option<u32>,
    pub(crate) client_tcp: Endpoint,
    pub(crate) server_tcp: Endpoint,
    pub(crate) client_stack: Stack,
    pub(crate) server_stack: Stack,
    pub(crate) left: Option<u64>,
    /// What the receiver had when the flow's time was over.
    pub(crate) in_time: Option<u64>,
    /// When the last new octet had arrived.
    pub(crate) last_arrival: Option<Time>,
    pub(crate) received: u64,
}

impl Bulk {
    /// How much the sender may write now: whole segments, so that TCP has a window's worth to send.
    pub(crate) fn wants_to_write(&mut self, to_server: bool) -> u32 {
        let (sender, stack) = match to_server {
            true => (&self.client_tcp, &self.client_stack),
            false => (&self.server_tcp, &self.server_stack),
        };
        if sender.state() != State::Established {
            return 0;
        }
        let segment = stack.segment_payload_bytes();
        let buffer = stack.config().receive_window_bytes.max(2 * segment).next_multiple_of(segment);
        let unacknowledged = sender.written_bytes() - sender.acknowledged_bytes();
        let room = u64::from(buffer.saturating_sub(unacknowledged) / segment * segment);
        room.min(self.left.unwrap_or(u64::MAX)) as u32
    }

    pub(crate) fn receiver(&self, to_server: bool) -> &Endpoint {
        if to_server { &self.server_tcp } else { &self.client_tcp }
    }

    pub(crate) fn deadline(&self) -> Time {
        self.client_tcp.deadline(&self.client_stack).min(self.server_tcp.deadline(&self.server_stack))
    }
}

impl Flow {
    /// The flows of a scenario, none of them begun; `stack` gives a station its TCP.
    pub(crate) fn all(scenario: &Scenario, key: &StreamKey, stack: impl Fn(StationId) -> Stack) -> Vec<Self> {
        let places = |station: StationId| scenario.link.queue_packets(station) as usize;
        let end_of_load = Time::ZERO + scenario.duration;
        let of = |(index, flow): (u64, &airperf_scenario::Flow)| {
            let (start, end) = flow.config.span(end_of_load, key, index);
            let server = scenario.server.station;
            let sender = if flow.to_server { flow.station } else { server };
            let kind = match &flow.config.kind {
                FlowKind::Tcp { bytes } => Kind::Bulk(Box::new(Bulk {
                    number: None,
                    client_tcp: Endpoint::closed(),
                    server_tcp: Endpoint::closed(),
                    client_stack: stack(flow.station),
                    server_stack: stack(server),
                    left: *bytes,
                    in_time: None,
                    last_arrival: None,
                    received: 0,
                })),
                FlowKind::Datagrams(config) => {
                    let saturated = config.pace == DatagramPace::Saturated;
                    let mut datagrams = Datagrams::new(config.clone(), start, end, key, index);
                    Kind::Datagrams(Box::new(Sender {
                        next: datagrams.next(),
                        datagrams,
                        window: saturated.then(|| places(sender).min(WINDOW)),
                        number: 0,
                        on_the_way: VecDeque::new(),
                        meter: Meter::new(end, flow.playout),
                    }))
                }
            };
            let (station, to_server) = (flow.station, flow.to_server);
            Self { station, to_server, start, end, wake: Time::MAX, under_way: 0, kind }
        };
        (0..).zip(&scenario.flows).map(of).collect()
    }
}

/// What a flow came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowEnded {
    /// Its place among the scenario's flows.
    pub flow: u32,
    /// When it began.
    pub start: Time,
    /// When it stopped to offer load, or would have.
    pub end: Time,
    /// When the last octet had arrived, if any did.
    pub last_arrival: Option<Time>,
    /// The connection of a bulk transfer.
    pub connection: Option<u32>,
    /// Of datagrams everything; of a transfer its octets.
    pub quality: Quality,
    /// Whether a stream could be played.
    pub playable: Option<bool>,
}

/// The part of a payload's place that says that it is a flow's number.
const FLOW: u32 = 1 << 31;

/// The number of the connection of a packet that has none.
pub(crate) const NO_CONNECTION: u32 = u32::MAX;

/// The place in a payload of the `index`-th flow's packets.
pub(crate) const fn slot_of(index: u32) -> u32 {
    FLOW | index
}

impl Payload {
    /// The flow it belongs to, a place among the scenario's; `None` for the Web's packets.
    #[inline]
    pub const fn flow(&self) -> Option<u32> {
        if self.slot & FLOW != 0 { Some(self.slot & !FLOW) } else { None }
    }

    /// Whether it is a UDP datagram: then its segment has a length and, as sequence number, the datagram's number in
    /// its flow, or the host that is looked up.
    #[inline]
    pub const fn is_datagram(&self) -> bool {
        self.connection == NO_CONNECTION
    }
}

/// Octets of a UDP header (RFC 768): what the header of a TCP segment never has.
pub(crate) const UDP_HEADER_BYTES: u8 = 8;

/// The numbers of a datagram in the form of a segment's.
pub(crate) fn datagram(number: u32, bytes: u32) -> Segment {
    Segment { seq: number, len: bytes as u16, header: UDP_HEADER_BYTES, ..Segment::default() }
}
