//! 802.11 DSSS and 802.11b HR/DSSS: 1, 2, 5.5 and 11 Mbit/s in the 2.4 GHz band.
//!
//! Reference: IEEE 802.11-2020 clauses 15 (DSSS) and 16 (HR/DSSS); the same values stand in
//! IEEE 802.11-1999 §15.3.3 and 802.11b-1999 §18.3.3. Leaves out PBCC and the FHSS PHY.

use super::{BodyTiming, Phy};
use airperf_units::{Duration, Rate};

/// The rates of 802.11b.
pub const RATES: [Rate; 4] = [Rate::mbps(1), Rate::mbps(2), Rate::kbps(5_500), Rate::mbps(11)];

/// Preamble formats of HR/DSSS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preamble {
    /// 144 µs preamble and 48 µs PLCP header at 1 Mbit/s (IEEE 802.11-2020 §16.2.2.2).
    Long,
    /// 72 µs preamble at 1 Mbit/s and 24 µs header at 2 Mbit/s (§16.2.2.3).
    Short,
}

impl Preamble {
    /// Time of preamble and PLCP header.
    pub const fn airtime(self) -> Duration {
        match self {
            Self::Long => Duration::from_us(192),
            Self::Short => Duration::from_us(96),
        }
    }
}

/// The 802.11b PHY with this preamble for every frame.
pub const fn hr_dsss(preamble: Preamble) -> Phy {
    Phy {
        slot: Duration::from_us(20), // IEEE 802.11-2020 Table 16-4, aSlotTime
        sifs: Duration::from_us(10), // Table 16-4, aSIFSTime
        difs: Duration::from_us(50), // SIFS + 2 slots, §10.3.7
        preamble: preamble.airtime(),
        lowest_rate_preamble: Preamble::Long.airtime(), // the short format carries 2 Mbit/s and up, §16.2.2.3
        cw_min: 31,                                     // Table 16-4, aCWmin
        cw_max: 1023,                                   // Table 16-4, aCWmax
        cca: Duration::from_us(15),                     // Table 16-4, aCCATime
        body: BodyTiming::MicrosecondRounded,
        rates: &RATES,
    }
}
