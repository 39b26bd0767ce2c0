//! Captures as input: whole files, and frames inside files that are right.
//!
//! A target fails by a panic, and by what this module asserts: memory is bounded, and a capture gives the same records
//! whatever the size of the batches. Leaves out damage to compressed bytes that only a full inflate would notice.

use airperf_analyze::capture::{Options, analyze};
use airperf_wire::anonymize::{AnonymizeOptions, Key, Payload, anonymize};
use airperf_wire::container::{Batch, Limits, Record, Source};
use airperf_wire::pcapng::{Notes, Writer};
use airperf_wire::{Decoder, LinkType};
use std::io::Cursor;
use std::ops::ControlFlow;

/// Most memory that a batch may take: its bytes, its records, and what vectors hold in reserve.
const MOST_BATCH_BYTES: usize = 4 << 20;
/// Unpacked inputs are no longer, which bounds the time of one.
const LIMITS: Limits =
    Limits { decompressed_bytes: 4 << 20, ratio: 200, ratio_after_bytes: 1 << 20, batch_bytes: 1 << 20 };

/// Words worth planting in files: lengths, kinds of blocks, magic numbers.
pub(crate) const WORDS: &[&str] = &[
    "\u{0}\u{0}\u{0}\u{0}",
    "\u{c}\u{0}\u{0}\u{0}",
    "\u{6}\u{0}\u{0}\u{0}",
    "\u{1}\u{0}\u{0}\u{0}",
    "\u{0}\u{0}\u{4}\u{0}",
    "\u{1}\u{0}\u{4}\u{0}",
    "\n\r\r\n",
    "\u{0}\u{0}\u{0}\u{7f}",
];

fn open(input: &[u8], batch_bytes: usize) -> Option<Source> {
    let stream = Box::new(Cursor::new(input.to_vec()));
    Source::stream("fuzz", stream, Limits { batch_bytes, ..LIMITS }).ok()
}

/// The records of a capture, and where it stopped to make sense.
fn records(mut source: Source) -> (Vec<(Record, Vec<u8>)>, Option<u64>) {
    let (mut batch, mut all) = (Batch::default(), Vec::new());
    while source.read(&mut batch).expect("memory can be read") {
        all.extend(batch.records().iter().map(|record| (*record, batch.bytes(record).to_vec())));
        assert!(batch.allocated_bytes() < MOST_BATCH_BYTES, "{} bytes", batch.allocated_bytes());
    }
    (all, source.damage().map(|damage| damage.at))
}

/// Reads a file of any format; true when all of it made sense.
pub(crate) fn read(input: &[u8]) -> bool {
    let Some(source) = open(input, LIMITS.batch_bytes) else { return false };
    let (whole, damage) = records(source);
    let in_pieces = records(open(input, 64).expect("it was opened before"));
    let key = |r: &(Record, Vec<u8>)| (r.0.number, r.0.time_ns, r.0.place, r.0.interface, r.0.original);
    assert!(
        whole.iter().map(key).eq(in_pieces.0.iter().map(key))
            && whole.iter().map(|r| &r.1).eq(in_pieces.0.iter().map(|r| &r.1))
            && damage == in_pieces.1,
        "the size of batches changes what is read"
    );
    damage.is_none() && !whole.is_empty()
}

/// A link type and frames, each behind its length, as a file that is right; none where there is no frame.
fn capture(input: &[u8]) -> Option<Vec<u8>> {
    let (link, mut frames) = input.split_first_chunk::<2>()?;
    let mut writer = Writer::new(Vec::new(), "fuzz", 0).ok()?;
    let interface = writer.captured_interface(LinkType(u16::from_be_bytes(*link)), "fuzz", 0, None).ok()?;
    let mut time_ns = 1_700_000_000_000_000_000;
    while let Some((length, rest)) = frames.split_first_chunk::<2>() {
        let length = usize::from(u16::from_be_bytes(*length));
        let frame = rest.get(..length).unwrap_or(rest);
        // The last frame may be cut by its sniffer.
        writer.captured(interface, time_ns, frame, length as u32, Notes::default()).ok()?;
        frames = rest.get(frame.len()..).unwrap_or_default();
        time_ns += 1_000_000;
    }
    Some(writer.into_inner())
}

/// Reads frames as far as they go, anonymises them, and analyses what they say together; true when the
/// analysis comes to its end.
pub(crate) fn frames(input: &[u8]) -> bool {
    let Some(file) = capture(input) else { return false };
    let (mut source, mut batch) = (open(&file, LIMITS.batch_bytes).expect("a right file"), Batch::default());
    let mut decoder = Decoder::new();
    while source.read(&mut batch).expect("memory can be read") {
        decoder.learn(&batch);
        for record in batch.records() {
            let frame = decoder.decode(record, batch.bytes(record));
            let _ = frame.anomalies.iter().count();
        }
    }
    assert_eq!(source.damage(), None, "a right file");
    for payload in [Payload::Strip, Payload::Headers] {
        let options = AnonymizeOptions { key: Key::from_secret(b"fuzz"), payload };
        let source = open(&file, LIMITS.batch_bytes).expect("a right file");
        let mut hidden = Vec::new();
        let report = anonymize(source, &mut hidden, &options).expect("memory can be read and written");
        let again = records(open(&hidden, LIMITS.batch_bytes).expect("a right file"));
        assert_eq!((again.0.len() as u64, again.1), (report.records, None));
    }
    let one = analysed(&file, 1);
    assert_eq!(one, analysed(&file, 2), "the number of threads changes what is found");
    one.is_some()
}

/// What an analysis says; none where it does not come to its end.
fn analysed(file: &[u8], threads: usize) -> Option<serde_json::Value> {
    let sources = vec![open(file, LIMITS.batch_bytes)?];
    let options = Options { threads, ..Options::default() };
    let summary = analyze(sources, &options, None, &mut |_, _| ControlFlow::Continue(())).ok()?;
    Some(summary.to_json())
}

/// What an analysis counts of frames and of connections, before and after anonymising.
#[cfg(test)]
pub(crate) fn before_and_after(input: &[u8]) -> [serde_json::Value; 2] {
    let file = capture(input).expect("a seed");
    let options = AnonymizeOptions { key: Key::from_secret(b"test"), payload: Payload::Strip };
    let mut hidden = Vec::new();
    anonymize(open(&file, LIMITS.batch_bytes).expect("a seed"), &mut hidden, &options)
        .expect("it is in memory");
    [file, hidden].map(|file| {
        let mut all = analysed(&file, 1).expect("an analysis");
        let kept = ["packets", "bytes", "duration_s", "link_types", "tcp", "mac"].map(|key| all[key].take());
        serde_json::Value::from(kept.to_vec())
    })
}
