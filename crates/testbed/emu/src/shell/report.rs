//! What a command's layers come to: sums by direction, lateness, and the check against what each link states.
//!
//! Left out: how it is shown.

use airperf_scenario::Scenario;
use airperf_units::Duration;
use serde::Serialize;
use std::collections::BTreeMap;

use super::check::Seen;
use super::layer::LayerOutcome;
use crate::isolation::Block;
use crate::realtime::Granted;

/// By how much a busy direction's rate may differ from what is stated; ours, a third of what two testbeds may differ by.
const RATE_TOLERANCE: f64 = 0.01;
/// Packets without which a busy time says nothing about a rate; ours.
const ENOUGH_PACKETS: u64 = 20;

/// A command's end, and its layers, the outermost first.
#[derive(Clone, Debug, Serialize)]
pub struct ShellReport {
    /// Exit status of the command; 128 and the signal's number when one ended it.
    pub status: i32,
    /// Whether the namespace around the layers has no way out but layers.
    pub enclosed: bool,
    /// What the clocks did that makes the run invalid.
    pub clocks: Vec<String>,
    /// The layers.
    pub layers: Vec<LayerReport>,
}

/// One layer.
#[derive(Clone, Debug, Serialize)]
pub struct LayerReport {
    /// The scenario whose link it is.
    pub name: String,
    /// SHA-256 of its resolved form.
    pub sha256: String,
    /// Seed of its random streams.
    pub seed: u64,
    /// Address of its outer end: where the command finds what listens outside.
    pub outer: String,
    /// Address of its inner end.
    pub inner: String,
    /// How long it worked.
    pub seconds: f64,
    /// How late deliveries were, µs: median, 99th percentile, most; and what the scenario allows of the second.
    pub lag_p50_us: Option<f64>,
    /// 99th percentile.
    pub lag_p99_us: Option<f64>,
    /// The most.
    pub lag_max_us: f64,
    /// What the scenario allows of the 99th percentile.
    pub lag_p99_limit_us: f64,
    /// How late the kernel woke the layer's thread, µs: 99th percentile; `None` where nothing was waited for.
    pub timer_lag_p99_us: Option<f64>,
    /// The most.
    pub timer_lag_max_us: f64,
    /// What the kernel granted the layer's thread.
    pub granted: Granted,
    /// Packets that were not IPv4.
    pub foreign: u64,
    /// To the command.
    pub down: DirectionReport,
    /// From the command.
    pub up: DirectionReport,
    /// The other stations of the link, which its scenario's clients played.
    pub others: Vec<OtherReport>,
    /// Why what was measured over it should not be trusted; empty when it may be.
    pub why_invalid: Vec<String>,
}

/// A station besides the command's.
#[derive(Clone, Debug, Serialize)]
pub struct OtherReport {
    /// Its name.
    pub station: String,
    /// What plays it.
    pub program: &'static str,
    /// Octets of packets delivered to it.
    pub down_bytes: u64,
    /// Octets of packets delivered from it.
    pub up_bytes: u64,
}

/// One direction of a layer.
#[derive(Clone, Debug, Serialize)]
pub struct DirectionReport {
    /// Packets and octets that came.
    pub offered_packets: u64,
    /// Their octets.
    pub offered_bytes: u64,
    /// Packets that came out.
    pub delivered_packets: u64,
    /// Their octets.
    pub delivered_bytes: u64,
    /// Packets the link refused, by cause.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Packets the link gave up, by cause.
    pub lost: BTreeMap<&'static str, u64>,
    /// Packets that the kernel dropped in front of the link, because we did not take them in time; `None` when not known.
    pub dropped_outside: Option<u64>,
    /// Time between the devices: the least, the mean, the most, ms.
    pub delay_least_ms: Option<f64>,
    /// Mean.
    pub delay_mean_ms: Option<f64>,
    /// Most.
    pub delay_most_ms: Option<f64>,
    /// Mean time of packets that met nobody, ms, beside what the link states for them.
    pub delay: Option<Wanted>,
    /// Rate while the direction was busy, bit/s, beside what the link states for that time.
    pub rate: Option<Wanted>,
    /// Whole seconds of the run through which it was busy.
    pub busy_seconds: u64,
    /// The share by which the octets of the worst of them were off what the link states for it.
    pub worst_second: Option<f64>,
}

/// Something measured and what it should have been.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Wanted {
    /// What the link states.
    pub stated: f64,
    /// What was measured at the devices.
    pub measured: f64,
    /// Packets that say so.
    pub packets: u64,
    /// Share by which the measurement is not known, however good the link.
    pub uncertain: f64,
}

impl Wanted {
    /// Whether the two differ by more than this share and what is not known.
    fn is_off(&self, by: f64) -> bool {
        (self.measured / self.stated - 1.0).abs() > by + self.uncertain
    }
}

impl LayerReport {
    pub(super) fn new(
        scenario: &Scenario,
        seed: u64,
        block: Block,
        drops: [Option<u64>; 2],
        outcome: &LayerOutcome,
    ) -> Self {
        let medium = &outcome.medium;
        let us = |late: Duration| late.as_ns() as f64 / 1e3;
        let direction = |way: usize| {
            let Seen { packets, octets, least, sum_s, most, .. } = outcome.seen[way];
            let seen = outcome.seen[way];
            let some = |value: f64| (packets > 0).then_some(value);
            DirectionReport {
                offered_packets: outcome.books.offered[way].0,
                offered_bytes: outcome.books.offered[way].1,
                delivered_packets: packets,
                delivered_bytes: octets,
                dropped: outcome.books.dropped[way].clone(),
                lost: outcome.books.lost[way].clone(),
                dropped_outside: drops[way],
                delay_least_ms: least.map(|least| least.as_secs_f64() * 1e3),
                delay_mean_ms: some(sum_s / packets as f64 * 1e3),
                delay_most_ms: some(most.as_secs_f64() * 1e3),
                delay: (seen.alone > 0).then(|| Wanted {
                    stated: seen.alone_stated_s / seen.alone as f64 * 1e3,
                    measured: seen.alone_s / seen.alone as f64 * 1e3,
                    packets: seen.alone,
                    uncertain: 0.0,
                }),
                rate: (seen.busy_packets >= ENOUGH_PACKETS && seen.busy_s > 0.0).then(|| Wanted {
                    stated: seen.busy_stated * 8.0 / seen.busy_s,
                    measured: seen.busy_octets * 8.0 / seen.busy_s,
                    packets: seen.busy_packets,
                    uncertain: seen.busy_grain / seen.busy_stated,
                }),
                busy_seconds: seen.seconds,
                worst_second: (seen.seconds > 0).then_some(seen.worst_second),
            }
        };
        let limit = scenario.emu.lag_p99_limit;
        let mut report = Self {
            name: scenario.name.clone(),
            sha256: scenario.sha256(),
            seed,
            outer: block.outer().to_string(),
            inner: block.inner().to_string(),
            seconds: medium.closing.as_secs_f64(),
            lag_p50_us: medium.delivery_lag.percentile(0.5).map(us),
            lag_p99_us: medium.delivery_lag.percentile(0.99).map(us),
            lag_max_us: us(medium.delivery_lag.max()),
            lag_p99_limit_us: us(limit),
            timer_lag_p99_us: medium.timer_lag.percentile(0.99).map(us),
            timer_lag_max_us: us(medium.timer_lag.max()),
            foreign: medium.counters.foreign,
            down: direction(0),
            up: direction(1),
            granted: medium.granted.clone(),
            others: Vec::new(),
            why_invalid: Vec::new(),
        };
        let mut why: Vec<String> = medium.too_late(limit).into_iter().collect();
        if medium.refused > 0 {
            why.push(format!("the kernel refused {} packets that were delivered", medium.refused));
        }
        why.extend(report.unlike());
        for (name, way) in [("down", &report.down), ("up", &report.up)] {
            if let Some(drops) = way.dropped_outside.filter(|&drops| drops > 0) {
                why.push(format!("{name}: {drops} packets were dropped in front of the link"));
            }
        }
        report.why_invalid = why;
        report
    }

    /// In what the layer was not as its link states.
    pub(crate) fn unlike(&self) -> Vec<String> {
        let ways = [("down", &self.down), ("up", &self.up)];
        ways.iter().flat_map(|(name, way)| way.unlike(name, self.lag_p99_limit_us / 1e3)).collect()
    }
}

impl DirectionReport {
    /// In what this direction was not as its link states; delays may be off by so many milliseconds.
    fn unlike(&self, name: &str, limit_ms: f64) -> Vec<String> {
        let mut list = Vec::new();
        if let Some(rate) = self.rate.filter(|rate| rate.is_off(RATE_TOLERANCE)) {
            list.push(format!(
                "{name}: {:.0} bit/s came out while it was busy, {:.0} are stated",
                rate.measured, rate.stated
            ));
        }
        if let Some(delay) = self.delay.filter(|delay| (delay.measured - delay.stated).abs() > limit_ms) {
            list.push(format!(
                "{name}: packets that met nobody took {:.3} ms, {:.3} are stated",
                delay.measured, delay.stated
            ));
        }
        list
    }
}
