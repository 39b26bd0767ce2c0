//! The observer that writes: it turns what happens into rows, in the order the tables promise.
//!
//! A packet's row is complete when its sender is done with it, a connection's when both ends are over and
//! every packet of it is done; what the run's end leaves open is written as it stands. The first write that
//! fails is kept and reported at the end.

use super::capture::{self, Capture};
use super::flows::{self, Flows};
use super::ledger::Ledger;
use super::octets::{Message, Messages};
use super::tables::{Table, close, table};
use super::visits;
use super::words::{self, Kind};
use crate::observer::{Ended, Opened};
use crate::{FlowEnded, ObjectSeen, Observer, Payload};
use airperf_http::{Ask, Exchange};
use airperf_link::{FrameEvent, FrameKind, LossCause, Packet, QueueStats, StationId};
use airperf_record::{
    ConnectionRow, Digest, ExchangeRow, FlowRow, FrameRow, FrameTotals, ObjectRow, PacketRow, PacketTotals,
    PageRow, QueueRow, RunFile, RunWriter, WriteError,
};
use airperf_scenario::{Browser, Scenario};
use airperf_tcp::Flags;
use airperf_units::{Duration, StreamKey, Time};
use airperf_workload::Page;
use std::collections::BTreeMap;
use std::io;

/// Packets by station name and kind.
type PacketsByStation = BTreeMap<String, BTreeMap<String, PacketTotals>>;

/// A connection whose row is open.
struct Open {
    opened: Opened,
    /// What was asked for on it; kept for the capture only.
    messages: Messages,
    row: ConnectionRow,
    packets_open: u32,
    over: bool,
    syn_ack: bool,
    reset: bool,
    /// Which side sent the first FIN: true for the client.
    first_fin: Option<bool>,
    /// Whether the other side has sent one too: a RST after that ends nothing.
    both_fins: bool,
}

impl Open {
    fn class(&self) -> &'static str {
        match (self.syn_ack, self.reset, self.first_fin) {
            (false, ..) => "syn_no_synack",
            (true, true, _) => "syn_rst",
            (true, false, Some(_)) => "syn_fin",
            (true, false, None) => "syn_unfinished",
        }
    }
}

/// A packet whose row is open.
struct Pending {
    row: PacketRow,
    kind: Kind,
    done: bool,
}

/// Writes a run's tables and capture.
pub(crate) struct Recorder {
    frames: Table<FrameRow>,
    packets: Table<PacketRow>,
    connections: Table<ConnectionRow>,
    exchanges: Table<ExchangeRow>,
    pages: Table<PageRow>,
    queues: Table<QueueRow>,
    flow_table: Table<FlowRow>,
    objects: Table<ObjectRow>,
    flows: Flows,
    browsers: Vec<Browser>,
    digest: Digest,
    /// Octets of a reply's header.
    reply_head: u32,
    capture: Option<Capture<RunFile>>,
    capture_failure: Option<io::Error>,
    open: Ledger<Open>,
    pending: Ledger<Pending>,
    interval: Duration,
    last_queues: Vec<QueueStats>,
    frame_totals: FrameTotals,
    packet_totals: Vec<[PacketTotals; Kind::ALL.len()]>,
    failure: Option<WriteError>,
}

impl Recorder {
    pub(crate) fn new(
        writer: &mut RunWriter,
        scenario: &Scenario,
        key: StreamKey,
    ) -> Result<Self, WriteError> {
        let capture = match writer.capture()? {
            Some(file) => {
                let path = file.path().to_owned();
                let capture = Capture::new(file, scenario, key);
                Some(capture.map_err(|source| WriteError::Io { doing: "write to it", path, source })?)
            }
            None => None,
        };
        let stations = scenario.stations.len();
        let has_browsers = !scenario.browsers.is_empty();
        let has_pages =
            scenario.clients.iter().any(|client| client.workload.session.has_pages()) || has_browsers;
        Ok(Self {
            frames: table(writer)?,
            packets: table(writer)?,
            connections: table(writer)?,
            exchanges: table(writer)?,
            pages: if has_pages { table(writer)? } else { None },
            queues: table(writer)?,
            flow_table: if scenario.flows.is_empty() { None } else { table(writer)? },
            objects: if has_browsers { table(writer)? } else { None },
            flows: Flows::of(scenario),
            browsers: scenario.browsers.clone(),
            digest: Digest::new(scenario.duration.as_ns()),
            reply_head: scenario.server.http.reply_header_bytes,
            capture,
            capture_failure: None,
            open: Ledger::default(),
            pending: Ledger::default(),
            interval: scenario.record.queue_interval,
            last_queues: vec![QueueStats::default(); stations],
            frame_totals: FrameTotals::default(),
            packet_totals: vec![Default::default(); stations],
            failure: None,
        })
    }

    fn note(&mut self, result: Result<(), WriteError>) {
        if let Err(error) = result {
            self.failure.get_or_insert(error);
        }
    }

    /// The kind of a packet that is still open, for the totals.
    fn totals(&mut self, payload: &Payload, from: StationId) -> Option<&mut PacketTotals> {
        let kind = self.pending.get(payload.packet)?.kind;
        Some(&mut self.packet_totals[from.index()][kind as usize])
    }

    fn sender(&mut self, payload: &Payload) -> Option<StationId> {
        if payload.is_datagram() {
            let browser = payload.browser().and_then(|index| self.browsers.get(index as usize));
            return match browser {
                Some(browser) if payload.to_server => Some(browser.station),
                Some(_) => Some(StationId(self.flows.server)),
                None => self.flows.sender(payload).map(StationId),
            };
        }
        let opened = &self.open.get(payload.connection)?.opened;
        Some(if payload.to_server { opened.client } else { opened.server })
    }

    fn packet_is_done(&mut self, payload: &Payload) {
        if let Some(pending) = self.pending.get(payload.packet) {
            pending.done = true;
        }
        if let Some(open) = self.open.get(payload.connection) {
            open.packets_open -= 1;
        }
        self.write_packets(false);
        self.write_connections(false);
    }

    fn datagram_offered(&mut self, now: Time, from: StationId, packet: &Packet<Payload>, queued: bool) {
        let payload = &packet.payload;
        let totals = &mut self.packet_totals[from.index()][Kind::Other as usize];
        totals.offered += 1;
        totals.dropped += u64::from(!queued);
        let row = PacketRow {
            packet: u64::from(payload.packet),
            time_ns: now.as_ns(),
            station: from.0,
            to: packet.to.station().map(|to| to.0),
            connection: None,
            kind: Kind::Other.word(),
            seq: u64::from(payload.segment.seq),
            ack: 0,
            payload_bytes: u32::from(payload.segment.len),
            ip_bytes: packet.bytes,
            retransmission: false,
            fate: if queued { "unfinished" } else { "queue_full" },
            first_air_ns: None,
            done_ns: (!queued).then_some(now.as_ns()),
            attempts: 0,
        };
        self.pending.push(Pending { row, kind: Kind::Other, done: !queued });
        if !queued {
            self.write_packets(false);
        }
    }

    fn write_packets(&mut self, all: bool) {
        while let Some(pending) = self.pending.pop_if(|p| p.done || all) {
            if let Some(table) = &mut self.packets {
                let result = table.push(&pending.row);
                self.note(result);
            }
        }
    }

    fn write_connections(&mut self, all: bool) {
        while let Some(mut open) = self.open.pop_if(|o| (o.over && o.packets_open == 0) || all) {
            open.row.class = open.class();
            self.digest.connection(&open.row);
            if let Some(table) = &mut self.connections {
                let result = table.push(&open.row);
                self.note(result);
            }
        }
    }

    /// Writes what is still open and closes all files.
    pub(crate) fn close(
        mut self,
        writer: &mut RunWriter,
        names: &[&str],
    ) -> Result<(FrameTotals, PacketsByStation), WriteError> {
        self.write_packets(true);
        self.write_connections(true);
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        close(writer, self.frames)?;
        close(writer, self.packets)?;
        close(writer, self.connections)?;
        close(writer, self.exchanges)?;
        close(writer, self.pages)?;
        close(writer, self.queues)?;
        close(writer, self.flow_table)?;
        close(writer, self.objects)?;
        writer.summary(self.digest)?;
        if let Some(capture) = self.capture {
            let file = capture.into_inner();
            match self.capture_failure {
                Some(failure) => return Err(file.error(failure)),
                None => writer.close(file)?,
            }
        }
        let packets = names.iter().zip(self.packet_totals).map(|(name, kinds)| {
            let kinds = Kind::ALL.iter().zip(kinds).filter(|(_, totals)| totals.offered > 0);
            let kinds = kinds.map(|(kind, totals)| (kind.word().to_owned(), totals));
            ((*name).to_owned(), kinds.collect())
        });
        Ok((self.frame_totals, packets.collect()))
    }
}

impl Observer for Recorder {
    fn queue_interval(&self) -> Option<Duration> {
        self.queues.as_ref().map(|_| self.interval)
    }

    fn opened(&mut self, now: Time, opened: &Opened) {
        let row = ConnectionRow {
            connection: u64::from(opened.connection),
            client: opened.client.0,
            server: opened.server.0,
            client_port: capture::client_port(opened.connection),
            due_ns: Some(opened.due.as_ns()),
            opened_ns: now.as_ns(),
            established_ns: None,
            first_frame_ns: None,
            last_frame_ns: None,
            class: "syn_unfinished",
            error: None,
            exchanges: 0,
            bytes_up: 0,
            bytes_down: 0,
            segments_up: 0,
            segments_down: 0,
            retransmissions_up: 0,
            retransmissions_down: 0,
        };
        self.open.push(Open {
            opened: *opened,
            messages: Messages::default(),
            row,
            packets_open: 0,
            over: false,
            syn_ack: false,
            reset: false,
            first_fin: None,
            both_fins: false,
        });
    }

    fn asked(&mut self, _: Time, connection: u32, ask: &Ask) {
        if self.capture.is_none() {
            return;
        }
        let reply_head = self.reply_head;
        if let Some(open) = self.open.get(connection) {
            open.messages.push(Message {
                request_head: ask.head_bytes,
                request_body: ask.body_bytes,
                reply_head,
                reply_body: ask.reply_bytes - reply_head,
            });
        }
    }

    fn offered(&mut self, now: Time, from: StationId, packet: &Packet<Payload>, queued: bool) {
        let payload = &packet.payload;
        let segment = &payload.segment;
        let again = segment.flags.has(Flags::AGAIN);
        if payload.is_datagram() {
            return self.datagram_offered(now, from, packet, queued);
        }
        let Some(open) = self.open.get(payload.connection) else { return };
        let fin = segment.flags.has(Flags::FIN);
        let first_fin = open.first_fin.is_none_or(|client| client == payload.to_server);
        let kind = Kind::of(payload, first_fin);
        if queued {
            open.packets_open += 1;
            open.syn_ack |= kind == Kind::SynAck;
            open.reset |= kind == Kind::Rst && !open.both_fins;
            open.both_fins |= fin && !first_fin;
            if fin && open.first_fin.is_none() {
                open.first_fin = Some(payload.to_server);
            }
        }
        let row = &mut open.row;
        let (segments, retransmissions) = if payload.to_server {
            (&mut row.segments_up, &mut row.retransmissions_up)
        } else {
            (&mut row.segments_down, &mut row.retransmissions_down)
        };
        *segments += 1;
        *retransmissions += u32::from(again);
        let totals = &mut self.packet_totals[from.index()][kind as usize];
        totals.offered += 1;
        totals.dropped += u64::from(!queued);
        totals.retransmissions += u64::from(again);
        let row = PacketRow {
            packet: u64::from(payload.packet),
            time_ns: now.as_ns(),
            station: from.0,
            to: packet.to.station().map(|to| to.0),
            connection: Some(u64::from(payload.connection)),
            kind: kind.word(),
            seq: u64::from(segment.seq),
            ack: u64::from(segment.ack),
            payload_bytes: u32::from(segment.len),
            ip_bytes: packet.bytes,
            retransmission: again,
            fate: if queued { "unfinished" } else { "queue_full" },
            first_air_ns: None,
            done_ns: (!queued).then_some(now.as_ns()),
            attempts: 0,
        };
        self.pending.push(Pending { row, kind, done: !queued });
        if !queued {
            self.write_packets(false);
        }
    }

    fn delivered(&mut self, at: Time, packet: &Packet<Payload>) {
        if let Some(from) = self.sender(&packet.payload)
            && let Some(totals) = self.totals(&packet.payload, from)
        {
            totals.delivered += 1;
            totals.delivered_bytes += u64::from(packet.bytes);
        }
        if let Some(pending) = self.pending.get(packet.payload.packet) {
            pending.row.fate = "delivered";
            pending.row.done_ns = Some(at.as_ns());
        }
    }

    fn lost(&mut self, at: Time, packet: &Packet<Payload>, cause: LossCause) {
        if let Some(pending) = self.pending.get(packet.payload.packet) {
            pending.row.fate = cause.word();
            pending.row.done_ns = Some(at.as_ns());
        }
    }

    fn departed(&mut self, _at: Time, packet: &Packet<Payload>) {
        self.packet_is_done(&packet.payload);
    }

    fn frame(&mut self, frame: &FrameEvent, packet: Option<&Packet<Payload>>) {
        let (kind, outcome) = (frame.kind.word(), frame.outcome.word());
        self.frame_totals.count(kind, frame.attempt, outcome);
        if let Some(packet) = packet {
            let payload = &packet.payload;
            if frame.kind == FrameKind::Data {
                if let Some(totals) = self.totals(payload, frame.from) {
                    totals.frames += 1;
                }
                if let Some(pending) = self.pending.get(payload.packet) {
                    pending.row.first_air_ns.get_or_insert(frame.start.as_ns());
                    pending.row.attempts = pending.row.attempts.saturating_add(1);
                }
            }
            if let Some(open) = self.open.get(payload.connection) {
                open.row.first_frame_ns.get_or_insert(frame.start.as_ns());
                if frame.kind == FrameKind::Data {
                    open.row.last_frame_ns = Some(frame.end.as_ns());
                }
            }
        }
        if let Some(table) = &mut self.frames {
            let result = table.push(&FrameRow {
                start_ns: frame.start.as_ns(),
                end_ns: frame.end.as_ns(),
                station: frame.from.0,
                to: frame.to.station().map(|to| to.0),
                kind,
                rate_bps: frame.rate.as_bps(),
                bytes: frame.bytes,
                sequence: frame.sequence,
                attempt: frame.attempt,
                outcome,
                sniffer: frame.sniffer.word(),
                packet: packet.map(|p| u64::from(p.payload.packet)),
            });
            self.note(result);
        }
        if let Some(capture) = &mut self.capture {
            let datagram = packet.filter(|packet| packet.payload.is_datagram());
            if let Some(packet) = datagram {
                let sent = self.pending.get(packet.payload.packet).map_or(0, |pending| pending.row.time_ns);
                capture.datagram(frame.from, packet, Time::from_ns(sent));
            }
            let carried = packet.and_then(|p| Some((p, &*self.open.get(p.payload.connection)?)));
            let carried = carried.map(|(packet, open)| (packet, &open.opened, &open.messages));
            if self.capture_failure.is_none() {
                self.capture_failure = capture.frame(frame, carried).err();
            }
        }
    }

    fn established(&mut self, now: Time, connection: u32) {
        if let Some(open) = self.open.get(connection) {
            open.row.established_ns = Some(now.as_ns());
        }
    }

    fn exchange(&mut self, _now: Time, connection: u32, exchange: &Exchange) {
        let Some(open) = self.open.get(connection) else { return };
        let error = exchange.failure.map(words::failure);
        open.row.exchanges += u32::from(exchange.done.is_some());
        open.row.error = open.row.error.or(error);
        let row = ExchangeRow {
            connection: u64::from(connection),
            index: exchange.index,
            client: open.opened.client.0,
            due_ns: Some(exchange.due.as_ns()),
            sent_ns: exchange.sent.map(Time::as_ns),
            first_byte_ns: exchange.first_byte.map(Time::as_ns),
            done_ns: exchange.done.map(Time::as_ns),
            request_bytes: u64::from(exchange.request_bytes),
            response_bytes: u64::from(exchange.response_bytes),
            error,
        };
        self.digest.exchange(&row);
        if let Some(table) = &mut self.exchanges {
            let result = table.push(&row);
            self.note(result);
        }
    }

    fn page(&mut self, _: Time, client: StationId, page: &Page) {
        let row = PageRow {
            client: client.0,
            session: page.session,
            page: page.page,
            due_ns: page.due.as_ns(),
            first_byte_ns: page.first_byte.map(Time::as_ns),
            done_ns: page.done.map(Time::as_ns),
            requested: page.requested,
            complete: page.complete,
            cached: page.cached,
            response_bytes: page.response_bytes,
            outcome: page.ending.name(),
        };
        if let Some(table) = &mut self.pages {
            let result = table.push(&row);
            self.note(result);
        }
    }

    fn object(&mut self, _: Time, object: &ObjectSeen<'_>) {
        let row = visits::row(&self.browsers, object);
        if let Some(table) = &mut self.objects {
            let result = table.push(&row);
            self.note(result);
        }
    }

    fn ended(&mut self, ended: &Ended) {
        if let Some(open) = self.open.get(ended.connection) {
            open.row.bytes_up = ended.bytes_up;
            open.row.bytes_down = ended.bytes_down;
            open.over = true;
        }
        self.write_connections(false);
    }

    fn flow(&mut self, ended: &FlowEnded) {
        let row = flows::row(&self.flows.flows, self.flows.server, ended);
        if let Some(table) = &mut self.flow_table {
            let result = table.push(&row);
            self.note(result);
        }
    }

    fn queue(&mut self, now: Time, station: StationId, stats: &QueueStats) {
        let last = std::mem::replace(&mut self.last_queues[station.index()], *stats);
        let row = QueueRow {
            time_ns: now.as_ns(),
            station: station.0,
            depth: stats.depth,
            mean: (stats.area - last.area) as f64 / self.interval.as_ns() as f64,
            offered: stats.offered - last.offered,
            dropped: stats.dropped - last.dropped,
            departed: stats.departed - last.departed,
        };
        if let Some(table) = &mut self.queues {
            let result = table.push(&row);
            self.note(result);
        }
    }
}
