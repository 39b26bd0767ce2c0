//! Turns the events of an emulated run into the tables every testbed writes.
//!
//! The spool is read once, in order. Packets are followed from their offer to their departure, and the
//! flow tracker of `airperf_analyze` makes connections and exchanges of their bytes. Memory is bounded by
//! the packets under way and the connections open.
//!
//! Left out: what only an endpoint could know, such as congestion windows.

mod capture;
mod schedule;
pub(crate) mod words;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::path::Path;

use airperf_analyze::{FlowTracker, Segment};
use airperf_link::{Arrival, FrameEvent, FrameKind, QueueStats, StationId};
use airperf_record::{
    ConnectionRow, ExchangeRow, FrameRow, FrameTotals, PacketRow, PacketTotals, QueueRow, RunFile, RunWriter,
    Sequence, TableWriter, WriteError,
};
use airperf_scenario::Scenario;
use airperf_units::{Duration, Time};

use crate::arrivals::{ArrivalsWriter, FILE, Header};
use crate::clients::Due;
use crate::lag::Histogram;
use crate::medium::Event;
use crate::spool::SpoolReader;
use capture::Capture;
use schedule::Schedules;

/// Why the records of a run could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    /// A table or file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The spool could not be read.
    #[error("cannot read the events of the run back: {0}")]
    Spool(io::Error),
}

/// Departed packets kept a little longer: their acknowledgement's frame may be reported after them.
const KEPT_AFTER_DEPARTURE: usize = 64;

/// A packet under way.
#[derive(Debug)]
struct Packet {
    row: PacketRow,
    segment: Segment,
    bytes: Vec<u8>,
}

/// Everything counted over a run.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    pub(crate) frames: FrameTotals,
    pub(crate) packets: Vec<BTreeMap<&'static str, PacketTotals>>,
    pub(crate) connections: u64,
    pub(crate) exchanges: u64,
    pub(crate) exchanges_in_time: u64,
    pub(crate) failed: BTreeMap<&'static str, u64>,
    /// Connections opened by each station.
    pub(crate) opened: Vec<u64>,
    /// How much later than due connections were opened.
    pub(crate) schedule_lag: Histogram,
}

/// The tables of a run while they are written.
pub(crate) struct Records<'a> {
    scenario: &'a Scenario,
    frames: Option<TableWriter<FrameRow>>,
    packets: Option<TableWriter<PacketRow>>,
    connections: Option<TableWriter<ConnectionRow>>,
    exchanges: Option<TableWriter<ExchangeRow>>,
    queues: Option<TableWriter<QueueRow>>,
    capture: Option<Capture<RunFile>>,
    arrivals: ArrivalsWriter<RunFile>,
    tracker: FlowTracker,
    under_way: HashMap<u64, Packet>,
    departed: VecDeque<u64>,
    finished: Sequence<PacketRow>,
    last_queues: Vec<QueueStats>,
    schedules: Schedules,
    /// Station of each connection, and which of that station's it is.
    places: HashMap<u64, (u16, u64)>,
    last_done: HashMap<u64, u64>,
    next_packet: u64,
    sums: Sums,
}

impl<'a> Records<'a> {
    /// Begins all tables of `writer` that its level asks for. `due` says when stations' connections were due, where that
    /// is known.
    pub(crate) fn new(
        writer: &mut RunWriter,
        scenario: &'a Scenario,
        seed: u64,
        epoch_ns: u64,
        spool: &Path,
        due: BTreeMap<u16, Due>,
    ) -> Result<Self, RecordsError> {
        let schedules = SpoolReader::open(spool).and_then(|spool| Schedules::find(due, spool));
        let schedules = schedules.map_err(RecordsError::Spool)?;
        let stations = scenario.stations.len();
        let capture = match writer.capture()? {
            None => None,
            Some(file) => {
                let path = file.path().to_owned();
                let wrong = |source| WriteError::Io { doing: "begin the capture", path, source };
                Some(Capture::new(file, scenario, epoch_ns).map_err(wrong)?)
            }
        };
        let file = writer.file(FILE)?;
        let path = file.path().to_owned();
        let arrivals = ArrivalsWriter::new(file, Header { stations: stations as u16, seed })
            .map_err(|source| WriteError::Io { doing: "begin it", path, source })?;
        Ok(Self {
            scenario,
            frames: writer.table()?,
            packets: writer.table()?,
            connections: writer.table()?,
            exchanges: writer.table()?,
            queues: writer.table()?,
            capture,
            arrivals,
            tracker: FlowTracker::new(true),
            under_way: HashMap::new(),
            departed: VecDeque::new(),
            finished: Sequence::default(),
            last_queues: vec![QueueStats::default(); stations],
            schedules,
            places: HashMap::new(),
            last_done: HashMap::new(),
            next_packet: 0,
            sums: Sums {
                packets: vec![BTreeMap::new(); stations],
                opened: vec![0; stations],
                ..Sums::default()
            },
        })
    }

    /// Reads the whole spool, closes every table, and gives the sums.
    pub(crate) fn write(
        mut self,
        spool: &Path,
        closing: Time,
        writer: &mut RunWriter,
    ) -> Result<Sums, RecordsError> {
        let mut spool = SpoolReader::open(spool).map_err(RecordsError::Spool)?;
        while let Some(event) = spool.next().map_err(RecordsError::Spool)? {
            self.event(&event)?;
        }
        self.tracker.finish();
        self.flows()?;
        let mut left: Vec<u64> = self.under_way.keys().copied().collect();
        left.sort_unstable();
        for packet in left {
            self.forget(packet)?;
        }
        macro_rules! close {
            ($($table:ident),+) => {$(
                if let Some(table) = self.$table.take() {
                    writer.close_table(table)?;
                }
            )+};
        }
        close!(frames, packets, connections, exchanges, queues);
        let file = self.arrivals.close(closing).map_err(arrivals_error)?;
        writer.close(file)?;
        if let Some(capture) = self.capture {
            writer.close(capture.into_inner())?;
        }
        Ok(self.sums)
    }

    fn event(&mut self, event: &Event<'_>) -> Result<(), RecordsError> {
        match *event {
            Event::Offered { at, from, to, bytes, arrival } => self.offered(at, from, to, bytes, arrival),
            Event::Frame { ref frame, packet } => self.frame(frame, packet),
            Event::Delivered { at, packet } => {
                if let Some(packet) = self.under_way.get_mut(&packet) {
                    packet.row.fate = "delivered";
                    packet.row.done_ns = Some(at.as_ns());
                    self.tracker.delivered(at.as_ns(), &packet.segment);
                    let totals = totals(&mut self.sums, &packet.row);
                    totals.delivered += 1;
                    totals.delivered_bytes += u64::from(packet.row.ip_bytes);
                }
                self.flows()
            }
            Event::Lost { at, packet, cause } => {
                if let Some(packet) = self.under_way.get_mut(&packet)
                    && packet.row.fate != "delivered"
                {
                    packet.row.fate = cause.word();
                    packet.row.done_ns = Some(at.as_ns());
                }
                Ok(())
            }
            Event::Departed { packet, .. } => {
                self.departed.push_back(packet);
                while self.departed.len() > KEPT_AFTER_DEPARTURE {
                    let oldest = self.departed.pop_front().unwrap_or_default();
                    self.forget(oldest)?;
                }
                Ok(())
            }
            Event::Queue { at, station, ref stats } => self.queue(at, station, stats),
        }
    }

    fn offered(
        &mut self,
        at: Time,
        from: StationId,
        to: StationId,
        bytes: &[u8],
        arrival: Arrival,
    ) -> Result<(), RecordsError> {
        let number = self.next_packet;
        self.next_packet += 1;
        self.arrivals.push(at, bytes.len() as u32, from, to).map_err(arrivals_error)?;
        let segment = self.tracker.offered(at.as_ns(), from.0, Some(to.0), bytes);
        if segment.kind == "syn"
            && let Some(connection) = segment.connection
        {
            self.opened(connection, at, from);
        }
        let mut row = segment.row(number, at.as_ns(), from.0, Some(to.0));
        let totals = totals(&mut self.sums, &row);
        totals.offered += 1;
        totals.retransmissions += u64::from(row.retransmission);
        if arrival == Arrival::Queued {
            let kept = if self.capture.is_some() { bytes.to_vec() } else { Vec::new() };
            self.under_way.insert(number, Packet { row, segment, bytes: kept });
        } else {
            totals.dropped += 1;
            row.fate = "queue_full";
            row.done_ns = Some(at.as_ns());
            self.finished.put(number, row);
        }
        self.flows()
    }

    /// A SYN of a connection: the first one says which connection of its client this is.
    fn opened(&mut self, connection: u64, at: Time, from: StationId) {
        let index = self.sums.opened[from.index()];
        if let Entry::Vacant(entry) = self.places.entry(connection) {
            entry.insert((from.0, index));
            if let Some(lag) = self.schedules.lag(from.0, index, at) {
                self.sums.schedule_lag.record(lag);
            }
            self.sums.opened[from.index()] += 1;
        }
    }

    fn frame(&mut self, frame: &FrameEvent, number: Option<u64>) -> Result<(), RecordsError> {
        let row = words::frame_row(frame, number);
        self.sums.frames.count(row.kind, row.attempt, row.outcome);
        let mut bytes = None;
        if let Some(packet) = number.and_then(|number| self.under_way.get_mut(&number)) {
            if frame.kind == FrameKind::Data {
                packet.row.first_air_ns.get_or_insert(row.start_ns);
                packet.row.attempts = packet.row.attempts.saturating_add(1);
                self.tracker.on_air(&packet.segment, row.start_ns, row.end_ns);
                totals(&mut self.sums, &packet.row).frames += 1;
            }
            bytes = Some(&packet.bytes);
        }
        if let Some(table) = &mut self.frames {
            table.push(&row)?;
        }
        if let Some(capture) = &mut self.capture {
            capture.frame(frame, bytes.map_or(&[], Vec::as_slice))?;
        }
        Ok(())
    }

    fn queue(&mut self, at: Time, station: StationId, stats: &QueueStats) -> Result<(), RecordsError> {
        let interval: Duration = self.scenario.record.queue_interval;
        let last = std::mem::replace(&mut self.last_queues[station.index()], *stats);
        if let Some(table) = &mut self.queues {
            table.push(&QueueRow {
                time_ns: at.as_ns(),
                station: station.0,
                depth: stats.depth,
                mean: (stats.area - last.area) as f64 / interval.as_ns() as f64,
                offered: stats.offered - last.offered,
                dropped: stats.dropped - last.dropped,
                departed: stats.departed - last.departed,
            })?;
        }
        Ok(())
    }

    /// A packet's story is over: its row can be written.
    fn forget(&mut self, number: u64) -> Result<(), RecordsError> {
        if let Some(packet) = self.under_way.remove(&number) {
            self.finished.put(number, packet.row);
        }
        while let Some(row) = self.finished.pop() {
            if let Some(table) = &mut self.packets {
                table.push(&row)?;
            }
        }
        Ok(())
    }

    /// When an exchange was due: as its client says, or with its connection, or when the one before it was done.
    fn exchange_due(&self, row: &ExchangeRow) -> Option<u64> {
        let &(station, index) = self.places.get(&row.connection)?;
        let told = self.schedules.exchange(station, index, row.index);
        let with = || (row.index == 0).then(|| self.schedules.connection(station, index)).flatten();
        let due = told.or_else(with).map(Time::as_ns);
        due.or_else(|| self.last_done.get(&row.connection).copied())
    }

    /// Writes the connections and exchanges whose outcomes have become known.
    fn flows(&mut self) -> Result<(), RecordsError> {
        while let Some(mut row) = self.tracker.next_exchange() {
            row.due_ns = self.exchange_due(&row);
            if let Some(done) = row.done_ns {
                self.last_done.insert(row.connection, done);
                self.sums.exchanges += 1;
                self.sums.exchanges_in_time += u64::from(done <= self.scenario.duration.as_ns());
            }
            if let Some(error) = row.error {
                *self.sums.failed.entry(error).or_default() += 1;
            }
            if let Some(table) = &mut self.exchanges {
                table.push(&row)?;
            }
        }
        while let Some(mut row) = self.tracker.next_connection() {
            let place = self.places.remove(&row.connection);
            row.due_ns =
                place.and_then(|(station, index)| self.schedules.connection(station, index)).map(Time::as_ns);
            self.last_done.remove(&row.connection);
            self.sums.connections += 1;
            if let Some(table) = &mut self.connections {
                table.push(&row)?;
            }
        }
        Ok(())
    }
}

/// The sums of a packet's kind at its station.
fn totals<'s>(sums: &'s mut Sums, row: &PacketRow) -> &'s mut PacketTotals {
    sums.packets[usize::from(row.station)].entry(row.kind).or_default()
}

fn arrivals_error(source: io::Error) -> RecordsError {
    RecordsError::Write(WriteError::Io { doing: "write it", path: FILE.into(), source })
}
