//! The short way of a segment on which nothing is odd, which nearly all are.
//!
//! It goes on where the last one of its direction ended, or acknowledges what was sent and nothing else, and leaves its
//! connection as [`Flow::segment`] would: what is asked first is what makes all other questions of that have one answer.
//! `Options::short_cuts` switches it off, and tests compare the results. Leaves out everything else.

use super::counts::FlowCounts;
use super::flow::Flow;
use super::packet::{Carried, Packet};
use super::side::Verdict;
use crate::Novelty;
use crate::connection::{Connection, Place};

impl Flow {
    /// Takes a packet that [`Packet::is_plain`]; `None` when it must go the long way, and then nothing has changed.
    #[inline]
    pub(crate) fn plain(&mut self, packet: &Packet, counts: &mut FlowCounts) -> Option<Verdict> {
        if !self.is_plain {
            return None;
        }
        let up = self.is_up(packet);
        let Connection { up: half_up, down: half_down, exchanges, .. } = &mut self.core;
        let (half, peer) = if up { (half_up, half_down) } else { (half_down, half_up) };
        let (side, other) = if up { (&mut self.up, &mut self.down) } else { (&mut self.down, &mut self.up) };
        let (seq, length) = (half.highest(), u64::from(packet.length));
        let (ack, last_ack) = (peer.distance(packet.ack), side.last_ack.get()?);
        let news = ack > last_ack;
        let in_order = packet.seq == half.next_number() && ack >= last_ack && ack <= peer.highest();
        let goes_on = if length > 0 { half.ends_in_octets() } else { news };
        if !in_order || !goes_on || !self.history.is_told(up, length > 0) {
            return None;
        }
        // Acknowledgements without identification repeat one another by right.
        let has_digest = length > 0 || packet.identification.is_some_and(|id| id != 0);
        let digest = if has_digest { packet.digest() } else { 0 };
        if has_digest && side.sent.knows(digest) {
            return None;
        }
        if length > 0 && !exchanges.pass(up, half.offset(seq), length) {
            return None;
        }

        if has_digest {
            side.sent.remember(packet.time_ns, digest, packet.way);
        }
        other.sent.answered();
        half.go_on(length);
        peer.acknowledge(ack);
        if up {
            exchanges.acked(peer.offset(ack));
        }
        side.last_frame = packet.frame;
        side.last_identification = packet.identification;
        side.ip_bytes += u64::from(packet.ip_bytes);
        side.window = packet.window;
        self.last_ns = self.last_ns.max(packet.time_ns);
        if length > 0 {
            side.data_segments += 1;
            side.sent_bytes += length;
            side.last_data_ns = side.last_data_ns.max(packet.delivered_ns);
            side.sent.push(packet.time_ns, seq, seq + length, packet.sum);
            let last = self.last_data_ns.get().unwrap_or_default();
            self.last_data_ns = last.max(packet.time_ns).into();
        }
        let mut rtt_ns = None;
        if news {
            side.last_ack = ack.into();
            if let Some(sent) = other.sent.acknowledged(ack) {
                rtt_ns = packet.time_ns.checked_sub(sent);
                match rtt_ns {
                    Some(rtt) => self.round_trips.add(rtt),
                    None => counts.time_reversed += 1,
                }
            }
        }
        let in_flight = half.octets_end().saturating_sub(half.acked().max(1));
        side.most_in_flight = side.most_in_flight.max(in_flight);
        self.mac |= packet.carried != Carried::Wire;
        let kind = match (length > 0, up) {
            (true, true) => "request",
            (true, false) => "data",
            _ => "ack",
        };
        Some(Verdict {
            place: Place { kind, up, flags: packet.flags, seq, ack, length, novelty: Novelty::New },
            spurious: false,
            duplicate_ack: false,
            zero_window: false,
            window_probe: false,
            keep_alive: false,
            sack: None,
            rtt_ns,
            in_flight: Some(in_flight),
        })
    }
}
