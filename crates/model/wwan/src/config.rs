//! What can be chosen about GPRS.
//!
//! Left out: values; those that are ours are in [`crate::defaults`].

use crate::channel::Channel;
use crate::defaults;
use crate::scheme::{Family, Scheme};
use airperf_units::{ConfigError, Distribution, Duration, Rate};
use std::sync::Arc;

/// An acknowledgement with timestamps: 20 octets of IP, 20 of TCP, 12 of options.
const ACKNOWLEDGEMENT_BYTES: u32 = 52;

/// Configuration of a GPRS link with its stations.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The stations, in the order of their ids; the first is on the network's side.
    pub stations: Vec<StationConfig>,
    /// Longest IP packet.
    pub mtu: u32,
    /// The coding schemes.
    pub family: Family,
    /// From the network to the mobiles.
    pub down: Direction,
    /// From the mobiles to the network.
    pub up: Direction,
    /// How good the radio channel is, and how it changes.
    pub block_error: BlockError,
    /// Outages, if there are any.
    pub stalls: Option<Stalls>,
}

/// Configuration of one station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationConfig {
    /// Packets in each of its queues of the logical link; the one being cut into blocks is not counted.
    pub queue_packets: u32,
}

/// One direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// Time slots of every mobile.
    pub slots: u8,
    /// The coding scheme, a place in the family's list; the first one, where it is adapted.
    pub scheme: u8,
    /// Whether the scheme follows the share of blocks lost.
    pub adaptation: Option<Adaptation>,
    /// Octets of packets in a queue of the logical link; `None` counts packets only.
    pub queue_bytes: Option<u64>,
    /// Octets around every packet.
    pub overhead_bytes: u32,
    /// Setting up a block flow while the other direction has none.
    pub access: Duration,
    /// Setting up a block flow while the other direction has one.
    pub access_linked: Duration,
    /// How long a block flow without data is kept; zero counts down and releases.
    pub keep: Duration,
    /// Whether lost blocks are sent again (RLC's acknowledged mode).
    pub arq: bool,
    /// The share of blocks lost, as reports told it, from which on a new block flow sends them again; 0: every one does.
    /// The mode of a block flow is chosen when it is set up (TS 44.060 §9.3).
    pub arq_from: f64,
    /// Blocks after which a report is asked for.
    pub report_every: u32,
    /// From the end of the asking block until the report has come.
    pub report_delay: Duration,
    /// Blocks that repair others, if any are sent.
    pub fec: Option<Fec>,
    /// Time between the mobile's network and the other end, nanoseconds; drawn for every packet.
    pub delay: Distribution,
}

/// When the coding scheme changes: at reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adaptation {
    /// A slower one above this share of missing blocks.
    pub slower_above: f64,
    /// A faster one below it.
    pub faster_below: f64,
}

impl Default for Adaptation {
    fn default() -> Self {
        Self { slower_above: defaults::SLOWER_ABOVE, faster_below: defaults::FASTER_BELOW }
    }
}

/// Repair blocks: of `data` blocks and the `repair` blocks behind them any `data` suffice.
///
/// A perfect erasure code over blocks, for asking what forward error correction above the coding schemes would bring; no
/// GPRS network has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fec {
    /// Data blocks of a group.
    pub data: u8,
    /// Repair blocks behind it; where they are adapted, until the first report.
    pub repair: u8,
    /// The share of groups that may stay damaged, from which with the share of blocks lost the number of repair blocks
    /// follows; `None` keeps the number.
    pub target: Option<f64>,
}

impl Fec {
    /// Most repair blocks of a group.
    pub const MOST: u8 = 16;

    /// A fixed number of repair blocks.
    pub const fn fixed(data: u8, repair: u8) -> Self {
        Self { data, repair, target: None }
    }
}

/// How blocks are lost.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockError {
    /// Each with this probability, whatever its scheme.
    Fixed(f64),
    /// By carrier over interference and scheme.
    CarrierToInterference {
        /// C/I in dB.
        db: f64,
        /// How it fades, if it does.
        fading: Option<Fading>,
    },
    /// As a series over time says.
    Series(Arc<Channel>),
}

/// A channel that is sometimes worse: Gilbert's and Elliott's two states, each lasting an exponential time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fading {
    /// C/I in dB while it is worse.
    pub db: f64,
    /// How long it is good, in the mean.
    pub good: Duration,
    /// How long it is worse, in the mean.
    pub bad: Duration,
}

/// Outages during which a mobile neither sends nor receives.
#[derive(Clone, Debug, PartialEq)]
pub struct Stalls {
    /// From the end of one to the beginning of the next, in the mean; exponential.
    pub every: Duration,
    /// How long one lasts, nanoseconds.
    pub lasts: Distribution,
}

impl BlockError {
    /// The probability that a block of a scheme is lost at a C/I: a logistic curve of 1/3 at the lower end of the
    /// scheme's band and 1/10 [`defaults::BAND_DB`] above it.
    pub fn at(scheme: &Scheme, db: f64) -> f64 {
        let slope = defaults::BAND_DB / libm::log(9.0 / 2.0);
        let half = scheme.from_db - slope * libm::log(2.0);
        1.0 / (1.0 + libm::exp((db - half) / slope))
    }
}

impl Direction {
    /// Downward, as a network of the time had it: 3 slots of CS-2.
    pub fn down() -> Self {
        Self {
            slots: 3,
            scheme: 1,
            adaptation: None,
            queue_bytes: None,
            overhead_bytes: defaults::OVERHEAD_BYTES,
            access: defaults::DOWN_ACCESS,
            access_linked: defaults::DOWN_ACCESS_LINKED,
            keep: defaults::DOWN_KEEP,
            arq: true,
            arq_from: 0.0,
            report_every: defaults::REPORT_EVERY,
            report_delay: defaults::REPORT_DELAY,
            fec: None,
            delay: Distribution::Fixed(0),
        }
    }

    /// Upward: 1 slot of CS-2.
    pub fn up() -> Self {
        Self {
            slots: 1,
            access: defaults::UP_ACCESS,
            access_linked: defaults::UP_ACCESS_LINKED,
            keep: defaults::UP_KEEP,
            ..Self::down()
        }
    }

    /// Octets of LLC frames per second while every block arrives, in bit/s.
    pub fn payload_rate(&self, family: Family) -> Rate {
        let scheme = &family.schemes()[usize::from(self.scheme)];
        let octets = u64::from(scheme.payload_bytes) * u64::from(scheme.blocks) * u64::from(self.slots);
        Rate::bps(octets * 8 * 1_000_000_000 / defaults::BLOCK.as_ns())
    }
}

impl Config {
    /// A clean GPRS link of 3 + 1 slots of CS-2 with queues of 100 packets.
    pub fn gprs(stations: usize) -> Self {
        Self {
            stations: vec![StationConfig { queue_packets: 100 }; stations],
            mtu: 1500,
            family: Family::Gprs,
            down: Direction::down(),
            up: Direction::up(),
            block_error: BlockError::Fixed(0.0),
            stalls: None,
        }
    }

    /// Full packets of the mtu downward for which there is time until the first of them was acknowledged, with
    /// block flows set up, empty queues, mean delays and no loss: what keeps the link busy, rounded up.
    pub fn packets_on_their_way(&self) -> u32 {
        let ns = |time: Duration| time.as_ns() as f64;
        let blocks = |direction: &Direction, bytes: u32| {
            let scheme = &self.family.schemes()[usize::from(direction.scheme)];
            let octets = bytes + direction.overhead_bytes + defaults::LENGTH_INDICATOR_BYTES;
            let blocks = octets.div_ceil(scheme.payload_bytes * u32::from(scheme.blocks));
            ns(defaults::BLOCK) * f64::from(blocks.div_ceil(direction.slots.into()))
        };
        let full = blocks(&self.down, self.mtu);
        let there = full + self.down.delay.mean();
        // The flow of the acknowledgement before it has to be released first; the grid takes half a block.
        let acknowledgement = blocks(&self.up, ACKNOWLEDGEMENT_BYTES) + ns(defaults::BLOCK) / 2.0;
        let flow = if self.up.keep == Duration::ZERO {
            ns(self.up.report_delay) + ns(self.up.access_linked)
        } else {
            0.0
        };
        let back = flow + acknowledgement + self.up.delay.mean();
        (((there + back) / full).ceil()).min(f64::from(u32::MAX)) as u32
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// The first rule that does not hold.
    pub fn check(&self) -> Result<(), ConfigError> {
        let both = [&self.down, &self.up];
        let schemes = self.family.schemes().len();
        let share = |p: f64| (0.0..1.0).contains(&p);
        let error = match self.block_error {
            BlockError::Fixed(p) => share(p),
            BlockError::Series(_) => true,
            BlockError::CarrierToInterference { db, fading } => {
                db.is_finite()
                    && fading
                        .is_none_or(|f| f.db.is_finite() && f.good > Duration::ZERO && f.bad > Duration::ZERO)
            }
        };
        let adapts =
            |a: Adaptation| share(a.faster_below) && share(a.slower_above) && a.faster_below < a.slower_above;
        let repairs = |fec: Fec| {
            let least = u8::from(fec.target.is_none());
            (1..=32).contains(&fec.data)
                && (least..=Fec::MOST).contains(&fec.repair)
                && fec.target.is_none_or(|target| target > 0.0 && target < 1.0)
        };
        ConfigError::check(
            "GPRS",
            &[
                (both.iter().all(|d| (1..=8).contains(&d.slots)), "a frame has eight time slots"),
                (both.iter().all(|d| usize::from(d.scheme) < schemes), "the scheme is one of the family's"),
                (
                    both.iter().all(|d| d.adaptation.is_none_or(adapts)),
                    "a faster scheme is taken below the share for a slower one",
                ),
                (
                    both.iter().all(|d| d.queue_bytes.is_none_or(|b| b >= u64::from(self.mtu))),
                    "a queue holds one packet at least",
                ),
                (
                    both.iter().all(|d| (1..=defaults::WINDOW).contains(&d.report_every)),
                    "a report is asked for within the window",
                ),
                (
                    both.iter().all(|d| d.fec.is_none_or(repairs)),
                    "a group has 1 to 32 data and 1 to 16 repair blocks, and may stay damaged sometimes",
                ),
                (
                    both.iter().all(|d| (0.0..=1.0).contains(&d.arq_from)),
                    "blocks are lost with a probability",
                ),
                (both.iter().all(|d| d.delay.is_sound()), "the delay's distribution is sound"),
                (error, "a block arrives sometimes, and a fade ends"),
                (
                    self.stalls.as_ref().is_none_or(|s| s.every > Duration::ZERO && s.lasts.is_sound()),
                    "stalls have time between them",
                ),
            ],
        )
    }
}
