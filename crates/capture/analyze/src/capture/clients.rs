//! What is counted per client while segments are followed: the retransmission table and the series.
//!
//! Each shard of connections has a [`Clients`] of its own; they are added up at the end, so that the
//! result does not depend on the number of threads. Memory is bounded: clients past [`MOST_CLIENTS`] are counted
//! together and have no rows, and when a shard has more than [`MOST_CELLS`] intervals each becomes twice as long.
//!
//! Left out: traffic that belongs to no connection, which [`super::series`] counts with all other.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use airperf_record::capture::{RetransmissionRow, SEGMENT_TYPES, SeriesRow};

use super::flows::Wants;
use super::series::{Counts, Intervals};

/// Clients of one shard that are told apart.
const MOST_CLIENTS: usize = 8 * 1024;
/// Intervals of all clients of one shard.
const MOST_CELLS: usize = 64 * 1024;
const TYPES: usize = SEGMENT_TYPES.len();

/// Which client, within one [`Clients`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Client(u32);

/// Segments of one type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sent {
    segments: u64,
    by_tcp: u64,
    by_mac: u64,
}

#[derive(Clone, Debug)]
struct PerClient {
    address: IpAddr,
    sent: [Sent; TYPES],
    series: Intervals,
}

/// Counts of all clients of a shard.
#[derive(Clone, Debug)]
pub(crate) struct Clients {
    numbers: HashMap<IpAddr, u32>,
    clients: Vec<PerClient>,
    interval_ns: u64,
    cells: usize,
    overflow: u64,
    wants: Wants,
}

impl Clients {
    /// No clients yet; `interval_ns` as in [`Options`](crate::capture::Options). What nobody `wants` is not counted.
    pub(crate) fn new(interval_ns: u64, wants: Wants) -> Self {
        let interval_ns = interval_ns.max(1);
        Self { numbers: HashMap::new(), clients: Vec::new(), interval_ns, cells: 0, overflow: 0, wants }
    }

    /// The client with this address; ask once per connection.
    pub(crate) fn client(&mut self, address: IpAddr) -> Client {
        if let Some(number) = self.numbers.get(&address) {
            return Client(*number);
        }
        if self.clients.len() >= MOST_CLIENTS {
            self.overflow += 1;
            return Client(u32::MAX);
        }
        let number = self.clients.len() as u32;
        self.numbers.insert(address, number);
        self.clients.push(PerClient {
            address,
            sent: [Sent::default(); TYPES],
            series: Intervals::new(self.interval_ns),
        });
        Client(number)
    }

    #[inline]
    fn sent(&mut self, client: Client, kind: &str) -> Option<&mut Sent> {
        if !self.wants.retransmissions {
            return None;
        }
        let place = place(kind);
        self.clients.get_mut(client.0 as usize)?.sent.get_mut(place)
    }

    /// A segment of a connection of this client, of either end; `kind` is a word of `retransmissions.kind` or
    /// of `packets.kind`. MAC duplicates are none.
    #[inline]
    pub(crate) fn segment(&mut self, client: Client, kind: &str, retransmitted_by_tcp: bool) {
        if let Some(sent) = self.sent(client, kind) {
            sent.segments += 1;
            sent.by_tcp += u64::from(retransmitted_by_tcp);
        }
    }

    /// A frame with the retry bit carried such a segment: also one that is no MAC duplicate because its original was
    /// not captured.
    #[inline]
    pub(crate) fn mac(&mut self, client: Client, kind: &str) {
        if let Some(sent) = self.sent(client, kind) {
            sent.by_mac += 1;
        }
    }

    /// A packet of a connection of this client, of `bytes` on the wire, with `payload` octets for the client.
    #[inline]
    pub(crate) fn packet(&mut self, client: Client, time_ns: u64, bytes: u32, payload: u32) {
        self.count(client, time_ns, |cell| {
            cell.packets += 1;
            cell.bytes += u64::from(bytes);
            cell.payload_bytes += u64::from(payload);
        });
    }

    /// This client opened a connection.
    pub(crate) fn connection(&mut self, client: Client, time_ns: u64) {
        self.count(client, time_ns, |cell| cell.connections += 1);
    }

    /// This client began a request.
    pub(crate) fn request(&mut self, client: Client, time_ns: u64) {
        self.count(client, time_ns, |cell| cell.requests += 1);
    }

    #[inline]
    fn count(&mut self, client: Client, time_ns: u64, add: impl FnOnce(&mut Counts)) {
        if !self.wants.series {
            return;
        }
        let Some(of_client) = self.clients.get_mut(client.0 as usize) else { return };
        let (cell, is_new) = of_client.series.at(time_ns);
        add(cell);
        if is_new {
            self.cells += 1;
            if self.cells > MOST_CELLS {
                self.lengthen();
            }
        }
    }

    #[cold]
    fn lengthen(&mut self) {
        self.interval_ns = self.interval_ns.saturating_mul(2);
        let interval_ns = self.interval_ns;
        self.cells = self.clients.iter_mut().map(|client| client.series.lengthen(interval_ns)).sum();
    }

    /// How often a connection's client was not told apart for want of room.
    pub(crate) fn overflow(&self) -> u64 {
        self.overflow
    }

    /// Adds what another shard counted.
    pub(crate) fn merge(&mut self, other: Self) {
        self.overflow += other.overflow;
        let interval_ns = self.interval_ns.max(other.interval_ns);
        self.interval_ns = interval_ns;
        for client in other.clients {
            // All shards together may have more clients than one alone.
            let number = *self.numbers.entry(client.address).or_insert_with(|| {
                self.clients.push(PerClient {
                    address: client.address,
                    sent: [Sent::default(); TYPES],
                    series: Intervals::new(interval_ns),
                });
                self.clients.len() as u32 - 1
            });
            let ours = &mut self.clients[number as usize];
            for (sum, more) in ours.sent.iter_mut().zip(client.sent) {
                sum.segments += more.segments;
                sum.by_tcp += more.by_tcp;
                sum.by_mac += more.by_mac;
            }
            ours.series.merge(client.series);
        }
        self.cells = self.clients.iter_mut().map(|client| client.series.lengthen(interval_ns)).sum();
    }

    /// Rows of the retransmission table in order of client and type, types that did not occur left out. `mac` tells
    /// whether anything of 802.11 was captured.
    pub(crate) fn retransmissions(&self, mac: bool) -> Vec<RetransmissionRow> {
        let in_order: BTreeMap<IpAddr, &PerClient> = self.clients.iter().map(|c| (c.address, c)).collect();
        let rows = in_order.into_values().flat_map(|client| {
            SEGMENT_TYPES.iter().zip(client.sent).map(|(kind, sent)| RetransmissionRow {
                client: client.address,
                kind,
                segments: sent.segments,
                tcp_retransmissions: sent.by_tcp,
                mac_retransmissions: mac.then_some(sent.by_mac),
            })
        });
        rows.filter(|row| row.segments > 0 || row.mac_retransmissions.is_some_and(|n| n > 0)).collect()
    }

    /// Rows of the series in order of client and time.
    pub(crate) fn series(&self) -> Vec<SeriesRow> {
        let in_order: BTreeMap<IpAddr, &PerClient> = self.clients.iter().map(|c| (c.address, c)).collect();
        in_order.into_values().flat_map(|client| client.series.rows(Some(client.address))).collect()
    }
}

/// Where a type stands in [`SEGMENT_TYPES`]; `request` is the word of `packets.kind` for what the study calls GET.
#[inline]
fn place(kind: &str) -> usize {
    // Words of fixed length are compared in place: this is done for every segment.
    match kind {
        "data" => 3,
        "ack" => 6,
        "get" | "request" => 2,
        "syn" => 0,
        "syn_ack" => 1,
        "fin" => 4,
        "fin_ack" => 5,
        "rst" => 7,
        _ => TYPES - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Wants =
        Wants { connections: true, exchanges: true, segments: true, series: true, retransmissions: true };

    fn address(n: u32) -> IpAddr {
        IpAddr::V4(n.into())
    }

    #[test]
    fn every_type_has_the_place_of_its_word() {
        assert!(SEGMENT_TYPES.iter().enumerate().all(|(at, word)| place(word) == at));
        assert_eq!((place("request"), place("unheard of")), (place("get"), place("other")));
    }

    #[test]
    fn tcp_and_mac_retransmissions_are_counted_apart_by_type() {
        let mut clients = Clients::new(1_000, ALL);
        let one = clients.client(address(1));
        clients.segment(one, "request", false);
        clients.segment(one, "request", true);
        clients.mac(one, "request");
        clients.mac(one, "syn");
        let row = |kind, segments, tcp, mac| RetransmissionRow {
            client: address(1),
            kind,
            segments,
            tcp_retransmissions: tcp,
            mac_retransmissions: mac,
        };
        assert_eq!(clients.retransmissions(true), [row("syn", 0, 0, Some(1)), row("get", 2, 1, Some(1))]);
        assert_eq!(clients.retransmissions(false), [row("get", 2, 1, None)]);
    }

    #[test]
    fn shards_add_up_to_what_one_shard_counts() {
        let mut parts = [Clients::new(10, ALL), Clients::new(10, ALL), Clients::new(10, ALL)];
        let mut whole = Clients::new(10, ALL);
        for i in 0..1_000_u64 {
            let from = address((i % 7) as u32);
            let kind = SEGMENT_TYPES[(i % 9) as usize];
            for clients in [&mut parts[(i % 3) as usize], &mut whole] {
                let client = clients.client(from);
                clients.segment(client, kind, i % 5 == 0);
                clients.packet(client, i, 100, (i % 50) as u32);
                clients.request(client, i * 3);
            }
        }
        let [mut sum, second, third] = parts;
        sum.merge(second);
        sum.merge(third);
        assert_eq!(sum.retransmissions(true), whole.retransmissions(true));
        assert_eq!(sum.series(), whole.series());
    }

    #[test]
    fn memory_does_not_grow_with_clients_or_time() {
        let mut clients = Clients::new(1, ALL);
        for i in 0..200_000_u64 {
            let client = clients.client(address(i as u32));
            clients.packet(client, i, 100, 0);
            let first = clients.client(address(0));
            clients.packet(first, i * 1_000, 100, 0);
        }
        assert_eq!(clients.clients.len(), MOST_CLIENTS);
        assert_eq!(clients.overflow(), 200_000 - MOST_CLIENTS as u64);
        assert!(clients.cells <= MOST_CELLS);
        let first: Vec<SeriesRow> = clients.clients[0].series.rows(None).collect();
        assert_eq!(first.iter().map(|row| row.packets).sum::<u64>(), 200_001);
        assert!(first.iter().all(|row| row.length_ns == clients.interval_ns));
    }
}
