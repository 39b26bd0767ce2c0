//! A capture again as pcapng, each packet with a comment that says what the analysis found.
//!
//! A second pass over the capture beside the tables of frames, segments and exchanges of the first, joined by frame
//! number. Bytes, lengths, times, link types and interfaces stay; sections become one, time stamps nanoseconds, and
//! an empty packet stands for each record that cannot be read, so that frame numbers stay too. Reference:
//! draft-ietf-opsawg-pcapng. Left out: what the capture itself said in comments, names, statistics and secrets.

mod findings;
mod text;

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;

use airperf_record::ReadError as RecordError;
use airperf_wire::container::{Batch, Interface, ReadError, Source};
use airperf_wire::pcapng::{InterfaceId, Notes, Writer};

use findings::Findings;

/// Comment of an empty packet.
const STAND_IN: &str = "stands for a record that airperf cannot read; its bytes are left out";

/// The tables of one analysis.
#[derive(Clone, Copy, Debug)]
pub struct Tables<'a> {
    /// `frames.parquet`.
    pub frames: &'a Path,
    /// `segments.parquet`.
    pub segments: &'a Path,
    /// `exchanges.parquet`.
    pub exchanges: &'a Path,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Annotated {
    /// Packets, those that stand for others included.
    pub packets: u64,
    /// Packets with a comment about what was found.
    pub comments: u64,
    /// Empty packets that stand for records that cannot be read.
    pub stand_ins: u64,
    /// Packets from before 1970, which pcapng cannot hold; their time is 0.
    pub before_1970: u64,
}

/// Why a capture was not annotated.
#[derive(Debug, thiserror::Error)]
pub enum AnnotateError {
    /// It cannot be read on.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A table cannot be read.
    #[error(transparent)]
    Tables(#[from] RecordError),
    /// The annotated capture cannot be written.
    #[error("the annotated capture cannot be written: {0}")]
    Write(#[from] io::Error),
    /// The tables tell of frames that are not there.
    #[error(
        "the capture is another one than was analysed: it was changed meanwhile, or analysed with --sort"
    )]
    Changed,
    /// `progress` said to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Writes `sources` to `sink` as one capture, in order of their first records as
/// [`analyze`](super::analyze) takes them, with what `tables` tell of it. The analysis must not have sorted it.
///
/// `progress` is told bytes done and in all, batch by batch; it says whether to go on. Memory grows by 100 bytes per
/// exchange.
///
/// # Errors
/// [`AnnotateError`]
pub fn annotate(
    mut sources: Vec<Source>,
    tables: Tables<'_>,
    sink: impl Write,
    progress: &mut dyn FnMut(u64, Option<u64>) -> ControlFlow<()>,
) -> Result<Annotated, AnnotateError> {
    sources.sort_by_key(Source::first_time_ns);
    let mut findings = Findings::open(tables)?;
    let mut copy = Copy {
        writer: Writer::new(sink, "airperf trace export", 0)?,
        interfaces: Vec::new(),
        number: 0,
        annotated: Annotated::default(),
    };
    let total: Option<u64> = sources.iter().map(|source| source.progress().1).sum();
    let (mut batch, mut text) = (Batch::default(), String::new());
    let mut before: Option<Source> = None;
    let mut done = 0;
    for mut source in sources {
        if let Some(before) = &before {
            source.count_on(before);
        }
        let first = copy.interfaces.len();
        while source.read(&mut batch)? {
            copy.interfaces(first, source.interfaces())?;
            for record in batch.records() {
                // Interfaces are described before their packets.
                let Some((interface, fcs_octets)) = copy.interfaces.get(record.interface as usize).copied()
                else {
                    continue;
                };
                let time_ns = u64::try_from(record.time_ns).unwrap_or(0);
                copy.stand_in(record.number.saturating_sub(1), interface, time_ns)?;
                text.clear();
                findings.comment(record.number, &mut text)?;
                let notes = Notes {
                    fcs_octets: record.fcs_octets.filter(|octets| Some(*octets) != fcs_octets),
                    comment: (!text.is_empty()).then_some(&text),
                };
                copy.writer.captured(interface, time_ns, batch.bytes(record), record.original, notes)?;
                copy.number = record.number;
                copy.annotated.packets += 1;
                copy.annotated.comments += u64::from(notes.comment.is_some());
                copy.annotated.before_1970 += u64::from(record.time_ns < 0);
            }
            if progress(done + source.progress().0, total).is_break() {
                return Err(AnnotateError::Interrupted);
            }
        }
        copy.interfaces(first, source.interfaces())?;
        done += source.progress().0;
        before = Some(source);
    }
    if !findings.is_at_end() {
        return Err(AnnotateError::Changed);
    }
    copy.writer.into_inner().flush()?;
    Ok(copy.annotated)
}

/// The capture being written.
struct Copy<W> {
    writer: Writer<W>,
    /// The interfaces described, with the octets of their check sequences.
    interfaces: Vec<(InterfaceId, Option<u8>)>,
    /// Number of the last packet.
    number: u64,
    annotated: Annotated,
}

impl<W: Write> Copy<W> {
    /// Describes those of `interfaces` that are new; the first of them is number `first`.
    fn interfaces(&mut self, first: usize, interfaces: &[Interface]) -> io::Result<()> {
        for interface in interfaces.iter().skip(self.interfaces.len() - first) {
            let Interface { name, link, fcs_octets, snap_length, .. } = interface;
            let name = name.as_deref().unwrap_or_default();
            let id = self.writer.captured_interface(*link, name, *snap_length, *fcs_octets)?;
            self.interfaces.push((id, *fcs_octets));
        }
        Ok(())
    }

    /// Writes empty packets up to frame number `last`.
    fn stand_in(&mut self, last: u64, interface: InterfaceId, time_ns: u64) -> io::Result<()> {
        while self.number < last {
            let notes = Notes { fcs_octets: None, comment: Some(STAND_IN) };
            self.writer.captured(interface, time_ns, &[], 0, notes)?;
            self.number += 1;
            self.annotated.packets += 1;
            self.annotated.stand_ins += 1;
        }
        Ok(())
    }
}
