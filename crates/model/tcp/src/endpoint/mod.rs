//! One end of a connection, from the handshake to TIME-WAIT.
//!
//! Reference: RFC 9293 §3.3.2 (states), §3.10 (event processing), in the flavour of Linux: what the
//! standard leaves open follows the kernel the configuration stands for. The endpoint has no clock, no
//! queue and no octets: it is told what arrived and when, and hands segments to a [`Transmit`], which says
//! at once whether the host's own transmit queue took them.
//!
//! Leaves out: urgent data, simultaneous open, zero windows (the programs here read at once) and Nagle's
//! algorithm (both programs of the study switch it off).

mod pressure;
mod receive;
mod recovery;
mod send;
mod timer;

pub use timer::HalfOpen;

use crate::ack::AckPolicy;
use crate::cc::Window;
use crate::reorder::Reorder;
use crate::rtt::Rtt;
use crate::scoreboard::Scoreboard;
use crate::segment::{Flags, RST_HEADER_BYTES, SACK_BLOCKS, Segment, header_bytes};
use crate::shared::Inherited;
use crate::stack::Stack;
use airperf_units::Time;

/// Where an endpoint puts its segments.
pub trait Transmit {
    /// Offers a segment to the host's transmit queue; false when it was refused.
    fn transmit(&mut self, segment: &Segment) -> bool;

    /// Whether the host's transmit queue has room now. An endpoint that is told no waits for
    /// [`Endpoint::on_room`]; only endpoints with [`crate::Config::back_pressure`] ask.
    fn has_room(&mut self) -> bool {
        true
    }
}

/// States of a connection (RFC 9293 §3.3.2). CLOSING is FIN-WAIT-1 with the peer's FIN received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection.
    Closed,
    /// SYN sent.
    SynSent,
    /// SYN received, SYN-ACK sent.
    SynReceived,
    /// Data flows.
    Established,
    /// Closed here, FIN not yet acknowledged.
    FinWait1,
    /// FIN acknowledged, waiting for the peer's.
    FinWait2,
    /// Both have closed at once, our FIN not yet acknowledged.
    Closing,
    /// Both FINs seen, we closed first.
    TimeWait,
    /// The peer has closed, we have not.
    CloseWait,
    /// The peer closed first, our FIN not yet acknowledged.
    LastAck,
}

/// What an endpoint has to tell its program after an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signals(u8);

impl Signals {
    /// Nothing to tell.
    pub const NONE: Self = Self(0);
    /// The handshake is complete.
    pub const ESTABLISHED: Self = Self(1);
    /// Octets can be read.
    pub const READABLE: Self = Self(2);
    /// The peer has closed: no more octets will come.
    pub const PEER_CLOSED: Self = Self(4);
    /// The peer reset the connection, or data arrived for a program that had closed.
    pub const RESET: Self = Self(8);
    /// TCP gave the connection up after too many retransmissions.
    pub const GIVEN_UP: Self = Self(16);
    /// The endpoint is gone, or nobody needs it except for TIME-WAIT.
    pub const ENDED: Self = Self(32);

    /// Whether every signal of `other` is set.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    #[inline]
    fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// When [`Self::on_timer`] retransmits or forgets; [`Time::MAX`] for never.
    timer: Time,
    /// When the segment whose round trip is being measured left (without timestamps only).
    timed_at: Time,
    last_sent: Time,
    ack_policy: AckPolicy,
    snd_una: u32,
    snd_nxt: u32,
    /// Highest sequence number ever sent, plus one.
    snd_max: u32,
    /// Sequence number after the last octet the program wrote.
    data_end: u32,
    peer_window: u32,
    /// Recovery, or the resending after a timeout, ends here (RFC 6582 §3.2).
    recover: u32,
    timed_end: u32,
    pub(crate) window: Window,
    pub(crate) rtt: Rtt,
    rcv_nxt: u32,
    /// Last acknowledgement number sent.
    rcv_acked: u32,
    /// Right edge of the window last advertised; never moves left.
    rcv_edge: u32,
    rcv_window: u32,
    /// Sequence number of the peer's FIN; `u32::MAX` before it is known.
    peer_fin: u32,
    ts_recent: u32,
    reorder: Reorder,
    scoreboard: Scoreboard,
    /// What the retransmissions since the last time all was well took from the window.
    taken: Option<recovery::Taken>,
    /// When a repeated SYN or SYN-ACK was last answered.
    answered: Time,
    state: State,
    duplicates: u8,
    backoff: u8,
    recovering: bool,
    /// The program closed; a FIN follows the last octet.
    closing: bool,
    /// The last refusal by the own transmit queue was not yet made good.
    refused: bool,
    /// Half open, but the handshake's last acknowledgement did arrive.
    acknowledged_syn: bool,
    /// What waits for room in the own transmit queue.
    wants: pressure::Wants,
}

const NEVER: Time = Time::MAX;

impl Endpoint {
    /// No connection.
    pub fn closed() -> Self {
        Self {
            timer: NEVER,
            timed_at: NEVER,
            last_sent: Time::ZERO,
            ack_policy: AckPolicy::new(),
            snd_una: 0,
            snd_nxt: 0,
            snd_max: 0,
            data_end: 1,
            peer_window: 0,
            recover: 0,
            timed_end: 0,
            window: Window::new(1),
            rtt: Rtt::default(),
            rcv_nxt: 0,
            rcv_acked: 0,
            rcv_edge: 0,
            rcv_window: 0,
            peer_fin: u32::MAX,
            ts_recent: 0,
            reorder: Reorder::default(),
            scoreboard: Scoreboard::default(),
            taken: None,
            answered: NEVER,
            state: State::Closed,
            duplicates: 0,
            backoff: 0,
            recovering: false,
            closing: false,
            refused: false,
            acknowledged_syn: false,
            wants: pressure::Wants::NOTHING,
        }
    }

    fn open(&mut self, stack: &Stack, state: State, inherited: Option<Inherited>) {
        *self = Self::closed();
        self.state = state;
        self.window = match inherited {
            None => Window::new(stack.config().initial_window),
            Some(Inherited { rtt, cwnd, ssthresh }) => {
                self.rtt = rtt;
                Window::inherited(cwnd, ssthresh)
            }
        };
        self.rcv_window = stack.config().receive_window_bytes;
    }

    /// Opens a connection: sends the SYN.
    pub fn connect(
        &mut self,
        now: Time,
        stack: &Stack,
        inherited: Option<Inherited>,
        out: &mut impl Transmit,
    ) {
        self.open(stack, State::SynSent, inherited);
        let _ = self.send_syn(now, stack, out, Flags::default()); // tcp_connect ignores the result
    }

    /// Answers a SYN with a SYN-ACK; the connection stays closed where its being refused ends it.
    pub fn accept(
        &mut self,
        now: Time,
        stack: &Stack,
        syn: &Segment,
        inherited: Option<Inherited>,
        out: &mut impl Transmit,
    ) {
        self.open(stack, State::SynReceived, inherited);
        self.rcv_nxt = 1;
        self.rcv_edge = 1 + self.rcv_window;
        self.peer_window = syn.window;
        self.ts_recent = syn.ts_val;
        if !self.send_syn(now, stack, out, Flags::ACK) && stack.config().refused_synack_ends {
            self.end();
        }
    }

    /// The program writes `bytes` octets; on a connection that is not open they go nowhere.
    ///
    /// # Panics
    /// Beyond [`crate::MAX_STREAM_BYTES`].
    pub fn write(&mut self, now: Time, stack: &Stack, bytes: u32, out: &mut impl Transmit) {
        if !matches!(self.state, State::Established | State::CloseWait) {
            return;
        }
        self.data_end = self.data_end.checked_add(bytes).expect("a stream is shorter than 4 GiB");
        self.push(now, stack, out);
    }

    /// The program closes: a FIN follows what it wrote. Before the handshake is complete nothing is sent.
    pub fn close(&mut self, now: Time, stack: &Stack, out: &mut impl Transmit) {
        match self.state {
            State::SynSent | State::SynReceived => self.end(),
            State::Established => self.begin_close(State::FinWait1, now, stack, out),
            State::CloseWait => self.begin_close(State::LastAck, now, stack, out),
            _ => {}
        }
    }

    fn begin_close(&mut self, state: State, now: Time, stack: &Stack, out: &mut impl Transmit) {
        self.closing = true;
        self.state = state;
        self.push(now, stack, out);
    }

    /// The program aborts: the peer is told by a reset if the handshake was complete.
    pub fn abort(&mut self, out: &mut impl Transmit) {
        if !matches!(self.state, State::Closed | State::SynSent | State::TimeWait) {
            out.transmit(&Segment {
                seq: self.snd_nxt,
                ack: self.rcv_nxt,
                header: RST_HEADER_BYTES,
                flags: Flags::RST.with(Flags::ACK),
                ..Segment::default()
            });
        }
        self.end();
    }

    /// The state.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// Octets received in order, all of which the program can have read.
    #[inline]
    pub fn received_bytes(&self) -> u32 {
        let fin = u32::from(self.rcv_nxt > self.peer_fin);
        (self.rcv_nxt - fin).saturating_sub(1)
    }

    /// Whether the peer has closed and everything before its FIN was received.
    #[inline]
    pub fn peer_has_closed(&self) -> bool {
        self.rcv_nxt > self.peer_fin
    }

    /// Octets of the program's that the peer has acknowledged.
    pub fn acknowledged_bytes(&self) -> u32 {
        self.snd_una.min(self.data_end).saturating_sub(1)
    }

    /// Octets the program has written.
    pub fn written_bytes(&self) -> u32 {
        self.data_end - 1
    }

    /// Congestion window in segments.
    pub fn congestion_window(&self) -> u32 {
        self.window.cwnd
    }

    /// Whether the SYN-ACK was never sent again.
    pub fn is_young(&self) -> bool {
        self.backoff == 0
    }

    /// When [`Self::on_timer`] is next needed.
    #[inline]
    pub fn deadline(&self, stack: &Stack) -> Time {
        let raw = self.timer.min(self.ack_policy.due);
        if raw == NEVER { NEVER } else { stack.tick(raw) }
    }

    /// A deadline not earlier than [`Self::deadline`] by more than a jiffy, without the division.
    #[inline]
    pub fn raw_deadline(&self) -> Time {
        self.timer.min(self.ack_policy.due)
    }

    fn end(&mut self) {
        self.state = State::Closed;
        self.timer = NEVER;
        self.ack_policy.due = NEVER;
        self.wants = pressure::Wants::NOTHING;
    }

    fn flight(&self, stack: &Stack) -> u32 {
        (self.snd_nxt - self.snd_una).div_ceil(stack.segment_payload_bytes())
    }

    fn fin_acknowledged(&self) -> bool {
        self.closing && self.snd_una > self.data_end
    }

    /// The answer to a segment that belongs to no connection (RFC 9293 §3.10.7.1).
    pub fn refuse(segment: &Segment, out: &mut impl Transmit) {
        if segment.flags.has(Flags::RST) {
            return;
        }
        let (seq, ack, flags) = if segment.flags.has(Flags::ACK) {
            (segment.ack, 0, Flags::RST)
        } else {
            (0, segment.end(), Flags::RST.with(Flags::ACK))
        };
        out.transmit(&Segment { seq, ack, header: RST_HEADER_BYTES, flags, ..Segment::default() });
    }

    fn header(&self, stack: &Stack, syn: bool) -> u8 {
        let told = !self.reorder.is_empty() && stack.config().sack;
        let blocks = if told { self.reorder.count().min(SACK_BLOCKS) } else { 0 };
        header_bytes(stack.config(), syn, blocks as u8)
    }
}
