//! Rewrites a capture so that it can be shared: who talked is hidden, how they talked stays.
//!
//! | what | becomes |
//! |---|---|
//! | IP addresses | others that share as long prefixes as before; special ones stay (see `address.rs`) |
//! | MAC addresses | others with the same group and local bits; group addresses stay |
//! | names of 802.11 networks | as many hexadecimal digits |
//! | payload of TCP and UDP | nothing, HTTP heads with hidden names, or itself: [`Payload`] |
//! | DNS, DHCP and the like | nothing |
//! | addresses in ARP, ICMP and neighbour discovery | mapped as elsewhere |
//! | unknown protocols | nothing: the record ends where they begin |
//! | right checksums | right ones; wrong ones become others that are wrong |
//! | capture comments, names of interfaces and hosts | left out |
//!
//! Times, lengths on the wire, link types, interfaces, ports, sequence numbers, IP identification and TCP's
//! timestamps stay. What stays can still tell something: sizes and times of transfers can be recognised by who
//! saw them, and clocks of hosts by their drift. A frame whose check sequence is wrong keeps its length and has
//! zeros behind its header, with a check sequence that is wrong.
//!
//! The same key maps alike in all captures. Leaves out writing anything but pcapng.

mod address;
mod dot11;
mod key;
mod link;
mod network;
mod options;
#[cfg(test)]
mod tests;
mod text;
mod transport;

pub use key::Key;

use std::io::{self, Write};

use crate::LinkType;
use crate::container::{Batch, Damage, Interface, ReadError, Record, Source};
use crate::view::decoder::Decoder;
use crate::view::frame::{Fcs, Link};
use crate::write::pcapng::{Notes, Writer};
use address::Addresses;
use text::Names;

/// What becomes of the data of TCP and UDP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Payload {
    /// It is cut.
    #[default]
    Strip,
    /// Of it, HTTP heads stay, without targets and values that could name anybody.
    Headers,
    /// It stays, but for protocols that name hosts (DNS, DHCP …).
    Keep,
}

/// How to anonymise.
#[derive(Clone, Debug)]
pub struct AnonymizeOptions {
    /// The secret of the mapping.
    pub key: Key,
    /// What becomes of the data of TCP and UDP.
    pub payload: Payload,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnonymizeReport {
    /// Records written.
    pub records: u64,
    /// Bytes captured before.
    pub bytes_before: u64,
    /// Bytes captured afterwards.
    pub bytes_after: u64,
    /// Records that were cut at a protocol, header or link type that is not known.
    pub unknown: u64,
    /// Records from before 1970, which pcapng cannot hold; their time is 0.
    pub before_1970: u64,
    /// Where the capture stopped to make sense.
    pub damage: Option<Damage>,
}

/// Why a capture was not anonymised.
#[derive(Debug, thiserror::Error)]
pub enum AnonymizeError {
    /// It cannot be read on.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// What it became cannot be written.
    #[error("the anonymised capture cannot be written: {0}")]
    Write(#[from] io::Error),
}

/// Writes to `sink` what `source` becomes, as pcapng.
///
/// # Errors
/// [`AnonymizeError`]; what was written by then is anonymised.
pub fn anonymize(
    mut source: Source,
    sink: impl Write,
    options: &AnonymizeOptions,
) -> Result<AnonymizeReport, AnonymizeError> {
    let mut scrub = Scrub::new(options);
    let mut writer = Writer::new(sink, "airperf anonymize", 0)?;
    let mut decoder = Decoder::new();
    let (mut batch, mut frame) = (Batch::default(), Vec::new());
    let mut report = AnonymizeReport::default();
    let mut interfaces = Vec::new();
    while source.read(&mut batch)? {
        decoder.learn(&batch);
        for interface in source.interfaces().iter().skip(interfaces.len()) {
            interfaces.push(describe(&mut writer, interface, interfaces.len())?);
        }
        for record in batch.records() {
            frame.clear();
            frame.extend_from_slice(batch.bytes(record));
            let kept = scrub.record(&decoder, record, &mut frame);
            frame.truncate(kept);
            let number = record.interface.saturating_sub(source.interfaces_before()) as usize;
            let Some(interface) = interfaces.get(number) else { continue };
            let time_ns = u64::try_from(record.time_ns).unwrap_or(0);
            writer.captured(*interface, time_ns, &frame, record.original, Notes::default())?;
            report.records += 1;
            report.before_1970 += u64::from(record.time_ns < 0);
            report.bytes_before += u64::from(record.captured);
            report.bytes_after += kept as u64;
            report.unknown += u64::from(scrub.unknown_here);
        }
    }
    if interfaces.is_empty() {
        for (number, interface) in source.interfaces().iter().enumerate() {
            describe(&mut writer, interface, number)?;
        }
    }
    writer.into_inner().flush()?;
    report.damage = source.damage().cloned();
    Ok(report)
}

fn describe<W: Write>(
    writer: &mut Writer<W>,
    interface: &Interface,
    number: usize,
) -> io::Result<crate::pcapng::InterfaceId> {
    let name = format!("interface {number}");
    // Check sequences of other links than 802.11 are cut.
    let fcs = interface.fcs_octets.filter(|_| is_dot11(interface.link));
    writer.captured_interface(interface.link, &name, interface.snap_length, fcs)
}

fn is_dot11(link: LinkType) -> bool {
    matches!(link, LinkType::IEEE802_11 | LinkType::RADIOTAP | LinkType::PRISM | LinkType::AVS)
}

/// Rewrites frames in place.
struct Scrub {
    addresses: Addresses,
    names: Names,
    payload: Payload,
    /// Layers of the frame gone through.
    depth: u8,
    /// Whether something in the frame was not known.
    unknown_here: bool,
}

impl Scrub {
    fn new(options: &AnonymizeOptions) -> Self {
        Self {
            addresses: Addresses::new(&options.key),
            names: Names::new(&options.key),
            payload: options.payload,
            depth: 0,
            unknown_here: false,
        }
    }

    /// Rewrites the captured bytes of a record; returns how many of them to keep.
    fn record(&mut self, decoder: &Decoder, record: &Record, bytes: &mut [u8]) -> usize {
        (self.depth, self.unknown_here) = (0, false);
        let frame = decoder.decode(record, bytes);
        if !is_dot11(record.link) {
            let bad = frame.fcs == Fcs::Bad;
            let kept = self.link(record.link, bytes);
            // Nothing says afterwards that it was bad, so that nothing may be read of it.
            return if bad { kept.min(14) } else { kept };
        }
        let (fcs, padded, readable) = (frame.fcs, frame.radio.padded, matches!(frame.link, Link::Dot11(_)));
        let start = (record.original.saturating_sub(frame.length) as usize).min(bytes.len());
        if !readable {
            self.unknown_here = true;
            return start;
        }
        let check =
            if matches!(fcs, Fcs::Good | Fcs::Bad) && record.captured == record.original { 4 } else { 0 };
        let end = bytes.len().saturating_sub(check).max(start);
        let (body, trailer) = bytes.split_at_mut(end);
        let body = body.get_mut(start..).unwrap_or_default();
        let kept = self.dot11(body, padded).min(body.len());
        body.get_mut(kept..).unwrap_or_default().fill(0);
        if check == 0 || (fcs == Fcs::Good && kept < body.len()) {
            return start + kept;
        }
        let right = crate::fcs(&[body]);
        let check = if fcs == Fcs::Good { right } else { right.map(|octet| !octet) };
        if let Some(place) = trailer.first_chunk_mut::<4>() {
            *place = check;
        }
        bytes.len()
    }
}
