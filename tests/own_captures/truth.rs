//! What a sniffer must see of a run, told from the run's own frames and packets.
//!
//! A frame that the sniffer decoded shows its packet; frames of later attempts are retransmissions of the MAC. What TCP
//! repeats is what was on the air before, octet by octet, and how a connection ended follows from the order on the
//! air. All of it is found with sets and loops, beside the analysis and without its code.
//!
//! One thing the run's tables do not tell: whether a packet of data carries a FIN too. That bit is read from the
//! capture's segments; all else of them must agree with the run.

use std::collections::{BTreeMap, BTreeSet};

use airperf_record::capture::SegmentRow;
use airperf_record::{ConnectionRow, FrameRow, PacketRow};

use crate::{Run, rows};

/// A packet of a connection; these are in the order in which they were first decoded.
pub(crate) struct Sighted {
    pub(crate) packet: PacketRow,
    /// 0 from the client, 1 from the server.
    pub(crate) side: usize,
    /// Word of `packets.kind`, by the order on the air.
    pub(crate) kind: &'static str,
    /// Word of `segments.novelty`.
    pub(crate) novelty: &'static str,
    /// Decoded frames but that of the first attempt.
    pub(crate) mac_retransmissions: u32,
}

impl Sighted {
    /// Whether TCP sent it again: full + dup SYN + dup FIN.
    pub(crate) fn is_again(&self) -> bool {
        ["full", "dup_syn", "dup_fin"].contains(&self.novelty)
    }
}

/// A connection that the sniffer heard anything of.
pub(crate) struct Expected {
    pub(crate) row: ConnectionRow,
    pub(crate) packets: Vec<Sighted>,
    /// Distances from the SYN of the octets of payload, by side.
    pub(crate) octets: [BTreeSet<u64>; 2],
    /// Begin of the first frame decoded, and of the last one.
    pub(crate) span_ns: (u64, u64),
    fins: [Option<u64>; 2],
    first_fin: Option<usize>,
    reset: bool,
}

/// Station of the client, its port, and how many connections it had had from there.
pub(crate) type Key = (u16, u16, usize);

/// Every connection that the sniffer heard anything of, and how much later than the run's the capture's clock is.
pub(crate) fn expected(run: &Run) -> (BTreeMap<Key, Expected>, u64) {
    let connections: BTreeMap<u64, ConnectionRow> =
        rows::<ConnectionRow>(&run.directory).into_iter().map(|row| (row.connection, row)).collect();
    let packets: BTreeMap<u64, PacketRow> =
        rows::<PacketRow>(&run.directory).into_iter().map(|row| (row.packet, row)).collect();
    let segments: BTreeMap<u64, SegmentRow> =
        rows::<SegmentRow>(&run.capture).into_iter().map(|row| (row.frame, row)).collect();
    let mut found: BTreeMap<u64, Expected> = BTreeMap::new();
    let (mut order, mut epoch, mut number, mut shown) = (Vec::new(), None, 0, 0);
    for frame in rows::<FrameRow>(&run.directory).iter().filter(|frame| frame.sniffer != "missed") {
        number += 1;
        let carried = frame.packet.filter(|_| frame.kind == "data" && frame.sniffer == "good");
        let Some(packet) = carried.map(|packet| &packets[&packet]) else { continue };
        let Some(connection) = packet.connection else { continue };
        let of = found.entry(connection).or_insert_with(|| {
            order.push(connection);
            Expected::new(&connections[&connection], frame.start_ns)
        });
        let again = u32::from(frame.attempt > 1);
        let known = of.packets.iter().position(|known| known.packet.packet == packet.packet);
        if known.is_none() {
            let segment =
                segments.get(&number).unwrap_or_else(|| panic!("frame {number}: {packet:?} has no segment"));
            let epoch = *epoch.get_or_insert(segment.time_ns - frame.start_ns);
            assert_eq!(segment.time_ns - epoch, frame.start_ns, "frame {number}");
            assert_eq!(
                (segment.seq, segment.payload_bytes, segment.ip_bytes),
                (packet.seq, packet.payload_bytes, packet.ip_bytes),
                "frame {number}"
            );
            of.sight(packet, segment.flags & 1 != 0);
            let sighted = of.packets.last().unwrap();
            assert_eq!((segment.kind, segment.novelty), (sighted.kind, sighted.novelty), "frame {number}");
            shown += 1;
        }
        of.span_ns.1 = frame.start_ns;
        let place = known.unwrap_or(of.packets.len() - 1);
        of.packets[place].mac_retransmissions += again;
    }
    assert_eq!(shown, segments.len(), "every segment is of a packet of the run");
    let mut nth: BTreeMap<(u16, u16), usize> = BTreeMap::new();
    let keyed = order.into_iter().map(|connection| {
        let of = found.remove(&connection).unwrap();
        let before = nth.entry((of.row.client, of.row.client_port)).or_default();
        *before += 1;
        ((of.row.client, of.row.client_port, *before - 1), of)
    });
    (keyed.collect(), epoch.unwrap_or_default())
}

impl Expected {
    fn new(row: &ConnectionRow, begin_ns: u64) -> Self {
        Self {
            row: row.clone(),
            packets: Vec::new(),
            octets: [BTreeSet::new(), BTreeSet::new()],
            span_ns: (begin_ns, begin_ns),
            fins: [None; 2],
            first_fin: None,
            reset: false,
        }
    }

    /// The sniffer decodes a packet for the first time.
    fn sight(&mut self, packet: &PacketRow, fin: bool) {
        let side = usize::from(packet.station != self.row.client);
        let has = |kind: &str| packet.kind == kind;
        let (syn, reset, closes) = (has("syn") || has("syn_ack"), has("rst"), has("fin") || has("fin_ack"));
        assert!(fin || !closes, "{packet:?}: a FIN has the bit");
        let octets = &mut self.octets[side];
        let length = u64::from(packet.payload_bytes);
        let known = (packet.seq..packet.seq + length).filter(|octet| octets.contains(octet)).count() as u64;
        let highest = octets.last().copied().unwrap_or_default();
        octets.extend(packet.seq..packet.seq + length);
        let end = packet.seq + length;
        let novelty = match known {
            _ if syn && self.packets.iter().any(|before| before.packet.kind == packet.kind) => "dup_syn",
            _ if closes && self.fins[side] == Some(end) => "dup_fin",
            _ if length == 0 => "new",
            0 if packet.seq < highest.max(self.fins[side].unwrap_or_default()) => "late",
            0 => "new",
            known if known == length => "full",
            _ => "part",
        };
        // Which of two FINs is the first is a matter of the order in which they are seen.
        let kind = match (closes, self.first_fin) {
            (true, Some(first)) if first != side => "fin_ack",
            (true, _) => "fin",
            _ => packet.kind,
        };
        if fin {
            self.fins[side] = Some(end);
            self.first_fin.get_or_insert(side);
        }
        // Once both sides have closed there is nothing left to reset.
        self.reset |= reset && self.fins.contains(&None);
        self.packets.push(Sighted { packet: packet.clone(), side, kind, novelty, mac_retransmissions: 0 });
    }

    /// Word of `connections.class`.
    pub(crate) fn class(&self) -> &'static str {
        let has = |kind| self.packets.iter().any(|sighted| sighted.kind == kind);
        match (has("syn"), has("syn_ack"), self.reset, self.first_fin) {
            (false, ..) => "no_syn",
            (_, false, ..) => "syn_no_synack",
            (_, _, true, _) => "syn_rst",
            (.., Some(_)) => "syn_fin",
            _ => "syn_unfinished",
        }
    }

    /// Word of `connections.closed_by`.
    pub(crate) fn closed_by(&self) -> Option<&'static str> {
        let reset = self.packets.iter().find(|sighted| sighted.kind == "rst").map(|reset| reset.side);
        self.first_fin.or(reset).map(|side| ["client", "server"][side])
    }

    /// Sums over the packets of both sides.
    pub(crate) fn sum(&self, count: impl Fn(&Sighted) -> u32) -> [u32; 2] {
        [0, 1].map(|side| self.packets.iter().filter(|sighted| sighted.side == side).map(&count).sum())
    }
}
