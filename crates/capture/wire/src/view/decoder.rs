//! From a record of a capture to the packet in it, one pass and no copy.
//!
//! Reference: the registry of link types at tcpdump.org. A frame of each link type is read by one function below; all of
//! them meet in [`Walk`]. Bad frames are noise: nothing above their MAC header is read. Leaves out state between
//! frames, but for whether frames end in a check sequence ([`Decoder::learn`]).

use crate::container::{Batch, Record};
use crate::view::amsdu::Amsdu;
use crate::view::anomaly::{Anomalies, Anomaly};
use crate::view::cooked::ethernet_header;
use crate::view::dot11::Dot11;
use crate::view::fcs::{self, FcsTrial, Trials};
use crate::view::frame::{Fcs, Frame, Link, Payload};
use crate::view::layers::{Listener, Walk};
use crate::view::radio::airtime::airtime;
use crate::view::radio::{Radio, avs, prism, radiotap};
use crate::{LinkType, Mac};

/// Reads frames; a clone of it reads the same.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    trials: Trials,
}

impl Decoder {
    /// A decoder that knows nothing of a capture yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tries whether frames end in a check sequence where the capture does not say. Call it with every batch, in order,
    /// before any frame of the batch is decoded: results do not depend on threads then. It looks at the first 256
    /// such frames of each interface only.
    pub fn learn(&mut self, batch: &Batch) {
        for record in batch.records() {
            if !is_dot11(record.link)
                || record.captured < record.original
                || record.fcs_octets.is_some()
                || !self.trials.wants(record.interface)
            {
                continue;
            }
            let bytes = batch.bytes(record);
            if record.link == LinkType::RADIOTAP && radiotap::tells_fcs(bytes) {
                continue;
            }
            let Some((radio, at)) = radio_header(record.link, bytes, &mut Anomalies::default()) else {
                continue;
            };
            if radio.fcs_at_end.is_none() {
                let frame = bytes.get(at..).unwrap_or_default();
                self.trials.add(record.interface, fcs::fits(frame));
            }
        }
    }

    /// Interfaces whose frames had to be tried, and what was found; see [`FcsTrial::present`].
    pub fn fcs_trials(&self) -> impl Iterator<Item = (u32, FcsTrial)> {
        self.trials.iter()
    }

    /// Reads a frame: the captured `bytes` of `record`.
    #[inline]
    pub fn decode<'a>(&self, record: &Record, bytes: &'a [u8]) -> Frame<'a> {
        self.read(record, bytes, ())
    }

    /// Reads a frame and tells `listener` of every header between link and transport.
    #[inline]
    pub(crate) fn read<'a, L: Listener<'a>>(
        &self,
        record: &Record,
        bytes: &'a [u8],
        listener: L,
    ) -> Frame<'a> {
        if record.link == LinkType::ETHERNET {
            self.ethernet(record, bytes, listener)
        } else {
            self.other(record, bytes, listener)
        }
    }

    #[inline]
    fn ethernet<'a, L: Listener<'a>>(&self, record: &Record, bytes: &'a [u8], listener: L) -> Frame<'a> {
        let (fcs, bytes, missing) = told_fcs(record, bytes);
        let mut walk = Walk::new(missing, listener);
        let mut link = Link::None;
        let mut payload = Payload::None;
        match ethernet_header(bytes) {
            Some(header) => {
                let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, _, _] = header;
                link = Link::Ethernet {
                    destination: [d0, d1, d2, d3, d4, d5] as Mac,
                    source: [s0, s1, s2, s3, s4, s5] as Mac,
                };
                if fcs != Fcs::Bad {
                    payload = walk.ethernet(&header, bytes.get(header.len()..).unwrap_or_default());
                }
            }
            None => short(&mut walk, bytes, Anomaly::Runt),
        }
        Frame {
            bytes,
            length: record.original,
            link,
            radio: Radio::default(),
            airtime: None,
            fcs,
            payload,
            anomalies: walk.anomalies,
        }
    }

    #[inline(never)]
    fn other<'a, L: Listener<'a>>(&self, record: &Record, bytes: &'a [u8], listener: L) -> Frame<'a> {
        if is_dot11(record.link) {
            return self.dot11(record, bytes, listener);
        }
        let (fcs, bytes, missing) = told_fcs(record, bytes);
        let mut walk = Walk::new(missing, listener);
        let mut payload = Payload::None;
        if bytes.is_empty() {
            short(&mut walk, bytes, Anomaly::Runt);
        } else if fcs != Fcs::Bad {
            payload = match record.link {
                LinkType::NULL | LinkType::LOOP => walk.loopback(bytes),
                LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 | LinkType(12 | 14) => walk.raw(bytes),
                LinkType::LINUX_SLL => walk.sll(bytes),
                LinkType::LINUX_SLL2 => walk.sll2(bytes),
                _ => {
                    walk.anomalies.insert(Anomaly::UnknownLinkType);
                    Payload::None
                }
            };
        }
        if matches!(record.link, LinkType::LINUX_SLL | LinkType::LINUX_SLL2) {
            walk.check_mtu(&payload);
        }
        Frame {
            bytes,
            length: record.original,
            link: Link::None,
            radio: Radio::default(),
            airtime: None,
            fcs,
            payload,
            anomalies: walk.anomalies,
        }
    }

    fn dot11<'a, L: Listener<'a>>(&self, record: &Record, bytes: &'a [u8], listener: L) -> Frame<'a> {
        let mut anomalies = Anomalies::default();
        let header = radio_header(record.link, bytes, &mut anomalies);
        let (radio, at) = header.unwrap_or((Radio::default(), bytes.len()));
        let (captured, whole) = (bytes, bytes.get(at..).unwrap_or_default());
        let length = record.original.saturating_sub(at as u32);
        let missing = record.original.saturating_sub(record.captured) as usize;
        let (fcs, octets) = self.check(record, &radio, whole, missing > 0);
        let (bytes, missing) = without_fcs(whole, missing, octets);
        if fcs == Fcs::Good && radio.bad_fcs {
            anomalies.insert(Anomaly::FcsFlag);
        }
        let mut walk = Walk::new(missing, listener);
        walk.anomalies = anomalies;
        // What was sent always ended in a check sequence, whether or not it was captured.
        let stripped = if fcs == Fcs::Absent { fcs::OCTETS as u32 } else { 0 };
        let airtime = airtime(&radio, length.saturating_add(stripped));
        let mut frame =
            Frame { bytes, length, link: Link::None, radio, airtime, fcs, payload: Payload::None, anomalies };
        if header.is_none() {
            short(&mut walk, captured, Anomaly::RadioHeader);
        } else {
            match Dot11::parse(bytes) {
                Ok(dot11) => {
                    frame.link = Link::Dot11(dot11);
                    if fcs != Fcs::Bad {
                        frame.payload = body(&mut walk, &dot11, &radio);
                    }
                }
                Err(_) if fcs == Fcs::Bad => {}
                Err(_) => short(&mut walk, bytes, Anomaly::Dot11),
            }
        }
        frame.anomalies = walk.anomalies;
        frame
    }

    /// State of the check sequence of a frame, and its octets.
    fn check(&self, record: &Record, radio: &Radio, frame: &[u8], cut: bool) -> (Fcs, usize) {
        let told = radio.fcs_at_end.or(record.fcs_octets.map(|octets| octets > 0));
        let learnt = || self.trials.present(record.interface);
        match (told, cut) {
            (_, true) if radio.bad_fcs => (Fcs::Bad, if told == Some(false) { 0 } else { fcs::OCTETS }),
            (Some(false), _) => (Fcs::Absent, 0),
            (Some(true), true) => (Fcs::Unchecked, fcs::OCTETS),
            (None, true) => {
                if learnt() {
                    (Fcs::Unchecked, fcs::OCTETS)
                } else {
                    (Fcs::Absent, 0)
                }
            }
            (_, false) if fcs::fits(frame) => (Fcs::Good, fcs::OCTETS),
            (Some(true), false) => (Fcs::Bad, fcs::OCTETS),
            (None, false) => {
                if learnt() {
                    (Fcs::Bad, fcs::OCTETS)
                } else {
                    (Fcs::Absent, 0)
                }
            }
        }
    }
}

/// Whether records of this link type hold 802.11 frames.
fn is_dot11(link: LinkType) -> bool {
    matches!(link, LinkType::IEEE802_11 | LinkType::RADIOTAP | LinkType::PRISM | LinkType::AVS)
}

/// What the header before an 802.11 frame tells, and its length; `None` where no frame can be found behind it.
fn radio_header(link: LinkType, bytes: &[u8], anomalies: &mut Anomalies) -> Option<(Radio, usize)> {
    match link {
        LinkType::RADIOTAP => radiotap::parse(bytes, anomalies),
        LinkType::PRISM => prism::parse(bytes, anomalies),
        LinkType::AVS => avs::parse(bytes),
        _ => Some((Radio::default(), 0)),
    }
}

/// Notes a frame too short to be read.
fn short<'a, L: Listener<'a>>(walk: &mut Walk<L>, bytes: &[u8], what: Anomaly) {
    if bytes.is_empty() && walk.missing == 0 {
        walk.anomalies.insert(Anomaly::EmptyFrame);
    } else {
        walk.unreadable(what);
    }
}

/// State of a check sequence that only the capture tells of, the frame without it, and how much of that is missing.
#[inline]
fn told_fcs<'a>(record: &Record, bytes: &'a [u8]) -> (Fcs, &'a [u8], usize) {
    let missing = record.original.saturating_sub(record.captured) as usize;
    let octets = usize::from(record.fcs_octets.unwrap_or(0));
    if octets == 0 {
        return (Fcs::Absent, bytes, missing);
    }
    let fcs = match (octets, missing) {
        (fcs::OCTETS, 0) if fcs::fits(bytes) => Fcs::Good,
        (fcs::OCTETS, 0) => Fcs::Bad,
        _ => Fcs::Unchecked,
    };
    let (bytes, missing) = without_fcs(bytes, missing, octets);
    (fcs, bytes, missing)
}

/// A frame without its last `octets`, of which `missing` were not captured, and how much of the rest is missing.
fn without_fcs(frame: &[u8], missing: usize, octets: usize) -> (&[u8], usize) {
    let captured = octets.saturating_sub(missing).min(frame.len());
    (frame.get(..frame.len() - captured).unwrap_or_default(), missing.saturating_sub(octets))
}

/// What the body of an 802.11 frame carries.
fn body<'a, L: Listener<'a>>(walk: &mut Walk<L>, dot11: &Dot11<'a>, radio: &Radio) -> Payload<'a> {
    if !dot11.kind().carries_data() {
        return Payload::None;
    }
    if dot11.protected() {
        return Payload::Protected;
    }
    let first = dot11.fragment() == Some(0);
    if dot11.more_fragments() || !first {
        walk.anomalies.insert(Anomaly::Dot11Fragment);
        if !first {
            return Payload::None;
        }
        // The rest of the packet is in later frames.
        walk.missing += usize::from(u16::MAX);
    }
    let padding = if radio.padded { dot11.header_len().next_multiple_of(4) - dot11.header_len() } else { 0 };
    let body = dot11.body().get(padding..).unwrap_or_default();
    if dot11.is_amsdu() {
        let parts = Amsdu::new(body, walk.missing);
        let mut all = parts;
        while all.next().is_some() {}
        walk.anomalies.extend(all.anomalies());
        return Payload::Amsdu(parts);
    }
    if body.is_empty() && walk.missing == 0 {
        // Access points send empty QoS data in place of null frames.
        return Payload::None;
    }
    walk.llc(body)
}
