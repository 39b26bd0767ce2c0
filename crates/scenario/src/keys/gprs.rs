//! Keys of `[link]`, `[link.down]` and `[link.up]` of a GPRS link.
//!
//! Defaults and ranges are the model's and the standard's; see `airperf_wwan::defaults`. Left out: keys of single
//! mobiles, which are all alike but for their queues.

use crate::quantity::Dimension;
use crate::setting::{Form, Key, MS, S, Setting, count, size, time, times};
use airperf_units::{Distribution, Duration};
use airperf_wwan::{
    Adaptation, BlockError, Channel, Config, Direction, Fading, Family, Fec, Stalls, defaults,
};
use std::sync::Arc;

/// The smallest MTU under which TCP with all its options still carries data, as on the other links.
const MTU_MIN: i128 = 128;
/// The longest packet that every GPRS network carries (3GPP TS 44.065 §6.9: N-PDUs of 1502 octets).
const MTU_MAX: i128 = 1500;
const QUEUE_MAX: i128 = 1_000_000;
/// The longest path to a channel's file.
const PATH_MAX: usize = 500;
/// In thousandths of a dB, wider than any channel that carries data.
const RATIO: Form = Form::Amount(Dimension::Ratio, -50_000, 50_000);

/// What `[link]` says when it is GPRS.
pub(crate) struct Gprs {
    pub(crate) mtu: u32,
    pub(crate) block_error: f64,
    /// Thousandths of a dB.
    pub(crate) ci: Option<i32>,
    pub(crate) fade_ci: Option<i32>,
    fade_apart: Duration,
    fade_length: Duration,
    stall_apart: Option<Duration>,
    stall_length: Distribution,
    pub(crate) channel: String,
    pub(crate) channel_sha256: String,
    /// What the channel's file holds, once it was read.
    pub(crate) read: Option<(Arc<Channel>, String)>,
    pub(crate) down: GprsWay,
    pub(crate) up: GprsWay,
}

impl Default for Gprs {
    fn default() -> Self {
        Self {
            mtu: 1500,
            block_error: 0.0,
            ci: None,
            fade_ci: None,
            // Ours: a mobile at walking pace is behind something for a second now and then.
            fade_apart: Duration::from_secs(10),
            fade_length: Duration::from_secs(1),
            stall_apart: None,
            // 4 to 40 s: Chakravorty, Cartwright and Pratt, "Practical experience with TCP over GPRS", GLOBECOM 2002. That
            // short ones are the most, by a tail of 1.5, is ours.
            stall_length: Distribution::Pareto { low: 4_000_000_000, high: 40_000_000_000, shape: 1.5 },
            channel: String::new(),
            channel_sha256: String::new(),
            read: None,
            down: GprsWay::new(Direction::down()),
            up: GprsWay::new(Direction::up()),
        }
    }
}

impl Gprs {
    /// The link without its stations.
    pub(crate) fn config(&self) -> Config {
        let db = |thousandths: i32| f64::from(thousandths) / 1000.0;
        let (good, bad) = (self.fade_apart, self.fade_length);
        let block_error = match (&self.read, self.ci) {
            (Some((channel, _)), _) => BlockError::Series(channel.clone()),
            (None, None) => BlockError::Fixed(self.block_error),
            (None, Some(ci)) => BlockError::CarrierToInterference {
                db: db(ci),
                fading: self.fade_ci.map(|fade| Fading { db: db(fade), good, bad }),
            },
        };
        let stalls = self.stall_apart.map(|every| Stalls { every, lasts: self.stall_length.clone() });
        Config {
            stations: Vec::new(),
            mtu: self.mtu,
            family: self.down.family,
            down: self.down.direction(),
            up: self.up.direction(),
            block_error,
            stalls,
        }
    }
}

/// One direction.
#[derive(Clone)]
pub(crate) struct GprsWay {
    direction: Direction,
    pub(crate) family: Family,
    pub(crate) queue_packets: u32,
    pub(crate) adapt: bool,
    adaptation: Adaptation,
    fec: Fec,
    fec_adapts: bool,
    fec_target: f64,
}

impl GprsWay {
    fn new(direction: Direction) -> Self {
        Self {
            direction,
            family: Family::Gprs,
            queue_packets: 100,
            adapt: false,
            adaptation: Adaptation::default(),
            fec: Fec::fixed(8, 0),
            fec_adapts: false,
            fec_target: defaults::FEC_TARGET,
        }
    }

    pub(crate) fn direction(&self) -> Direction {
        Direction {
            adaptation: self.adapt.then_some(self.adaptation),
            fec: (self.fec_adapts || self.fec.repair > 0)
                .then_some(Fec { target: self.fec_adapts.then_some(self.fec_target), ..self.fec }),
            ..self.direction.clone()
        }
    }

    pub(crate) fn arq(&self) -> bool {
        self.direction.arq
    }

    pub(crate) fn adaptation(&self) -> Adaptation {
        self.adaptation
    }
}

fn ratio(db: Option<i32>, none: &'static str) -> Setting {
    db.map_or(Setting::Word(none), |thousandths| Setting::Amount(thousandths.into()))
}

/// Keys of `[link]` with `kind = "gprs"`.
pub(crate) static GPRS: [Key<Gprs>; 10] = [
    Key::new(
        "mtu",
        size(MTU_MIN, MTU_MAX),
        "Longest IP packet.",
        |gprs: &Gprs| Setting::of_count(gprs.mtu),
        |gprs, s| gprs.mtu = s.count(),
    ),
    Key::new(
        "block_error",
        Form::Share(0.0, 0.99),
        "Probability that a radio block is lost, whatever its coding scheme, unless `ci` is given.",
        |gprs: &Gprs| Setting::Share(gprs.block_error),
        |gprs, s| gprs.block_error = s.share(),
    ),
    Key::new(
        "ci",
        RATIO,
        "Carrier over interference, from which with the coding scheme the probability follows that a block is lost.",
        |gprs: &Gprs| ratio(gprs.ci, "unused"),
        |gprs, s| gprs.ci = s.optional(Setting::count),
    )
    .words(&["unused"]),
    Key::new(
        "fade_ci",
        RATIO,
        "Carrier over interference while the channel is worse.",
        |gprs: &Gprs| ratio(gprs.fade_ci, "never"),
        |gprs, s| gprs.fade_ci = s.optional(Setting::count),
    )
    .words(&["never"]),
    Key::new(
        "fade_apart",
        time(MS, 3600 * S),
        "Mean time until the channel becomes worse; exponential.",
        |gprs: &Gprs| Setting::of_time(gprs.fade_apart),
        |gprs, s| gprs.fade_apart = s.time(),
    ),
    Key::new(
        "fade_length",
        time(MS, 3600 * S),
        "Mean time for which it is worse; exponential.",
        |gprs: &Gprs| Setting::of_time(gprs.fade_length),
        |gprs, s| gprs.fade_length = s.time(),
    ),
    Key::new(
        "stall_apart",
        time(MS, 86_400 * S),
        "Mean time between outages in which nothing is sent; exponential.",
        |gprs: &Gprs| gprs.stall_apart.map_or(Setting::Word("never"), Setting::of_time),
        |gprs, s| gprs.stall_apart = s.optional(Setting::time),
    )
    .words(&["never"]),
    Key::new(
        "stall_length",
        times(MS, 3600 * S),
        "How long an outage lasts.",
        |gprs: &Gprs| Setting::of(&gprs.stall_length),
        |gprs, s| gprs.stall_length = s.distribution(),
    ),
    Key::new(
        "channel",
        Form::Text(PATH_MAX),
        "File of the channel over time, seen from the scenario's folder, in place of `block_error` and `ci`: shares of blocks lost or C/I by time.",
        |gprs: &Gprs| Setting::Text(gprs.channel.clone()),
        |gprs, s| gprs.channel = s.text(),
    ),
    Key::new(
        "channel_sha256",
        Form::Text(64),
        "SHA-256 of that file in hexadecimal: with it another file is refused. Filled in when it is not given.",
        |gprs: &Gprs| Setting::Text(gprs.channel_sha256.clone()),
        |gprs, s| gprs.channel_sha256 = s.text().to_ascii_lowercase(),
    ),
];

/// Keys of a direction of a GPRS link.
pub(crate) static GPRS_WAY: [Key<GprsWay>; 20] = [
    Key::new(
        "slots",
        count(1, 8),
        "Time slots of every mobile.",
        |way: &GprsWay| Setting::of_count(way.direction.slots),
        |way, s| way.direction.slots = s.count(),
    ),
    Key::new(
        "scheme",
        Form::Word,
        "Coding scheme, the first one where it is adapted: CS of GPRS, or MCS of EDGE in both directions.",
        |way: &GprsWay| Setting::Word(way.family.schemes()[usize::from(way.direction.scheme)].name),
        |way, s| {
            let name = s.text();
            for family in [Family::Gprs, Family::Edge] {
                if let Some(scheme) = family.scheme(&name) {
                    (way.family, way.direction.scheme) = (family, scheme);
                }
            }
        },
    )
    .words(&[
        "CS-1", "CS-2", "CS-3", "CS-4", "MCS-1", "MCS-2", "MCS-3", "MCS-4", "MCS-5", "MCS-6", "MCS-7",
        "MCS-8", "MCS-9",
    ]),
    Key::new(
        "adapt",
        Form::Flag,
        "Whether the scheme follows the share of blocks that reports tell missing.",
        |way: &GprsWay| Setting::Flag(way.adapt),
        |way, s| way.adapt = s.flag(),
    ),
    Key::new(
        "slower_above",
        Form::Share(0.0, 0.99),
        "Share of missing blocks above which a slower scheme is taken.",
        |way: &GprsWay| Setting::Share(way.adaptation.slower_above),
        |way, s| way.adaptation.slower_above = s.share(),
    ),
    Key::new(
        "faster_below",
        Form::Share(0.0, 0.99),
        "Share of missing blocks below which, for a second, a faster scheme is taken.",
        |way: &GprsWay| Setting::Share(way.adaptation.faster_below),
        |way, s| way.adaptation.faster_below = s.share(),
    ),
    Key::new(
        "access",
        time(0, 60 * S),
        "Setting up a block flow while the other direction has none.",
        |way: &GprsWay| Setting::of_time(way.direction.access),
        |way, s| way.direction.access = s.time(),
    ),
    Key::new(
        "access_linked",
        time(0, 60 * S),
        "Setting up a block flow while the other direction has one.",
        |way: &GprsWay| Setting::of_time(way.direction.access_linked),
        |way, s| way.direction.access_linked = s.time(),
    ),
    Key::new(
        "keep",
        time(0, 60 * S),
        "How long a block flow without data is kept; 0s counts its last blocks down and releases it.",
        |way: &GprsWay| Setting::of_time(way.direction.keep),
        |way, s| way.direction.keep = s.time(),
    ),
    Key::new(
        "arq",
        Form::Flag,
        "Whether lost blocks are sent again.",
        |way: &GprsWay| Setting::Flag(way.direction.arq),
        |way, s| way.direction.arq = s.flag(),
    ),
    Key::new(
        "arq_from",
        Form::Share(0.0, 1.0),
        "Share of blocks lost, as reports told it, from which on a new block flow sends lost blocks again; 0 for always.",
        |way: &GprsWay| Setting::Share(way.direction.arq_from),
        |way, s| way.direction.arq_from = s.share(),
    ),
    Key::new(
        "report_every",
        count(1, 64),
        "Blocks after which a report of what is missing is asked for.",
        |way: &GprsWay| Setting::of_count(way.direction.report_every),
        |way, s| way.direction.report_every = s.count(),
    ),
    Key::new(
        "report_delay",
        time(0, 10 * S),
        "From the end of the block that asks for a report until it has come.",
        |way: &GprsWay| Setting::of_time(way.direction.report_delay),
        |way, s| way.direction.report_delay = s.time(),
    ),
    Key::new(
        "fec",
        Form::Word,
        "Whether the number of repair blocks is `fec_repair`, or follows the share of blocks lost that reports tell.",
        |way: &GprsWay| Setting::Word(if way.fec_adapts { "adaptive" } else { "fixed" }),
        |way, s| way.fec_adapts = s.word() == Some("adaptive"),
    )
    .words(&["fixed", "adaptive"]),
    Key::new(
        "fec_target",
        Form::Share(1e-6, 0.5),
        "Share of groups that may have more losses than repair blocks, where those are adaptive.",
        |way: &GprsWay| Setting::Share(way.fec_target),
        |way, s| way.fec_target = s.share(),
    ),
    Key::new(
        "fec_data",
        count(1, 32),
        "Data blocks of a group that repair blocks follow.",
        |way: &GprsWay| Setting::of_count(way.fec.data),
        |way, s| way.fec.data = s.count(),
    ),
    Key::new(
        "fec_repair",
        count(0, 16),
        "Repair blocks behind every group, each of which makes good the loss of one; 0 for none. Until the first report, where they are adaptive.",
        |way: &GprsWay| Setting::of_count(way.fec.repair),
        |way, s| way.fec.repair = s.count(),
    ),
    Key::new(
        "overhead",
        size(0, 100),
        "Octets of LLC and SNDCP around every packet.",
        |way: &GprsWay| Setting::of_count(way.direction.overhead_bytes),
        |way, s| way.direction.overhead_bytes = s.count(),
    ),
    Key::new(
        "delay",
        times(0, 60 * S),
        "Time between the radio network and the server; drawn for every packet, which keep their order.",
        |way: &GprsWay| Setting::of(&way.direction.delay),
        |way, s| way.direction.delay = s.distribution(),
    ),
    Key::new(
        "queue",
        count(1, QUEUE_MAX),
        "Packets that wait for every mobile; the one being cut into blocks is not counted.",
        |way: &GprsWay| Setting::of_count(way.queue_packets),
        |way, s| way.queue_packets = s.count(),
    ),
    Key::new(
        "queue_size",
        size(MTU_MIN, 1 << 30),
        "Octets of the packets that wait; whichever of the two is reached first.",
        |way: &GprsWay| way.direction.queue_bytes.map_or(Setting::Word("unlimited"), Setting::of_count),
        |way, s| way.direction.queue_bytes = s.optional(Setting::count),
    )
    .words(&["unlimited"]),
];
