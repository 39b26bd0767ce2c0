//! `manifest.json`: what a run was made from, what it came to, and what its files must contain.
//!
//! For a simulated run it holds no wall-clock time and no fact of the host, so the same seed gives the
//! same bytes; an emulated run adds `host` and `lag`. Maps are sorted by key.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::SCHEMA_VERSION;

/// How much of a run is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Everything.
    #[default]
    Full,
    /// No frames, packets or capture: connections, exchanges, queues and the manifest.
    Analysis,
    /// No tables: `summary.json` and the manifest.
    Summary,
}

/// How a run was made to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Testbed {
    /// In virtual time, with modelled endpoints.
    Sim,
    /// In real time, with real programs.
    Emu,
}

/// What a run was made from and what it came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the tables and of this file: [`SCHEMA_VERSION`].
    pub schema: u32,
    /// What the directory holds: `run`.
    pub kind: String,
    /// How it was made to happen.
    pub testbed: Testbed,
    /// Version of the program.
    pub airperf: String,
    /// The scenario.
    pub scenario: ScenarioInfo,
    /// The seed of all random streams.
    pub seed: u64,
    /// Which point of an experiment.
    pub point: u64,
    /// Which repetition of that point.
    pub repetition: u64,
    /// How long load was offered, in seconds.
    pub duration_s: f64,
    /// Seconds the testbed went on for in all, draining included.
    pub elapsed_s: f64,
    /// What was written.
    pub level: Level,
    /// The stations in order of id.
    pub stations: Vec<StationInfo>,
    /// Sums over the run.
    pub totals: Totals,
    /// Whether the run may be used.
    pub valid: bool,
    /// Why not: one sentence each; empty for a valid run.
    pub why_invalid: Vec<String>,
    /// Facts of the host (kernel, programs, TCP settings); emulated runs only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<serde_json::Value>,
    /// How late the emulator was; emulated runs only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<LagSummary>,
    /// The tables by file name.
    pub tables: BTreeMap<String, TableEntry>,
    /// Every other file but this one, by name.
    pub files: BTreeMap<String, FileInfo>,
}

impl Manifest {
    /// A manifest of this version, valid, with no totals yet; [`crate::RunWriter::finish`] fills in the
    /// files.
    pub fn new(testbed: Testbed, scenario: ScenarioInfo, seed: u64) -> Self {
        Self {
            schema: SCHEMA_VERSION,
            kind: "run".to_owned(),
            testbed,
            airperf: env!("CARGO_PKG_VERSION").to_owned(),
            scenario,
            seed,
            point: 0,
            repetition: 0,
            duration_s: 0.0,
            elapsed_s: 0.0,
            level: Level::Full,
            stations: Vec::new(),
            totals: Totals::default(),
            valid: true,
            why_invalid: Vec::new(),
            host: None,
            lag: None,
            tables: BTreeMap::new(),
            files: BTreeMap::new(),
        }
    }

    /// Marks the run as not to be used, for one more reason.
    pub fn invalidate(&mut self, why: impl Into<String>) {
        self.valid = false;
        self.why_invalid.push(why.into());
    }
}

/// The scenario a run was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScenarioInfo {
    /// Its name.
    pub name: String,
    /// The file's text.
    pub text: String,
    /// SHA-256 of the resolved form, in hexadecimal: the scenario's identity.
    pub sha256: String,
    /// Every setting with its default filled in and overrides applied.
    pub resolved: serde_json::Value,
}

/// A station of the link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationInfo {
    /// Id in all tables.
    pub id: u16,
    /// Name in the scenario.
    pub name: String,
    /// `client` or `server`.
    pub role: String,
}

/// Sums over a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Seconds by what the medium was doing; the sum is `elapsed_s`.
    pub airtime: BTreeMap<String, f64>,
    /// Transmit queues by station name.
    pub queues: BTreeMap<String, QueueTotals>,
    /// Frames on the air.
    pub frames: FrameTotals,
    /// Packets by station name and `packets.kind`.
    pub packets: BTreeMap<String, BTreeMap<String, PacketTotals>>,
    /// Arrivals stamped before the link's present.
    pub late_arrivals: u64,
    /// Any other count, by name.
    pub counts: BTreeMap<String, u64>,
}

/// A transmit queue over a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueTotals {
    /// Time-weighted mean depth, packets.
    pub mean: f64,
    /// Largest depth, packets.
    pub max: u32,
    /// Packets offered.
    pub offered: u64,
    /// Packets refused.
    pub dropped: u64,
    /// Packets sent or given up.
    pub departed: u64,
    /// Packets given up after the last attempt.
    pub lost: u64,
}

/// Frames on the air over a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameTotals {
    /// All frames.
    pub sent: u64,
    /// Frames that carry a packet.
    pub data: u64,
    /// Acknowledgements.
    pub acks: u64,
    /// Beacons.
    pub beacons: u64,
    /// Data frames from the second attempt on.
    pub retries: u64,
    /// Frames that overlapped with another one.
    pub collisions: u64,
    /// Frames garbled by the channel.
    pub garbled: u64,
    /// Data frames whose packet the receiver already had.
    pub duplicates: u64,
}

impl FrameTotals {
    /// Counts a frame; `kind` and `outcome` are words of `frames.kind` and `frames.outcome`.
    #[inline]
    pub fn count(&mut self, kind: &str, attempt: u8, outcome: &str) {
        self.sent += 1;
        match kind {
            "data" => {
                self.data += 1;
                self.retries += u64::from(attempt > 1);
            }
            "ack" => self.acks += 1,
            "beacon" => self.beacons += 1,
            _ => {}
        }
        match outcome {
            "collided" => self.collisions += 1,
            "garbled" => self.garbled += 1,
            "duplicate" => self.duplicates += 1,
            _ => {}
        }
    }
}

/// Packets of one kind from one station.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketTotals {
    /// Offered to the transmit queue.
    pub offered: u64,
    /// Refused by the transmit queue.
    pub dropped: u64,
    /// Delivered.
    pub delivered: u64,
    /// Octets of those delivered, as IP packets.
    #[serde(default)]
    pub delivered_bytes: u64,
    /// Frames sent for them.
    pub frames: u64,
    /// Of those offered, retransmissions by TCP.
    pub retransmissions: u64,
}

/// How late the emulator was, in microseconds; see `lag.parquet` for the histogram.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LagSummary {
    /// Median lateness of deliveries.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// Largest.
    pub max_us: f64,
    /// Largest 99th percentile at which the run is valid.
    pub limit_p99_us: f64,
    /// Deliveries measured.
    pub count: u64,
}

/// What a table must contain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableEntry {
    /// Number of rows.
    pub rows: u64,
    /// Length of the file.
    pub bytes: u64,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
}

/// What another file must contain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInfo {
    /// Length of the file.
    pub bytes: u64,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
}
