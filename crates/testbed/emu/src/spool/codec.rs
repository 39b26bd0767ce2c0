//! Events as bytes: a tag, then fixed fields, little endian.
//!
//! Left out: versions; a spool is read by the process that wrote it.

use std::io::{self, Read};

use airperf_link::{
    Arrival, Destination, DropCause, FrameEvent, FrameKind, Heard, LossCause, Outcome, QueueStats, StationId,
};
use airperf_units::{Rate, Time};

use crate::medium::Event;

const OFFERED: u8 = 1;
const FRAME: u8 = 2;
const DELIVERED: u8 = 3;
const LOST: u8 = 4;
const DEPARTED: u8 = 5;
const QUEUE: u8 = 6;
const NO_PACKET: u64 = u64::MAX;
const BROADCAST: u16 = u16::MAX;

// The positions in these lists are the codes in the file.
pub(super) const ARRIVALS: [Arrival; 4] = [
    Arrival::Queued,
    Arrival::Dropped(DropCause::QueueFull),
    Arrival::Dropped(DropCause::TooLong),
    Arrival::Dropped(DropCause::NoSuchStation),
];
const KINDS: [FrameKind; 5] =
    [FrameKind::Data, FrameKind::Ack, FrameKind::Rts, FrameKind::Cts, FrameKind::Beacon];
const OUTCOMES: [Outcome; 4] = [Outcome::Received, Outcome::Duplicate, Outcome::Collided, Outcome::Garbled];
const VIEWS: [Heard; 3] = [Heard::Good, Heard::BadFcs, Heard::Missed];
pub(super) const LOSSES: [LossCause; 2] = [LossCause::RetryLimit, LossCause::NotReceived];

fn code<T: PartialEq>(list: &[T], value: &T) -> u8 {
    list.iter().position(|v| v == value).unwrap_or(list.len()) as u8
}

/// Appends an event to a block.
pub(super) fn encode(event: &Event<'_>, out: &mut Vec<u8>) {
    match *event {
        Event::Offered { at, from, to, bytes, arrival } => {
            out.push(OFFERED);
            out.extend_from_slice(&at.as_ns().to_le_bytes());
            out.extend_from_slice(&from.0.to_le_bytes());
            out.extend_from_slice(&to.0.to_le_bytes());
            out.push(code(&ARRIVALS, &arrival));
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            out.extend_from_slice(bytes);
        }
        Event::Frame { frame, packet } => {
            out.push(FRAME);
            out.extend_from_slice(&frame.start.as_ns().to_le_bytes());
            out.extend_from_slice(&frame.end.as_ns().to_le_bytes());
            out.extend_from_slice(&frame.from.0.to_le_bytes());
            let to = match frame.to {
                Destination::Station(station) => station.0,
                Destination::Broadcast => BROADCAST,
            };
            out.extend_from_slice(&to.to_le_bytes());
            out.extend_from_slice(&frame.rate.as_bps().to_le_bytes());
            out.extend_from_slice(&frame.bytes.to_le_bytes());
            out.extend_from_slice(&frame.sequence.to_le_bytes());
            out.extend_from_slice(&[
                code(&KINDS, &frame.kind),
                code(&OUTCOMES, &frame.outcome),
                code(&VIEWS, &frame.sniffer),
            ]);
            out.extend_from_slice(&u32::from(frame.attempt).to_le_bytes());
            out.extend_from_slice(&packet.unwrap_or(NO_PACKET).to_le_bytes());
        }
        Event::Delivered { at, packet } => fate(out, DELIVERED, at, packet),
        Event::Departed { at, packet } => fate(out, DEPARTED, at, packet),
        Event::Lost { at, packet, cause } => {
            fate(out, LOST, at, packet);
            out.push(code(&LOSSES, &cause));
        }
        Event::Queue { at, station, stats } => {
            out.push(QUEUE);
            out.extend_from_slice(&at.as_ns().to_le_bytes());
            out.extend_from_slice(&station.0.to_le_bytes());
            for count in [u64::from(stats.depth), u64::from(stats.max)].into_iter().chain([
                stats.offered,
                stats.dropped,
                stats.departed,
                stats.lost,
            ]) {
                out.extend_from_slice(&count.to_le_bytes());
            }
            out.extend_from_slice(&stats.area.to_le_bytes());
        }
    }
}

fn fate(out: &mut Vec<u8>, tag: u8, at: Time, packet: u64) {
    out.push(tag);
    out.extend_from_slice(&at.as_ns().to_le_bytes());
    out.extend_from_slice(&packet.to_le_bytes());
}

/// Reads little-endian integers one after the other.
struct Fields<'a, R>(&'a mut R);

impl<R: Read> Fields<'_, R> {
    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }
    fn u8(&mut self) -> io::Result<u8> {
        self.bytes::<1>().map(|[b]| b)
    }
    fn u16(&mut self) -> io::Result<u16> {
        self.bytes().map(u16::from_le_bytes)
    }
    fn u32(&mut self) -> io::Result<u32> {
        self.bytes().map(u32::from_le_bytes)
    }
    fn u64(&mut self) -> io::Result<u64> {
        self.bytes().map(u64::from_le_bytes)
    }
    fn time(&mut self) -> io::Result<Time> {
        self.u64().map(Time::from_ns)
    }
}

/// The event after `tag`; `None` when it holds a code that nobody writes.
pub(super) fn decode<'a>(
    tag: u8,
    file: &mut impl Read,
    packet: &'a mut Vec<u8>,
) -> io::Result<Option<Event<'a>>> {
    let mut f = Fields(file);
    Ok(match tag {
        OFFERED => {
            let (at, from, to) = (f.time()?, StationId(f.u16()?), StationId(f.u16()?));
            let arrival = ARRIVALS.get(usize::from(f.u8()?)).copied();
            let length = f.u32()? as usize;
            packet.resize(length.min(1 << 16), 0);
            f.0.read_exact(packet)?;
            arrival.map(|arrival| Event::Offered { at, from, to, bytes: packet, arrival })
        }
        FRAME => frame(&mut f)?,
        DELIVERED => Some(Event::Delivered { at: f.time()?, packet: f.u64()? }),
        DEPARTED => Some(Event::Departed { at: f.time()?, packet: f.u64()? }),
        LOST => {
            let (at, packet) = (f.time()?, f.u64()?);
            let cause = LOSSES.get(usize::from(f.u8()?)).copied();
            cause.map(|cause| Event::Lost { at, packet, cause })
        }
        QUEUE => {
            let (at, station) = (f.time()?, StationId(f.u16()?));
            let stats = QueueStats {
                depth: f.u64()? as u32,
                max: f.u64()? as u32,
                offered: f.u64()?,
                dropped: f.u64()?,
                departed: f.u64()?,
                lost: f.u64()?,
                area: f.u64()?,
            };
            Some(Event::Queue { at, station, stats })
        }
        _ => None,
    })
}

fn frame<'a>(f: &mut Fields<'_, impl Read>) -> io::Result<Option<Event<'a>>> {
    let (start, end, from) = (f.time()?, f.time()?, StationId(f.u16()?));
    let to = match f.u16()? {
        BROADCAST => Destination::Broadcast,
        station => Destination::Station(StationId(station)),
    };
    let (rate, bytes, sequence) = (Rate::bps(f.u64()?), f.u32()?, f.u16()?);
    let codes = f.bytes::<3>()?.map(usize::from);
    let attempt = f.u32()?;
    let packet = Some(f.u64()?).filter(|&packet| packet != NO_PACKET);
    let (Some(&kind), Some(&outcome), Some(&sniffer)) =
        (KINDS.get(codes[0]), OUTCOMES.get(codes[1]), VIEWS.get(codes[2]))
    else {
        return Ok(None);
    };
    let attempt = attempt as u8;
    let frame = FrameEvent { start, end, from, to, kind, rate, bytes, sequence, attempt, outcome, sniffer };
    Ok(Some(Event::Frame { frame, packet }))
}
