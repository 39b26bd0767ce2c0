//! Dimensions and their units.
//!
//! Left out: reading and writing of quantities; see the other files of this folder.

/// What a quantity measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// A span of time, in nanoseconds.
    Time,
    /// A link rate, in bits per second.
    LinkRate,
    /// A size, in bytes.
    Size,
    /// How often something happens, in millionths per second.
    Frequency,
    /// A power level, in thousandths of a dBm; may be negative.
    Power,
    /// One power over another, in thousandths of a dB; may be negative.
    Ratio,
    /// A number of things, without a unit.
    Count,
}

/// One unit: its symbol and how many grains it is, as `mantissa * 10^exponent`.
pub(super) struct Unit(pub(super) &'static str, pub(super) u64, pub(super) u32);

const TIME: &[Unit] = &[
    Unit("ns", 1, 0),
    Unit("us", 1, 3),
    Unit("µs", 1, 3),
    Unit("μs", 1, 3),
    Unit("ms", 1, 6),
    Unit("s", 1, 9),
    Unit("min", 60, 9),
    Unit("h", 3600, 9),
];
const LINK_RATE: &[Unit] =
    &[Unit("bit/s", 1, 0), Unit("kbit/s", 1, 3), Unit("Mbit/s", 1, 6), Unit("Gbit/s", 1, 9)];
const SIZE: &[Unit] = &[
    Unit("B", 1, 0),
    Unit("kB", 1, 3),
    Unit("MB", 1, 6),
    Unit("GB", 1, 9),
    Unit("KiB", 1 << 10, 0),
    Unit("MiB", 1 << 20, 0),
    Unit("GiB", 1 << 30, 0),
];
const FREQUENCY: &[Unit] = &[Unit("/s", 1, 6)];
const POWER: &[Unit] = &[Unit("dBm", 1, 3)];
const RATIO: &[Unit] = &[Unit("dB", 1, 3)];
const COUNT: &[Unit] = &[Unit("", 1, 0)];

/// Every dimension that has units, for telling a wrong dimension from an unknown unit.
pub(super) const WITH_UNITS: [Dimension; 6] = [
    Dimension::Time,
    Dimension::LinkRate,
    Dimension::Size,
    Dimension::Frequency,
    Dimension::Power,
    Dimension::Ratio,
];

impl Dimension {
    pub(super) fn units(self) -> &'static [Unit] {
        match self {
            Self::Time => TIME,
            Self::LinkRate => LINK_RATE,
            Self::Size => SIZE,
            Self::Frequency => FREQUENCY,
            Self::Power => POWER,
            Self::Ratio => RATIO,
            Self::Count => COUNT,
        }
    }

    /// The dimension in words, with its article.
    pub fn name(self) -> &'static str {
        match self {
            Self::Time => "a time",
            Self::LinkRate => "a link rate",
            Self::Size => "a size",
            Self::Frequency => "a rate of arrivals",
            Self::Power => "a power",
            Self::Ratio => "a ratio of powers",
            Self::Count => "a whole number",
        }
    }

    /// The units that may be written, for messages and the reference.
    pub fn symbols(self) -> String {
        let ascii = self.units().iter().map(|unit| unit.0).filter(|symbol| symbol.is_ascii());
        ascii.collect::<Vec<_>>().join(", ")
    }
}
