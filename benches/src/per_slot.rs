//! The plainest DCF there is: every station's counter goes down by one in every idle slot.
//!
//! A yardstick for the kernel on the machine at hand, and an independent check of its collision share and
//! idle slots. Left out: everything else.

use crate::{Figures, median};
use airperf_units::StreamKey;
use std::time::Instant;

const CW_MIN: u32 = 31;
const CW_MAX: u32 = 1023;
const BATCH: u64 = 20_000;

/// Walks the slots of `stations` saturated stations for about `seconds` of wall time; the time is
/// the median batch's.
pub(crate) fn measure(stations: u16, seconds: u64) -> Figures {
    let mut draws = StreamKey::new(2).stream("bench.backoff");
    let mut windows = vec![CW_MIN; usize::from(stations)];
    let mut left: Vec<u32> = windows.iter().map(|&window| draws.up_to(window)).collect();
    let (mut seizures, mut collisions, mut idle) = (0u64, 0u64, 0u64);
    let mut batches = Vec::new();
    let clock = Instant::now();
    while clock.elapsed().as_secs() < seconds {
        let batch = Instant::now();
        for _ in 0..BATCH {
            let senders = loop {
                let senders = left.iter().filter(|&&slots| slots == 0).count();
                if senders > 0 {
                    break senders;
                }
                left.iter_mut().for_each(|slots| *slots -= 1);
                idle += 1;
            };
            collisions += u64::from(senders > 1);
            for (slots, window) in left.iter_mut().zip(&mut windows).filter(|(slots, _)| **slots == 0) {
                *window = if senders > 1 { (2 * *window + 1).min(CW_MAX) } else { CW_MIN };
                *slots = draws.up_to(*window);
            }
        }
        batches.push(batch.elapsed().as_secs_f64());
        seizures += BATCH;
    }
    vec![
        ("stations", f64::from(stations)),
        ("ns", median(&mut batches) * 1e9 / BATCH as f64),
        ("collision_share", collisions as f64 / seizures as f64),
        ("idle_slots", idle as f64 / seizures as f64),
    ]
}
