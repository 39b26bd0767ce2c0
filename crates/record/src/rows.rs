//! The rows of every table, as plain structs: what was seen, in the order it became known.
//!
//! Times are nanoseconds since the start of the run. `Option` means "not seen" or "does not apply" and
//! is null in the file, never zero. Both testbeds fill the same rows.
//!
//! The sentence above a field is also the column's description in the Parquet file, and what follows
//! its type there is the unit (`= "ns"`) or the list of words the column may hold (`=> FRAME_KINDS`).
//! Left out: tables of captures and of live load, which have modules of their own.

use crate::table::table;

/// Words of `frames.kind`.
pub const FRAME_KINDS: &[&str] = &["data", "ack", "rts", "cts", "beacon"];
/// Words of `frames.outcome`.
pub const FRAME_OUTCOMES: &[&str] = &["received", "duplicate", "collided", "garbled"];
/// Words of `frames.sniffer`.
pub const SNIFFER_VIEWS: &[&str] = &["good", "bad_fcs", "missed"];
/// Words of `packets.kind`.
pub const PACKET_KINDS: &[&str] =
    &["syn", "syn_ack", "ack", "request", "data", "fin", "fin_ack", "rst", "other"];
/// Words of `packets.fate`.
pub const PACKET_FATES: &[&str] = &["delivered", "queue_full", "retry_limit", "not_received", "unfinished"];
/// Words of `connections.class`.
pub const CONNECTION_CLASSES: &[&str] = &["syn_fin", "syn_rst", "syn_no_synack", "syn_unfinished", "no_syn"];
/// Words of `connections.error` and `exchanges.error`: what the client was doing when it gave up.
pub const ERROR_PHASES: &[&str] = &["connect", "send", "reply", "receive", "reset"];
/// Words of `pages.outcome`.
pub const PAGE_OUTCOMES: &[&str] = &["complete", "incomplete", "given_up", "unfinished"];
/// Words of `objects.source`.
pub const OBJECT_SOURCES: &[&str] = &["asked", "pushed"];
/// Words of `flows.kind`.
pub const FLOW_KINDS: &[&str] = &["tcp", "udp", "video", "audio"];
/// Words of `lag.what`.
pub const LAG_KINDS: &[&str] = &["delivery", "timer"];

table! {
    /// One frame on the air or wire; rows are in order of `start_ns`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct FrameRow in "frames.parquet" {
        /// First instant of the preamble.
        pub start_ns: u64 = "ns",
        /// Last instant of the frame.
        pub end_ns: u64 = "ns",
        /// Sending station.
        pub station: u16,
        /// Receiving station; null for a broadcast.
        pub to: Option<u16>,
        /// `data`, `ack`, `rts`, `cts` or `beacon`.
        pub kind: &'static str => FRAME_KINDS,
        /// Rate of the body, bit/s.
        pub rate_bps: u64 = "bit/s",
        /// Bytes from MAC header to frame check sequence.
        pub bytes: u32 = "B",
        /// MAC sequence number.
        pub sequence: u16,
        /// Attempt, from 1.
        pub attempt: u8,
        /// `received`, `duplicate`, `collided` or `garbled`.
        pub outcome: &'static str => FRAME_OUTCOMES,
        /// How the sniffer heard it: `good`, `bad_fcs` or `missed`.
        pub sniffer: &'static str => SNIFFER_VIEWS,
        /// The packet it carried (`packets.packet`); null for control frames.
        pub packet: Option<u64>,
    }
}

table! {
    /// One IP packet offered to a transmit queue (one transport segment); rows are in order of `packet`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PacketRow in "packets.parquet" {
        /// Number of the packet in the run, from 0.
        pub packet: u64,
        /// When it was offered to the transmit queue.
        pub time_ns: u64 = "ns",
        /// Station that sent it.
        pub station: u16,
        /// Station it is for; null for a broadcast.
        pub to: Option<u16>,
        /// Connection (`connections.connection`); null for packets of none.
        pub connection: Option<u64>,
        /// `syn`, `syn_ack`, `ack`, `request`, `data`, `fin`, `fin_ack`, `rst` or `other`.
        ///
        /// `request` is client data, `data` server data, `fin` the first FIN of a connection and `fin_ack` the
        /// other side's; data that carries a FIN counts as data.
        pub kind: &'static str => PACKET_KINDS,
        /// TCP sequence number relative to the initial one.
        pub seq: u64 = "B",
        /// TCP acknowledgement number relative to the peer's initial one.
        pub ack: u64 = "B",
        /// Octets of transport payload.
        pub payload_bytes: u32 = "B",
        /// Length of the IP packet.
        pub ip_bytes: u32 = "B",
        /// Whether TCP sent these octets (or this SYN or FIN) before.
        pub retransmission: bool,
        /// `delivered`, `queue_full`, `retry_limit`, `not_received` or `unfinished` at the end of the run.
        pub fate: &'static str => PACKET_FATES,
        /// When its first frame began; null when it was never on the air.
        pub first_air_ns: Option<u64> = "ns",
        /// When it was delivered or given up.
        pub done_ns: Option<u64> = "ns",
        /// Frames sent for it.
        pub attempts: u8 = "frames",
    }
}

table! {
    /// One TCP connection; rows are in order of `connection`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ConnectionRow in "connections.parquet" {
        /// Number of the connection in the run, from 0 in order of opening.
        pub connection: u64,
        /// Client station.
        pub client: u16,
        /// Server station.
        pub server: u16,
        /// Client's port.
        pub client_port: u16,
        /// When the workload wanted it opened; null when not known.
        pub due_ns: Option<u64> = "ns",
        /// First SYN offered to the transmit queue.
        pub opened_ns: u64 = "ns",
        /// Handshake complete at the client; null if it never was.
        pub established_ns: Option<u64> = "ns",
        /// Start of the first frame on the air; null if none was.
        pub first_frame_ns: Option<u64> = "ns",
        /// End of the last data frame of the connection on the air.
        pub last_frame_ns: Option<u64> = "ns",
        /// How it ended: `syn_fin`, `syn_rst`, `syn_no_synack`, `syn_unfinished`, or
        /// `no_syn` when its beginning was not captured.
        pub class: &'static str => CONNECTION_CLASSES,
        /// Error seen by the user: null, `connect`, `send`, `reply`, `receive` or `reset`.
        pub error: Option<&'static str> => ERROR_PHASES,
        /// Exchanges completed.
        pub exchanges: u32 = "exchanges",
        /// Payload octets the server received, without repeats.
        pub bytes_up: u64 = "B",
        /// Payload octets the client received, without repeats, before it gave up if it did.
        pub bytes_down: u64 = "B",
        /// Segments offered by the client.
        pub segments_up: u32 = "segments",
        /// Segments offered by the server.
        pub segments_down: u32 = "segments",
        /// TCP retransmissions by the client.
        pub retransmissions_up: u32 = "segments",
        /// TCP retransmissions by the server.
        pub retransmissions_down: u32 = "segments",
    }
}

table! {
    /// One HTTP exchange; rows are in the order in which their outcomes became known.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ExchangeRow in "exchanges.parquet" {
        /// Connection it ran on.
        pub connection: u64,
        /// Its place on that connection, from 0.
        pub index: u32,
        /// Client station.
        pub client: u16,
        /// When the workload wanted it; null when not known. Response time is `done_ns - due_ns`.
        pub due_ns: Option<u64> = "ns",
        /// Request handed to TCP (first octet on the wire for captures); null if it never was.
        pub sent_ns: Option<u64> = "ns",
        /// First octet of the response at the client.
        pub first_byte_ns: Option<u64> = "ns",
        /// Last octet of the response at the client. Service time is `done_ns - sent_ns`.
        pub done_ns: Option<u64> = "ns",
        /// Octets of the request handed to TCP; 0 if it never was.
        pub request_bytes: u64 = "B",
        /// Octets of response received, headers included, before the client gave up if it did.
        pub response_bytes: u64 = "B",
        /// Null when complete, else the phase of the error: `connect`, `send`, `reply`, `receive` or `reset`.
        pub error: Option<&'static str> => ERROR_PHASES,
    }
}

table! {
    /// One page: an object and those it embeds; rows are in the order in which the pages ended, in emulated runs client
    /// by client. Only runs with clients that fetch pages, or with browsers, have this table.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PageRow in "pages.parquet" {
        /// Client station; of a live load the client's place in the plan.
        pub client: u16,
        /// Number of the session among the client's, from 0.
        pub session: u64,
        /// Number of the page in its session, from 0.
        pub page: u32,
        /// When the user wanted it. Page load time is `done_ns - due_ns`.
        pub due_ns: u64 = "ns",
        /// First octet of the page's own response at the client.
        pub first_byte_ns: Option<u64> = "ns",
        /// Last octet of the last object at the client; null for a page of which something is missing.
        pub done_ns: Option<u64> = "ns",
        /// Objects requested, the page itself among them.
        pub requested: u32 = "objects",
        /// Objects that came complete.
        pub complete: u32 = "objects",
        /// Embedded objects that were in the browser's cache and not requested.
        pub cached: u32 = "objects",
        /// Octets of response received, headers included.
        pub response_bytes: u64 = "B",
        /// `complete`, `incomplete` when a request failed, `given_up` when the user lost patience, or `unfinished` at
        /// the end of the run.
        pub outcome: &'static str => PAGE_OUTCOMES,
    }
}

table! {
    /// One object of a page that a browser loaded; rows are in the order in which the loads ended and of the page. The file
    /// is there when the scenario has browsers.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ObjectRow in "objects.parquet" {
        /// Client station.
        pub client: u16,
        /// Number of the load among the browser's, from 0 (`pages.session`).
        pub load: u32,
        /// Place of the object in the page, from 0.
        pub object: u32,
        /// Place of its host among the page's.
        pub host: u32,
        /// The object that names it; null for the page itself.
        pub found_in: Option<u32>,
        /// When its server's address was asked for on its behalf; null where it was known or being asked for.
        pub looked_up_ns: Option<u64> = "ns",
        /// When it was found to be needed; null if it never was.
        pub found_ns: Option<u64> = "ns",
        /// When it was asked for; null if it was not.
        pub sent_ns: Option<u64> = "ns",
        /// First octet of the response at the browser.
        pub first_byte_ns: Option<u64> = "ns",
        /// When it was there and needed.
        pub done_ns: Option<u64> = "ns",
        /// The connection that brought it (`connections.connection`).
        pub connection: Option<u64>,
        /// `asked`, or `pushed` when it was sent before it was asked for.
        pub source: &'static str => OBJECT_SOURCES,
        /// Octets of its body.
        pub body_bytes: u32 = "B",
        /// Octets of the request.
        pub request_bytes: u32 = "B",
        /// Octets of response received, headers included.
        pub response_bytes: u32 = "B",
    }
}

table! {
    /// Occupancy of one transmit queue over one sampling interval.
    #[derive(Clone, Debug, PartialEq)]
    pub struct QueueRow in "queues.parquet" {
        /// End of the interval.
        pub time_ns: u64 = "ns",
        /// Station whose queue it is.
        pub station: u16,
        /// Packets waiting at the end of the interval.
        pub depth: u32 = "packets",
        /// Time-weighted mean over the interval.
        pub mean: f64 = "packets",
        /// Packets offered in the interval.
        pub offered: u64 = "packets",
        /// Packets refused in the interval.
        pub dropped: u64 = "packets",
        /// Packets sent or given up in the interval.
        pub departed: u64 = "packets",
    }
}

table! {
    /// One flow that is no Web: a bulk transfer, or datagrams in one direction; rows are in order of `flow`. The file
    /// is there when the scenario has flows. Columns about datagrams are null for a transfer.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct FlowRow in "flows.parquet" {
        /// Number of the flow in the run, from 0.
        pub flow: u64,
        /// Which `[[flow]]` it belongs to, `count` taken apart, from 0: a stream's audio and video have the same.
        pub group: u64,
        /// `tcp`, `udp`, `video` or `audio`.
        pub kind: &'static str => FLOW_KINDS,
        /// Station that sends the data.
        pub station: u16,
        /// Station it is for.
        pub to: u16,
        /// The connection of a transfer (`connections.connection`); null for datagrams, and if it was never opened.
        pub connection: Option<u64>,
        /// When the flow began.
        pub start_ns: u64 = "ns",
        /// When it was to stop offering load.
        pub end_ns: u64 = "ns",
        /// When the last octet had arrived; null if none did.
        pub last_arrival_ns: Option<u64> = "ns",
        /// Octets of payload handed to the transmit queue, or written by the sending program of a transfer.
        pub bytes_offered: u64 = "B",
        /// Octets of payload that arrived, without repeats.
        pub bytes_delivered: u64 = "B",
        /// Of those, before `end_ns`: goodput is these over `end_ns - start_ns`.
        pub bytes_in_time: u64 = "B",
        /// Datagrams handed to the transmit queue.
        pub datagrams: Option<u64> = "packets",
        /// Of those, refused because it was full.
        pub refused: Option<u64> = "packets",
        /// Given up by the link.
        pub lost: Option<u64> = "packets",
        /// Arrived. What is in none of the three was on its way when the run ended.
        pub delivered: Option<u64> = "packets",
        /// Arrived after its place in the playout; null for flows nobody plays.
        pub late: Option<u64> = "packets",
        /// Mean delay from the transmit queue's entrance to arrival; null, as all delays, if nothing arrived.
        pub delay_mean_ns: Option<u64> = "ns",
        /// Smallest delay.
        pub delay_min_ns: Option<u64> = "ns",
        /// Median delay, to within 0.4% as all percentiles.
        pub delay_p50_ns: Option<u64> = "ns",
        /// 95th percentile of the delay.
        pub delay_p95_ns: Option<u64> = "ns",
        /// 99th percentile of the delay.
        pub delay_p99_ns: Option<u64> = "ns",
        /// Largest delay.
        pub delay_max_ns: Option<u64> = "ns",
        /// Mean over all arrivals of the interarrival estimate of RFC 3550 §6.4.1.
        pub delay_variation_mean_ns: Option<u64> = "ns",
        /// Largest value of that estimate.
        pub delay_variation_max_ns: Option<u64> = "ns",
        /// Whether the share of datagrams refused, lost or late was within the stream's limit; null for flows nobody
        /// plays.
        pub playable: Option<bool>,
    }
}

table! {
    /// One count of the emulator's lateness histogram.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct LagRow in "lag.parquet" {
        /// What was late: `delivery` (writing a packet due now) or `timer` (waking up).
        pub what: &'static str => LAG_KINDS,
        /// Lower edge of the bin.
        pub from_ns: u64 = "ns",
        /// Upper edge of the bin, not included.
        pub below_ns: u64 = "ns",
        /// How many fell into it.
        pub count: u64,
    }
}
