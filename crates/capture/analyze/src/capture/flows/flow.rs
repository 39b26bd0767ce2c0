//! One connection of a capture: the shared engine, and what only captures are asked for.
//!
//! Verdicts on a segment follow Wireshark's names where it has one; where ours differs the field says so.
//! A direction whose window scale is unknown gives no verdict on windows (fault 34).

use airperf_wire::{Flags, checksum};

use super::counts::FlowCounts;
use super::history::History;
use super::packet::{Carried, Packet};
use super::pair::{Endpoint, Pair, add};
use super::side::{RoundTrips, Side, Tally, Verdict};
use crate::Novelty;
use crate::capture::clients::Client;
use crate::connection::{Connection, Outcomes, Place, SegmentView};
use crate::http::Maybe;

/// How long a gap that the receiver acknowledged may still be filled: the sniffer may see packets out of
/// order, by less than any retransmission timer.
const GAP_NS: u64 = 100_000_000;

/// A connection of a capture.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) pair: Pair,
    /// Hash of the pair.
    pub(crate) hash: u64,
    /// When it was used last, as its table counts.
    pub(crate) used: u64,
    /// Its number in its shard.
    pub(crate) local: u64,
    /// The client is the lower end of the pair.
    pub(crate) client_is_low: bool,
    /// The filter leaves it out.
    pub(crate) hidden: bool,
    /// Whose it is, in the counts per client.
    pub(crate) owner: Client,
    pub(crate) core: Connection,
    pub(crate) up: Side,
    pub(crate) down: Side,
    pub(crate) first_frame: u64,
    pub(crate) opened_ns: u64,
    pub(crate) established_ns: Maybe,
    pub(crate) last_ns: u64,
    pub(crate) first_data_ns: Maybe,
    pub(crate) last_data_ns: Maybe,
    /// Made when there is anything to count.
    tally: Option<Box<Tally>>,
    pub(crate) round_trips: RoundTrips,
    pub(super) syn_ns: Maybe,
    pub(crate) handshake_ns: Maybe,
    pub(crate) history: History,
    /// Who sent the first FIN, or the first RST: the client when true.
    first_fin: Option<bool>,
    first_reset: Option<bool>,
    /// Something of 802.11 was captured.
    pub(crate) mac: bool,
    /// Nothing is odd: [`Self::plain`] may be asked.
    pub(super) is_plain: bool,
}

impl Flow {
    pub(crate) fn new(
        packet: &Packet,
        local: u64,
        client_is_low: bool,
        owner: Client,
        core: Connection,
    ) -> Self {
        Self {
            pair: packet.pair,
            hash: packet.hash,
            used: 0,
            local,
            client_is_low,
            hidden: false,
            owner,
            core,
            up: Side::default(),
            down: Side::default(),
            first_frame: packet.frame,
            opened_ns: packet.time_ns,
            established_ns: Maybe::NOT,
            last_ns: packet.time_ns,
            first_data_ns: Maybe::NOT,
            last_data_ns: Maybe::NOT,
            tally: None,
            round_trips: RoundTrips::default(),
            syn_ns: Maybe::NOT,
            handshake_ns: Maybe::NOT,
            history: History::default(),
            first_fin: None,
            first_reset: None,
            mac: false,
            is_plain: false,
        }
    }

    pub(crate) fn client(&self) -> Endpoint {
        self.pair.end(self.client_is_low)
    }

    pub(crate) fn server(&self) -> Endpoint {
        self.pair.end(!self.client_is_low)
    }

    /// Whether a packet of the pair is the client's.
    #[inline]
    pub(crate) fn is_up(&self, packet: &Packet) -> bool {
        packet.from_low == self.client_is_low
    }

    pub(super) fn side(&mut self, up: bool) -> &mut Side {
        if up { &mut self.up } else { &mut self.down }
    }

    /// What was counted.
    pub(crate) fn tally(&self) -> Tally {
        self.tally.as_deref().copied().unwrap_or_default()
    }

    fn tally_mut(&mut self) -> &mut Tally {
        self.tally.get_or_insert_default()
    }

    /// The MAC sent a packet again that TCP has seen; gives its type and the frame of the original.
    pub(crate) fn mac_duplicate(&mut self, packet: &Packet) -> (&'static str, Option<u64>) {
        let up = self.is_up(packet);
        self.tally_mut().side(up).mac_retries += 1;
        let side = self.side(up);
        let original = (side.last_identification == packet.identification).then_some(side.last_frame);
        self.mac = true;
        self.last_ns = self.last_ns.max(packet.time_ns);
        (self.core.kind_of(up, packet.flags, u64::from(packet.length)), original)
    }

    /// A packet of this connection; `None` when it was captured twice.
    #[inline]
    pub(crate) fn segment(
        &mut self,
        packet: &Packet,
        payload: &[u8],
        options: &[u8],
        counts: &mut FlowCounts,
        out: &mut Outcomes,
    ) -> Option<Verdict> {
        let up = self.is_up(packet);
        let flags = packet.flags;
        self.mac |= packet.carried != Carried::Wire;
        if self.is_captured_twice(up, packet) {
            self.tally_mut().duplicates += 1;
            counts.duplicates += 1;
            return None;
        }
        self.side(!up).sent.answered();

        let (half, peer) = self.core.halves(up);
        let side = if up { &self.up } else { &self.down };
        let plain = !(flags.has(Flags::SYN) || flags.has(Flags::FIN) || flags.has(Flags::RST));
        let (seq, sent_before, acked_before) = (half.distance(packet.seq), half.highest(), half.acked());
        let begun = half.is_seen();
        let keep_alive =
            plain && begun && packet.length <= 1 && seq + 1 == sent_before && acked_before >= sent_before;
        let windows_known = self.scales_known();
        let (_, other) = self.sides(up);
        let closed = windows_known && peer.is_seen() && other.window == 0 && !keep_alive;
        let probes = closed && plain && packet.length == 1;
        let probed_again = probes && self.tally().side(up).probe == seq.into();
        let window_probe = probed_again || probes && begun && seq == sent_before;
        let duplicate_ack = plain
            && flags.has(Flags::ACK)
            && packet.length == 0
            && packet.window != 0
            && packet.window == side.window
            && begun
            && seq == sent_before
            && side
                .last_ack
                .get()
                .is_some_and(|last| peer.distance(packet.ack) == last && peer.highest() > last);
        let is_old = packet.length > 0 && seq < sent_before && !keep_alive;
        let inconsistent = is_old && self.is_inconsistent(up, packet, seq, payload);

        // Keep-alives and repeated probes carry nothing that is sent for its own sake.
        let empty = keep_alive || probed_again;
        let view = SegmentView {
            seq: packet.seq,
            ack: packet.ack,
            flags,
            length: if empty { 0 } else { u64::from(packet.length) },
            payload: if empty { &[] } else { payload },
        };
        let was_established = self.core.is_established();
        let place = self.core.offered(packet.time_ns, up, &view, out);
        self.core.delivered(packet.delivered_ns, &place, out);
        if !was_established && self.core.is_established() {
            self.established_ns = packet.time_ns.into();
        }

        let retransmitted = matches!(place.novelty, Novelty::Full | Novelty::DupSyn | Novelty::DupFin);
        self.times(packet, &place);
        self.handshake(packet, up, options, counts);
        let sack = self.sack(up, packet, place.ack, options, counts);
        let rtt_ns = self.acknowledge(packet, &place, counts);
        self.note_sent(packet, &place, sent_before);
        let verdict = Verdict {
            place,
            spurious: retransmitted && place.length > 0 && place.seq + place.length <= acked_before,
            duplicate_ack,
            zero_window: windows_known && plain && packet.window == 0,
            window_probe,
            keep_alive,
            sack,
            rtt_ns,
            in_flight: self.in_flight(up),
        };
        if retransmitted {
            self.tally_mut().side(up).retransmissions += 1;
        }
        self.count(packet, &verdict, inconsistent, counts);
        for up in [true, false] {
            if self.core.halves(up).0.may_have_gap() {
                self.gap(up, packet.time_ns, out);
            }
        }
        if self.core.is_closed() {
            self.release();
        }
        self.is_plain = self.core.is_steady();
        Some(verdict)
    }

    /// Whether the same packet was captured a moment ago.
    #[inline]
    fn is_captured_twice(&mut self, up: bool, packet: &Packet) -> bool {
        let named = packet.identification.is_some_and(|id| id != 0);
        // Acknowledgements without identification repeat one another by right.
        let bare = packet.length == 0 && !packet.flags.has(Flags::SYN) && !packet.flags.has(Flags::FIN);
        if !named && bare {
            return false;
        }
        self.side(up).sent.is_captured_twice(packet.time_ns, packet.digest(), packet.way, named)
    }

    /// Whether the same segment was sent before with other octets: by its checksum, if that is right.
    #[cold]
    fn is_inconsistent(&self, up: bool, packet: &Packet, seq: u64, payload: &[u8]) -> bool {
        let from = seq + u64::from(packet.flags.has(Flags::SYN));
        let to = from + u64::from(packet.length) + u64::from(packet.flags.has(Flags::FIN));
        let (side, _) = self.sides(up);
        if payload.len() < packet.length as usize || !side.sent.differs(from, to, packet.sum) {
            return false;
        }
        let octets = !checksum(0, payload);
        let total = add(add(octets, packet.sum), add(self.pair.sum(), 6));
        matches!(total, 0 | 0xffff)
    }

    fn sides(&self, up: bool) -> (&Side, &Side) {
        if up { (&self.up, &self.down) } else { (&self.down, &self.up) }
    }

    /// Both SYNs were seen: their options tell how windows are scaled (RFC 7323 §2.2).
    pub(crate) fn scales_known(&self) -> bool {
        self.core.up.is_whole() && self.core.down.is_whole()
    }

    /// Shift of the windows a side offers; `None` while unknown.
    pub(crate) fn scale(&self, up: bool) -> Option<u8> {
        let (mine, other) = self.sides(up);
        // 14 is the greatest there is (§2.3).
        let both = mine.scale.and_then(|scale| other.scale.map(|_| (scale.get() - 1).min(14)));
        self.scales_known().then(|| both.unwrap_or(0))
    }

    fn times(&mut self, packet: &Packet, place: &Place) {
        self.last_ns = self.last_ns.max(packet.time_ns);
        if place.length > 0 {
            self.first_data_ns.set_first(packet.time_ns);
            self.last_data_ns =
                self.last_data_ns.get().map_or(packet.time_ns, |last| last.max(packet.time_ns)).into();
            let side = self.side(place.up);
            side.last_data_ns = side.last_data_ns.max(packet.delivered_ns);
        }
    }

    /// What the segment acknowledges; gives the round-trip time that it is the end of.
    #[inline]
    fn acknowledge(&mut self, packet: &Packet, place: &Place, counts: &mut FlowCounts) -> Option<u64> {
        let up = place.up;
        if !place.flags.has(Flags::ACK) || place.flags.has(Flags::RST) {
            return None;
        }
        let (_, peer) = self.core.halves(up);
        let unseen = peer.is_seen() && place.ack > peer.highest();
        let side = self.side(up);
        let news = side.last_ack.get().is_none_or(|last| place.ack > last);
        if news {
            side.last_ack = place.ack.into();
        }
        side.window = packet.window;
        if !news {
            return None;
        }
        counts.acknowledged_unseen += u64::from(unseen);
        let sent = self.side(!up).sent.acknowledged(place.ack)?;
        let Some(rtt) = packet.time_ns.checked_sub(sent) else {
            counts.time_reversed += 1;
            return None;
        };
        self.round_trips.add(rtt);
        Some(rtt)
    }

    /// Remembers what was sent, to time and compare it.
    #[inline]
    fn note_sent(&mut self, packet: &Packet, place: &Place, sent_before: u64) {
        let flags = place.flags;
        let side = self.side(place.up);
        side.ip_bytes += u64::from(packet.ip_bytes);
        side.last_frame = packet.frame;
        side.last_identification = packet.identification;
        if packet.carried == Carried::Retry {
            self.tally_mut().side(place.up).mac_retries += 1;
        }
        let side = self.side(place.up);
        if flags.has(Flags::RST) {
            return;
        }
        if !flags.has(Flags::ACK) {
            side.window = packet.window;
        }
        let syn = u64::from(flags.has(Flags::SYN));
        let to = place.seq + syn + place.length + u64::from(flags.has(Flags::FIN));
        if to == place.seq {
            return;
        }
        if place.novelty != Novelty::New {
            side.sent.sent_again(sent_before.max(to));
        }
        if place.length > 0 {
            side.data_segments += 1;
            side.sent_bytes += place.length;
        }
        if place.length == 1 {
            self.tally_mut().side(place.up).probe = place.seq.into();
        }
        self.side(place.up).sent.push(packet.time_ns, place.seq + syn, to, packet.sum);
    }

    #[inline]
    fn in_flight(&mut self, up: bool) -> Option<u64> {
        let (half, _) = self.core.halves(up);
        if !half.is_whole() {
            return None;
        }
        let outstanding = half.octets_end().saturating_sub(half.acked().max(1));
        let side = self.side(up);
        side.most_in_flight = side.most_in_flight.max(outstanding);
        Some(outstanding)
    }

    #[inline]
    fn count(&mut self, packet: &Packet, verdict: &Verdict, inconsistent: bool, counts: &mut FlowCounts) {
        let Place { up, flags, novelty, length, .. } = verdict.place;
        self.history.segment(up, flags, length > 0);
        counts.urgent += u64::from(flags.has(Flags::URG));
        if flags.has(Flags::FIN) && !flags.has(Flags::RST) {
            self.first_fin.get_or_insert(up);
        }
        let Verdict { spurious, duplicate_ack, zero_window, window_probe, keep_alive, .. } = *verdict;
        let unusual = spurious | duplicate_ack | zero_window | window_probe | keep_alive | inconsistent;
        if !unusual && novelty == Novelty::New && !flags.has(Flags::RST) {
            return;
        }
        let tally = self.tally.get_or_insert_default();
        match novelty {
            Novelty::New => {}
            Novelty::Full => (tally.full, counts.full) = (tally.full + 1, counts.full + 1),
            Novelty::Part => (tally.part, counts.part) = (tally.part + 1, counts.part + 1),
            Novelty::Late => (tally.late, counts.late) = (tally.late + 1, counts.late + 1),
            Novelty::DupSyn => (tally.dup_syn, counts.dup_syn) = (tally.dup_syn + 1, counts.dup_syn + 1),
            Novelty::DupFin => (tally.dup_fin, counts.dup_fin) = (tally.dup_fin + 1, counts.dup_fin + 1),
        }
        if unusual {
            let both = |tally: &mut u32, count: &mut u64, yes: bool| {
                *tally += u32::from(yes);
                *count += u64::from(yes);
            };
            both(&mut tally.spurious, &mut counts.spurious, spurious);
            both(&mut tally.duplicate_acks, &mut counts.duplicate_acks, duplicate_ack);
            both(&mut tally.zero_windows, &mut counts.zero_windows, zero_window);
            both(&mut tally.window_probes, &mut counts.window_probes, window_probe);
            both(&mut tally.keep_alives, &mut counts.keep_alives, keep_alive);
            both(&mut tally.inconsistent, &mut counts.inconsistent, inconsistent);
        }
        let side = tally.side(up);
        if novelty.is_retransmission() && length > 0 {
            side.again += 1;
            self.history.counted(up, b't', side.again);
        }
        if zero_window {
            side.zero_windows += 1;
            self.history.counted(up, b'w', side.zero_windows);
        }
        if flags.has(Flags::RST) {
            tally.resets += 1;
            counts.resets += 1;
            counts.reset_with_data += u64::from(packet.length > 0);
            self.first_reset.get_or_insert(up);
        }
    }

    /// Gives up waiting for octets that were acknowledged long ago.
    fn gap(&mut self, up: bool, now: u64, out: &mut Outcomes) {
        let (half, peer) = self.core.halves(up);
        if !half.has_gap() {
            return;
        }
        // Where one direction was not captured nobody acknowledges.
        let gap = if peer.is_seen() { half.acknowledged_gap() } else { half.gap() };
        let since = &mut self.tally.get_or_insert_default().side(up).gap_since;
        let Some(gap) = gap else {
            *since = Maybe::NOT;
            return;
        };
        since.set_first(now);
        if since.get().is_some_and(|since| now.saturating_sub(since) >= GAP_NS) {
            *since = Maybe::NOT;
            let at = self.sides(up).0.last_data_ns;
            self.history.counted(up, b'g', 1);
            self.core.give_up_gap(at, up, gap, out);
        }
    }

    /// Nothing more comes: every gap that was acknowledged is given up.
    pub(crate) fn finish(&mut self, out: &mut Outcomes) -> &'static str {
        for up in [true, false] {
            let (half, peer) = self.core.halves(up);
            let (one_way, at) = (!peer.is_seen(), self.sides(up).0.last_data_ns);
            let mut gap = if one_way { half.gap() } else { half.acknowledged_gap() };
            while let Some(missing) = gap {
                self.core.give_up_gap(at, up, missing, out);
                let (half, _) = self.core.halves(up);
                gap = if one_way { half.gap() } else { half.acknowledged_gap() };
            }
        }
        self.core.finish(out)
    }

    /// The column `closed_by`.
    pub(crate) fn closed_by(&self) -> Option<&'static str> {
        self.first_fin.or(self.first_reset).map(|up| if up { "client" } else { "server" })
    }

    /// Gives back what the next burst will need again.
    #[inline]
    pub(crate) fn rest(&mut self) {
        self.up.sent.rest();
        self.down.sent.rest();
    }

    /// Gives back what only a live connection needs: it closed, and perhaps nothing is outstanding.
    fn release(&mut self) {
        let (up, down) = self.core.halves(true);
        if up.acked() >= up.highest() && down.acked() >= down.highest() {
            self.up.sent.release();
            self.down.sent.release();
            self.core.exchanges.rest();
        }
    }
}
