//! One TCP connection: its handshake, its two directions, how it ended, and its exchanges.
//!
//! Everything is told from packets alone. `up` is from client to server. Reference: RFC 9293 §3.5
//! (opening), §3.6 (closing); classes and errors as `connections.class` and `connections.error` say.

use std::collections::VecDeque;

use airperf_record::{ConnectionRow, ExchangeRow};
use airperf_wire::{Flags, Tcp};

use crate::exchange::{Exchanges, Owner};
use crate::half::{Half, Novelty};
use crate::tracker::{Endpoint, Segment};

/// A connection being followed.
#[derive(Debug)]
pub(crate) struct Connection {
    row: ConnectionRow,
    client: Endpoint,
    up: Half,
    down: Half,
    /// The beginning was seen.
    opened: bool,
    syn_ack_sent: bool,
    /// When the SYN-ACK reached the client; the handshake is complete when the client says so.
    syn_ack_arrived: Option<u64>,
    fin_up: bool,
    fin_down: bool,
    /// The server's FIN reached the client.
    fin_down_arrived: bool,
    /// Whether the first FIN was the client's.
    first_fin_up: Option<bool>,
    /// Octets the client had received when it closed its side.
    received_at_close: Option<u64>,
    /// The client sent a RST after it had closed its side: it wanted nothing more.
    turned_away: bool,
    /// A RST was sent before both sides had closed.
    reset: bool,
    /// Its end was recorded: exchanges are over.
    over: bool,
    /// A fresh connection without any request is an error.
    expects_request: bool,
    exchanges: Exchanges,
}

/// What a segment is within its connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) kind: &'static str,
    pub(crate) up: bool,
    pub(crate) seq: u64,
    pub(crate) ack: u64,
    pub(crate) novelty: Novelty,
}

impl Connection {
    /// A connection whose first segment was offered at `now`.
    pub(crate) fn new(
        owner: Owner,
        server: u16,
        client: Endpoint,
        now: u64,
        opened: bool,
        expects_request: bool,
    ) -> Self {
        let row = ConnectionRow {
            connection: owner.connection,
            client: owner.client,
            server,
            client_port: client.1,
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
        Self {
            row,
            client,
            up: Half::default(),
            down: Half::default(),
            opened,
            syn_ack_sent: false,
            syn_ack_arrived: None,
            fin_up: false,
            fin_down: false,
            fin_down_arrived: false,
            first_fin_up: None,
            received_at_close: None,
            turned_away: false,
            reset: false,
            over: false,
            expects_request,
            exchanges: Exchanges::new(owner),
        }
    }

    /// Whether this is the client's end.
    pub(crate) fn is_client(&self, endpoint: Endpoint) -> bool {
        self.client == endpoint
    }

    /// Whether a SYN with this sequence number, from the client, belongs to this connection.
    pub(crate) fn is_syn_again(&self, seq: u32) -> bool {
        self.opened && self.up.initial() == Some(seq)
    }

    /// Whether both sides have closed or one has reset.
    pub(crate) fn is_closed(&self) -> bool {
        self.reset || self.fin_up && self.fin_down
    }

    /// Whether a stream turned out to be no HTTP/1.
    pub(crate) fn is_opaque(&self) -> bool {
        self.exchanges.is_opaque()
    }

    /// A segment was offered at its sender.
    pub(crate) fn offered(
        &mut self,
        now: u64,
        up: bool,
        tcp: &Tcp<'_>,
        out: &mut VecDeque<ExchangeRow>,
    ) -> Place {
        let flags = tcp.flags();
        let (half, peer) = if up { (&mut self.up, &self.down) } else { (&mut self.down, &self.up) };
        if flags.has(Flags::SYN) {
            half.begin(tcp.seq());
        } else if half.initial().is_none() && !flags.has(Flags::RST) {
            // Its SYN was not seen; a RST to a SYN has no number of its own.
            half.begin(tcp.seq().wrapping_sub(1));
        }
        let ack = if flags.has(Flags::ACK) { peer.distance(tcp.ack()) } else { 0 };
        let seq = half.distance(tcp.seq());
        let payload = tcp.payload_len() as u64;
        let novelty = half.send(seq, payload, flags);
        let place = Place { kind: self.kind(up, flags, payload), up, seq, ack, novelty };
        self.follow(now, place, flags, tcp, out);
        place
    }

    fn kind(&mut self, up: bool, flags: Flags, payload: u64) -> &'static str {
        let first_fin_up = if flags.has(Flags::FIN) { *self.first_fin_up.get_or_insert(up) } else { up };
        match (flags.has(Flags::RST), flags.has(Flags::SYN), flags.has(Flags::FIN)) {
            (true, ..) => "rst",
            (_, true, _) if flags.has(Flags::ACK) => "syn_ack",
            (_, true, _) => "syn",
            _ if payload > 0 => {
                if up {
                    "request"
                } else {
                    "data"
                }
            }
            (.., true) if first_fin_up == up => "fin",
            (.., true) => "fin_ack",
            _ => "ack",
        }
    }

    fn follow(
        &mut self,
        now: u64,
        place: Place,
        flags: Flags,
        tcp: &Tcp<'_>,
        out: &mut VecDeque<ExchangeRow>,
    ) {
        let readable = self.down.readable();
        if flags.has(Flags::RST) {
            self.reset |= !(self.fin_up && self.fin_down);
            if place.up {
                self.turned_away |= self.fin_up;
                self.end(None, out);
            }
            return;
        }
        if place.up && flags.has(Flags::ACK) {
            if self.row.established_ns.is_none() {
                self.row.established_ns = self.syn_ack_arrived;
            }
            self.exchanges.client_acked(place.ack.saturating_sub(1), readable, out);
        }
        self.syn_ack_sent |= flags.has(Flags::SYN) && !place.up;
        let start = (place.seq + u64::from(flags.has(Flags::SYN))).saturating_sub(1);
        let length = tcp.payload_len() as u64;
        if place.up {
            self.exchanges.asked(now, start, length, tcp.payload());
        } else {
            self.exchanges.answered(start, length, tcp.payload());
        }
        if flags.has(Flags::FIN) {
            if place.up && !self.fin_up {
                self.received_at_close = Some(self.down.received());
                self.exchanges.client_closed(readable);
            }
            *(if place.up { &mut self.fin_up } else { &mut self.fin_down }) = true;
        }
    }

    /// A segment reached its receiver.
    pub(crate) fn delivered(&mut self, now: u64, segment: &Segment, out: &mut VecDeque<ExchangeRow>) {
        let (flags, payload) = (segment.flags, u64::from(segment.payload_bytes));
        let start = segment.seq + u64::from(flags.has(Flags::SYN));
        if flags.has(Flags::RST) {
            if !segment.up {
                self.end(Some("reset"), out);
            }
            return;
        }
        if segment.up {
            self.up.arrive(start, payload);
            return;
        }
        if flags.has(Flags::SYN) {
            self.syn_ack_arrived.get_or_insert(now);
        }
        self.down.arrive(start, payload);
        let readable = self.down.readable();
        self.fin_down_arrived |= flags.has(Flags::FIN);
        // The FIN comes after all octets: it is read only when they are.
        let at_end = self.fin_down_arrived && self.down.fin == Some(readable + 1);
        self.exchanges.read(now, readable, at_end, out);
    }

    /// A data frame that carried one of its packets was on the air.
    pub(crate) fn on_air(&mut self, start_ns: u64, end_ns: u64) {
        self.row.first_frame_ns.get_or_insert(start_ns);
        self.row.last_frame_ns = self.row.last_frame_ns.max(Some(end_ns));
    }

    /// Nothing more comes of it: what was awaited is an error, `error` or what the client waited for.
    fn end(&mut self, error: Option<&'static str>, out: &mut VecDeque<ExchangeRow>) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        let missing = self.opened && self.expects_request && !self.exchanges.any();
        if missing {
            let phase = if self.row.established_ns.is_none() { "connect" } else { error.unwrap_or("send") };
            self.exchanges.never_asked(phase, out);
        } else {
            self.exchanges.end(self.down.readable(), error, out);
        }
    }

    /// The row, when nothing more will be told of it.
    pub(crate) fn finish(mut self, out: &mut VecDeque<ExchangeRow>) -> ConnectionRow {
        self.end(None, out);
        let class = match self {
            Self { opened: false, .. } => "no_syn",
            Self { syn_ack_sent: false, .. } => "syn_no_synack",
            Self { reset: true, .. } => "syn_rst",
            Self { first_fin_up: Some(_), .. } => "syn_fin",
            _ => "syn_unfinished",
        };
        ConnectionRow {
            class,
            error: self.exchanges.first_error,
            exchanges: self.exchanges.completed,
            bytes_up: self.up.received(),
            // What reached a closed socket was thrown away.
            bytes_down: self.received_at_close.filter(|_| self.turned_away).unwrap_or(self.down.received()),
            segments_up: self.up.segments,
            segments_down: self.down.segments,
            retransmissions_up: self.up.retransmissions,
            retransmissions_down: self.down.retransmissions,
            ..self.row
        }
    }
}
