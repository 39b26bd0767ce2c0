//! What of a run's connections was on the air, and how they ended there, from the run's table of packets.
//!
//! The run tells how a connection ended (`class`) by the order in which packets were offered to their queues, a capture
//! by that in which they arrived: where a RST and a FIN cross, a RST that follows both FINs ends nothing, and one that
//! comes between them does. Here it is told by the order of arrival.
//!
//! Left out: the control bits of packets with data, which the table has not. Where a FIN may have come with the last
//! data, a connection can have ended in two ways.

use std::collections::HashMap;
use std::path::Path;

use airperf_record::{ConnectionRow as Own, PacketRow, ReadError, read};

use crate::IntervalSet;

/// What was on the air of each connection.
#[derive(Debug, Default)]
pub(super) struct Sent(pub(super) HashMap<u64, OnAir>);

/// What was on the air of one connection: up, then down.
#[derive(Debug, Default)]
pub(super) struct OnAir {
    pub(super) sides: [Side; 2],
    /// The SYN-ACK arrived.
    answered: bool,
    /// When the first RST arrived.
    reset_ns: Option<u64>,
}

/// What one side sent.
#[derive(Debug, Default)]
pub(super) struct Side {
    pub(super) segments: u32,
    /// Full + dup SYN + dup FIN, as `connections.retransmissions_up` of a capture.
    pub(super) retransmissions: u32,
    pub(super) octets: IntervalSet,
    syn: bool,
    fin: Option<u64>,
    /// When the first FIN without data arrived.
    fin_ns: Option<u64>,
    /// When the first and the last packet that end with the last octet arrived.
    end_ns: Option<(u64, u64)>,
    /// One after what it acknowledged.
    acked: u64,
}

impl Sent {
    /// From the run's table of packets.
    pub(super) fn read(path: &Path, own: &[Own]) -> Result<Self, ReadError> {
        let clients: HashMap<u64, u16> = own.iter().map(|row| (row.connection, row.client)).collect();
        let mut sent = Self::default();
        for row in read::rows::<PacketRow>(path)? {
            sent.add(&row?, &clients);
        }
        Ok(sent)
    }

    /// Takes the next packet; `clients` has the station of each connection's client.
    pub(super) fn add(&mut self, row: &PacketRow, clients: &HashMap<u64, u16>) {
        let Some(connection) = row.connection.filter(|_| row.first_air_ns.is_some()) else { return };
        let down = usize::from(clients.get(&connection) != Some(&row.station));
        self.0.entry(connection).or_default().add(row, down);
    }
}

impl OnAir {
    fn add(&mut self, row: &PacketRow, down: usize) {
        let arrived = row.done_ns.filter(|_| row.fate == "delivered");
        let side = &mut self.sides[down];
        side.segments += 1;
        side.acked = side.acked.max(row.ack);
        // A repeat of what was refused is new on the air.
        let again = match row.kind {
            "rst" => {
                self.reset_ns = earlier(self.reset_ns, arrived);
                false
            }
            "syn" | "syn_ack" => {
                self.answered |= row.kind == "syn_ack" && arrived.is_some();
                std::mem::replace(&mut side.syn, true)
            }
            "fin" | "fin_ack" => {
                side.fin_ns = earlier(side.fin_ns, arrived);
                side.fin.replace(row.seq) == Some(row.seq)
            }
            _ => side.data(row.seq, row.payload_bytes, arrived),
        };
        side.retransmissions += u32::from(again);
    }

    /// Whether a connection with these packets can end like that.
    pub(super) fn can_be(&self, class: &str) -> bool {
        let [up, down] = &self.sides;
        let (ups, downs) = (up.fins_ns(down.acked), down.fins_ns(up.acked));
        ups.iter().any(|up| downs.iter().any(|down| self.class(*up, *down) == class))
    }

    /// How it ended if the sides' FINs arrived then.
    fn class(&self, up_ns: Option<u64>, down_ns: Option<u64>) -> &'static str {
        let both_ns = up_ns.zip(down_ns).map(|(up, down)| up.max(down));
        match self.reset_ns {
            _ if !self.answered => "syn_no_synack",
            Some(reset) if both_ns.is_none_or(|both| reset < both) => "syn_rst",
            _ if up_ns.or(down_ns).is_some() => "syn_fin",
            _ => "syn_unfinished",
        }
    }

    /// One that ended with a FIN each way.
    #[cfg(test)]
    pub(super) fn closed(segments: [u32; 2], retransmissions: [u32; 2], bytes: [u64; 2]) -> Self {
        let sides = [0, 1].map(|side| {
            let mut octets = IntervalSet::default();
            octets.insert(1, 1 + bytes[side]);
            let (segments, retransmissions) = (segments[side], retransmissions[side]);
            Side { segments, retransmissions, octets, fin_ns: Some(1), ..Side::default() }
        });
        Self { sides, answered: true, reset_ns: None }
    }
}

impl Side {
    /// Octets of payload; says whether all of them were there before.
    fn data(&mut self, seq: u64, length: u32, arrived: Option<u64>) -> bool {
        let (before, end) = (self.octets.end(), seq + u64::from(length));
        if length == 0 {
            return false;
        }
        let known = self.octets.insert(seq, end);
        if end > before {
            self.end_ns = None;
        }
        if let Some(at) = arrived.filter(|_| end >= before) {
            let (first, last) = self.end_ns.unwrap_or((at, at));
            self.end_ns = Some((first.min(at), last.max(at)));
        }
        known == u64::from(length)
    }

    /// When its first FIN can have arrived, at the earliest and at the latest: by itself, or with the last data. `None`
    /// for never, which the last one is too where nothing tells that it closed; `acked` is what the other side
    /// acknowledged.
    fn fins_ns(&self, acked: u64) -> [Option<u64>; 3] {
        let first = earlier(self.fin_ns, self.end_ns.map(|(first, _)| first));
        let last = self.fin_ns.or(self.end_ns.map(|(_, last)| last));
        let is_closed = self.fin_ns.is_some() || acked > self.octets.end();
        [first, last, last.filter(|_| is_closed)]
    }
}

/// The earlier of two times that may not be.
fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of connection 0 in the order in which they were offered: station, kind, number, octets,
    /// acknowledgement, and when each arrived; `None` for what the queue refused.
    type Offered = (u16, &'static str, u64, u32, u64, Option<u64>);

    fn on_air(packets: &[Offered]) -> OnAir {
        let mut sent = Sent::default();
        for (time, (station, kind, seq, payload_bytes, ack, arrived)) in packets.iter().enumerate() {
            let row = PacketRow {
                packet: time as u64,
                time_ns: time as u64,
                station: *station,
                to: None,
                connection: Some(0),
                kind,
                seq: *seq,
                ack: *ack,
                payload_bytes: *payload_bytes,
                ip_bytes: 40 + payload_bytes,
                retransmission: false,
                fate: if arrived.is_some() { "delivered" } else { "queue_full" },
                first_air_ns: *arrived,
                done_ns: *arrived,
                attempts: 1,
            };
            sent.add(&row, &HashMap::from([(0, 1)]));
        }
        sent.0.remove(&0).unwrap()
    }

    const OPENING: [Offered; 5] = [
        (1, "syn", 0, 0, 0, Some(10)),
        (0, "syn_ack", 0, 0, 1, Some(20)),
        (1, "request", 1, 74, 1, Some(30)),
        (0, "data", 1, 1_200, 75, Some(40)),
        (1, "ack", 75, 0, 1_201, Some(50)),
    ];

    fn ended(packets: &[Offered]) -> Vec<&'static str> {
        let on_air = on_air(&[&OPENING, packets].concat());
        let classes = ["syn_fin", "syn_rst", "syn_no_synack", "syn_unfinished", "no_syn"];
        classes.into_iter().filter(|class| on_air.can_be(class)).collect()
    }

    #[test]
    fn what_a_queue_refused_is_not_held_against_the_sniffer() {
        let on_air = on_air(&[
            (1, "syn", 0, 0, 0, None),
            (1, "syn", 0, 0, 0, Some(10)),
            (0, "syn_ack", 0, 0, 1, Some(20)),
            (0, "syn_ack", 0, 0, 1, Some(30)),
            (1, "request", 1, 74, 1, None),
            (1, "request", 1, 74, 1, Some(40)),
            (1, "ack", 75, 0, 1, Some(50)),
            (1, "ack", 75, 0, 1, Some(60)),
            // Two segments sent again as one.
            (0, "data", 1, 100, 75, Some(70)),
            (0, "data", 101, 100, 75, Some(80)),
            (0, "data", 1, 200, 75, Some(90)),
        ]);
        let [up, down] = &on_air.sides;
        assert_eq!((up.segments, up.retransmissions, up.octets.total()), (4, 0, 74));
        assert_eq!((down.segments, down.retransmissions, down.octets.total()), (5, 2, 200));
    }

    #[test]
    fn how_a_connection_ended_is_told_by_the_order_of_arrival() {
        assert_eq!(ended(&[(1, "rst", 75, 0, 0, Some(90))]), ["syn_fin", "syn_rst"]);
        assert_eq!(ended(&[(1, "rst", 75, 0, 0, Some(35))]), ["syn_rst"]);
        assert_eq!(ended(&[(1, "rst", 75, 0, 0, None)]), ["syn_fin", "syn_unfinished"]);
        assert_eq!(on_air(&OPENING[..1]).class(None, None), "syn_no_synack");
        let crossing = |fin_up, fin_down, reset| {
            ended(&[
                (1, "fin", 75, 0, 1_201, Some(fin_up)),
                (1, "rst", 76, 0, 0, Some(reset)),
                (0, "fin_ack", 1_201, 0, 75, Some(fin_down)),
            ])
        };
        // Either FIN may have come with its side's data as well, unless that makes no difference.
        assert_eq!(crossing(60, 70, 80), ["syn_fin"]);
        assert_eq!(crossing(60, 35, 45), ["syn_fin", "syn_rst"]);
        assert_eq!(crossing(60, 70, 25), ["syn_rst"]);
        // The FIN of a client whose request was sent again came with either of both.
        let again = [(1, "request", 1, 74, 1, Some(60)), (0, "fin", 1_201, 0, 76, Some(70))];
        let with_reset = |at| ended(&[again[0], again[1], (1, "rst", 76, 0, 0, Some(at))]);
        assert_eq!((with_reset(80), with_reset(55)), (vec!["syn_fin"], vec!["syn_fin", "syn_rst"]));
    }

    #[test]
    fn a_fin_that_came_with_data_is_told_by_its_acknowledgement() {
        assert_eq!(ended(&[(1, "ack", 75, 0, 1_202, Some(60))]), ["syn_fin"]);
    }
}
