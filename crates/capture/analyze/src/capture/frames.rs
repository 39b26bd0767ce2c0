//! Rows of the table of frames.
//!
//! A row waits until [`WAITING`] later ones have come, for whether a frame was acknowledged is told by those that
//! follow it: at once by an ACK, after as many as 256 by a block ACK.

use std::collections::VecDeque;

use airperf_record::MacAddress;
use airperf_record::WriteError;
use airperf_record::capture::FrameRow;
use airperf_wire::container::Record;
use airperf_wire::{Fcs, Frame, Link, PROTOCOL_TCP, Payload, PlainTcp};

use super::mac::View;
use super::tables::LongTable;

const WAITING: usize = 512;

/// The table of frames being written.
#[derive(Debug)]
pub(crate) struct FrameTable {
    rows: LongTable<FrameRow>,
    waiting: VecDeque<FrameRow>,
}

impl FrameTable {
    pub(crate) fn new(rows: LongTable<FrameRow>) -> Self {
        Self { rows, waiting: VecDeque::with_capacity(WAITING + 1) }
    }

    /// Adds a frame of `bytes` on the wire; `view` is the MAC's.
    pub(crate) fn frame(
        &mut self,
        record: &Record,
        frame: &Frame<'_>,
        bytes: u32,
        view: Option<View>,
    ) -> Result<(), WriteError> {
        self.add(row(record, frame, bytes, view), view)
    }

    /// Adds a plain frame, as [`Self::frame`].
    ///
    /// # Errors
    /// Those of the table.
    #[inline]
    pub(crate) fn plain(&mut self, record: &Record, plain: &PlainTcp<'_>) -> Result<(), WriteError> {
        let (transmitter, receiver) = plain.link.unzip();
        let row = FrameRow {
            frame: record.number,
            time_ns: u64::try_from(record.time_ns).unwrap_or(0),
            interface: record.interface,
            bytes: record.original,
            captured: record.captured,
            kind: if plain.link.is_some() { "ethernet" } else { "ip" },
            transmitter: transmitter.map(MacAddress),
            receiver: receiver.map(MacAddress),
            group: receiver.is_some_and(|address| address[0] & 1 == 1),
            sequence: None,
            fragment: None,
            retry: None,
            fcs: Fcs::Absent.name(),
            view: None,
            protected: None,
            rate_bps: None,
            signal_dbm: None,
            airtime_ns: None,
            acknowledged: None,
            source: Some(plain.source.into()),
            destination: Some(plain.destination.into()),
            protocol: Some(PROTOCOL_TCP),
            ip_bytes: Some(plain.total_len),
        };
        self.add(row, None)
    }

    #[inline]
    fn add(&mut self, row: FrameRow, view: Option<View>) -> Result<(), WriteError> {
        if view.is_none() && self.waiting.is_empty() {
            // Nothing of 802.11 so far.
            return self.rows.push(row);
        }
        self.waiting.push_back(row);
        if self.waiting.len() > WAITING
            && let Some(row) = self.waiting.pop_front()
        {
            self.rows.push(row)?;
        }
        Ok(())
    }

    /// Notes that earlier frames were acknowledged.
    pub(crate) fn acknowledged(&mut self, numbers: &[u64]) {
        for number in numbers {
            if let Ok(place) = self.waiting.binary_search_by_key(number, |row| row.frame)
                && let Some(row) = self.waiting.get_mut(place)
            {
                row.acknowledged = Some(true);
            }
        }
    }

    /// Writes the rows that wait and gives the table back.
    pub(crate) fn finish(mut self) -> Result<LongTable<FrameRow>, WriteError> {
        self.waiting.into_iter().try_for_each(|row| self.rows.push(row))?;
        Ok(self.rows)
    }
}

fn row(record: &Record, frame: &Frame<'_>, bytes: u32, view: Option<View>) -> FrameRow {
    let ip = if let Payload::Ip(ip) = &frame.payload { Some(ip) } else { None };
    let (kind, dot11) = match &frame.link {
        Link::Dot11(dot11) => (dot11.kind().name(), Some(dot11)),
        Link::Ethernet { .. } => ("ethernet", None),
        Link::None => (if ip.is_some() { "ip" } else { "unreadable" }, None),
    };
    // Of noise nothing is told but that it was there: its fields would be taken for stations and packets.
    let noise = view == Some(View::Noise);
    let (ip, dot11) = if noise { (None, None) } else { (ip, dot11) };
    let receiver = if noise { None } else { frame.link.receiver() };
    FrameRow {
        frame: record.number,
        time_ns: u64::try_from(record.time_ns).unwrap_or(0),
        interface: record.interface,
        bytes,
        captured: u32::try_from(frame.bytes.len()).unwrap_or(u32::MAX),
        kind: if noise { "unreadable" } else { kind },
        transmitter: if noise { None } else { frame.link.transmitter().map(MacAddress) },
        receiver: receiver.map(MacAddress),
        group: receiver.is_some_and(|address| address[0] & 1 == 1),
        sequence: dot11.and_then(|dot11| dot11.sequence()),
        fragment: dot11.and_then(|dot11| dot11.fragment()),
        retry: dot11.map(|dot11| dot11.retry()),
        fcs: frame.fcs.name(),
        view: view.map(View::name),
        protected: dot11.map(|dot11| dot11.protected()),
        rate_bps: frame.radio.rate_bps(),
        signal_dbm: frame.radio.signal_dbm.map(f64::from),
        airtime_ns: frame.airtime.map(|airtime| airtime.total_ns()),
        acknowledged: dot11.filter(|dot11| dot11.expects_ack()).map(|_| false),
        source: ip.map(|ip| ip.source()),
        destination: ip.map(|ip| ip.destination()),
        protocol: ip.map(|ip| ip.protocol()),
        ip_bytes: ip.map(|ip| u32::try_from(ip.total_len()).unwrap_or(u32::MAX)),
    }
}
