//! The rows of every table, as plain structs: what was seen, in the order it became known.
//!
//! Times are nanoseconds since the start of the run. `Option` means "not seen" or "does not apply" and
//! is null in the file, never zero. Both testbeds fill the same rows.

/// One frame on the air or wire; rows are in order of `start_ns`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameRow {
    /// First instant of the preamble.
    pub start_ns: u64,
    /// Last instant of the frame.
    pub end_ns: u64,
    /// Sending station.
    pub station: u16,
    /// Receiving station; null for a broadcast.
    pub to: Option<u16>,
    /// `data`, `ack`, `rts`, `cts` or `beacon`.
    pub kind: &'static str,
    /// Rate of the body, bit/s.
    pub rate_bps: u64,
    /// Bytes from MAC header to frame check sequence.
    pub bytes: u32,
    /// MAC sequence number.
    pub sequence: u16,
    /// Attempt, from 1.
    pub attempt: u8,
    /// `received`, `duplicate`, `collided` or `garbled`.
    pub outcome: &'static str,
    /// How the sniffer heard it: `good`, `bad_fcs` or `missed`.
    pub sniffer: &'static str,
    /// The packet it carried (`packets.packet`); null for control frames.
    pub packet: Option<u64>,
}

/// One IP packet offered to a transmit queue (one transport segment); rows are in order of `packet`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketRow {
    /// Number of the packet in the run, from 0.
    pub packet: u64,
    /// When it was offered to the transmit queue.
    pub time_ns: u64,
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
    pub kind: &'static str,
    /// TCP sequence number relative to the initial one.
    pub seq: u64,
    /// TCP acknowledgement number relative to the peer's initial one.
    pub ack: u64,
    /// Octets of transport payload.
    pub payload_bytes: u32,
    /// Length of the IP packet.
    pub ip_bytes: u32,
    /// Whether TCP sent these octets (or this SYN or FIN) before.
    pub retransmission: bool,
    /// `delivered`, `queue_full`, `retry_limit`, `not_received` or `unfinished` at the end of the run.
    pub fate: &'static str,
    /// When its first frame began; null when it was never on the air.
    pub first_air_ns: Option<u64>,
    /// When it was delivered or given up.
    pub done_ns: Option<u64>,
    /// Frames sent for it.
    pub attempts: u8,
}

/// One TCP connection; rows are in order of `connection`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionRow {
    /// Number of the connection in the run, from 0 in order of opening.
    pub connection: u64,
    /// Client station.
    pub client: u16,
    /// Server station.
    pub server: u16,
    /// Client's port.
    pub client_port: u16,
    /// When the workload wanted it opened; null when not known.
    pub due_ns: Option<u64>,
    /// First SYN offered to the transmit queue.
    pub opened_ns: u64,
    /// Handshake complete at the client; null if it never was.
    pub established_ns: Option<u64>,
    /// Start of the first frame on the air; null if none was.
    pub first_frame_ns: Option<u64>,
    /// End of the last data frame of the connection on the air.
    pub last_frame_ns: Option<u64>,
    /// How it ended: `syn_fin`, `syn_rst`, `syn_no_synack` or `syn_unfinished` (mission A2).
    pub class: &'static str,
    /// Error seen by the user: null, `connect`, `send`, `reply`, `receive` or `reset`.
    pub error: Option<&'static str>,
    /// Exchanges completed.
    pub exchanges: u32,
    /// Payload octets the server received, without repeats.
    pub bytes_up: u64,
    /// Payload octets the client received, without repeats.
    pub bytes_down: u64,
    /// Segments offered by the client, and by the server.
    pub segments_up: u32,
    /// Segments offered by the server.
    pub segments_down: u32,
    /// TCP retransmissions by the client.
    pub retransmissions_up: u32,
    /// TCP retransmissions by the server.
    pub retransmissions_down: u32,
}

/// One HTTP exchange; rows are in order of `done_ns` or of the end of waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangeRow {
    /// Connection it ran on.
    pub connection: u64,
    /// Its place on that connection, from 0.
    pub index: u32,
    /// Client station.
    pub client: u16,
    /// When the workload wanted it; null when not known. Response time is `done_ns - due_ns`.
    pub due_ns: Option<u64>,
    /// Request handed to TCP (first octet on the wire for captures); null if it never was.
    pub sent_ns: Option<u64>,
    /// First octet of the response at the client.
    pub first_byte_ns: Option<u64>,
    /// Last octet of the response at the client. Service time is `done_ns - sent_ns`.
    pub done_ns: Option<u64>,
    /// Octets of the request.
    pub request_bytes: u64,
    /// Octets of response received, headers included.
    pub response_bytes: u64,
    /// Null when complete, else the phase of the error: `connect`, `send`, `reply`, `receive` or `reset`.
    pub error: Option<&'static str>,
}

/// Occupancy of one transmit queue over one sampling interval.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueRow {
    /// End of the interval.
    pub time_ns: u64,
    /// Station whose queue it is.
    pub station: u16,
    /// Packets waiting at the end of the interval.
    pub depth: u32,
    /// Time-weighted mean over the interval.
    pub mean: f64,
    /// Packets offered in the interval.
    pub offered: u64,
    /// Packets refused in the interval.
    pub dropped: u64,
    /// Packets sent or given up in the interval.
    pub departed: u64,
}

/// One count of the emulator's lateness histogram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LagRow {
    /// What was late: `delivery` (writing a packet due now) or `timer` (waking up).
    pub what: &'static str,
    /// Lower edge of the bin.
    pub from_ns: u64,
    /// Upper edge of the bin, not included.
    pub below_ns: u64,
    /// How many fell into it.
    pub count: u64,
}
