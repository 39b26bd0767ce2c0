//! Prints the study's first experiment: one client, 1 KiB, 10 to 160 connections per second; other
//! experiments by settings.
//!
//! `cargo run --release -p airperf-sim --example e1 -- [file=SCENARIO.toml] [rates=10,20,…] [KEY=VALUE …]`, where KEY is a key of
//! the scenario, say `client.size='"8KiB"'` or `client.requests_per_connection=32`.

use airperf_link::{FrameEvent, FrameKind, Packet, QueueStats};
use airperf_scenario::Scenario;
use airperf_sim::{Observer, Payload};
use airperf_units::{StreamKey, Time};
use std::time::Instant;

const SCENARIO: &str = r#"
schema = 1
name = "e1"
duration = "120s"
drain = "30s"
link = { kind = "wifi", standard = "802.11b", rate = "11Mbit/s", control_rate = "1Mbit/s", preamble = "long", retry_limit = 16, queue = 100 }
tcp = { profile = "linux-2.4.18" }
server = { station = "server", profile = "apache-1.3" }
client = [{ station = "client", count = 1, host_gap = "150us", host_gap_spread = 0.5, rate = "10/s", size = "1KiB", request_size = "74B", timeout = "5s" }]
"#;

/// First and last data frame of every connection.
#[derive(Default)]
struct Durations(Vec<(Time, Time)>);

impl Observer for Durations {
    fn frame(&mut self, frame: &FrameEvent, packet: Option<&Packet<Payload>>) {
        let Some(packet) = packet.filter(|_| frame.kind == FrameKind::Data) else { return };
        let place = packet.payload.connection as usize;
        if place >= self.0.len() {
            self.0.resize(place + 1, (Time::MAX, Time::ZERO));
        }
        let (first, last) = &mut self.0[place];
        *first = frame.start.min(*first);
        *last = frame.end.max(*last);
    }
}

impl Durations {
    /// Mean, median, 99th percentile and maximum in milliseconds.
    fn summary(&self) -> [f64; 4] {
        let seen = self.0.iter().filter(|(first, last)| first < last);
        let mut ms: Vec<f64> = seen.map(|(first, last)| (*last - *first).as_secs_f64() * 1e3).collect();
        ms.sort_by(f64::total_cmp);
        let at = |share: f64| ms.get(((ms.len() as f64 * share) as usize).min(ms.len() - 1)).copied();
        let mean = ms.iter().sum::<f64>() / ms.len().max(1) as f64;
        [Some(mean), at(0.5), at(0.99), at(1.0)].map(|v| v.unwrap_or(f64::NAN))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut text = SCENARIO.to_owned();
    let mut overrides: Vec<(String, String)> = Vec::new();
    let mut rates: Vec<u64> = (1..=16).map(|i| i * 10).collect();
    for argument in &arguments {
        let (key, value) = argument.split_once('=').ok_or("arguments are KEY=VALUE")?;
        if key == "file" {
            text = std::fs::read_to_string(value)?;
        } else if key == "rates" {
            rates = value.split(',').map(str::parse).collect::<Result<_, _>>()?;
        } else {
            overrides.push((key.to_owned(), value.to_owned()));
        }
    }
    println!(
        "rate    done/s  resp_ms  failed c/r/v/x          refused(cli,srv) qmean(cli,srv) qmax  alive  ns/packet  packets"
    );
    for rate in rates {
        let mut set = overrides.clone();
        set.push(("client.rate".to_owned(), format!("\"{rate}/s\"")));
        let scenario = Scenario::parse(&text, "e1", &set)?;
        let began = Instant::now();
        let run = airperf_sim::simulate(&scenario, StreamKey::new(1), ())?;
        let elapsed = began.elapsed();
        let watched = airperf_sim::simulate(&scenario, StreamKey::new(1), Durations::default())?;
        let [mean_ms, median, p99, most] = watched.observer.summary();
        let t = &run.totals;
        let seconds = scenario.duration.as_secs_f64();
        let mean = |q: &QueueStats| q.area as f64 / scenario.run_time().as_ns() as f64;
        let response = t.response_time.as_secs_f64() * 1e3 / t.exchanges.max(1) as f64;
        println!(
            "{rate:4}  {:8.1}  {response:7.2}  {:5}/{:5}/{:5}/{:5}  {:5},{:5}  {:5.1},{:5.1}  {},{}  {:5}  {mean_ms:.1}/{median:.1}/{p99:.1}/{most:.0}  {:6.1}  {}",
            t.exchanges_in_time as f64 / seconds,
            t.failed_connect,
            t.failed_reply,
            t.failed_receive,
            t.failed_reset,
            run.queues[1].dropped,
            run.queues[0].dropped,
            mean(&run.queues[1]),
            mean(&run.queues[0]),
            run.queues[1].max,
            run.queues[0].max,
            t.alive_most,
            elapsed.as_nanos() as f64 / t.delivered.max(1) as f64,
            t.delivered,
        );
    }
    Ok(())
}
