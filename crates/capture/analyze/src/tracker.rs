//! Follows every TCP connection among the packets it is shown.
//!
//! A connection is a pair of addresses and ports *and* an initial sequence number: a fresh SYN with
//! another one on the same pair is a new connection, for load generators use ports again fast. Memory
//! per connection is bounded, and closed connections are forgotten [`LINGER_NS`] after their last packet.
//!
//! Leaves out IPv6, fragments but the first, and a bound on how many connections are open at once.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::Ipv4Addr;

use airperf_record::{ConnectionRow, ExchangeRow, PacketRow, Sequence};
use airperf_wire::{Flags, Ipv4, PROTOCOL_TCP, Tcp};

use crate::Novelty;
use crate::connection::{Connection, Outcomes, Place, SegmentView};
use crate::http::Watch;

/// How long packets of a closed connection may still come: twice the longest life of a segment in Linux's
/// reckoning (TCP_TIMEWAIT_LEN), so that a last FIN can be sent again and answered.
const LINGER_NS: u64 = 120 * 1_000_000_000;

/// Address and port.
pub(crate) type Endpoint = (Ipv4Addr, u16);
/// The lower and the higher of two endpoints.
type Pair = (Endpoint, Endpoint);

/// What a packet is, as the columns of `packets` say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Connection it belongs to; `None` for what is no TCP or belongs to none.
    pub connection: Option<u64>,
    /// Word of `packets.kind`.
    pub kind: &'static str,
    /// Sequence number relative to the initial one.
    pub seq: u64,
    /// Acknowledgement number relative to the peer's initial one.
    pub ack: u64,
    /// Octets of transport payload.
    pub payload_bytes: u32,
    /// Length of the IP packet.
    pub ip_bytes: u32,
    /// Whether its octets were sent before.
    pub novelty: Novelty,
    /// What it is within its connection.
    place: Option<Place>,
}

impl Segment {
    /// A segment of no connection.
    fn stray(ip_bytes: usize) -> Self {
        Self {
            connection: None,
            kind: "other",
            seq: 0,
            ack: 0,
            payload_bytes: 0,
            ip_bytes: ip_bytes as u32,
            novelty: Novelty::New,
            place: None,
        }
    }

    /// The packet's row with the fields a packet's bytes tell; its fate is `unfinished` until the link
    /// tells more.
    pub fn row(&self, packet: u64, time_ns: u64, station: u16, to: Option<u16>) -> PacketRow {
        PacketRow {
            packet,
            time_ns,
            station,
            to,
            connection: self.connection,
            kind: self.kind,
            seq: self.seq,
            ack: self.ack,
            payload_bytes: self.payload_bytes,
            ip_bytes: self.ip_bytes,
            retransmission: self.novelty.is_retransmission(),
            fate: "unfinished",
            first_air_ns: None,
            done_ns: None,
            attempts: 0,
        }
    }
}

/// What was seen besides, so that nothing is passed over in silence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that are no IPv4 or carry no TCP.
    pub not_tcp: u64,
    /// Packets whose IPv4 or TCP header makes no sense or was cut.
    pub malformed: u64,
    /// TCP segments that belong to no connection: an ACK or RST with nothing before it.
    pub stray: u64,
    /// Connections on a pair of endpoints that another one had used before.
    pub reopened: u64,
    /// Connections whose beginning was not seen.
    pub no_syn: u64,
    /// Connections whose streams are no HTTP/1, or became ambiguous or unreadable.
    pub opaque: u64,
}

/// A connection and where its row stands.
#[derive(Debug)]
struct Open {
    pair: Pair,
    client: Endpoint,
    row: ConnectionRow,
    connection: Connection,
}

/// Follows connections; see the module.
#[derive(Debug, Default)]
pub struct FlowTracker {
    expects_requests: bool,
    pairs: HashMap<Pair, u64>,
    open: BTreeMap<u64, Open>,
    next: u64,
    /// Closed connections by when they may be forgotten.
    closing: VecDeque<(u64, u64)>,
    finished: Sequence<ConnectionRow>,
    exchanges: VecDeque<ExchangeRow>,
    /// Outcomes of which rows are to be made.
    outcomes: Outcomes,
    counts: Counts,
}

impl FlowTracker {
    /// A tracker. With `expects_requests` every connection is opened to fetch something: one that ends
    /// without a request gives an exchange with the error `connect` or `send`. That is so where a load
    /// generator is watched, and not in captures, where browsers open connections ahead of need.
    pub fn new(expects_requests: bool) -> Self {
        Self { expects_requests, ..Self::default() }
    }

    /// A packet was offered to the transmit queue of `station`, for station `to`, at `time_ns`.
    ///
    /// `packet` begins with its IP header and may be cut. Packets that the queue refuses were offered,
    /// too. Give all calls in order of time.
    pub fn offered(&mut self, time_ns: u64, station: u16, to: Option<u16>, packet: &[u8]) -> Segment {
        self.forget(time_ns);
        let ip = match Ipv4::parse(packet) {
            Ok(ip) if ip.protocol() == PROTOCOL_TCP && !ip.is_later_fragment() => ip,
            Ok(ip) => {
                self.counts.not_tcp += 1;
                return Segment::stray(ip.total_len());
            }
            Err(airperf_wire::Ipv4Error::Version(_)) => {
                self.counts.not_tcp += 1;
                return Segment::stray(packet.len());
            }
            Err(_) => {
                self.counts.malformed += 1;
                return Segment::stray(packet.len());
            }
        };
        let Ok(tcp) = Tcp::parse(ip.payload(), ip.payload_len()) else {
            self.counts.malformed += 1;
            return Segment::stray(ip.total_len());
        };
        let segment = Segment { payload_bytes: tcp.payload_len() as u32, ..Segment::stray(ip.total_len()) };
        let Some((id, up)) = self.connection_of(time_ns, station, to, &ip, &tcp) else {
            self.counts.stray += 1;
            let kind = if tcp.flags().has(Flags::RST) { "rst" } else { "ack" };
            return Segment { kind, ..segment };
        };
        let Open { row, connection, .. } = self.open.get_mut(&id).expect("it was just found");
        let was_closed = connection.is_closed();
        let place = connection.offered(time_ns, up, &SegmentView::from(&tcp), &mut self.outcomes);
        let (mine, peer) = connection.halves(up);
        let (seq, ack) = (mine.relative(place.seq), peer.relative(place.ack));
        if connection.is_closed() && !was_closed {
            self.closing.push_back((time_ns + LINGER_NS, id));
        }
        let Place { kind, novelty, .. } = place;
        rows(row, &mut self.outcomes, &mut self.exchanges);
        Segment { connection: Some(id), kind, seq, ack, novelty, place: Some(place), ..segment }
    }

    /// A packet that [`Self::offered`] described as `segment` reached its receiver at `time_ns`.
    pub fn delivered(&mut self, time_ns: u64, segment: &Segment) {
        let open = segment.connection.and_then(|id| self.open.get_mut(&id));
        if let (Some(open), Some(place)) = (open, &segment.place) {
            open.connection.delivered(time_ns, place, &mut self.outcomes);
            rows(&open.row, &mut self.outcomes, &mut self.exchanges);
        }
    }

    /// A data frame that carried `segment` was on the air (or wire) from `start_ns` to `end_ns`.
    pub fn on_air(&mut self, segment: &Segment, start_ns: u64, end_ns: u64) {
        if let Some(Open { row, .. }) = segment.connection.and_then(|id| self.open.get_mut(&id)) {
            row.first_frame_ns.get_or_insert(start_ns);
            row.last_frame_ns = row.last_frame_ns.max(Some(end_ns));
        }
    }

    /// Nothing more will come: every connection ends here.
    pub fn finish(&mut self) {
        while let Some(id) = self.open.first_key_value().map(|(id, _)| *id) {
            self.close(id);
        }
    }

    /// The next finished connection, in order of number.
    pub fn next_connection(&mut self) -> Option<ConnectionRow> {
        self.finished.pop()
    }

    /// The next exchange, in the order in which their outcomes became known.
    pub fn next_exchange(&mut self) -> Option<ExchangeRow> {
        self.exchanges.pop_front()
    }

    /// What was seen besides.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The connection of a segment, made if it begins one, and whether the segment is the client's.
    fn connection_of(
        &mut self,
        now: u64,
        station: u16,
        to: Option<u16>,
        ip: &Ipv4<'_>,
        tcp: &Tcp<'_>,
    ) -> Option<(u64, bool)> {
        let (from, towards) = ((ip.source(), tcp.source_port()), (ip.destination(), tcp.destination_port()));
        let pair = (from.min(towards), from.max(towards));
        let flags = tcp.flags();
        let begins = flags.has(Flags::SYN) && !flags.has(Flags::ACK);
        let known = self.pairs.get(&pair).copied();
        if let Some(id) = known {
            let open = self.open.get(&id).expect("pairs and connections go together");
            if !begins || open.connection.is_syn_again(tcp.seq()) {
                return Some((id, open.client == from));
            }
            self.counts.reopened += 1;
            self.close(id);
        } else if !begins && (flags.has(Flags::RST) || tcp.payload_len() == 0 && !flags.has(Flags::FIN)) {
            return None;
        }
        // Without a SYN nobody knows who began; servers have the lower ports.
        let up = begins || !flags.has(Flags::SYN) && from.1 >= towards.1;
        self.counts.no_syn += u64::from(!begins);
        let id = self.next;
        self.next += 1;
        let there = to.unwrap_or(u16::MAX);
        let (client, server) = if up { (station, there) } else { (there, station) };
        let endpoint = if up { from } else { towards };
        let connection = Connection::new(Watch::Run, begins, self.expects_requests);
        let row = ConnectionRow {
            connection: id,
            client,
            server,
            client_port: endpoint.1,
            due_ns: None,
            opened_ns: now,
            established_ns: None,
            first_frame_ns: None,
            last_frame_ns: None,
            class: "no_syn",
            error: None,
            exchanges: 0,
            bytes_up: 0,
            bytes_down: 0,
            segments_up: 0,
            segments_down: 0,
            retransmissions_up: 0,
            retransmissions_down: 0,
        };
        self.open.insert(id, Open { pair, client: endpoint, row, connection });
        self.pairs.insert(pair, id);
        Some((id, up))
    }

    /// Ends a connection and forgets it.
    fn close(&mut self, id: u64) {
        if let Some(Open { pair, row, mut connection, .. }) = self.open.remove(&id) {
            self.pairs.remove(&pair);
            self.counts.opaque += u64::from(connection.is_opaque());
            let class = connection.finish(&mut self.outcomes);
            rows(&row, &mut self.outcomes, &mut self.exchanges);
            let row = ConnectionRow {
                established_ns: connection.established_ns(),
                class,
                error: connection.exchanges.first_error(),
                exchanges: connection.exchanges.completed(),
                bytes_up: connection.up.received(),
                bytes_down: connection.bytes_down(),
                segments_up: connection.up.segments,
                segments_down: connection.down.segments,
                retransmissions_up: connection.up.retransmissions,
                retransmissions_down: connection.down.retransmissions,
                ..row
            };
            self.finished.put(id, row);
        }
    }

    /// Forgets connections that closed long ago.
    fn forget(&mut self, now: u64) {
        while let Some((_, id)) = self.closing.front().copied().filter(|(due, _)| *due <= now) {
            self.closing.pop_front();
            self.close(id);
        }
    }
}

/// Makes the rows of the exchanges of one connection.
fn rows(connection: &ConnectionRow, outcomes: &mut Outcomes, out: &mut VecDeque<ExchangeRow>) {
    let ConnectionRow { connection, client, .. } = *connection;
    out.extend(outcomes.drain(..).map(|outcome| outcome.of_run(connection, client)));
}
