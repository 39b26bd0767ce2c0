//! What must see the frames in order: the MAC, and all that is counted over frames.
//!
//! One thread at a time decodes a batch and shows it here. A frame leaves with a [`Verdict`]: whether what is above
//! the MAC may see it. Left out: IP fragments and connections, which come after.

use airperf_record::{Row, TableWriter, WriteError};
use airperf_wire::container::Record;
use airperf_wire::{Anomaly, Fcs, Frame, Link, LinkType, Payload, PlainTcp};

use super::clients::Clients;
use super::flows::FlowCounts;
use super::frames::FrameTable;
use super::histogram::Histograms;
use super::mac::{Heard, Mac, View};
use super::series::AllTraffic;
use super::summary::Summary;
use super::tables::{Table, TableSet};

/// Anomalies of frames in their order: name and what it means.
pub const ANOMALIES: &[(&str, &str)] = &[
    ("bad_fcs", "frames with a bad check sequence: noise, of which nothing above the MAC is read"),
    (
        "time_backwards",
        "frames with an earlier time stamp than the frame before them, whose order is kept; with `--sort` those beyond its window",
    ),
    ("encrypted", "frames whose payload is encrypted; of these only the MAC is analysed"),
];

/// What is done with a frame above the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is seen.
    Pass {
        /// Whether it is an 802.11 frame.
        mac: bool,
        /// Whether its retry bit is set: the MAC sent it again, but the original was not captured.
        retry: bool,
    },
    /// The MAC sent it again and the original was seen: TCP does not see it, but its segment's type counts a MAC
    /// retransmission.
    MacDuplicate,
    /// Its check sequence is bad: nobody sees it.
    Noise,
}

/// The number of anomalies of frames; a set of them has no more bits.
const MOST_ANOMALIES: usize = 64;

/// See the module.
#[derive(Debug)]
pub(crate) struct Ordered {
    packets: u64,
    bytes: u64,
    /// Earliest and latest time stamp, the other way round before there is any.
    span: (i64, i64),
    last_ns: i64,
    link_types: Vec<(LinkType, u64)>,
    mac: Mac,
    acknowledged: Vec<u64>,
    interval_ns: u64,
    series: Option<AllTraffic>,
    histograms: Option<Histograms>,
    /// When the last packet came that counts in the distribution of times.
    last_packet_ns: Option<i64>,
    anomalies: [u64; MOST_ANOMALIES],
    bad_fcs: u64,
    backwards: u64,
    encrypted: u64,
    frames: Option<FrameTable>,
}

impl Ordered {
    /// Begins with nothing seen; takes the table of frames out of `tables` until it is finished.
    pub(crate) fn new(interval_ns: u64, mut tables: Option<&mut TableSet>) -> Self {
        let wants = |table| tables.as_ref().is_some_and(|tables| tables.wants(table));
        let series = wants(Table::Series).then(|| AllTraffic::new(interval_ns));
        let histograms = wants(Table::Histograms).then(Histograms::default);
        let frames = tables.as_mut().and_then(|tables| tables.frames.take()).map(FrameTable::new);
        Self {
            packets: 0,
            bytes: 0,
            span: (i64::MAX, i64::MIN),
            last_ns: i64::MIN,
            link_types: Vec::new(),
            mac: Mac::default(),
            acknowledged: Vec::new(),
            interval_ns: interval_ns.max(1),
            series,
            histograms,
            last_packet_ns: None,
            anomalies: [0; MOST_ANOMALIES],
            bad_fcs: 0,
            backwards: 0,
            encrypted: 0,
            frames,
        }
    }

    /// Takes the next frame, a plain one, as [`Self::frame`].
    ///
    /// # Errors
    /// Those of the table of frames.
    #[inline]
    pub(crate) fn plain(&mut self, record: &Record, plain: &PlainTcp<'_>) -> Result<(), WriteError> {
        self.count(record);
        if let Some(histograms) = &mut self.histograms {
            histograms.size(plain.total_len);
            self.time(record.time_ns);
        }
        if let Some(series) = &mut self.series {
            let payload = plain.tcp.payload_len() as u32;
            series.frame(record.time_ns.max(0).unsigned_abs(), record.original, payload);
        }
        self.frames.as_mut().map_or(Ok(()), |frames| frames.plain(record, plain))
    }

    /// Counts a record.
    #[inline]
    fn count(&mut self, record: &Record) {
        let time = record.time_ns;
        self.packets += 1;
        self.bytes += u64::from(record.original);
        self.backwards += u64::from(time < self.last_ns);
        self.last_ns = time;
        self.span = (self.span.0.min(time), self.span.1.max(time));
        match self.link_types.last_mut() {
            Some((link, count)) if *link == record.link => *count += 1,
            _ => self.other_link(record.link),
        }
    }

    /// Counts the time from the packet before.
    #[inline]
    fn time(&mut self, time: i64) {
        if let Some(before) = self.last_packet_ns.replace(time)
            && time >= before
            && let Some(histograms) = &mut self.histograms
        {
            histograms.time(time.abs_diff(before));
        }
    }

    /// Takes the next frame, with `payload` octets of TCP payload in it.
    ///
    /// # Errors
    /// Those of the table of frames.
    #[inline]
    pub(crate) fn frame(
        &mut self,
        record: &Record,
        frame: &Frame<'_>,
        payload: u32,
    ) -> Result<Verdict, WriteError> {
        let time = record.time_ns;
        self.count(record);
        if !frame.anomalies.is_empty() {
            self.unusual(frame);
        }
        let is_dot11 = matches!(frame.link, Link::Dot11(_)) || is_dot11(record.link);
        // What was captured without its check sequence had one on the air.
        let octets = if is_dot11 && frame.fcs == Fcs::Absent { frame.length + 4 } else { frame.length };
        let view = if is_dot11 { Some(self.dot11(record, frame, octets)) } else { None };
        let noise = frame.fcs == Fcs::Bad;
        self.bad_fcs += u64::from(noise);
        if !noise && view != Some(View::Duplicate) {
            self.packet(time, &frame.payload);
        }
        if let Some(series) = &mut self.series {
            series.frame(time.max(0).unsigned_abs(), octets, if noise { 0 } else { payload });
        }
        if let Some(table) = &mut self.frames {
            table.acknowledged(&self.acknowledged);
            table.frame(record, frame, octets, view)?;
        }
        Ok(match view {
            _ if noise => Verdict::Noise,
            Some(View::Duplicate) => Verdict::MacDuplicate,
            Some(view) => Verdict::Pass { mac: true, retry: view == View::Retry },
            None => Verdict::Pass { mac: false, retry: false },
        })
    }

    #[cold]
    fn other_link(&mut self, link: LinkType) {
        // The one at hand stands last.
        match self.link_types.iter().position(|(known, _)| *known == link) {
            Some(place) => {
                let mut known = self.link_types.remove(place);
                known.1 += 1;
                self.link_types.push(known);
            }
            None => self.link_types.push((link, 1)),
        }
    }

    #[cold]
    fn unusual(&mut self, frame: &Frame<'_>) {
        for anomaly in frame.anomalies.iter() {
            if let Some(count) = self.anomalies.get_mut(anomaly as usize) {
                *count += 1;
            }
        }
    }

    fn dot11(&mut self, record: &Record, frame: &Frame<'_>, octets: u32) -> View {
        self.acknowledged.clear();
        match &frame.link {
            Link::Dot11(dot11) => {
                self.mac.frame(&Heard::of(record, frame, dot11, octets), &mut self.acknowledged)
            }
            _ => {
                self.mac.unreadable(frame.fcs == Fcs::Bad);
                if frame.fcs == Fcs::Bad { View::Noise } else { View::First }
            }
        }
    }

    /// Counts a packet in the distributions.
    #[inline]
    fn packet(&mut self, time: i64, payload: &Payload<'_>) {
        self.encrypted += u64::from(matches!(payload, Payload::Protected));
        let Some(histograms) = &mut self.histograms else { return };
        match payload {
            Payload::Ip(ip) => histograms.size(u32::try_from(ip.total_len()).unwrap_or(u32::MAX)),
            Payload::Amsdu(parts) => {
                for part in *parts {
                    if let Payload::Ip(ip) = part {
                        histograms.size(u32::try_from(ip.total_len()).unwrap_or(u32::MAX));
                    }
                }
            }
            Payload::Protected | Payload::Other(_) | Payload::None => return,
        }
        self.time(time);
    }

    /// Nothing more comes: writes the tables of what was counted and begins the summary.
    ///
    /// # Errors
    /// Those of the tables.
    pub(crate) fn finish(
        self,
        clients: &Clients,
        flows: &FlowCounts,
        tables: Option<&mut TableSet>,
    ) -> Result<Summary, WriteError> {
        let mac = self.mac.totals();
        let of_clients = clients.series();
        let all = self.series.map_or_else(Vec::new, |series| series.rows(&of_clients));
        let longest_ns = all.iter().chain(&of_clients).map(|row| row.length_ns).max().unwrap_or_default();
        if let Some(tables) = tables {
            tables.frames = self.frames.map(FrameTable::finish).transpose()?;
            write(&mut tables.stations, || self.mac.stations())?;
            write(&mut tables.histograms, || self.histograms.iter().flat_map(Histograms::rows).collect())?;
            write(&mut tables.retransmissions, || clients.retransmissions(mac.is_some()))?;
            write(&mut tables.series, || all.into_iter().chain(of_clients).collect())?;
        }
        let mut summary = Summary {
            packets: self.packets,
            bytes: self.bytes,
            span_ns: (self.packets > 0).then_some(self.span),
            link_types: self.link_types.into_iter().collect(),
            flows: *flows,
            mac,
            airtime: self.mac.budget().map(|budget| (budget.elapsed_ns(), budget.read().collect())),
            ..Summary::default()
        };
        if longest_ns > self.interval_ns {
            summary.notice(format!(
                "the series had too many intervals: some are {} s long (`series.length_ns`).",
                longest_ns as f64 / 1e9
            ));
        }
        let own = [self.bad_fcs, self.backwards, self.encrypted];
        summary.anomalies(ANOMALIES.iter().map(|(name, _)| *name).zip(own));
        summary.anomalies(Anomaly::ALL.iter().map(|anomaly| anomaly.name()).zip(self.anomalies));
        summary.anomalies(mac.iter().flat_map(|totals| totals.anomalies()));
        summary.anomalies(flows.anomalies());
        summary.anomalies([("clients_overflow", clients.overflow())]);
        Ok(summary)
    }
}

fn write<R: Row>(
    table: &mut Option<Box<TableWriter<R>>>,
    rows: impl FnOnce() -> Vec<R>,
) -> Result<(), WriteError> {
    table.as_mut().map_or(Ok(()), |table| table.extend(&rows()))
}

/// Whether records of this link type are 802.11 frames, even those that cannot be read.
fn is_dot11(link: LinkType) -> bool {
    matches!(link, LinkType::IEEE802_11 | LinkType::RADIOTAP | LinkType::PRISM | LinkType::AVS)
}
