//! What a run will cost, before it starts: counts, time and disk, for `--dry-run`.
//!
//! An estimate from the scenario alone: packets per exchange by counting segments, frames cut off at
//! what the link can carry. Good to a factor of two, which is what a decision to start needs.
//! Left out: retransmissions, and how fast this machine is.

use crate::{Flow, Scenario};
use airperf_workload::{ArrivalProcess, Config, DatagramPace, Distribution, FlowKind};

/// Packets of a connection besides its requests: 3 to open, 3 to close.
const PACKETS_PER_CONNECTION: f64 = 6.0;
/// Nanoseconds of one simulated frame exchange with all records on an ordinary core.
const NS_PER_FRAME: f64 = 2_500.0;
/// Bytes on disk of a frame with its packet in compressed tables, without the capture.
const TABLE_BYTES_PER_FRAME: f64 = 30.0;
/// Bytes on disk of a connection with one exchange.
const BYTES_PER_CONNECTION: f64 = 80.0;
/// A manifest, mostly the scenario, and a summary.
const SUMMARY_BYTES: f64 = 50_000.0;

/// Seconds of an exchange of a user who has the network alone.
const QUICK_EXCHANGE_S: f64 = 0.01;

/// What a run will cost, roughly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Connections begun.
    pub connections: f64,
    /// Requests made if every connection succeeds.
    pub exchanges: f64,
    /// Data frames on the medium.
    pub frames: f64,
    /// Seconds of the model's time, which the emulated testbed takes in full.
    pub run_seconds: f64,
    /// Seconds of computing in the simulated testbed.
    pub sim_seconds: f64,
    /// Bytes on disk with everything recorded.
    pub full_bytes: f64,
    /// Bytes on disk at level `analysis`.
    pub analysis_bytes: f64,
    /// Bytes on disk at level `summary`, at most.
    pub summary_bytes: f64,
}

impl Estimate {
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let seconds = scenario.duration.as_secs_f64();
        let segment = f64::from(scenario.tcp.segment_payload_bytes());
        let (mut connections, mut exchanges, mut packets, mut bytes) = (0.0, 0.0, 0.0, 0.0);
        for client in &scenario.clients {
            let plan = &client.workload.session;
            let requests = requests(&client.workload, seconds);
            let begun = requests / f64::from(plan.requests_per_connection).max(1.0);
            let embedded =
                plan.embedded_size.as_ref().map_or(client.workload.size.mean(), Distribution::mean);
            let per_page = plan.embedded.mean() * (1.0 - plan.cached);
            let object = (client.workload.size.mean() + per_page * embedded) / (1.0 + per_page);
            let reply = object + f64::from(scenario.server.http.reply_header_bytes);
            let request = f64::from(client.http.request_bytes) + client.workload.upload.mean();
            // A request, its acknowledgement, the reply's segments and one acknowledgement for two.
            let per_request = 0.5 + 1.5 * ((reply / segment).ceil() + (request / segment).ceil());
            connections += begun;
            exchanges += requests;
            packets += begun * PACKETS_PER_CONNECTION + requests * per_request;
            bytes += requests * (reply + request);
        }
        for browser in &scenario.browsers {
            let loads = f64::from(browser.loads);
            let objects = loads * browser.page.objects.len() as f64;
            let headers = f64::from(browser.config.request_bytes + browser.config.reply_header_bytes);
            let octets = loads * browser.page.bytes() as f64 + objects * headers;
            connections += loads * browser.page.hosts.len() as f64 * f64::from(browser.config.connections);
            exchanges += objects;
            packets += connections * PACKETS_PER_CONNECTION + 2.0 * objects + 1.5 * octets / segment;
            bytes += octets;
        }
        for flow in &scenario.flows {
            let (sent, each) = datagrams(scenario, flow);
            packets += sent;
            bytes += sent * each;
        }
        let run_seconds = scenario.run_time().as_secs_f64();
        let frames = packets.min(run_seconds * capacity(scenario)).max(0.0);
        let carried = if packets > 0.0 { frames / packets } else { 0.0 };
        let bytes_per_frame = 120.0 + bytes / packets.max(1.0);
        let stations = scenario.stations.len() as f64;
        let queue_rows = stations * run_seconds / scenario.record.queue_interval.as_secs_f64();
        let analysis_bytes = 50_000.0
            + connections * BYTES_PER_CONNECTION
            + exchanges * carried * BYTES_PER_CONNECTION / 2.0
            + queue_rows * 8.0;
        Self {
            connections,
            exchanges,
            frames,
            run_seconds,
            sim_seconds: frames * NS_PER_FRAME / 1e9,
            // Every data frame has an acknowledgement of its own in the capture.
            full_bytes: analysis_bytes + frames * (TABLE_BYTES_PER_FRAME + bytes_per_frame + 80.0),
            analysis_bytes,
            summary_bytes: SUMMARY_BYTES,
        }
    }
}

/// Requests that a client makes if every one succeeds.
fn requests(workload: &Config, seconds: f64) -> f64 {
    let plan = &workload.session;
    match workload.requests_per_session() {
        Some(each) if workload.arrivals != ArrivalProcess::Once => workload.rate.as_f64() * seconds * each,
        Some(each) => each,
        None => {
            let per_page = 1.0 + plan.embedded.mean() * (1.0 - plan.cached);
            let away = (plan.think_time.mean() + plan.parse_time.mean()) / 1e9;
            seconds / (away + per_page * QUICK_EXCHANGE_S) * per_page
        }
    }
}

/// Packets of a flow in both directions, and octets in each; a saturated one sends what the link carries.
fn datagrams(scenario: &Scenario, flow: &Flow) -> (f64, f64) {
    let lasts = flow.config.duration.unwrap_or(scenario.duration).min(scenario.duration).as_secs_f64();
    match &flow.config.kind {
        FlowKind::Tcp { bytes } => {
            let segment = f64::from(scenario.tcp.segment_payload_bytes());
            // One acknowledgement for two segments.
            let most = 1.5 * bytes.map_or(f64::INFINITY, |bytes| bytes as f64 / segment);
            (most.min(lasts * capacity(scenario)), segment)
        }
        FlowKind::Datagrams(config) => {
            let payload = f64::from(config.payload_bytes);
            let rate = match config.pace {
                DatagramPace::Saturated => f64::INFINITY,
                DatagramPace::Even { rate } | DatagramPace::Frames { rate, .. } => rate.as_bps() as f64,
            };
            ((lasts * rate / 8.0 / payload).min(lasts * capacity(scenario)), payload)
        }
    }
}

/// Small data frames per second at most.
fn capacity(scenario: &Scenario) -> f64 {
    const SMALL: u32 = 52;
    scenario.link.most_packets(SMALL)
}
