//! A physical layer as a table: timing constants and how long a frame of a given length lasts.
//!
//! Every 802.11 PHY is one [`Phy`] value, so a new one is a new constructor and no new code path.
//! Left out here: errors, which belong to the medium because they depend on who hears whom.

pub mod dsss;

use airperf_units::{Duration, Rate};

/// How the body of a frame becomes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyTiming {
    /// Bits divided by the rate, rounded up to whole microseconds (IEEE 802.11-2020 §15.2.3.5, §16.3.4).
    MicrosecondRounded,
    /// Bits divided by the rate, rounded up to whole nanoseconds: for closed forms that do not round.
    Exact,
}

/// Timing of one physical layer and the contention window that goes with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phy {
    /// aSlotTime.
    pub slot: Duration,
    /// aSIFSTime.
    pub sifs: Duration,
    /// DIFS = SIFS + 2 slots in the standard (IEEE 802.11-2020 §10.3.7).
    pub difs: Duration,
    /// Preamble and PLCP header before a body at any rate but the lowest.
    pub preamble: Duration,
    /// Preamble and PLCP header before a body at the lowest rate, which 802.11b always sends long.
    pub lowest_rate_preamble: Duration,
    /// aCWmin: the first backoff is uniform in 0..=cw_min slots.
    pub cw_min: u16,
    /// aCWmax.
    pub cw_max: u16,
    /// aCCATime: starts closer together than this do not hear each other and collide.
    pub cca: Duration,
    /// Rounding of the body.
    pub body: BodyTiming,
    /// Rates of the PHY, lowest first.
    pub rates: &'static [Rate],
}

impl Phy {
    /// The lowest rate, which every station decodes: broadcasts and beacons use it.
    pub fn lowest_rate(&self) -> Rate {
        self.rates[0]
    }

    /// Preamble and PLCP header before a body at `rate`.
    pub fn preamble_at(&self, rate: Rate) -> Duration {
        if rate == self.lowest_rate() { self.lowest_rate_preamble } else { self.preamble }
    }

    /// Airtime of a frame of `bytes` at `rate`, preamble included.
    pub fn airtime(&self, bytes: u32, rate: Rate) -> Duration {
        let body = match self.body {
            BodyTiming::Exact => rate.time_for(u64::from(bytes)),
            BodyTiming::MicrosecondRounded => {
                Duration::from_us((u64::from(bytes) * 8_000_000).div_ceil(rate.as_bps()))
            }
        };
        self.preamble_at(rate) + body
    }
}
