//! Time stamps of captures as nanoseconds since 1970, in whole numbers throughout.
//!
//! Reference: draft-ietf-opsawg-pcapng, options `if_tsresol` and `if_tsoffset`. What is finer than a
//! nanosecond is cut off; what 64 bits cannot hold is held at their ends, and the caller is told.

/// Nanoseconds in a second.
const SECOND: i128 = 1_000_000_000;

/// How an interface counts time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    scale: Scale,
    /// Added to every stamp.
    offset_ns: i128,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    /// One unit is so many nanoseconds.
    Times(u64),
    /// So many units are one nanosecond.
    Over(u128),
    /// 2 to this power of units are one second.
    Binary(u32),
}

impl Clock {
    /// Microseconds, which is what an interface counts that says nothing.
    pub(super) const MICROSECONDS: Self = Self { scale: Scale::Times(1_000), offset_ns: 0 };
    /// Nanoseconds.
    pub(super) const NANOSECONDS: Self = Self { scale: Scale::Times(1), offset_ns: 0 };

    /// The clock of an interface with these options; `resolution` is a negative power of 10, or of 2 where
    /// its highest bit is set.
    pub(super) fn new(resolution: u8, offset_s: i64) -> Self {
        let power = u32::from(resolution & 0x7f);
        let scale = if resolution & 0x80 != 0 {
            Scale::Binary(power)
        } else if power <= 9 {
            Scale::Times(10u64.pow(9 - power))
        } else {
            // More than 10^38 units: any 64-bit stamp is 0 ns.
            Scale::Over(10u128.checked_pow(power - 9).unwrap_or(u128::MAX))
        };
        Self { scale, offset_ns: i128::from(offset_s) * SECOND }
    }

    /// A stamp in nanoseconds since 1970; false where 64 bits cannot hold it.
    #[inline]
    pub(super) fn time_ns(&self, stamp: u64) -> (i64, bool) {
        if let Scale::Times(scale) = self.scale
            && self.offset_ns == 0
            && let Some(ns) = stamp.checked_mul(scale)
            && let Ok(ns) = i64::try_from(ns)
        {
            return (ns, true);
        }
        self.slow(stamp)
    }

    #[cold]
    fn slow(&self, stamp: u64) -> (i64, bool) {
        let ns = match self.scale {
            Scale::Times(scale) => i128::from(stamp) * i128::from(scale),
            Scale::Over(units) => (u128::from(stamp) / units) as i128,
            // stamp · 10^9 has at most 94 bits.
            Scale::Binary(power) => (i128::from(stamp) * SECOND) >> power.min(127),
        };
        let ns = ns + self.offset_ns;
        match i64::try_from(ns) {
            Ok(ns) => (ns, true),
            Err(_) => (if ns < 0 { i64::MIN } else { i64::MAX }, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_16_every_resolution_is_exact() {
        let second = 1_700_000_000;
        assert_eq!(Clock::MICROSECONDS.time_ns(1_700_000_000_123_457), (1_700_000_000_123_457_000, true));
        assert_eq!(Clock::NANOSECONDS.time_ns(1_700_000_000_123_456_789), (1_700_000_000_123_456_789, true));
        assert_eq!(Clock::new(0, 0).time_ns(second), (1_700_000_000_000_000_000, true));
        assert_eq!(Clock::new(12, 5).time_ns(1_234_999), (5_000_001_234, true), "picoseconds");
        assert_eq!(Clock::new(0x7f, 1).time_ns(u64::MAX), (1_000_000_000, true));
        assert_eq!(Clock::new(0x80 | 32, 0).time_ns(3 << 31), (1_500_000_000, true), "2^-32 s, as NTP");
        assert_eq!(Clock::new(0xff, 0).time_ns(u64::MAX), (0, true));
    }

    #[test]
    fn fault_18_times_before_1970_and_past_64_bits() {
        assert_eq!(Clock::new(9, -2).time_ns(1), (-1_999_999_999, true));
        assert_eq!(Clock::new(6, 0).time_ns(u64::MAX), (i64::MAX, false));
        assert_eq!(Clock::new(0, i64::MIN).time_ns(0), (i64::MIN, false));
    }
}
