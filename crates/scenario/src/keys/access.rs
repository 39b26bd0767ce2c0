//! Keys of `[link]`, `[link.down]` and `[link.up]` of an access link: generic, or driven by traces.
//!
//! Ranges are ours, wide enough for a modem and for a satellite. Left out: links whose layers are modelled.

use crate::quantity::Dimension;
use crate::setting::{Form, Key, MS, S, Setting, count, size, time, times};
use airperf_link::access::{Direction, OpportunitySize, RrcConfig, SharedChannel};
use airperf_link::trace::Trace;
use airperf_units::Rate;

/// The smallest MTU under which TCP with all its options still carries data, as on the other links.
const MTU_MIN: i128 = 128;
/// What an opportunity of a trace carries; the most that the Internet's hosts expect (RFC 894).
const MTU_MAX: i128 = 1500;
/// Longer than a minute is a mistake.
const DELAY_MAX: i128 = 60 * S;
/// A queue of this many full packets is 1.5 GB; longer ones are mistakes.
const QUEUE_MAX: i128 = 1_000_000;
/// The longest path to a trace.
const PATH_MAX: usize = 500;

/// What `[link]` says when it is an access link.
pub(crate) struct Access {
    /// `generic` or `trace`.
    pub(crate) kind: &'static str,
    pub(crate) mtu: u32,
    pub(crate) shared: bool,
    pub(crate) rrc: Rrc,
    pub(crate) down: Way,
    pub(crate) up: Way,
}

impl Access {
    pub(crate) fn new(kind: &'static str) -> Self {
        Self { kind, mtu: 1500, shared: false, rrc: Rrc::default(), down: Way::default(), up: Way::default() }
    }

    /// The keys of its directions.
    pub(crate) fn way_keys(kind: &'static str) -> impl Iterator<Item = &'static Key<Way>> {
        let own: &'static [Key<Way>] = if kind == "trace" { &TRACE_WAY } else { &GENERIC_WAY };
        own.iter().chain(&WAY)
    }
}

/// What it says about the channels of mobiles.
pub(crate) struct Rrc {
    pub(crate) profile: &'static str,
    active: RrcConfig,
    has_shared: bool,
    shared: SharedChannel,
}

impl Default for Rrc {
    fn default() -> Self {
        Self::of("none")
    }
}

impl Rrc {
    fn of(profile: &'static str) -> Self {
        let umts = RrcConfig::umts();
        let active = if profile == "lte" { RrcConfig::lte() } else { umts.clone() };
        let has_shared = active.shared.is_some();
        let shared = umts.shared.unwrap_or_else(|| unreachable!("UMTS has a shared channel"));
        Self { profile, active, has_shared, shared }
    }

    /// The state machine, if there is one.
    pub(crate) fn config(self) -> Option<RrcConfig> {
        let shared = self.has_shared.then_some(self.shared);
        (self.profile != "none").then_some(RrcConfig { shared, ..self.active })
    }
}

/// One direction.
#[derive(Clone)]
pub(crate) struct Way {
    pub(crate) direction: Direction,
    pub(crate) queue_packets: u32,
    rate: Rate,
    pub(crate) trace: String,
    pub(crate) sha256: String,
    pub(crate) opportunity: OpportunitySize,
    pub(crate) light: String,
    pub(crate) light_sha256: String,
    /// The text of the light trace's file, once it was read.
    pub(crate) light_text: Option<String>,
    /// What the trace's file holds, once it was read.
    pub(crate) read: Option<(Trace, String)>,
}

impl Default for Way {
    /// No delay and no loss, so that what is not written does nothing; 100 packets as on the other links.
    fn default() -> Self {
        let rate = Rate::mbps(1);
        Self {
            direction: Direction::clean(rate, 0),
            queue_packets: 100,
            rate,
            trace: String::new(),
            sha256: String::new(),
            opportunity: OpportunitySize::default(),
            light: String::new(),
            light_sha256: String::new(),
            light_text: None,
            read: None,
        }
    }
}

/// Keys of `[link]` with `kind = "generic"` or `kind = "trace"`.
pub(crate) static ACCESS: [Key<Access>; 12] = [
    Key::new(
        "mtu",
        size(MTU_MIN, MTU_MAX),
        "Longest IP packet.",
        |access: &Access| Setting::of_count(access.mtu),
        |access, s| access.mtu = s.count(),
    ),
    Key::new(
        "shared",
        Form::Flag,
        "Whether all stations share one pipe in each direction; else each has its own.",
        |access: &Access| Setting::Flag(access.shared),
        |access, s| access.shared = s.flag(),
    ),
    Key::new(
        "rrc",
        Form::Word,
        "How a mobile gets its channel, as a network of this kind was measured; the keys below default to its values.",
        |access: &Access| Setting::Word(access.rrc.profile),
        |access, s| access.rrc = Rrc::of(s.word().unwrap_or("none")),
    )
    .words(&["none", "umts", "lte"]),
    Key::new(
        "promotion_down",
        times(0, 60 * S),
        "From idle until packets from the server can be sent, paging included.",
        |access: &Access| Setting::of(&access.rrc.active.promotion_down),
        |access, s| access.rrc.active.promotion_down = s.distribution(),
    ),
    Key::new(
        "promotion_up",
        times(0, 60 * S),
        "From idle until packets of the client can be sent.",
        |access: &Access| Setting::of(&access.rrc.active.promotion_up),
        |access, s| access.rrc.active.promotion_up = s.distribution(),
    ),
    Key::new(
        "inactivity",
        time(MS, 3600 * S),
        "How long a mobile keeps its channel without anything sent.",
        |access: &Access| Setting::of_time(access.rrc.active.inactivity),
        |access, s| access.rrc.active.inactivity = s.time(),
    ),
    Key::new(
        "shared_channel",
        Form::Flag,
        "Whether a mobile without a channel of its own has a slow one that is shared (UMTS: CELL_FACH) until it is idle.",
        |access: &Access| Setting::Flag(access.rrc.has_shared),
        |access, s| access.rrc.has_shared = s.flag(),
    ),
    Key::new(
        "shared_rate_down",
        Form::Amount(Dimension::LinkRate, 100, 1_000_000_000),
        "Rate of the shared channel from the server.",
        |access: &Access| Setting::of_rate(access.rrc.shared.rate_down),
        |access, s| access.rrc.shared.rate_down = s.rate(),
    ),
    Key::new(
        "shared_rate_up",
        Form::Amount(Dimension::LinkRate, 100, 1_000_000_000),
        "Rate of the shared channel to the server.",
        |access: &Access| Setting::of_rate(access.rrc.shared.rate_up),
        |access, s| access.rrc.shared.rate_up = s.rate(),
    ),
    Key::new(
        "shared_threshold",
        size(0, 1 << 20),
        "Octets that wait in one direction above which the mobile gets a channel of its own.",
        |access: &Access| Setting::of_count(access.rrc.shared.threshold_bytes),
        |access, s| access.rrc.shared.threshold_bytes = s.count(),
    ),
    Key::new(
        "shared_promotion",
        times(0, 60 * S),
        "How long it takes to get it from the shared one.",
        |access: &Access| Setting::of(&access.rrc.shared.promotion),
        |access, s| access.rrc.shared.promotion = s.distribution(),
    ),
    Key::new(
        "shared_inactivity",
        time(MS, 3600 * S),
        "How long a mobile keeps the shared channel without anything sent.",
        |access: &Access| Setting::of_time(access.rrc.shared.inactivity),
        |access, s| access.rrc.shared.inactivity = s.time(),
    ),
];

/// The keys that only links with `rrc` read.
pub(crate) static RRC_KEYS: [&str; 9] = [
    "promotion_down",
    "promotion_up",
    "inactivity",
    "shared_channel",
    "shared_rate_down",
    "shared_rate_up",
    "shared_threshold",
    "shared_promotion",
    "shared_inactivity",
];

/// Keys of a direction with `kind = "generic"`.
pub(crate) static GENERIC_WAY: [Key<Way>; 1] = [Key::new(
    "rate",
    Form::Amount(Dimension::LinkRate, 100, 1_000_000_000_000),
    "Rate of IP packets.",
    |way: &Way| Setting::of_rate(way.rate),
    |way, s| {
        way.rate = s.rate();
        way.direction.capacity = airperf_link::access::Capacity::constant(way.rate);
    },
)
.required()];

/// Keys of a direction with `kind = "trace"`.
pub(crate) static TRACE_WAY: [Key<Way>; 5] = [
    Key::new(
        "trace",
        Form::Text(PATH_MAX),
        "File of the trace, seen from the scenario's folder: Mahimahi's format or a series of rates.",
        |way: &Way| Setting::Text(way.trace.clone()),
        |way, s| way.trace = s.text(),
    )
    .required(),
    Key::new(
        "sha256",
        Form::Text(64),
        "SHA-256 of that file in hexadecimal: with it another file is refused. Filled in when it is not given.",
        |way: &Way| Setting::Text(way.sha256.clone()),
        |way, s| way.sha256 = s.text().to_ascii_lowercase(),
    ),
    Key::new(
        "opportunity",
        Form::OneOf(Dimension::Size, &[1400, 1500, 1504]),
        "What a delivery opportunity carries: with 1504 and 1400 bytes every packet takes 4 more, as in Mahimahi and CellReplay. Series of rates have none.",
        |way: &Way| Setting::of_count(way.opportunity.bytes()),
        |way, s| {
            let bytes: u32 = s.count();
            way.opportunity = match bytes {
                1400 => OpportunitySize::CellReplay,
                1500 => OpportunitySize::Plain,
                _ => OpportunitySize::Mahimahi,
            };
        },
    ),
    Key::new(
        "light",
        Form::Text(PATH_MAX),
        "File of a CellReplay light trace (base delays, and opportunities of short trains), beside which `trace` is the heavy one.",
        |way: &Way| Setting::Text(way.light.clone()),
        |way, s| way.light = s.text(),
    ),
    Key::new(
        "light_sha256",
        Form::Text(64),
        "SHA-256 of that file in hexadecimal, as `sha256`.",
        |way: &Way| Setting::Text(way.light_sha256.clone()),
        |way, s| way.light_sha256 = s.text().to_ascii_lowercase(),
    ),
];

/// Keys of a direction of either kind.
pub(crate) static WAY: [Key<Way>; 9] = [
    Key::new(
        "delay",
        times(0, DELAY_MAX),
        "Time from a packet's last bit sent to its delivery; drawn for every packet.",
        |way: &Way| Setting::of(&way.direction.delay),
        |way, s| way.direction.delay = s.distribution(),
    ),
    Key::new(
        "reorder",
        Form::Flag,
        "Whether packets may overtake each other when their delays differ.",
        |way: &Way| Setting::Flag(way.direction.reorder),
        |way, s| way.direction.reorder = s.flag(),
    ),
    Key::new(
        "loss",
        Form::Share(0.0, 1.0),
        "Probability that a packet is lost, outside of bursts.",
        |way: &Way| Setting::Share(way.direction.loss.good),
        |way, s| way.direction.loss.good = s.share(),
    ),
    Key::new(
        "burst_begin",
        Form::Share(0.0, 1.0),
        "Probability, after a packet, that a burst of losses begins (Gilbert–Elliott, good to bad).",
        |way: &Way| Setting::Share(way.direction.loss.to_bad),
        |way, s| way.direction.loss.to_bad = s.share(),
    ),
    Key::new(
        "burst_end",
        Form::Share(0.0, 1.0),
        "Probability, after a packet in a burst, that it ends: a burst is 1/`burst_end` packets long in the mean.",
        |way: &Way| Setting::Share(way.direction.loss.to_good),
        |way, s| way.direction.loss.to_good = s.share(),
    ),
    Key::new(
        "burst_loss",
        Form::Share(0.0, 1.0),
        "Probability that a packet in a burst is lost.",
        |way: &Way| Setting::Share(way.direction.loss.bad),
        |way, s| way.direction.loss.bad = s.share(),
    ),
    Key::new(
        "duplicate",
        Form::Share(0.0, 1.0),
        "Probability that a packet is delivered twice.",
        |way: &Way| Setting::Share(way.direction.duplicate),
        |way, s| way.direction.duplicate = s.share(),
    ),
    Key::new(
        "queue",
        count(1, QUEUE_MAX),
        "Packets that wait; the one being sent is not counted.",
        |way: &Way| Setting::of_count(way.queue_packets),
        |way, s| way.queue_packets = s.count(),
    ),
    Key::new(
        "queue_size",
        size(MTU_MIN, 1 << 30),
        "Octets of the packets that wait; whichever of the two is reached first.",
        |way: &Way| way.direction.queue_bytes.map_or(Setting::Word("unlimited"), Setting::of_count),
        |way, s| way.direction.queue_bytes = s.optional(Setting::count),
    )
    .words(&["unlimited"]),
];
