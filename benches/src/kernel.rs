//! The DCF kernel alone: who transmits next among saturated stations, with nothing on top.
//!
//! CW 31…1023, no retry limit, the same interframe space after success and collision: the anchor that
//! the closed-form tests use, here timed. Left out: frames, packets and airtime.

use crate::{Figures, median};
use airperf_link::StationId;
use airperf_units::{Duration, StreamKey, Time};
use airperf_wifi::mac::contention::Contention;
use std::time::Instant;

const SLOT: Duration = Duration::from_us(20);
const DIFS: Duration = Duration::from_us(50);
/// Any airtime does: it only moves the clock.
const FRAME: Duration = Duration::from_us(1_000);
const CW_MIN: u32 = 31;
const CW_MAX: u32 = 1023;
const BATCH: u64 = 100_000;

/// Runs `stations` saturated stations for about `seconds` of wall time; the time is the median batch's.
pub(crate) fn measure(stations: u16, seconds: u64) -> Figures {
    let mut contention = Contention::new(usize::from(stations), SLOT, DIFS);
    let mut draws = StreamKey::new(1).stream("bench.backoff");
    let mut windows = vec![CW_MIN; usize::from(stations)];
    for station in 0..stations {
        contention.contend(StationId(station), Time::ZERO);
    }
    let (mut seizures, mut collisions, mut idle) = (0u64, 0u64, Duration::ZERO);
    let mut resume = Time::ZERO + DIFS;
    let mut batches = Vec::new();
    let clock = Instant::now();
    while clock.elapsed().as_secs() < seconds {
        let batch = Instant::now();
        for _ in 0..BATCH {
            let start = contention.first();
            idle += start - resume;
            if let Some(winner) = contention.seize(start, SLOT) {
                windows[winner.station.index()] = CW_MIN;
                contention.back_off(winner.station, draws.up_to(CW_MIN), true);
            } else {
                collisions += 1;
                for i in 0..contention.winners().len() {
                    let station = contention.winners()[i].station;
                    let window = &mut windows[station.index()];
                    *window = (2 * *window + 1).min(CW_MAX);
                    contention.back_off(station, draws.up_to(*window), true);
                }
            }
            for i in 0..contention.deposed().len() {
                let station = contention.deposed()[i];
                contention.back_off(station, draws.up_to(CW_MIN), true);
            }
            resume = start + FRAME + DIFS;
            contention.release(resume);
        }
        batches.push(batch.elapsed().as_secs_f64());
        seizures += BATCH;
    }
    let ns = median(&mut batches) * 1e9 / BATCH as f64;
    vec![
        ("stations", f64::from(stations)),
        ("ns", ns),
        ("per_second", 1e9 / ns),
        ("collision_share", collisions as f64 / seizures as f64),
        ("idle_slots", idle.as_ns() as f64 / SLOT.as_ns() as f64 / seizures as f64),
    ]
}
