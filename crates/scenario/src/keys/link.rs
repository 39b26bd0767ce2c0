//! Keys of `[link]`: an 802.11b collision domain, a shared Ethernet segment or an Ethernet switch.
//!
//! Ranges of the PHY are those of IEEE 802.11-2020 clause 16 and Annex C, or wider where an experiment
//! may want to leave the standard; what leaves it draws a warning. Left out: other PHYs.

use crate::Radio;
use crate::quantity::Dimension;
use crate::setting::{Form, Key, S, Setting, US, count, size, time};
use airperf_link::ethernet::EthernetConfig;
use airperf_link::switch::SwitchConfig;
use airperf_units::Rate;
use airperf_wifi::phy::dsss::{Preamble, hr_dsss};
use airperf_wifi::{Config, StationConfig};

/// Rates of 802.11b, in bit/s (IEEE 802.11-2020 §16.2.3.4).
const DOT11B_RATES: [i128; 4] = [1_000_000, 2_000_000, 5_500_000, 11_000_000];

/// A rate of 802.11b.
pub(crate) const DOT11B_RATE: Form = Form::OneOf(Dimension::LinkRate, &DOT11B_RATES);

/// The smallest MTU under which TCP with all its options still carries data: 88 octets of segment and
/// 40 of headers.
const MTU_MIN: i128 = 128;
/// 2304 octets of MSDU less LLC/SNAP (IEEE 802.11-2020 Table 9-25, RFC 1042).
const MTU_MAX_WIFI: i128 = 2296;
/// IEEE 802.3-2018 §3.2.7.
const MTU_MAX_ETHERNET: i128 = 1500;
/// A queue of this many full packets is 1.5 GB; longer ones are mistakes.
const QUEUE_MAX: i128 = 1_000_000;

/// What `[link]` says when it is 802.11.
pub(crate) struct Wifi {
    /// The domain; its stations are filled in from `station` when all clients are known.
    pub(crate) config: Config,
    /// What every station starts from.
    pub(crate) station: StationConfig,
    pub(crate) preamble: Preamble,
    pub(crate) radio: Radio,
}

impl Default for Wifi {
    fn default() -> Self {
        Self {
            config: Config::dot11b(Vec::new()),
            station: StationConfig::at(Rate::mbps(11)),
            preamble: Preamble::Long,
            // The lowest of the three channels that do not overlap.
            radio: Radio { channel: 1, tx_power_mdbm: None },
        }
    }
}

/// The medium that `[link]` is, once it is known.
#[derive(Default)]
pub(crate) struct Kind(pub(crate) Option<&'static str>);

/// The key of `[link]` that chooses the list of the others.
pub(crate) static KIND: [Key<Kind>; 1] = [Key::new(
    "kind",
    Form::Word,
    "The medium.",
    |kind: &Kind| Setting::Word(kind.0.unwrap_or("wifi")),
    |kind, s| kind.0 = s.word(),
)
.words(&["wifi", "ethernet", "switch", "generic", "trace", "gprs"])
.required()];

/// Keys of `[link]` with `kind = "wifi"`.
pub(crate) static WIFI: [Key<Wifi>; 23] = [
    Key::new("standard", Form::Word, "The PHY.", |_: &Wifi| Setting::Word("802.11b"), |_, _| ()).words(&["802.11b"]),
    Key::new(
        "rate",
        DOT11B_RATE,
        "Rate of data frames.",
        |wifi| Setting::of_rate(wifi.station.rate),
        |wifi, s| wifi.station.rate = s.rate(),
    ),
    Key::new(
        "control_rate",
        DOT11B_RATE,
        "Highest rate of ACK, CTS and RTS; data sent more slowly is answered at its own rate.",
        |wifi| Setting::of_rate(wifi.config.control_rate),
        |wifi, s| wifi.config.control_rate = s.rate(),
    ),
    Key::new(
        "preamble",
        Form::Word,
        "Preamble format: 192 µs or 96 µs before every frame.",
        |wifi: &Wifi| Setting::Word(if wifi.preamble == Preamble::Long { "long" } else { "short" }),
        |wifi, s| {
            wifi.preamble = if s.word() == Some("short") { Preamble::Short } else { Preamble::Long };
            wifi.config.phy = hr_dsss(wifi.preamble);
        },
    )
    .words(&["long", "short"]),
    Key::new(
        "channel",
        count(1, 14),
        "Channel of the 2.4 GHz band. Stated in the records; overlap of channels is not modelled.",
        |wifi| Setting::of_count(wifi.radio.channel),
        |wifi, s| wifi.radio.channel = s.count(),
    ),
    Key::new(
        "tx_power",
        Form::Amount(Dimension::Power, -30_000, 30_000),
        "Transmit power. Stated in the records; losses come from `frame_error`, not yet from signal strength.",
        |wifi: &Wifi| wifi.radio.tx_power_mdbm.map_or(Setting::Word("unstated"), |mdbm| Setting::Amount(mdbm.into())),
        |wifi, s| wifi.radio.tx_power_mdbm = s.optional(Setting::count),
    )
    .words(&["unstated"]),
    Key::new(
        "retry_limit",
        count(1, 255),
        "Attempts after the first before a frame is given up; `off` sends every frame once, `unlimited` never gives up.",
        |wifi: &Wifi| match wifi.config.retry_limit {
            None => Setting::Word("unlimited"),
            Some(0) => Setting::Word("off"),
            Some(limit) => Setting::of_count(limit),
        },
        |wifi, s| {
            wifi.config.retry_limit = match s.word() {
                Some("unlimited") => None,
                Some(_) => Some(0),
                None => Some(s.count()),
            }
        },
    )
    .words(&["off", "unlimited"]),
    Key::new(
        "rts_threshold",
        size(0, 2347),
        "MPDUs longer than this are preceded by RTS/CTS.",
        |wifi: &Wifi| wifi.config.rts_threshold.map_or(Setting::Word("off"), Setting::of_count),
        |wifi, s| wifi.config.rts_threshold = s.optional(Setting::count),
    )
    .words(&["off"]),
    Key::new(
        "queue",
        count(1, QUEUE_MAX),
        "Packets in each station's transmit queue; those in the interface are not counted.",
        |wifi| Setting::of_count(wifi.station.queue_packets),
        |wifi, s| wifi.station.queue_packets = s.count(),
    ),
    Key::new(
        "interface_frames",
        count(1, 1000),
        "Frames the interface itself holds in front of the queue.",
        |wifi| Setting::of_count(wifi.station.interface_frames),
        |wifi, s| wifi.station.interface_frames = s.count(),
    ),
    Key::new(
        "mtu",
        size(MTU_MIN, MTU_MAX_WIFI),
        "Longest IP packet.",
        |wifi| Setting::of_count(wifi.config.mtu),
        |wifi, s| wifi.config.mtu = s.count(),
    ),
    Key::new(
        "frame_error",
        Form::Share(0.0, 1.0),
        "Probability that the channel garbles a data frame, per attempt.",
        |wifi| Setting::Share(wifi.station.frame_error),
        |wifi, s| wifi.station.frame_error = s.share(),
    ),
    Key::new(
        "ack_error",
        Form::Share(0.0, 1.0),
        "Probability that the channel garbles an acknowledgement.",
        |wifi| Setting::Share(wifi.station.ack_error),
        |wifi, s| wifi.station.ack_error = s.share(),
    ),
    Key::new(
        "sniffer_error",
        Form::Share(0.0, 1.0),
        "Probability that the sniffer misses or garbles a frame that the receiver decoded.",
        |wifi| Setting::Share(wifi.config.sniffer_error),
        |wifi, s| wifi.config.sniffer_error = s.share(),
    ),
    Key::new(
        "beacons",
        Form::Flag,
        "IBSS beacons every 102.4 ms.",
        |wifi| Setting::Flag(wifi.config.beacons),
        |wifi, s| wifi.config.beacons = s.flag(),
    ),
    Key::new(
        "slot",
        time(US, 1000 * US),
        "Slot time (aSlotTime).",
        |wifi| Setting::of_time(wifi.config.phy.slot),
        |wifi, s| {
            wifi.config.phy.slot = s.time();
            standard_difs(wifi);
        },
    ),
    Key::new(
        "sifs",
        time(US, 1000 * US),
        "Short interframe space (aSIFSTime).",
        |wifi| Setting::of_time(wifi.config.phy.sifs),
        |wifi, s| {
            wifi.config.phy.sifs = s.time();
            standard_difs(wifi);
        },
    ),
    Key::new(
        "difs",
        time(US, 10_000 * US),
        "DCF interframe space; follows `sifs` and `slot` (SIFS + 2 slots) unless it is given.",
        |wifi| Setting::of_time(wifi.config.phy.difs),
        |wifi, s| wifi.config.phy.difs = s.time(),
    ),
    Key::new(
        "cca",
        time(0, 1000 * US),
        "Starts closer together than this do not hear each other and collide (aCCATime).",
        |wifi| Setting::of_time(wifi.config.phy.cca),
        |wifi, s| wifi.config.phy.cca = s.time(),
    ),
    Key::new(
        "cw_min",
        count(1, 1023),
        "Smallest contention window, slots; the first backoff is uniform from 0 to this.",
        |wifi| Setting::of_count(wifi.config.phy.cw_min),
        |wifi, s| wifi.config.phy.cw_min = s.count(),
    ),
    Key::new(
        "cw_max",
        count(1, 1023),
        "Largest contention window, slots.",
        |wifi| Setting::of_count(wifi.config.phy.cw_max),
        |wifi, s| wifi.config.phy.cw_max = s.count(),
    ),
    Key::new(
        "eifs",
        time(US, S),
        "Pause after a garbled frame; `standard` is SIFS + ACK at the lowest rate + DIFS.",
        |wifi: &Wifi| wifi.config.eifs.map_or(Setting::Word("standard"), Setting::of_time),
        |wifi, s| wifi.config.eifs = s.optional(Setting::time),
    )
    .words(&["standard"]),
    Key::new(
        "ack_timeout",
        time(US, S),
        "Pause after an unanswered frame before its sender's DIFS; `standard` is SIFS + slot + PHY-RX-START.",
        |wifi: &Wifi| wifi.config.ack_timeout.map_or(Setting::Word("standard"), Setting::of_time),
        |wifi, s| wifi.config.ack_timeout = s.optional(Setting::time),
    )
    .words(&["standard"]),
];

/// DIFS = SIFS + 2 slots (IEEE 802.11-2020 §10.3.7).
fn standard_difs(wifi: &mut Wifi) {
    wifi.config.phy.difs = wifi.config.phy.sifs + wifi.config.phy.slot * 2;
}

/// What `[link]` says when it is Ethernet.
pub(crate) struct Ethernet {
    /// The segment; its stations are filled in from `queue_packets` when all clients are known.
    pub(crate) config: EthernetConfig,
    pub(crate) queue_packets: u32,
}

impl Default for Ethernet {
    fn default() -> Self {
        Self { config: EthernetConfig::ten_megabit(0), queue_packets: 100 }
    }
}

/// Keys of `[link]` with `kind = "ethernet"`.
pub(crate) static ETHERNET: [Key<Ethernet>; 4] = [
    Key::new(
        "rate",
        Form::OneOf(Dimension::LinkRate, &[10_000_000, 100_000_000]),
        "Rate of the segment.",
        |ethernet| Setting::of_rate(ethernet.config.rate),
        |ethernet, s| ethernet.config.rate = s.rate(),
    ),
    Key::new(
        "queue",
        count(1, QUEUE_MAX),
        "Packets in each station's transmit queue; the frame being sent is not counted.",
        |ethernet| Setting::of_count(ethernet.queue_packets),
        |ethernet, s| ethernet.queue_packets = s.count(),
    ),
    Key::new(
        "mtu",
        size(MTU_MIN, MTU_MAX_ETHERNET),
        "Longest IP packet.",
        |ethernet| Setting::of_count(ethernet.config.mtu),
        |ethernet, s| ethernet.config.mtu = s.count(),
    ),
    Key::new(
        "propagation",
        time(0, 2 * US),
        "One-way propagation delay between any two stations.",
        |ethernet| Setting::of_time(ethernet.config.propagation),
        |ethernet, s| ethernet.config.propagation = s.time(),
    ),
];

/// What `[link]` says when it is an Ethernet switch.
pub(crate) struct Switch {
    /// The switch; its stations are filled in from `queue_packets` when all clients are known.
    pub(crate) config: SwitchConfig,
    pub(crate) queue_packets: u32,
}

impl Default for Switch {
    fn default() -> Self {
        Self { config: SwitchConfig::fast(0), queue_packets: 100 }
    }
}

/// Keys of `[link]` with `kind = "switch"`.
pub(crate) static SWITCH: [Key<Switch>; 6] = [
    Key::new(
        "rate",
        Form::OneOf(Dimension::LinkRate, &[10_000_000, 100_000_000, 1_000_000_000]),
        "Rate of every port, full duplex.",
        |switch| Setting::of_rate(switch.config.rate),
        |switch, s| switch.config.rate = s.rate(),
    ),
    Key::new(
        "queue",
        count(1, QUEUE_MAX),
        "Packets in each station's transmit queue; the frame being sent is not counted.",
        |switch| Setting::of_count(switch.queue_packets),
        |switch, s| switch.queue_packets = s.count(),
    ),
    Key::new(
        "port_queue",
        count(1, QUEUE_MAX),
        "Packets in the switch's queue in front of each port; what does not fit is lost.",
        |switch| Setting::of_count(switch.config.port_queue_packets),
        |switch, s| switch.config.port_queue_packets = s.count(),
    ),
    Key::new(
        "forwarding",
        time(0, S),
        "Time from a frame's last octet in the switch to its place in the queue of its port.",
        |switch| Setting::of_time(switch.config.forwarding),
        |switch, s| switch.config.forwarding = s.time(),
    ),
    Key::new(
        "mtu",
        size(MTU_MIN, MTU_MAX_ETHERNET),
        "Longest IP packet.",
        |switch| Setting::of_count(switch.config.mtu),
        |switch, s| switch.config.mtu = s.count(),
    ),
    Key::new(
        "propagation",
        time(0, 2 * US),
        "One-way propagation delay of each wire.",
        |switch| Setting::of_time(switch.config.propagation),
        |switch, s| switch.config.propagation = s.time(),
    ),
];
