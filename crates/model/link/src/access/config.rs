//! What can be chosen about an access link.
//!
//! Left out: the values of any particular network; those are scenarios'.

use super::rrc::RrcConfig;
use crate::trace::{LightTrace, Opportunities, RateSeries, Trace};
use airperf_units::{ConfigError, Distribution, Rate};
use std::sync::Arc;

/// An acknowledgement with timestamps: 20 octets of IP, 20 of TCP, 12 of options.
const ACKNOWLEDGEMENT_BYTES: u32 = 52;

/// Configuration of an access link with its stations.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessConfig {
    /// The stations, in the order of their ids; the first is on the network's side.
    pub stations: Vec<AccessStation>,
    /// Longest IP packet.
    pub mtu: u32,
    /// Whether all stations share one pipe in each direction; else each has its own.
    pub shared: bool,
    /// How stations get their channel; `None`: they always have it.
    pub rrc: Option<RrcConfig>,
    /// From the network to the stations.
    pub down: Direction,
    /// From the stations to the network.
    pub up: Direction,
}

/// Configuration of one station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessStation {
    /// Packets that wait in front of each of its pipes; the one being sent is not counted.
    pub queue_packets: u32,
}

/// One direction of an access link.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// How fast packets leave the queue.
    pub capacity: Capacity,
    /// What a few packets meet in place of the schedule, if they meet something else (CellReplay).
    pub light: Option<Arc<LightTrace>>,
    /// Octets of packets that wait in front of a pipe; `None` counts packets only.
    pub queue_bytes: Option<u64>,
    /// Which packets are lost.
    pub loss: Loss,
    /// Time from the end of sending to delivery, nanoseconds; drawn for every packet.
    pub delay: Distribution,
    /// Whether packets may overtake each other on the way; else one waits for those sent before it.
    pub reorder: bool,
    /// Probability that a packet is delivered twice, each copy with a delay of its own.
    pub duplicate: f64,
}

/// How fast packets leave a queue.
#[derive(Clone, Debug, PartialEq)]
pub enum Capacity {
    /// At a rate, which may change in steps.
    Rates(Arc<RateSeries>),
    /// At a schedule's opportunities.
    Opportunities {
        /// The schedule.
        schedule: Arc<Opportunities>,
        /// What fits an opportunity.
        size: OpportunitySize,
    },
}

/// What fits a delivery opportunity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OpportunitySize {
    /// 1504 octets, of which every packet takes 4 besides its own: what Mahimahi does, which counts the four octets
    /// that its TUN device puts in front of every packet (`Documentation/networking/tuntap.rst`, §3.2).
    #[default]
    Mahimahi,
    /// 1500 octets of IP packets: what Mahimahi's documents say.
    Plain,
    /// 1400 octets, of which every packet takes 4 besides its own: what CellReplay, made from Mahimahi, does.
    CellReplay,
}

impl OpportunitySize {
    /// Octets that leave at an opportunity.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Mahimahi => 1504,
            Self::Plain => 1500,
            Self::CellReplay => 1400,
        }
    }

    /// Octets that a packet takes besides its own.
    pub const fn overhead(self) -> u32 {
        match self {
            Self::Plain => 0,
            Self::Mahimahi | Self::CellReplay => 4,
        }
    }
}

/// Losses after Gilbert and Elliott: a channel that is good or bad, and loses packets more often when bad.
///
/// After every packet the state may change. E. N. Gilbert, "Capacity of a burst-noise channel", BSTJ 39, 1960;
/// E. O. Elliott, "Estimates of error rates for codes on burst-noise channels", BSTJ 42, 1963. The channel begins
/// good.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loss {
    /// Probability that a packet is lost in the good state; the only one where bursts never begin.
    pub good: f64,
    /// Probability that a packet is lost in the bad state.
    pub bad: f64,
    /// Probability, after a packet in the good state, that the next is in the bad one.
    pub to_bad: f64,
    /// Probability, after a packet in the bad state, that the next is in the good one.
    pub to_good: f64,
}

impl Loss {
    /// The share of packets lost in the long run.
    pub fn mean(&self) -> f64 {
        if self.to_bad == 0.0 {
            return self.good;
        }
        let bad = self.to_bad / (self.to_bad + self.to_good);
        (1.0 - bad) * self.good + bad * self.bad
    }

    /// Whether every probability is one, and a bad state ends.
    fn is_sound(&self) -> bool {
        let shares = [self.good, self.bad, self.to_bad, self.to_good];
        shares.iter().all(|share| (0.0..=1.0).contains(share)) && (self.to_bad == 0.0 || self.to_good > 0.0)
    }
}

impl Capacity {
    /// The same rate for ever.
    ///
    /// # Panics
    /// If the rate is 0.
    pub fn constant(rate: Rate) -> Self {
        Self::Rates(Arc::new(RateSeries::constant(rate)))
    }

    /// A trace's, with opportunities of this size.
    pub fn of_trace(trace: &Trace, size: OpportunitySize) -> Self {
        match trace {
            Trace::Rates(series) => Self::Rates(series.clone()),
            Trace::Opportunities(schedule) => Self::Opportunities { schedule: schedule.clone(), size },
        }
    }

    /// Whether a packet of `mtu` octets fits an opportunity, of which there must be some.
    pub fn fits(&self, mtu: u32) -> bool {
        matches!(self, Self::Opportunities { size, .. } if mtu + size.overhead() <= size.bytes())
    }

    /// The rate that nothing exceeds for long: the greatest of a series, the mean of a schedule.
    pub fn rate(&self) -> Rate {
        match self {
            Self::Rates(series) => series.greatest(),
            Self::Opportunities { schedule, size } => {
                let bits = schedule.at_ms().len() as u128 * u128::from(size.bytes()) * 8;
                // Never 0, however seldom a packet goes: it is divided by.
                Rate::bps((bits * 1000 / u128::from(schedule.period_ms())).max(1) as u64)
            }
        }
    }
}

impl Direction {
    /// A clean pipe of constant rate and delay (nanoseconds), whose queue counts packets.
    pub fn clean(rate: Rate, delay_ns: u64) -> Self {
        Self {
            capacity: Capacity::constant(rate),
            light: None,
            queue_bytes: None,
            loss: Loss::default(),
            delay: Distribution::Fixed(delay_ns),
            reorder: false,
            duplicate: 0.0,
        }
    }
}

impl AccessConfig {
    /// Full packets of the mtu downward for which there is time until the first of them was acknowledged, with
    /// empty queues and mean delays: what keeps the link busy, rounded up.
    pub fn packets_on_their_way(&self) -> u32 {
        let sending = |direction: &Direction, bytes: u32| {
            direction.capacity.rate().time_for(bytes.into()).as_ns() as f64
        };
        let full = sending(&self.down, self.mtu);
        let there = full + self.down.delay.mean();
        let back = sending(&self.up, ACKNOWLEDGEMENT_BYTES) + self.up.delay.mean();
        (((there + back) / full).ceil()).min(f64::from(u32::MAX)) as u32
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// The first rule that does not hold.
    pub fn check(&self) -> Result<(), ConfigError> {
        let both = [&self.down, &self.up];
        ConfigError::check(
            "access link",
            &[
                (
                    both.iter().all(|d| d.loss.is_sound()),
                    "losses are probabilities, and a burst that begins ends",
                ),
                (
                    both.iter().all(|d| d.light.is_none() || d.capacity.fits(self.mtu)),
                    "with a light trace a packet fits an opportunity of the heavy one",
                ),
                (
                    !self.shared || self.rrc.is_none(),
                    "stations that share a pipe have no channels of their own",
                ),
                (
                    self.rrc.as_ref().is_none_or(RrcConfig::is_sound),
                    "promotions and shared channels are sound",
                ),
                (both.iter().all(|d| (0.0..=1.0).contains(&d.duplicate)), "duplicate is a probability"),
                (both.iter().all(|d| d.delay.is_sound()), "the delay's distribution is sound"),
                (
                    both.iter().all(|d| d.queue_bytes.is_none_or(|bytes| bytes >= u64::from(self.mtu))),
                    "a queue holds one packet at least",
                ),
            ],
        )
    }
}
