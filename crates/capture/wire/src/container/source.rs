//! Reads a capture, batch after batch.
//!
//! A batch is filled with the bytes that follow the last one's and scanned for records; what is left of a
//! record that is not all there is kept for the next batch. Leaves out decoding.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::batch::Batch;
use super::counts::Counts;
use super::detect;
use super::error::{Damage, Limits, OpenError, ReadError};
use super::input::Input;
use super::pcap::{FILE_HEADER, Pcap};
use super::pcapng::Pcapng;
use super::scan::{Found, Interface, MOST_RECORDS, Stop};

/// Bytes that tell what a file is, and most often its first packet; also the first batch of a stream whose
/// length is not known.
const START_BYTES: usize = 64 << 10;
/// A batch is never smaller.
const LEAST_BATCH_BYTES: usize = 64;

#[derive(Clone, Debug)]
enum Format {
    Pcap(Box<Pcap>),
    Pcapng(Pcapng),
}

impl Format {
    fn scan(&mut self, window: &[u8], place: u64, found: &mut Found<'_>) -> (usize, Stop) {
        match self {
            Self::Pcap(pcap) => pcap.scan(window, place, found),
            Self::Pcapng(pcapng) => pcapng.scan(window, place, found),
        }
    }
}

/// A capture that is being read.
#[derive(Debug)]
pub struct Source {
    name: String,
    input: Input,
    format: Format,
    /// Bytes that were read and not yet scanned.
    kept: Vec<u8>,
    /// Where they begin in the uncompressed capture.
    place: u64,
    /// Bytes to pass over, of what follows them.
    skip: u64,
    /// Where what is passed over last began.
    skipped_from: u64,
    /// Bytes of the batches.
    batch_bytes: usize,
    most_batch_bytes: usize,
    /// Number of the last record.
    number: u64,
    interfaces_before: u32,
    counts: Counts,
    damage: Option<Damage>,
    /// Whether the stream is at its end.
    at_end: bool,
    /// Whether there are no more records.
    finished: bool,
}

impl Source {
    /// Opens a file: pcap or pcapng, plain or in gzip or zstd.
    ///
    /// # Errors
    /// [`OpenError`]. A capture that was cut within its header is none: it has no record and [`Self::damage`].
    pub fn open(path: &Path, limits: Limits) -> Result<Self, OpenError> {
        let name = path.display().to_string();
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
        match opened {
            Ok((about, file)) => {
                let length = about.is_file().then_some(about.len());
                Self::start(name, Box::new(file), length, limits)
            }
            Err(source) => Err(OpenError::Io { name, source }),
        }
    }

    /// Reads a stream, such as the standard input; `name` is for messages.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn stream(
        name: impl Into<String>,
        stream: Box<dyn Read + Send>,
        limits: Limits,
    ) -> Result<Self, OpenError> {
        Self::start(name.into(), stream, None, limits)
    }

    fn start(
        name: String,
        stream: Box<dyn Read + Send>,
        length: Option<u64>,
        limits: Limits,
    ) -> Result<Self, OpenError> {
        let (input, kept) = match begin(stream, length, limits) {
            Ok(begun) => begun,
            Err(source) => return Err(OpenError::Io { name, source }),
        };
        if kept.is_empty() {
            return Err(match input.trouble() {
                Some(trouble) => OpenError::Unknown {
                    name,
                    looks: format!("holds nothing that can be read: {trouble}"),
                    remedy: "Copy it again from where it was made.",
                },
                None => OpenError::Empty { name },
            });
        }
        // A header that was cut is read as far as it goes.
        let mut head = kept.clone();
        head.resize(FILE_HEADER.max(head.len()), 0);
        let (format, header) = if Pcapng::is(&kept) {
            (Format::Pcapng(Pcapng::new()), 0)
        } else if let Some(pcap) = Pcap::new(&head) {
            (Format::Pcap(Box::new(pcap)), FILE_HEADER)
        } else {
            let (looks, remedy) = detect::looks_like(&kept);
            return Err(OpenError::Unknown { name, looks, remedy });
        };
        let most = limits.batch_bytes.max(LEAST_BATCH_BYTES);
        let known = input.plain_length().and_then(|length| usize::try_from(length).ok());
        // A byte more, so that the first read meets the end.
        let batch_bytes = known.map_or(START_BYTES, |length| length.saturating_add(1)).min(most);
        let mut source = Self {
            name,
            input,
            format,
            kept,
            place: 0,
            skip: 0,
            skipped_from: 0,
            batch_bytes,
            most_batch_bytes: most,
            number: 0,
            interfaces_before: 0,
            counts: Counts::default(),
            damage: None,
            at_end: false,
            finished: false,
        };
        let start = source.kept.len();
        if start < header {
            let what = format!("truncated at byte {start}: the header of the file needs {header} bytes");
            source.finish(Some(Damage { at: start as u64, what }));
        }
        source.kept.drain(..header.min(start));
        source.place = header as u64;
        Ok(source)
    }

    /// Makes this the continuation of `earlier` captures: frame numbers and interfaces count on. To be
    /// called before the first [`Self::read`].
    pub fn count_on(&mut self, earlier: &Self) {
        self.number = earlier.number;
        self.interfaces_before = earlier.interfaces_before.saturating_add(earlier.interfaces().len() as u32);
    }

    /// File or stream.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The interfaces met so far; a record's interface counts from those of the captures before.
    pub fn interfaces(&self) -> &[Interface] {
        match &self.format {
            Format::Pcap(pcap) => std::slice::from_ref(&pcap.interface),
            Format::Pcapng(pcapng) => &pcapng.interfaces,
        }
    }

    /// Interfaces of the captures before: what the records' interfaces count from.
    pub(crate) fn interfaces_before(&self) -> u32 {
        self.interfaces_before
    }

    /// Number of the last record, those left out included.
    pub fn records(&self) -> u64 {
        self.number
    }

    /// Where the capture stopped to make sense, once that was met.
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// The anomalies met so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Bytes read of the file as it lies there (packed, if it is), and its length where that is known.
    pub fn progress(&self) -> (u64, Option<u64>) {
        self.input.progress()
    }

    /// Time of the first record, which orders captures; none where it is not within the first 64 KiB. To be
    /// called before the first [`Self::read`].
    pub fn first_time_ns(&self) -> Option<i64> {
        let mut batch = Batch::default();
        let (mut counts, mut number) = (Counts::default(), 0);
        let mut found = Found {
            records: &mut batch.records,
            counts: &mut counts,
            number: &mut number,
            most: 1,
            interfaces_before: 0,
        };
        self.format.clone().scan(&self.kept, self.place, &mut found);
        batch.records.first().map(|record| record.time_ns)
    }

    /// Fills `batch` with the next records; false when there are no more.
    ///
    /// Damage ends the capture, see [`Self::damage`].
    ///
    /// # Errors
    /// [`ReadError`]: the file or stream cannot be read on.
    pub fn read(&mut self, batch: &mut Batch) -> Result<bool, ReadError> {
        batch.records.clear();
        while batch.records.is_empty() && !self.finished {
            match self.fill(&mut batch.data) {
                Ok(filled) => self.scan(batch, filled),
                Err(source) => return Err(ReadError { name: self.name.clone(), at: self.place, source }),
            }
        }
        Ok(!batch.records.is_empty())
    }

    /// Makes `data` begin with what was kept and what follows it; returns how much there is.
    fn fill(&mut self, data: &mut Vec<u8>) -> io::Result<usize> {
        let room = self.batch_bytes.max(self.kept.len());
        if data.len() < room {
            data.resize(room, 0);
        }
        while self.skip > 0 && !self.at_end {
            let piece = usize::try_from(self.skip).map_or(room, |skip| skip.min(room));
            self.skip -= self.more(data.get_mut(..piece).unwrap_or_default())? as u64;
        }
        let (start, rest) = data.split_at_mut(self.kept.len());
        start.copy_from_slice(&self.kept);
        let filled = start.len();
        self.kept.clear();
        let rest = rest.get_mut(..room - filled).unwrap_or_default();
        Ok(filled + if self.at_end { 0 } else { self.more(rest)? })
    }

    /// Reads on; a read that comes up short was the last.
    fn more(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.input.fill(into)?;
        self.at_end = bytes < into.len();
        Ok(bytes)
    }

    /// Finds the records in the first bytes of `batch`, and keeps what it could not use.
    fn scan(&mut self, batch: &mut Batch, filled: usize) {
        let window = batch.data.get(..filled).unwrap_or_default();
        let mut found = Found {
            records: &mut batch.records,
            counts: &mut self.counts,
            number: &mut self.number,
            most: MOST_RECORDS,
            interfaces_before: self.interfaces_before,
        };
        let (used, stop) = self.format.scan(window, self.place, &mut found);
        let rest = window.get(used..).unwrap_or_default();
        let mut skip = 0;
        match stop {
            // The next records are as short: more bytes would only be kept.
            Stop::Full => self.batch_bytes = used.max(LEAST_BATCH_BYTES),
            Stop::Skip { bytes } => (skip, self.skipped_from) = (bytes, self.place + used as u64),
            Stop::Damaged { at, what } => self.finish(Some(Damage { at, what })),
            Stop::Incomplete { need } if self.at_end => {
                let (begin, end) = (self.place + used as u64, self.place - self.skip + filled as u64);
                self.end(begin, end, need, rest.is_empty());
            }
            Stop::Incomplete { need } => self.grow(need),
        }
        let skipped = usize::try_from(skip).map_or(rest.len(), |skip| skip.min(rest.len()));
        self.skip = skip - skipped as u64;
        self.kept.extend_from_slice(rest.get(skipped..).unwrap_or_default());
        self.place += used as u64 + skip;
    }

    /// Batches grow to their size, so that a short stream takes little; and to what a record needs.
    fn grow(&mut self, need: u64) {
        let wanted = (2 * self.batch_bytes).min(self.most_batch_bytes);
        // A scanner asks for no more than its longest block.
        self.batch_bytes = wanted.max(self.batch_bytes).max(usize::try_from(need).unwrap_or(0));
    }

    /// Ends the reading at the end of the stream, before which a block of `need` bytes begins.
    fn end(&mut self, begin: u64, end: u64, need: u64, whole: bool) {
        let within = match &self.format {
            Format::Pcap(_) => !whole,
            Format::Pcapng(pcapng) => !whole || pcapng.is_passing(),
        };
        let why = match self.input.trouble() {
            Some(trouble) => trouble.to_owned(),
            None if self.skip > 0 && matches!(self.format, Format::Pcap(_)) => {
                // Nobody has so long a record: more likely its header is wrong, and what follows is lost.
                let (at, left) = (self.skipped_from, self.skip);
                let what = format!(
                    "truncated at byte {at}: the record there is too long to be read, and {left} bytes of it are missing"
                );
                return self.finish(Some(Damage { at, what }));
            }
            None if self.skip > 0 => "a block that is too long to be read goes on".to_owned(),
            None if within => {
                format!("the record or block at byte {begin} needs {need} bytes, {} are there", end - begin)
            }
            None => return self.finish(None),
        };
        self.finish(Some(Damage { at: end, what: format!("truncated at byte {end}: {why}") }));
    }

    fn finish(&mut self, damage: Option<Damage>) {
        self.damage = damage;
        self.finished = true;
    }
}

/// Finds out how a stream is packed, and reads its first bytes.
fn begin(stream: Box<dyn Read + Send>, length: Option<u64>, limits: Limits) -> io::Result<(Input, Vec<u8>)> {
    let mut input = Input::new(stream, length, limits)?;
    let known = input.plain_length().and_then(|length| usize::try_from(length).ok());
    let mut start = vec![0; known.map_or(START_BYTES, |length| length.min(START_BYTES))];
    let filled = input.fill(&mut start)?;
    start.truncate(filled);
    Ok((input, start))
}
