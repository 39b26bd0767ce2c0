//! What a run came to: its lag table and its manifest, with every reason not to trust it.
//!
//! Left out: the other tables; see `records`.

use std::collections::BTreeMap;
use std::io::Write;

use airperf_link::QueueStats;
use airperf_record::{
    LagRow, LagSummary, Manifest, PageRow, QueueTotals, RunWriter, ScenarioInfo, StationInfo, Testbed,
    Totals, WriteError,
};
use airperf_scenario::Scenario;
use airperf_units::{Duration, StreamKey};
use airperf_workload::ArrivalProcess;
use serde_json::{Value, json};

use crate::clients::{ClientReport, LATEST_SCHEDULE};
use crate::kernel;
use crate::lag::Histogram;
use crate::medium::MediumOutcome;
use crate::programs::httperf;
use crate::records::Sums;

/// Below this share of the connections wanted, the generator did not keep its schedule (faults row 12).
const GENERATOR_SHARE: f64 = 0.99;

/// The programs of a run and what they said.
pub(super) struct Programs {
    pub(super) isolation: &'static str,
    pub(super) device: &'static str,
    pub(super) unprivileged: bool,
    pub(super) settings: Vec<(String, String)>,
    pub(super) refused: Vec<String>,
    pub(super) server: Value,
    /// Counts of the server's admission control.
    pub(super) admission: Vec<(String, u64)>,
    pub(super) clients: Vec<ClientReport>,
    pub(super) device_drops: Vec<Option<u64>>,
}

/// Everything seen in a run.
pub(super) struct Seen {
    pub(super) medium: MediumOutcome,
    pub(super) sums: Sums,
    pub(super) programs: Programs,
    pub(super) clocks: Vec<String>,
}

/// Writes `lag.parquet`.
pub(super) fn write_lag(writer: &mut RunWriter, medium: &MediumOutcome) -> Result<(), WriteError> {
    let Some(mut table) = writer.table::<LagRow>()? else { return Ok(()) };
    for (what, lag) in [("delivery", &medium.delivery_lag), ("timer", &medium.timer_lag)] {
        for (from, below, count) in lag.bins() {
            table.push(&LagRow { what, from_ns: from.as_ns(), below_ns: below.as_ns(), count })?;
        }
    }
    writer.close_table(table)
}

/// Writes `pages.parquet` where clients have users.
pub(super) fn write_pages(writer: &mut RunWriter, programs: &Programs) -> Result<(), WriteError> {
    if programs.clients.iter().all(|client| client.pages.is_empty()) {
        return Ok(());
    }
    let Some(mut table) = writer.table::<PageRow>()? else { return Ok(()) };
    for client in &programs.clients {
        for page in &client.pages {
            table.push(&PageRow { client: client.number, ..page.clone() })?;
        }
    }
    writer.close_table(table)
}

/// Keeps what the clients wrote, as `<program>-<number of the client>.txt`, or `.json`.
pub(super) fn keep_reports(writer: &mut RunWriter, programs: &Programs) -> Result<(), WriteError> {
    for (number, client) in programs.clients.iter().enumerate().filter(|(_, client)| !client.text.is_empty())
    {
        let kind = if client.text.starts_with('{') { "json" } else { "txt" };
        let mut file = writer.file(&format!("{}-{}.{kind}", client.program, number + 1))?;
        file.write_all(client.text.as_bytes()).map_err(|error| file.error(error))?;
        writer.close(file)?;
    }
    Ok(())
}

/// Composes the manifest.
pub(super) fn manifest(scenario: &Scenario, text: &str, key: StreamKey, seen: Seen) -> Manifest {
    let Seen { medium, sums, programs, clocks } = seen;
    let info = ScenarioInfo {
        name: scenario.name.clone(),
        text: text.to_owned(),
        sha256: scenario.sha256(),
        resolved: scenario.resolved().clone(),
    };
    let mut manifest = Manifest::new(Testbed::Emu, info, key.seed);
    manifest.point = key.point;
    manifest.repetition = key.repetition;
    manifest.duration_s = scenario.duration.as_secs_f64();
    manifest.elapsed_s = medium.closing.as_secs_f64();
    manifest.stations = (0u16..)
        .zip(&scenario.stations)
        .map(|(id, s)| StationInfo { id, name: s.name.clone(), role: s.role.name().to_owned() })
        .collect();
    manifest.lag = Some(lag_summary(scenario, &medium));
    for why in complaints(scenario, &medium, &sums, &programs).into_iter().chain(clocks) {
        manifest.invalidate(why);
    }
    manifest.totals = totals(scenario, &medium, &sums, &programs);
    manifest.host = Some(host(scenario, &medium, &sums, &programs));
    manifest
}

fn microseconds(lag: Option<Duration>) -> f64 {
    lag.map_or(0.0, |lag| lag.as_ns() as f64 / 1e3)
}

fn percentiles(lag: &Histogram) -> Value {
    json!({
        "p50": microseconds(lag.percentile(0.5)),
        "p99": microseconds(lag.percentile(0.99)),
        "max": microseconds(Some(lag.max())),
    })
}

fn lag_summary(scenario: &Scenario, medium: &MediumOutcome) -> LagSummary {
    let lag = &medium.delivery_lag;
    LagSummary {
        p50_us: microseconds(lag.percentile(0.5)),
        p99_us: microseconds(lag.percentile(0.99)),
        max_us: microseconds(Some(lag.max())),
        limit_p99_us: microseconds(Some(scenario.emu.lag_p99_limit)),
        count: lag.total(),
    }
}

/// Why the run must not be used.
fn complaints(scenario: &Scenario, medium: &MediumOutcome, sums: &Sums, programs: &Programs) -> Vec<String> {
    let mut list: Vec<String> = medium.too_late(scenario.emu.lag_p99_limit).into_iter().collect();
    if let Some(p99) = sums.schedule_lag.percentile(0.99)
        && p99 > LATEST_SCHEDULE
    {
        list.push(format!(
            "1 % of the connections were opened more than {p99} after they were due: \
             the machine did not let the generator run; run it again with less beside it"
        ));
    }
    let mut count = |n: u64, what: &str| {
        if n > 0 {
            list.push(format!("{n} {what}"));
        }
    };
    count(medium.refused, "deliveries were refused by the kernel");
    count(medium.counters.oversized, "packets were longer than the MTU: an offload was on");
    count(medium.late_arrivals, "arrivals were stamped before the medium's present");
    let dropped = programs.device_drops.iter().flatten().sum();
    count(dropped, "packets were dropped by a device before the model's queue");
    list
}

fn totals(scenario: &Scenario, medium: &MediumOutcome, sums: &Sums, programs: &Programs) -> Totals {
    let elapsed_ns = medium.closing.as_ns().max(1) as f64;
    let queue = |q: &QueueStats| QueueTotals {
        mean: q.area as f64 / elapsed_ns,
        max: q.max,
        offered: q.offered,
        dropped: q.dropped,
        departed: q.departed,
        lost: q.lost,
    };
    let names = || scenario.stations.iter().map(|station| station.name.clone());
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut set = |name: &str, n: u64| {
        counts.insert(name.to_owned(), n);
    };
    set("connections", sums.connections);
    set("exchanges", sums.exchanges);
    set("exchanges_in_time", sums.exchanges_in_time);
    for phase in airperf_record::ERROR_PHASES {
        set(&format!("failed_{phase}"), sums.failed.get(phase).copied().unwrap_or(0));
    }
    let wanted: u64 = programs.clients.iter().map(|client| client.wanted).sum();
    let limited = (sums.connections as f64) < wanted as f64 * GENERATOR_SHARE;
    set("connections_wanted", wanted);
    set("generator_limited", u64::from(limited));
    set(
        "client_limited",
        programs.clients.iter().filter_map(|c| Some(c.report.as_ref()?.client_limited())).sum(),
    );
    programs.admission.iter().for_each(|(name, n)| set(name, *n));
    set("foreign_packets", medium.counters.foreign);
    set("device_drops", programs.device_drops.iter().flatten().sum());
    Totals {
        airtime: medium.airtime.iter().map(|(what, time)| ((*what).to_owned(), time.as_secs_f64())).collect(),
        queues: names().zip(&medium.queues).map(|(name, q)| (name, queue(q))).collect(),
        frames: sums.frames.clone(),
        packets: names()
            .zip(&sums.packets)
            .map(|(name, kinds)| {
                (name, kinds.iter().map(|(kind, t)| ((*kind).to_owned(), t.clone())).collect())
            })
            .collect(),
        late_arrivals: medium.late_arrivals,
        counts,
    }
}

fn host(scenario: &Scenario, medium: &MediumOutcome, sums: &Sums, programs: &Programs) -> Value {
    let settings: BTreeMap<_, _> = programs.settings.iter().cloned().collect();
    let rounded = scenario.clients.iter().any(|c| c.workload.arrivals == ArrivalProcess::Poisson)
        && programs.clients.iter().any(|client| client.program == "httperf");
    json!({
        "machine": kernel::facts(),
        "isolation": programs.isolation,
        "device": programs.device,
        "programs_unprivileged": programs.unprivileged,
        "medium_thread": medium.granted,
        "timer_lag_us": percentiles(&medium.timer_lag),
        "schedule_lag_us": percentiles(&sums.schedule_lag),
        "spool_delayed": medium.spool_delayed,
        "server": programs.server,
        "clients": programs.clients,
        "workload": { "differences": rounded.then_some(httperf::DIFFERENCE).into_iter().collect::<Vec<_>>() },
        "tcp": {
            "settings": settings,
            "refused": programs.refused,
            "differences": kernel::differences(scenario),
        },
    })
}
