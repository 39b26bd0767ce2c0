//! The full stack without records: clients, TCP, server and 802.11b.
//!
//! The scenario is the one that `ns3/webbench.cc` runs: 1 KiB objects, a connection each, five-second
//! timeout, retry limit 16, acknowledgements at 1 Mbit/s, no host gaps, starts drawn at random.

use crate::{Figures, counting, median};
use airperf_scenario::Scenario;
use airperf_sim::{Simulated, simulate};
use airperf_units::StreamKey;
use std::time::Instant;

/// Runs whose median is told, after one that warms caches, branch predictors and the allocator's pages: a run
/// of 120 simulated seconds takes some 10 ms, of which a cold start would be a good part.
const RUNS: usize = 9;
/// How long overload lasts before memory is first read: queues are full and the first timeouts are over.
const EARLY_SECONDS: u64 = 120;

fn scenario(clients: u64, rate: u64, seconds: u64) -> Scenario {
    let start = if clients > 1 { "random" } else { "0s" };
    let text = format!(
        r#"
schema = 1
name = "bench"
duration = "{seconds}s"
[link]
kind = "wifi"
rate = "11Mbit/s"
control_rate = "1Mbit/s"
retry_limit = 16
[server]
station = "server"
[[client]]
station = "client"
count = {clients}
start = "{start}"
rate = "{rate}/s"
size = "1KiB"
timeout = "5s"
"#
    );
    Scenario::parse(&text, "bench", &[])
        .unwrap_or_else(|problems| panic!("the bench's scenario: {problems:?}"))
}

fn run(scenario: &Scenario) -> Simulated<()> {
    simulate(scenario, StreamKey::new(1), ()).expect("a checked scenario has a link")
}

/// Wall time of so many simulated seconds: the median of [`RUNS`] in this process, and the quickest.
pub(crate) fn speed(clients: u64, rate: u64, seconds: u64) -> Figures {
    let scenario = scenario(clients, rate, seconds);
    let totals = run(&scenario).totals;
    let mut walls = [0.0; RUNS];
    for wall in &mut walls {
        let clock = Instant::now();
        let again = run(&scenario).totals;
        *wall = clock.elapsed().as_secs_f64();
        assert_eq!(again, totals, "the same seed gave another run");
    }
    let (wall, best) = (median(&mut walls), walls[0]);
    let exchanges = (totals.delivered + totals.lost) as f64;
    vec![
        ("runs", RUNS as f64),
        ("wall_s", wall),
        ("best_wall_s", best),
        ("simulated_per_wall", seconds as f64 / wall),
        ("exchanges_per_second", exchanges / wall),
        ("best_exchanges_per_second", exchanges / best),
        ("ns_per_exchange", wall * 1e9 / exchanges),
        ("carried_rps", totals.exchanges_in_time as f64 / seconds as f64),
        ("failed", totals.failed() as f64),
        ("peak_mib", counting::peak_mib()),
    ]
}

/// Allocations per frame once everything has its size: the difference of a long and a short run.
pub(crate) fn allocations(rate: u64) -> Figures {
    let count = |seconds| {
        let scenario = scenario(1, rate, seconds);
        let before = counting::allocations();
        let frames = run(&scenario).totals.frames;
        (counting::allocations() - before, frames)
    };
    let (short, short_frames) = count(120);
    let (long, long_frames) = count(240);
    let more = long.saturating_sub(short) as f64;
    vec![
        ("short", short as f64),
        ("long", long as f64),
        ("frames", (long_frames - short_frames) as f64),
        ("per_frame", more / (long_frames - short_frames) as f64),
    ]
}

/// Peak memory after the first two minutes of overload, and how much it grows in the rest.
pub(crate) fn memory(rate: u64, seconds: u64) -> Figures {
    run(&scenario(1, rate, EARLY_SECONDS));
    let early = counting::peak_mib();
    run(&scenario(1, rate, seconds));
    let late = counting::peak_mib();
    vec![
        ("simulated_s", seconds as f64),
        ("early_mib", early),
        ("late_mib", late),
        ("growth_mib", late - early),
    ]
}
