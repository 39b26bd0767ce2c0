//! How a frame was sent, and the rate that makes.
//!
//! Reference: IEEE 802.11-2020 clauses 15 to 21 and 802.11ax-2021 clause 27. Rates of 802.11n and later are worked
//! out from data subcarriers, bits and coding, as the tables of the standard are. Leaves out PBCC, spread spectrum by
//! hopping, resource units of multi-user 802.11ax, and 802.11be.

/// How a frame was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Modulation {
    /// The capture does not say, or says what is not known here.
    #[default]
    Unknown,
    /// 802.11b.
    Dsss {
        /// Rate in units of 500 kbit/s.
        half_mbps: u8,
        /// Whether the preamble was short; `None` where unknown.
        short_preamble: Option<bool>,
    },
    /// 802.11a and 802.11g.
    Ofdm {
        /// Rate in units of 500 kbit/s.
        half_mbps: u8,
    },
    /// 802.11n.
    Ht {
        /// Index of modulation and coding, 0 to 76.
        mcs: u8,
        /// Channel width.
        width: Width,
        /// Guard interval.
        guard: Guard,
        /// Whether the preamble is one that older stations cannot read.
        greenfield: bool,
        /// Streams added by space-time block coding.
        stbc: u8,
        /// Spatial dimensions only sounded, not used.
        sounding: u8,
    },
    /// 802.11ac, one user.
    Vht {
        /// Index of modulation and coding, 0 to 9.
        mcs: u8,
        /// Spatial streams.
        streams: u8,
        /// Channel width.
        width: Width,
        /// Guard interval.
        guard: Guard,
        /// Whether each symbol pair carries one stream twice.
        stbc: bool,
    },
    /// 802.11ax.
    He {
        /// Index of modulation and coding, 0 to 11.
        mcs: u8,
        /// Spatial streams.
        streams: u8,
        /// Channel width.
        width: Width,
        /// Guard interval.
        guard: Guard,
        /// Length of a training symbol without its guard interval, in units of 3.2 µs; `None` where unknown.
        training: Option<u8>,
        /// Whether only the middle half of the symbols' carriers is used.
        dual_carrier: bool,
        /// Whether preamble and header have the format of one user in one transmission.
        single_user: bool,
    },
}

/// Channel width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 20 MHz.
    Mhz20,
    /// 40 MHz.
    Mhz40,
    /// 80 MHz.
    Mhz80,
    /// 160 MHz, in one piece or two.
    Mhz160,
}

/// Guard interval between symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// 0.4 µs.
    Ns400,
    /// 0.8 µs.
    Ns800,
    /// 1.6 µs.
    Ns1600,
    /// 3.2 µs.
    Ns3200,
}

impl Guard {
    pub(crate) const fn ns(self) -> u64 {
        match self {
            Self::Ns400 => 400,
            Self::Ns800 => 800,
            Self::Ns1600 => 1_600,
            Self::Ns3200 => 3_200,
        }
    }
}

/// Coded bits per subcarrier, and the coding rate as a fraction, of the indices common to all (Tables 19-6, 21-30, 27-54).
const CODINGS: [(u64, u64, u64); 12] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
    (10, 3, 4),
    (10, 5, 6),
];
const DSSS_RATES: [u8; 4] = [2, 4, 11, 22];
const OFDM_RATES: [u8; 8] = [12, 18, 24, 36, 48, 72, 96, 108];

impl Modulation {
    /// From a rate in units of 500 kbit/s, which tells the modulation of 802.11a, b and g.
    pub(crate) fn legacy(half_mbps: u8, short_preamble: Option<bool>) -> Self {
        match half_mbps {
            rate if DSSS_RATES.contains(&rate) => {
                // The lowest rate has no short preamble (§16.2.2.3).
                Self::Dsss { half_mbps, short_preamble: if rate == 2 { Some(false) } else { short_preamble } }
            }
            rate if OFDM_RATES.contains(&rate) => Self::Ofdm { half_mbps },
            _ => Self::Unknown,
        }
    }

    /// Data bits per symbol and the symbol's length in ns, of what is sent in symbols.
    pub(crate) fn symbol(self) -> Option<(u64, u64)> {
        match self {
            Self::Unknown | Self::Dsss { .. } => None,
            Self::Ofdm { half_mbps } => Some((u64::from(half_mbps) * 2, 4_000)),
            Self::Ht { mcs: 32, width: Width::Mhz40, guard, .. } => Some((24, 3_200 + guard.ns())),
            Self::Ht { mcs, width, guard, .. } if mcs < 32 => {
                let carriers = if width == Width::Mhz20 { 52 } else { 108 };
                bits(carriers * (u64::from(mcs) / 8 + 1), mcs % 8).map(|n| (n, 3_200 + guard.ns()))
            }
            // Different modulations on each stream: no radio sends them.
            Self::Ht { .. } => None,
            Self::Vht { mcs, streams, width, guard, .. } if mcs < 10 => {
                let carriers = match width {
                    Width::Mhz20 => 52,
                    Width::Mhz40 => 108,
                    Width::Mhz80 => 234,
                    Width::Mhz160 => 468,
                };
                let allowed = vht_allows(width, mcs, streams);
                let bits = bits(carriers * u64::from(streams), mcs).filter(|_| allowed);
                bits.map(|n| (n, 3_200 + guard.ns()))
            }
            Self::Vht { .. } => None,
            Self::He { mcs, streams, width, guard, dual_carrier, .. } => {
                let carriers = match width {
                    Width::Mhz20 => 234,
                    Width::Mhz40 => 468,
                    Width::Mhz80 => 980,
                    Width::Mhz160 => 1_960,
                };
                let carriers = if dual_carrier { carriers / 2 } else { carriers };
                bits(carriers * u64::from(streams), mcs).map(|n| (n, 12_800 + guard.ns()))
            }
        }
    }

    /// Rate of the body, bit/s.
    pub fn rate_bps(self) -> Option<u64> {
        match self {
            Self::Dsss { half_mbps, .. } | Self::Ofdm { half_mbps } => Some(u64::from(half_mbps) * 500_000),
            _ => self.symbol().map(|(bits, ns)| bits * 1_000_000_000 / ns),
        }
    }
}

/// Whether the bits of a symbol can be shared out evenly among streams and encoders (§21.5 leaves the others out).
fn vht_allows(width: Width, mcs: u8, streams: u8) -> bool {
    match (width, mcs) {
        (Width::Mhz20, 9) => streams.is_multiple_of(3),
        (Width::Mhz80, 6) => streams != 3 && streams != 7,
        (Width::Mhz80, 9) => streams != 6,
        (Width::Mhz160, 9) => streams != 3,
        _ => true,
    }
}

/// Data bits per symbol on this many subcarriers over all streams; none on none.
fn bits(carriers: u64, index: u8) -> Option<u64> {
    let (coded, over, under) = *CODINGS.get(usize::from(index))?;
    // 802.11ax rounds down (27.5); the others have no fractions.
    Some(carriers * coded * over / under).filter(|bits| *bits > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ht(mcs: u8, width: Width, guard: Guard) -> Option<u64> {
        Modulation::Ht { mcs, width, guard, greenfield: false, stbc: 0, sounding: 0 }.rate_bps()
    }

    fn vht(mcs: u8, streams: u8, width: Width, guard: Guard) -> Option<u64> {
        Modulation::Vht { mcs, streams, width, guard, stbc: false }.rate_bps()
    }

    fn he(mcs: u8, streams: u8, width: Width, guard: Guard, dual_carrier: bool) -> Option<u64> {
        let training = None;
        Modulation::He { mcs, streams, width, guard, training, dual_carrier, single_user: true }.rate_bps()
    }

    #[test]
    fn rates_are_those_of_the_standards_tables() {
        // Tables 19-27 to 19-38.
        assert_eq!(ht(0, Width::Mhz20, Guard::Ns800), Some(6_500_000));
        assert_eq!(ht(7, Width::Mhz20, Guard::Ns400), Some(72_222_222));
        assert_eq!(ht(15, Width::Mhz40, Guard::Ns400), Some(300_000_000));
        assert_eq!(ht(31, Width::Mhz40, Guard::Ns800), Some(540_000_000));
        assert_eq!(ht(32, Width::Mhz40, Guard::Ns800), Some(6_000_000));
        assert_eq!(ht(33, Width::Mhz40, Guard::Ns800), None);
        // Tables 21-29 to 21-60.
        assert_eq!(vht(9, 1, Width::Mhz80, Guard::Ns400), Some(433_333_333));
        assert_eq!(vht(8, 1, Width::Mhz20, Guard::Ns800), Some(78_000_000));
        assert_eq!(vht(9, 8, Width::Mhz160, Guard::Ns400), Some(6_933_333_333));
        assert_eq!(vht(9, 1, Width::Mhz20, Guard::Ns800), None);
        assert_eq!(vht(9, 3, Width::Mhz20, Guard::Ns800), Some(260_000_000));
        assert_eq!(vht(6, 3, Width::Mhz80, Guard::Ns800), None);
        assert_eq!(vht(10, 1, Width::Mhz20, Guard::Ns800), None);
        assert_eq!(vht(0, 0, Width::Mhz20, Guard::Ns800), None);
        // 802.11ax Tables 27-79 to 27-110.
        assert_eq!(he(11, 1, Width::Mhz20, Guard::Ns800, false), Some(143_382_352));
        assert_eq!(he(0, 1, Width::Mhz20, Guard::Ns3200, false), Some(7_312_500));
        assert_eq!(he(11, 8, Width::Mhz160, Guard::Ns800, false), Some(9_607_794_117));
        assert_eq!(he(0, 1, Width::Mhz20, Guard::Ns800, true), Some(4_264_705));
    }

    #[test]
    fn a_rate_tells_the_modulation_of_old_frames() {
        let b = |half_mbps, short_preamble| Modulation::Dsss { half_mbps, short_preamble };
        assert_eq!(Modulation::legacy(22, Some(true)), b(22, Some(true)));
        assert_eq!(Modulation::legacy(2, Some(true)), b(2, Some(false)));
        assert_eq!(Modulation::legacy(108, None), Modulation::Ofdm { half_mbps: 108 });
        assert_eq!(Modulation::legacy(44, None), Modulation::Unknown);
        assert_eq!(b(11, None).rate_bps(), Some(5_500_000));
    }
}
