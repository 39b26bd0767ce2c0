//! Quantities written as text: a decimal number and its unit, such as `"11Mbit/s"` or `"1.5ms"`.
//!
//! Arithmetic is exact: a quantity is an integer count of its dimension's grain (one nanosecond, one
//! bit per second, one byte …), and a text finer than the grain is refused rather than rounded.
//! Reference for the prefixes: SI brochure, 9th edition, §3 (k, M, G) and IEC 80000-13 (Ki, Mi, Gi).
//!
//! Left out: arithmetic between quantities, and units that mean two things. `KB`, `mbps` and their
//! like are refused with both readings spelled out.

mod advice;
mod text;
mod unit;

pub(crate) use text::{Fraction, Text, in_unit};
pub use unit::Dimension;

use advice::wrong_unit;
use unit::{Unit, WITH_UNITS};

/// Why a text is no quantity of the wanted dimension.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct QuantityError {
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub hint: String,
}

fn error<T>(message: impl Into<String>, hint: impl Into<String>) -> Result<T, QuantityError> {
    Err(QuantityError { message: message.into(), hint: hint.into() })
}

/// A decimal number: sign, digits without the point, and how many of them follow the point.
struct Decimal {
    negative: bool,
    digits: u128,
    places: i64,
}

/// The longest number worth reading; longer ones are mistakes or attacks.
const MAX_DIGITS: usize = 30;

/// Splits `text` into its number and the rest, which is the unit.
fn split(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
    let mut end = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    while digit(end) || matches!(bytes.get(end), Some(b'.' | b'_')) {
        end += 1;
    }
    // An exponent only where digits follow, so that a unit may begin with `e`.
    if end > 0 && matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if digit(end + 1 + sign) {
            end += 1 + sign;
            while digit(end) {
                end += 1;
            }
        }
    }
    (&text[..end], text[end..].trim())
}

fn decimal(number: &str) -> Option<Decimal> {
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().unwrap_or(i32::MAX)),
        None => (number, 0),
    };
    let negative = mantissa.starts_with('-');
    let unsigned = mantissa.trim_start_matches(['+', '-']);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits: String = whole.chars().chain(fraction.chars()).filter(|&c| c != '_').collect();
    if digits.is_empty() || digits.len() > MAX_DIGITS || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let after_point = fraction.chars().filter(|&c| c != '_').count() as i64;
    Some(Decimal { negative, digits: digits.parse().ok()?, places: after_point - i64::from(exponent) })
}

impl Decimal {
    /// This number of `unit`s in grains; `None` beyond 2^96, `Some(Err)` when finer than a grain.
    fn grains(&self, unit: &Unit) -> Option<Result<i128, ()>> {
        if self.digits == 0 {
            return Some(Ok(0));
        }
        let mut grains = self.digits.checked_mul(u128::from(unit.1))?;
        let mut exponent = i64::from(unit.2) - self.places;
        while exponent > 0 {
            grains = grains.checked_mul(10).filter(|&g| g < 1 << 96)?;
            exponent -= 1;
        }
        while exponent < 0 {
            if grains % 10 != 0 {
                return Some(Err(()));
            }
            grains /= 10;
            exponent += 1;
        }
        let grains = i128::try_from(grains).ok().filter(|&g| g < 1 << 96)?;
        Some(Ok(if self.negative { -grains } else { grains }))
    }
}

/// Reads `text` as a quantity of `dimension`, in grains.
///
/// # Errors
/// When there is no number, no unit, an unknown or ambiguous unit, a unit of another dimension, a
/// value finer than the grain, or one beyond 2^96 grains. Ranges are the caller's.
///
/// ```
/// use airperf_scenario::quantity::{Dimension, parse};
/// assert_eq!(parse("5.5Mbit/s", Dimension::LinkRate), Ok(5_500_000));
/// assert!(parse("11 mbps", Dimension::LinkRate).is_err());
/// ```
pub fn parse(text: &str, dimension: Dimension) -> Result<i128, QuantityError> {
    parse_for(text, dimension, &|_| true)
}

/// The same as [`parse`]; hints suggest what `fits`.
pub(crate) fn parse_for(
    text: &str,
    dimension: Dimension,
    fits: &dyn Fn(i128) -> bool,
) -> Result<i128, QuantityError> {
    let text = text.trim();
    let lower = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
    if lower.starts_with("nan") || lower.starts_with("inf") {
        return error(
            format!("{} must be a finite number", dimension.name()),
            dimension.examples("10", fits),
        );
    }
    let (number, symbol) = split(text);
    let Some(value) = decimal(number) else {
        let what = if number.is_empty() { "no number" } else { "no readable number" };
        return error(format!("there is {what} in this text"), dimension.examples("10", fits));
    };
    let unit = match dimension.units().iter().find(|unit| unit.0 == symbol) {
        Some(unit) => unit,
        None => return Err(wrong_unit(number, symbol, &value, dimension, fits)),
    };
    match value.grains(unit) {
        None => error(format!("{text} is beyond every range"), dimension.examples("10", fits)),
        Some(Err(())) => error(
            format!("{text} is finer than this program counts"),
            format!("the smallest step of {} is {}", dimension.name(), Text(1, dimension)),
        ),
        Some(Ok(grains)) if grains < 0 && !matches!(dimension, Dimension::Power | Dimension::Ratio) => {
            error(format!("{} cannot be negative", dimension.name()), "write it without the minus sign")
        }
        Some(Ok(grains)) => Ok(grains),
    }
}

/// The unit at the end of `text` with its dimension, if it is one.
pub(crate) fn unit_of(text: &str) -> Option<(Dimension, &'static str)> {
    let (_, symbol) = split(text.trim());
    WITH_UNITS.into_iter().find_map(|dimension| {
        dimension.units().iter().find(|unit| unit.0 == symbol).map(|unit| (dimension, unit.0))
    })
}

/// Reads a number without a unit, in grains of `10^-places`.
pub(crate) fn parse_bare(text: &str, places: u32) -> Result<i128, QuantityError> {
    let (number, symbol) = split(text.trim());
    if !symbol.is_empty() {
        let units: Vec<String> = WITH_UNITS.iter().map(|dimension| dimension.symbols()).collect();
        return error(format!("`{symbol}` is no unit"), format!("units: {}", units.join(", ")));
    }
    match decimal(number).and_then(|value| value.grains(&Unit("", 1, places))) {
        Some(Ok(grains)) => Ok(grains),
        Some(Err(())) => error(format!("{text} is finer than this program counts"), ""),
        None => error(format!("`{text}` is no number"), ""),
    }
}

#[cfg(test)]
mod tests;
