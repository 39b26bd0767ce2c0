//! Bianchi's own equations, solved, and what of them a walk over slots confirms.
//!
//! Bianchi, IEEE JSAC 18(3), 2000: equations 7 (τ of a station), 9 (p of n stations), 13 (throughput) and 14, 17
//! (times of a success and of a collision). His two simplifications are walked one at a time: a counter goes down
//! once per busy period instead of freezing (EDCA does so, IEEE Std 802.11-2020 §10.23.2.4), and a station meets
//! others whose state tells nothing about its own. Leaves out our link, which `bianchi` compares with both.

use crate::bianchi::{COLLISIONS, THROUGHPUT};
use crate::close;
use airperf_units::{Stream, StreamKey};

/// The fixed point: a station's probability of sending in a slot, and that of what it sends to collide.
#[derive(Clone, Copy, Debug)]
struct FixedPoint {
    tau: f64,
    p: f64,
}

/// Solves equations 7 and 9 for `n` stations, CWmin + 1 = `w` and `m` doublings by bisection: the right side of 9
/// falls as p rises.
fn solve(n: u16, w: u16, m: u32) -> FixedPoint {
    let w = f64::from(w);
    let tau = |p: f64| {
        let stages: f64 = (0..m).map(|k| (2.0 * p).powi(k as i32)).sum();
        2.0 / (1.0 + w + p * w * stages)
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let p = (low + high) / 2.0;
        if 1.0 - (1.0 - tau(p)).powi(i32::from(n) - 1) > p { low = p } else { high = p }
    }
    FixedPoint { tau: tau(low), p: low }
}

/// Normalised throughput with basic access and with RTS/CTS (equations 13, 14 and 17), times in microseconds at
/// 1 Mbit/s from table II.
fn throughput(n: u16, tau: f64) -> (f64, f64) {
    const PAYLOAD: f64 = 8184.0;
    const HEADERS: f64 = 272.0 + 128.0;
    const ACK: f64 = 112.0 + 128.0;
    const CTS: f64 = ACK;
    const RTS: f64 = 160.0 + 128.0;
    const SIFS: f64 = 28.0;
    const DIFS: f64 = 128.0;
    const SLOT: f64 = 50.0;
    const PROPAGATION: f64 = 1.0;
    let n = f64::from(n);
    let busy = 1.0 - (1.0 - tau).powf(n);
    let success = n * tau * (1.0 - tau).powf(n - 1.0);
    let share = |of_success: f64, of_collision: f64| {
        success * PAYLOAD / ((1.0 - busy) * SLOT + success * of_success + (busy - success) * of_collision)
    };
    let data = HEADERS + PAYLOAD + PROPAGATION;
    let answered = data + SIFS + ACK + PROPAGATION + DIFS;
    let asked = RTS + SIFS + PROPAGATION + CTS + SIFS + PROPAGATION;
    (share(answered, data + DIFS), share(asked + answered, RTS + DIFS + PROPAGATION))
}

#[test]
fn bianchis_equations_give_his_tables() {
    for (n, p) in COLLISIONS {
        close(&format!("Bianchi's p, {n} stations"), solve(n, 32, 5).p, p, 0.001);
    }
    for (w, m, row) in THROUGHPUT {
        for (n, (basic, rts)) in [5, 10, 20, 50].into_iter().zip(row) {
            let (ours, ours_rts) = throughput(n, solve(n, w, m).tau);
            close(&format!("Bianchi's S, W {w}, m {m}, {n} stations"), ours, basic, 0.001);
            close(&format!("Bianchi's S, RTS/CTS, W {w}, m {m}, {n} stations"), ours_rts, rts, 0.001);
        }
    }
}

/// A backoff counter with CWmin 31 and CWmax 1023.
struct Counter {
    window: u32,
    left: u32,
}

impl Counter {
    fn new(draws: &mut Stream) -> Self {
        Self { window: 31, left: draws.up_to(31) }
    }

    fn sent(&mut self, collided: bool, draws: &mut Stream) {
        self.window = if collided { (2 * self.window + 1).min(1023) } else { 31 };
        self.left = draws.up_to(self.window);
    }
}

/// What a busy period does to the counter of a station that waits.
#[derive(Clone, Copy, PartialEq)]
enum Busy {
    /// It keeps its value: DCF, IEEE Std 802.11-2020 §10.3.4.3.
    Freezes,
    /// It goes down by one, as in every idle slot: Bianchi's chain.
    Counts,
}

/// Share of attempts that collide, and idle slots per seizure, of `n` stations on one medium.
fn walk(n: usize, busy: Busy) -> (f64, f64) {
    let mut draws = StreamKey::new(5).stream("walk");
    let mut stations: Vec<Counter> = (0..n).map(|_| Counter::new(&mut draws)).collect();
    let (mut attempts, mut collided, mut seizures, mut idle) = (0u32, 0u32, 0u32, 0u32);
    while seizures < 2_000_000 {
        let senders = stations.iter().filter(|station| station.left == 0).count() as u32;
        let collision = senders > 1;
        for station in &mut stations {
            if station.left == 0 {
                station.sent(collision, &mut draws);
            } else if senders == 0 || busy == Busy::Counts {
                station.left -= 1;
            }
        }
        idle += u32::from(senders == 0);
        seizures += u32::from(senders > 0);
        attempts += senders;
        collided += if collision { senders } else { 0 };
    }
    (f64::from(collided) / f64::from(attempts), f64::from(idle) / f64::from(seizures))
}

/// Share of attempts that collide where every attempt meets `n` - 1 stations drawn anew from a population:
/// Bianchi's chain with his independence made true.
fn walk_among_strangers(n: u16) -> f64 {
    const POPULATION: u32 = 1_000;
    const WARM_UP: u32 = 5_000; // slots, several of the longest windows
    let mut draws = StreamKey::new(5).stream("strangers");
    let mut stations: Vec<Counter> = (0..POPULATION).map(|_| Counter::new(&mut draws)).collect();
    let (mut attempts, mut collided) = (0u32, 0u32);
    let mut sends = vec![false; stations.len()];
    for slot in 0..4 * WARM_UP {
        for (flag, station) in sends.iter_mut().zip(&stations) {
            *flag = station.left == 0;
        }
        for (me, station) in stations.iter_mut().enumerate() {
            if station.left > 0 {
                station.left -= 1;
                continue;
            }
            // Stations next to each other are strangers too; the last start keeps `me` out.
            let first = me + 1 + draws.up_to(POPULATION - u32::from(n)) as usize;
            let collision = (first..first + usize::from(n) - 1).any(|other| sends[other % sends.len()]);
            station.sent(collision, &mut draws);
            attempts += u32::from(slot >= WARM_UP);
            collided += u32::from(slot >= WARM_UP && collision);
        }
    }
    f64::from(collided) / f64::from(attempts)
}

#[test]
fn stations_that_meet_strangers_in_each_slot_collide_as_bianchi_says() {
    for (n, p) in COLLISIONS {
        close(&format!("strangers, {n} stations"), walk_among_strangers(n), p, 0.02);
    }
}

/// Idle slots tell the two ways of counting apart; collisions of two stations do not. So it is the independence
/// that makes Bianchi's .0570: in truth both double their windows in the same collision.
#[test]
fn how_counters_run_changes_idle_slots_and_not_the_collisions_of_two_stations() {
    // Stations, idle slots per seizure: frozen, counted down (anchors as in `dcf_table`).
    for (n, frozen, counted) in [(2, 8.52, 8.03), (3, 6.21, 5.56), (10, 3.03, 2.17), (50, 1.79, 0.85)] {
        close(&format!("{n} stations, idle slots, frozen"), walk(n, Busy::Freezes).1, frozen, 0.01);
        close(&format!("{n} stations, idle slots, counted down"), walk(n, Busy::Counts).1, counted, 0.01);
    }
    let frozen = 2.0 * 0.0304 / (1.0 + 0.0304); // .0304 of seizures, see `dcf_table`
    for (name, busy) in [("frozen", Busy::Freezes), ("counted down", Busy::Counts)] {
        close(&format!("collision probability, 2 stations, {name}"), walk(2, busy).0, frozen, 0.02);
    }
}
