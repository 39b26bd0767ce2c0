//! One TCP connection: its handshake, its two directions, how it ended, and its exchanges.
//!
//! Everything is told from packets alone, which are seen at their sender, at their receiver, or, in a
//! capture, somewhere between, where both are one. `up` is from client to server. Reference: RFC 9293
//! §3.5 (opening), §3.6 (closing); classes as `connections.class` says. Leaves out what only a capture
//! asks for (`capture::flows`).

use std::collections::VecDeque;

use airperf_wire::{Flags, Tcp};

use crate::half::{Half, Novelty};
use crate::http::{Exchanges, Maybe, Octets, Outcome, Watch};

/// Exchanges whose outcomes are known.
pub(crate) type Outcomes = VecDeque<Outcome>;

/// A connection being followed.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) up: Half,
    pub(crate) down: Half,
    /// The beginning was seen.
    opened: bool,
    syn_ack_sent: bool,
    /// When the SYN-ACK reached the client; the handshake is complete when the client says so.
    syn_ack_arrived: Maybe,
    established: bool,
    fin_up: bool,
    fin_down: bool,
    /// The server's FIN reached the client.
    fin_down_arrived: bool,
    /// Whether the first FIN was the client's.
    first_fin_up: Option<bool>,
    /// Octets the client had received when it closed its side.
    received_at_close: Maybe,
    /// The client sent a RST after it had closed its side: it wanted nothing more.
    turned_away: bool,
    /// A RST was sent before both sides had closed.
    reset: bool,
    /// Its end was recorded: exchanges are over.
    over: bool,
    /// A fresh connection without any request is an error.
    expects_request: bool,
    pub(crate) exchanges: Exchanges,
}

/// What of a segment its connection looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentView<'a> {
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) flags: Flags,
    /// Octets of payload as sent.
    pub(crate) length: u64,
    /// Those that were captured.
    pub(crate) payload: &'a [u8],
}

impl<'a> From<&Tcp<'a>> for SegmentView<'a> {
    fn from(tcp: &Tcp<'a>) -> Self {
        let (seq, ack, flags) = (tcp.seq(), tcp.ack(), tcp.flags());
        Self { seq, ack, flags, length: tcp.payload_len() as u64, payload: tcp.payload() }
    }
}

/// What a segment is within its connection; numbers are distances in its halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) kind: &'static str,
    pub(crate) up: bool,
    pub(crate) flags: Flags,
    pub(crate) seq: u64,
    /// 0 without ACK.
    pub(crate) ack: u64,
    pub(crate) length: u64,
    pub(crate) novelty: Novelty,
}

impl Connection {
    /// A connection, with its beginning when `opened`. In a run what is sent and what arrives is told apart;
    /// in a capture everything seen arrives.
    pub(crate) fn new(watch: Watch, opened: bool, expects_request: bool) -> Self {
        let half = || if watch == Watch::Run { Half::with_two_ends() } else { Half::default() };
        Self {
            up: half(),
            down: half(),
            opened,
            syn_ack_sent: false,
            syn_ack_arrived: Maybe::NOT,
            established: false,
            fin_up: false,
            fin_down: false,
            fin_down_arrived: false,
            first_fin_up: None,
            received_at_close: Maybe::NOT,
            turned_away: false,
            reset: false,
            over: false,
            expects_request,
            exchanges: Exchanges::new(watch),
        }
    }

    /// The direction `up` and the other one.
    #[inline]
    pub(crate) fn halves(&self, up: bool) -> (&Half, &Half) {
        if up { (&self.up, &self.down) } else { (&self.down, &self.up) }
    }

    /// Whether a SYN with this sequence number, from the client, belongs to this connection.
    pub(crate) fn is_syn_again(&self, seq: u32) -> bool {
        self.opened && self.up.initial() == Some(seq)
    }

    /// Whether a SYN with this sequence number, from the client, is the one that the SYN-ACK with which this
    /// connection began answered: the sniffer saw them the wrong way round.
    pub(crate) fn is_syn_late(&self, seq: u32) -> bool {
        !self.opened
            && self.syn_ack_sent
            && self.up.has_begun()
            && self.up.distance(seq) + 1 == self.up.origin()
    }

    /// Its beginning came after all.
    pub(crate) fn open_late(&mut self) {
        self.opened = true;
    }

    /// Whether a SYN of the server's, without ACK, can be the other half of a simultaneous open.
    pub(crate) fn may_open_simultaneously(&self, seq: u32) -> bool {
        self.opened && !self.established && (!self.down.has_begun() || self.down.initial() == Some(seq))
    }

    /// Whether both sides have closed or one has reset.
    pub(crate) fn is_closed(&self) -> bool {
        self.reset || self.fin_up && self.fin_down
    }

    /// Whether the client has acknowledged the server's SYN.
    pub(crate) fn is_established(&self) -> bool {
        self.established
    }

    /// Whether its beginning was seen.
    pub(crate) fn is_opened(&self) -> bool {
        self.opened
    }

    /// Whether the server answered the SYN with one.
    pub(crate) fn is_answered(&self) -> bool {
        self.syn_ack_sent
    }

    /// Whether a stream turned out to be no HTTP/1.
    pub(crate) fn is_opaque(&self) -> bool {
        self.exchanges.is_opaque()
    }

    /// When the client, which knows that the handshake is complete, had the SYN-ACK.
    pub(crate) fn established_ns(&self) -> Option<u64> {
        self.syn_ack_arrived.get().filter(|_| self.established)
    }

    /// A segment was offered at its sender.
    #[inline]
    pub(crate) fn offered(&mut self, now: u64, up: bool, tcp: &SegmentView<'_>, out: &mut Outcomes) -> Place {
        let flags = tcp.flags;
        let is_reset = flags.has(Flags::RST);
        let (half, peer) = if up { (&mut self.up, &mut self.down) } else { (&mut self.down, &mut self.up) };
        if is_reset {
            // A RST to a SYN has no number of its own.
        } else if flags.has(Flags::SYN) {
            half.begin(tcp.seq);
        } else if !half.is_seen() {
            half.begin_late(tcp.seq, true);
        }
        let mut ack = 0;
        if flags.has(Flags::ACK) {
            if !peer.has_begun() && !is_reset {
                peer.begin_late(tcp.ack, false);
            }
            ack = peer.distance(tcp.ack);
        }
        let seq = half.distance(tcp.seq);
        // What a RST carries is no part of the stream (RFC 9293 §3.10.7.4).
        let length = if is_reset { 0 } else { tcp.length };
        let novelty = half.send(seq, length, flags);
        let place = Place { kind: self.kind_of(up, flags, length), up, flags, seq, ack, length, novelty };
        if flags.has(Flags::FIN) {
            self.first_fin_up.get_or_insert(up);
        }
        self.follow(now, &place, tcp, out);
        if flags.has(Flags::ACK) && !is_reset {
            (if up { &mut self.down } else { &mut self.up }).acknowledge(ack);
        }
        place
    }

    /// Whether both sides go on and nothing is odd: nothing but octets in order and acknowledgements is awaited.
    pub(crate) fn is_steady(&self) -> bool {
        let ends = self.fin_up || self.fin_down || self.reset || self.over;
        self.established && !ends && self.up.is_steady() && self.down.is_steady()
    }

    /// Word of `packets.kind` for a segment.
    #[inline]
    pub(crate) fn kind_of(&self, up: bool, flags: Flags, length: u64) -> &'static str {
        match (flags.has(Flags::RST), flags.has(Flags::SYN), flags.has(Flags::FIN)) {
            (true, ..) => "rst",
            (_, true, _) if flags.has(Flags::ACK) => "syn_ack",
            (_, true, _) => "syn",
            _ if length > 0 => {
                if up {
                    "request"
                } else {
                    "data"
                }
            }
            (.., true) if self.first_fin_up.is_none_or(|first| first == up) => "fin",
            (.., true) => "fin_ack",
            _ => "ack",
        }
    }

    #[inline]
    fn follow(&mut self, now: u64, place: &Place, tcp: &SegmentView<'_>, out: &mut Outcomes) {
        let flags = place.flags;
        if flags.has(Flags::RST) {
            self.reset |= !(self.fin_up && self.fin_down);
            if place.up {
                self.turned_away |= self.fin_up;
                self.end(None, out);
            }
            return;
        }
        let (_, peer) = self.halves(place.up);
        let acked = flags.has(Flags::ACK).then(|| peer.offset(place.ack));
        if let Some(acked) = acked.filter(|_| place.up) {
            self.established |= self.syn_ack_arrived.is_known();
            self.exchanges.client_acked(acked, self.down.readable(), out);
        }
        self.syn_ack_sent |= flags.has(Flags::SYN) && !place.up;
        if place.length > 0 {
            let first = place.seq + u64::from(flags.has(Flags::SYN));
            self.payload(now, place.up, first, place.length, tcp.payload, acked, out);
        }
        if flags.has(Flags::FIN) {
            if place.up && !self.fin_up {
                self.received_at_close = self.down.received().into();
                self.exchanges.client_closed(self.down.readable());
            }
            *(if place.up { &mut self.fin_up } else { &mut self.fin_down }) = true;
        }
    }

    /// Octets of payload from distance `first` on; what was before the stream is known is left out.
    #[allow(clippy::too_many_arguments)]
    fn payload(
        &mut self,
        time_ns: u64,
        up: bool,
        first: u64,
        length: u64,
        captured: &[u8],
        acked: Option<u64>,
        out: &mut Outcomes,
    ) {
        let (half, _) = self.halves(up);
        let early = half.origin().saturating_sub(first).min(length);
        let captured = captured.get(early as usize..).unwrap_or_default();
        let octets = Octets { time_ns, start: half.offset(first), length: length - early, captured, acked };
        if up {
            self.exchanges.asked(&octets, out);
        } else {
            self.exchanges.answered(&octets);
        }
    }

    /// A segment reached its receiver.
    #[inline]
    pub(crate) fn delivered(&mut self, now: u64, place: &Place, out: &mut Outcomes) {
        let flags = place.flags;
        let start = place.seq + u64::from(flags.has(Flags::SYN));
        if flags.has(Flags::RST) {
            if !place.up {
                self.end(Some("reset"), out);
            }
            return;
        }
        if place.up {
            self.up.arrive(start, place.length);
            return;
        }
        if flags.has(Flags::SYN) {
            self.syn_ack_arrived.set_first(now);
        }
        self.down.arrive(start, place.length);
        self.fin_down_arrived |= flags.has(Flags::FIN);
        if place.length > 0 || flags.has(Flags::FIN) {
            self.read(now, out);
        }
    }

    /// The client may be able to read more.
    fn read(&mut self, now: u64, out: &mut Outcomes) {
        let readable = self.down.readable();
        // The FIN comes after all octets: it is read only when they are.
        let at_end =
            self.fin_down_arrived && self.down.fin().is_some_and(|fin| self.down.offset(fin) <= readable);
        self.exchanges.read(now, readable, at_end, out);
    }

    /// Gives up waiting for the octets of a gap that the receiver had acknowledged: they were never
    /// captured. `now` is when the octets after it came.
    pub(crate) fn give_up_gap(&mut self, now: u64, up: bool, gap: (u64, u64), out: &mut Outcomes) {
        let half = if up { &mut self.up } else { &mut self.down };
        half.fill(gap.0, gap.1);
        self.payload(now, up, gap.0, gap.1 - gap.0, &[], None, out);
        if !up {
            self.read(now, out);
        }
    }

    /// Nothing more comes of it: what was awaited is an error, `error` or what the client waited for.
    fn end(&mut self, error: Option<&'static str>, out: &mut Outcomes) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        let missing = self.opened && self.expects_request && !self.exchanges.any();
        if missing {
            let phase = if self.established { error.unwrap_or("send") } else { "connect" };
            self.exchanges.never_asked(phase, out);
        } else {
            self.exchanges.end(self.down.readable(), error, out);
        }
    }

    /// Nothing more will be told of it; gives its class.
    pub(crate) fn finish(&mut self, out: &mut Outcomes) -> &'static str {
        self.end(None, out);
        match self {
            Self { opened: false, .. } => "no_syn",
            Self { syn_ack_sent: false, .. } => "syn_no_synack",
            Self { reset: true, .. } => "syn_rst",
            Self { first_fin_up: Some(_), .. } => "syn_fin",
            _ => "syn_unfinished",
        }
    }

    /// Octets of payload that the client's program had.
    pub(crate) fn bytes_down(&self) -> u64 {
        // What reached a closed socket was thrown away.
        self.received_at_close.get().filter(|_| self.turned_away).unwrap_or(self.down.received())
    }
}
