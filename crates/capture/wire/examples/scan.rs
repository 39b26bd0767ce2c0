//! Measures how fast a capture is read and scanned for records: `scan FILE [BATCH_KIB]`.
//!
//! Prints the fastest of nine passes, so that the system has the file in memory, next to the fastest of
//! reading the same bytes in the same pieces without looking at them. Leaves out decoding.

use airperf_wire::container::{Batch, Limits, Source};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

const PASSES: usize = 9;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: scan FILE [BATCH_KIB]")?;
    let mut limits = Limits::default();
    if let Some(kib) = arguments.next() {
        limits.batch_bytes = kib.parse::<usize>()? << 10;
    }
    let (mut scanning, mut reading) = (Duration::MAX, Duration::MAX);
    let (mut records, mut bytes) = (0, 0);
    let (mut batch, mut buffer) = (Batch::default(), vec![0; limits.batch_bytes]);
    for _ in 0..PASSES {
        let clock = Instant::now();
        let mut source = Source::open(Path::new(&file), limits)?;
        (records, bytes) = (0, 0);
        while source.read(&mut batch)? {
            records += batch.records().len() as u64;
            bytes = batch.records().iter().fold(bytes, |sum, r| sum + u64::from(r.captured));
        }
        scanning = scanning.min(clock.elapsed());

        let clock = Instant::now();
        let mut plain = File::open(&file)?;
        while plain.read(&mut buffer)? > 0 {}
        reading = reading.min(clock.elapsed());
    }
    let rates = |time: Duration| {
        let seconds = time.as_secs_f64();
        (records as f64 / 1e6 / seconds, bytes as f64 / 1e9 / seconds)
    };
    let ((all, all_bytes), (_, read_bytes)) = (rates(scanning), rates(reading));
    println!("{records} records of {} B", bytes / records.max(1));
    println!("reading:          {read_bytes:.1} GB/s");
    println!("reading+scanning: {all_bytes:.1} GB/s, {all:.1} M records/s");
    let (alone, _) = rates(scanning.saturating_sub(reading));
    println!("scanning alone:   {alone:.0} M records/s");
    Ok(())
}
