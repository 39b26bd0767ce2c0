//! A share of the connections of a capture, followed packet by packet.
//!
//! Which packets a shard gets and in what order does not depend on the number of threads, so neither does
//! what it finds. Connections are numbered within the shard; `merge` numbers them over all.

use airperf_record::capture::{ConnectionRow, ExchangeRow, SegmentRow};
use airperf_wire::Flags;

use super::counts::FlowCounts;
use super::flow::Flow;
use super::packet::{Carried, Packet};
use super::pair::SHARDS;
use super::rows::{connection_row, segment_row, stray_row};
use super::table::Table;
use crate::Novelty;
use crate::capture::clients::Clients;
use crate::capture::options::{Filter, Options};
use crate::connection::{Connection, Outcomes};
use crate::http::{Ends, Watch};

/// Connections that end at once when there are no more packets: their rows wait for one another.
const ENDED_AT_ONCE: usize = 128;

/// Live connections of one shard from which on those between two exchanges keep less, at some cost of time.
const CROWDED: usize = 512;

/// What one batch of packets gave.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Connections that began: first frame and number within the shard.
    pub(crate) opened: Vec<(u64, u64)>,
    /// Connections that ended, with the frame at which that was known.
    pub(crate) ended: Vec<(u64, ConnectionRow)>,
    /// Exchanges whose outcome is known, with the frame at which it was.
    pub(crate) exchanges: Vec<(u64, ExchangeRow)>,
    pub(crate) segments: Vec<SegmentRow>,
    /// Frames whose packets the MAC sent once more.
    pub(crate) mac_retries: Vec<u64>,
}

impl Found {
    /// Forgets everything but the memory.
    pub(crate) fn clear(&mut self) {
        let Self { opened, ended, exchanges, segments, mac_retries } = self;
        opened.clear();
        ended.clear();
        exchanges.clear();
        segments.clear();
        mac_retries.clear();
    }
}

/// Which rows somebody wants.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wants {
    pub(crate) connections: bool,
    pub(crate) exchanges: bool,
    pub(crate) segments: bool,
    pub(crate) series: bool,
    pub(crate) retransmissions: bool,
}

/// Where the octets of a packet lie.
pub(crate) trait Octets {
    /// TCP options and payload, as far as captured.
    fn of(&self, packet: &Packet) -> (&[u8], &[u8]);
}

/// One shard.
#[derive(Debug)]
pub(crate) struct Shard {
    filter: Filter,
    wants: Wants,
    /// Whether segments on which nothing is odd are followed by [`Flow::plain`].
    short_cuts: bool,
    table: Table,
    next: u64,
    outcomes: Outcomes,
    pub(crate) counts: FlowCounts,
    pub(crate) clients: Clients,
}

impl Shard {
    /// A shard that gives the rows that somebody `wants`.
    pub(crate) fn new(options: &Options, wants: Wants) -> Self {
        Self {
            filter: options.filter.clone(),
            wants,
            short_cuts: options.short_cuts,
            table: Table::new(options.max_connections.div_ceil(SHARDS)),
            next: 0,
            outcomes: Outcomes::default(),
            counts: FlowCounts::default(),
            clients: Clients::new(options.series_interval_ns, wants),
        }
    }

    /// Follows the packets of one batch.
    pub(crate) fn follow(&mut self, packets: &[Packet], octets: &impl Octets, found: &mut Found) {
        if self.wants.segments {
            found.segments.reserve(packets.len());
        }
        for packet in packets {
            self.packet(packet, octets, found);
        }
    }

    #[inline]
    fn packet(&mut self, packet: &Packet, octets: &impl Octets, found: &mut Found) {
        while let Some(flow) = self.table.remove_closed(packet.time_ns) {
            self.close(packet.frame, flow, false, found);
        }
        if packet.carried == Carried::Duplicate {
            self.mac_duplicate(packet, found);
            return;
        }
        let crowded = self.table.live() > CROWDED;
        let known = self.table.find(packet.hash, &packet.pair);
        let is_known = known.is_some();
        if let Some(flow) = known.filter(|_| self.short_cuts && packet.is_plain())
            && let Some(verdict) = flow.plain(packet, &mut self.counts)
        {
            self.counts.segments += 1;
            self.clients.segment(flow.owner, verdict.place.kind, false);
            let payload = if verdict.place.up { 0 } else { packet.length };
            self.clients.packet(flow.owner, packet.time_ns, packet.ip_bytes, payload);
            if self.wants.segments {
                found.segments.push(segment_row(flow, packet, &verdict));
            }
            if crowded {
                flow.rest();
            }
            return;
        }
        self.segment(packet, is_known, octets, found);
    }

    /// Any segment.
    fn segment(&mut self, packet: &Packet, is_known: bool, octets: &impl Octets, found: &mut Found) {
        if !self.belongs(packet, is_known, found) {
            self.counts.segments += 1;
            self.counts.stray += 1;
            self.counts.resets += 1;
            if self.wants.segments {
                found.segments.push(stray_row(packet));
            }
            return;
        }
        let crowded = self.table.live() > CROWDED;
        let Some(flow) = self.table.find(packet.hash, &packet.pair) else { return };
        if flow.hidden {
            self.counts.filtered += 1;
            return;
        }
        let was_closed = flow.core.is_closed();
        let asked_before = flow.core.exchanges.requests();
        let (options, payload) = octets.of(packet);
        let verdict = flow.segment(packet, payload, options, &mut self.counts, &mut self.outcomes);
        if let Some(verdict) = verdict {
            self.counts.segments += 1;
            let (clients, owner, place) = (&mut self.clients, flow.owner, &verdict.place);
            clients.segment(owner, place.kind, is_sent_again(place.novelty));
            clients.packet(owner, packet.time_ns, packet.ip_bytes, if place.up { 0 } else { packet.length });
            if packet.carried == Carried::Retry {
                clients.mac(owner, place.kind);
            }
            for _ in asked_before..flow.core.exchanges.requests() {
                clients.request(owner, packet.time_ns);
            }
            if self.wants.segments {
                found.segments.push(segment_row(flow, packet, &verdict));
            }
        }
        let closed = (!was_closed && flow.core.is_closed()).then_some(flow.local);
        if crowded {
            flow.rest();
            flow.core.exchanges.rest();
        }
        if !self.outcomes.is_empty() {
            exchanges(packet.frame, flow, &mut self.outcomes, self.wants, found);
        }
        if let Some(local) = closed {
            self.table.closed(packet.time_ns, packet.hash, local);
        }
    }

    fn mac_duplicate(&mut self, packet: &Packet, found: &mut Found) {
        let Some(flow) = self.table.find(packet.hash, &packet.pair) else { return };
        if flow.hidden {
            return;
        }
        let (kind, original) = flow.mac_duplicate(packet);
        self.clients.mac(flow.owner, kind);
        if self.wants.segments {
            found.mac_retries.extend(original);
        }
    }

    /// Whether a packet belongs to a connection, which is made if it begins one; `is_known` says whether its pair
    /// has one.
    #[inline]
    fn belongs(&mut self, packet: &Packet, is_known: bool, found: &mut Found) -> bool {
        let flags = packet.flags;
        let syn = flags.has(Flags::SYN) && !flags.has(Flags::RST);
        let begins = syn && !flags.has(Flags::ACK);
        if is_known && !begins {
            return true;
        }
        if let Some(flow) = self.table.find(packet.hash, &packet.pair) {
            let up = flow.is_up(packet);
            if up && flow.core.is_syn_late(packet.seq) {
                flow.core.open_late();
                return true;
            }
            let known = if up {
                flow.core.is_syn_again(packet.seq)
            } else {
                flow.core.may_open_simultaneously(packet.seq)
            };
            if known {
                return true;
            }
            self.counts.reused += 1;
            if let Some(before) = self.table.remove(packet.hash, &packet.pair) {
                self.close(packet.frame, before, false, found);
            }
        } else if flags.has(Flags::RST) {
            return false;
        }
        if self.table.is_full()
            && let Some(oldest) = self.table.make_room(packet.time_ns)
        {
            self.close(packet.frame, oldest, true, found);
        }
        // Without a SYN nobody knows who began; servers have the lower ports.
        let (low, high) = (packet.pair.end(true), packet.pair.end(false));
        let client_is_low = match (begins, syn) {
            (true, _) => packet.from_low,
            (_, true) => !packet.from_low,
            _ => (low.1, high.0) > (high.1, low.0),
        };
        let watch = Watch::Capture { whole: syn, words: self.wants.exchanges };
        let core = Connection::new(watch, begins, false);
        let (client, server) = (packet.pair.end(client_is_low).0, packet.pair.end(!client_is_low).0);
        let hidden = !self.filter.has_connection(client, server);
        let owner = self.clients.client(client);
        let mut flow = Flow::new(packet, self.next, client_is_low, owner, core);
        flow.hidden = hidden;
        if !hidden {
            found.opened.push((packet.frame, self.next));
            self.next += 1;
            if begins {
                self.clients.connection(owner, packet.time_ns);
            }
        }
        self.table.insert(Box::new(flow));
        true
    }

    /// Ends a connection that was taken out.
    fn close(&mut self, frame: u64, mut flow: Box<Flow>, evicted: bool, found: &mut Found) {
        if flow.hidden {
            return;
        }
        let class = flow.finish(&mut self.outcomes);
        self.counts.class(class);
        self.counts.requests += u64::from(flow.core.exchanges.requests());
        self.counts.responses += u64::from(flow.core.exchanges.responses());
        self.counts.http.add(&flow.core.exchanges);
        // A linger that was cut short is no loss.
        let evicted = evicted && !flow.core.is_closed();
        self.counts.evicted += u64::from(evicted);
        let (up, down) = flow.core.halves(true);
        self.counts.unseen_octets += up.missing() + down.missing();
        exchanges(frame, &flow, &mut self.outcomes, self.wants, found);
        if self.wants.connections {
            found.ended.push((frame, connection_row(&flow, class, evicted)));
        }
    }

    /// Nothing more comes: ends some of the connections, the longest idle first; false when there are none.
    pub(crate) fn finish_some(&mut self, found: &mut Found) -> bool {
        for _ in 0..ENDED_AT_ONCE {
            let Some(flow) = self.table.remove_oldest() else { return false };
            self.close(u64::MAX, flow, false, found);
        }
        true
    }
}

/// Makes rows of the exchanges that became known.
fn exchanges(frame: u64, flow: &Flow, outcomes: &mut Outcomes, wants: Wants, found: &mut Found) {
    if !wants.exchanges {
        outcomes.clear();
        return;
    }
    let (client, server) = (flow.client(), flow.server());
    let ends = Ends { client: client.0, server: server.0, server_port: server.1 };
    found.exchanges.extend(outcomes.drain(..).map(|o| (frame, o.of_capture(flow.local, &ends))));
}

/// Full + dup SYN + dup FIN.
fn is_sent_again(novelty: Novelty) -> bool {
    matches!(novelty, Novelty::Full | Novelty::DupSyn | Novelty::DupFin)
}
