//! The DCF kernel alone: who transmits next among saturated stations, with nothing on top.
//!
//! CW 31…1023, no retry limit, the same interframe space after success and collision: the anchor that
//! the closed-form tests use, here timed. Left out: frames, packets and airtime.

use crate::Figures;
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

/// Runs `stations` saturated stations for about `seconds` of wall time.
pub(crate) fn measure(stations: u16, seconds: u64) -> Figures {
    let mut contention = Contention::new(usize::from(stations), SLOT, DIFS);
    let mut draws = StreamKey::new(1).stream("bench.backoff");
    let mut windows = vec![CW_MIN; usize::from(stations)];
    let mut began = Vec::with_capacity(usize::from(stations));
    for station in 0..stations {
        contention.contend(StationId(station), Time::ZERO);
    }
    let (mut seizures, mut collisions, mut idle) = (0u64, 0u64, Duration::ZERO);
    let mut resume = Time::ZERO + DIFS;
    let clock = Instant::now();
    while clock.elapsed().as_secs() < seconds {
        for _ in 0..BATCH {
            let start = contention.first().expect("saturated stations always contend");
            contention.seize(start, SLOT);
            idle += start - resume;
            began.clear();
            began.extend(contention.winners().iter().map(|winner| winner.station));
            collisions += u64::from(began.len() > 1);
            for &station in &began {
                let window = &mut windows[station.index()];
                *window = if began.len() > 1 { (2 * *window + 1).min(CW_MAX) } else { CW_MIN };
                contention.back_off(station, draws.up_to(*window), true);
            }
            for i in 0..contention.deposed().len() {
                let station = contention.deposed()[i];
                contention.back_off(station, draws.up_to(CW_MIN), true);
            }
            resume = start + FRAME + DIFS;
            contention.release(resume);
        }
        seizures += BATCH;
    }
    let wall = clock.elapsed().as_secs_f64();
    vec![
        ("stations", f64::from(stations)),
        ("ns", wall * 1e9 / seizures as f64),
        ("per_second", seizures as f64 / wall),
        ("collision_share", collisions as f64 / seizures as f64),
        ("idle_slots", idle.as_ns() as f64 / SLOT.as_ns() as f64 / seizures as f64),
    ]
}
