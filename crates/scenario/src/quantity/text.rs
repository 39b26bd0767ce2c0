//! Quantities as text, in the one form that is read back exactly and that people read best.
//!
//! Left out: any rounding; every digit is kept.

use super::unit::Dimension;
use std::fmt;

/// A quantity as text in the one form that `parse` reads back and people read best.
pub(crate) struct Text(pub(crate) i128, pub(crate) Dimension);

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(grains, dimension) = *self;
        let whole = |units: &[(i128, &'static str)]| {
            units.iter().copied().find(|(size, _)| grains % size == 0 && grains != 0)
        };
        let (size, symbol) = match dimension {
            Dimension::Time => whole(&[(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")])
                .unwrap_or((1, "s")),
            Dimension::Size => {
                whole(&[(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]).unwrap_or((1, "B"))
            }
            Dimension::LinkRate => {
                let (size, symbol) = match grains {
                    g if g >= 1_000_000 => (1_000_000, "Mbit/s"),
                    g if g >= 1_000 => (1_000, "kbit/s"),
                    _ => (1, "bit/s"),
                };
                return write!(f, "{}{symbol}", Fraction(grains, size));
            }
            Dimension::Frequency => return write!(f, "{}/s", Fraction(grains, 1_000_000)),
            Dimension::Power => return write!(f, "{}dBm", Fraction(grains, 1_000)),
            Dimension::Ratio => return write!(f, "{}dB", Fraction(grains, 1_000)),
            Dimension::Count => (1, ""),
        };
        write!(f, "{}{symbol}", grains / size)
    }
}

/// `grains` as an exact decimal of the unit called `symbol`, if it is one.
pub(crate) fn in_unit(grains: i128, dimension: Dimension, symbol: &str) -> Option<String> {
    let unit = dimension.units().iter().find(|unit| unit.0 == symbol)?;
    let size = 10_i128.checked_pow(unit.2)?.checked_mul(i128::from(unit.1))?;
    (0..=MAX_PLACES).map(|places| 10_i128.pow(places)).find_map(|one| {
        let scaled = grains.checked_mul(one)?;
        (scaled % size == 0).then(|| format!("{}{symbol}", Fraction(scaled / size, one)))
    })
}

/// Decimals that one part of 1024 needs.
const MAX_PLACES: u32 = 10;

/// `0 / 1` as an exact decimal; the denominator is a power of ten.
pub(crate) struct Fraction(pub(crate) i128, pub(crate) i128);

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(value, one) = *self;
        if value < 0 {
            f.write_str("-")?;
        }
        let (whole, rest) =
            (value.unsigned_abs() / one.unsigned_abs(), value.unsigned_abs() % one.unsigned_abs());
        write!(f, "{whole}")?;
        if rest == 0 {
            return Ok(());
        }
        let places = one.ilog10() as usize;
        write!(f, ".{}", format!("{rest:0places$}").trim_end_matches('0'))
    }
}
