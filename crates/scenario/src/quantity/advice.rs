//! What to tell someone whose quantity has no unit, a wrong one, or one that means two things.
//!
//! Left out: everything about the number itself.

use super::unit::{Dimension, Unit, WITH_UNITS};
use super::{Decimal, QuantityError, decimal};

impl Dimension {
    /// Units in the order in which people think of them.
    pub(crate) fn usual(self) -> &'static [&'static str] {
        match self {
            Self::Time => &["ms", "s", "us", "min", "ns", "h"],
            Self::LinkRate => &["Mbit/s", "kbit/s", "Gbit/s", "bit/s"],
            Self::Size => &["B", "KiB", "kB", "MiB", "MB"],
            Self::Frequency => &["/s"],
            Self::Power => &["dBm"],
            Self::Ratio => &["dB"],
            Self::Count => &[""],
        }
    }

    /// How `number` could be written with a unit so that it fits, for a hint.
    pub(super) fn examples(self, number: &str, fits: &dyn Fn(i128) -> bool) -> String {
        let value = decimal(number);
        let fitting = |symbol: &&str| {
            let unit = self.units().iter().find(|unit| unit.0 == *symbol);
            let grains = unit.zip(value.as_ref()).and_then(|(unit, value)| value.grains(unit));
            matches!(grains, Some(Ok(grains)) if fits(grains))
        };
        let written = |symbol: &str| match self {
            Self::Count => number.to_owned(),
            _ => format!("\"{number}{symbol}\""),
        };
        let chosen: Vec<String> =
            self.usual().iter().copied().filter(|symbol| fitting(symbol)).take(2).map(written).collect();
        match chosen.as_slice() {
            [] => format!("units of {}: {}", self.name(), self.symbols()),
            [one] => format!("write {one}"),
            more => format!("write {}, say", more.join(" or ")),
        }
    }
}

/// What people write for a unit, in lower case, and the unit they mean.
const ALIASES: [(&str, &[&str]); 7] = [
    ("ns", &["nsec", "nanoseconds", "nanosecond"]),
    ("us", &["usec", "microseconds", "microsecond"]),
    ("ms", &["msec", "milliseconds", "millisecond"]),
    ("s", &["sec", "secs", "second", "seconds"]),
    ("min", &["mins", "minute", "minutes"]),
    ("h", &["hr", "hrs", "hour", "hours"]),
    ("/s", &["hz", "per second", "per s", "/sec", "/second", "1/s", "s^-1", "rps", "cps"]),
];

/// Why `symbol` is no unit of `dimension`, and what to write so that it `fits`.
pub(super) fn wrong_unit(
    number: &str,
    symbol: &str,
    value: &Decimal,
    dimension: Dimension,
    fits: &dyn Fn(i128) -> bool,
) -> QuantityError {
    let name = dimension.name();
    let lower = symbol.to_ascii_lowercase();
    let alias = ALIASES.iter().find(|(_, aliases)| aliases.contains(&lower.as_str())).map(|(unit, _)| *unit);
    let (message, hint) = if symbol.is_empty() {
        (format!("{name} needs a unit"), dimension.examples(number, fits))
    } else if dimension == Dimension::Count {
        (format!("{name} has no unit, but `{symbol}` follows"), dimension.examples(number, fits))
    } else if let Some(ambiguous) = ambiguous(number, symbol, value, dimension) {
        ambiguous
    } else if let Some(unit) = dimension.units().iter().find(|unit| Some(unit.0) == alias) {
        (format!("`{symbol}` is not a unit here"), format!("write \"{number}{}\"", unit.0))
    } else if let Some(unit) = dimension.units().iter().find(|unit| unit.0.eq_ignore_ascii_case(symbol)) {
        (format!("`{symbol}` is not a unit; letter case matters"), format!("write \"{number}{}\"", unit.0))
    } else if let Some(other) = WITH_UNITS
        .into_iter()
        .find(|other| *other != dimension && other.units().iter().any(|unit| unit.0 == symbol))
    {
        (
            format!("`{symbol}` is a unit of {}, but {name} is wanted here", other.name()),
            format!("units of {name}: {}", dimension.symbols()),
        )
    } else {
        let hint = match dimension.units() {
            [_] => dimension.examples(number, fits),
            _ => format!("units of {name}: {}", dimension.symbols()),
        };
        (format!("`{symbol}` is no unit of {name}"), hint)
    };
    QuantityError { message, hint }
}

/// The two readings of a unit that people use for two things, if it is one.
fn ambiguous(number: &str, symbol: &str, value: &Decimal, dimension: Dimension) -> Option<(String, String)> {
    let lower = symbol.to_ascii_lowercase();
    let prefix =
        |rest: &str| lower.strip_suffix(rest).filter(|p| ["", "k", "m", "g"].contains(p)).map(str::to_owned);
    match dimension {
        Dimension::LinkRate => {
            let prefix =
                ["bps", "b/s", "bits/s", "bits", "byte/s", "bytes/s"].into_iter().find_map(prefix)?;
            let prefix = match prefix.as_str() {
                "m" => "M",
                "g" => "G",
                other => other,
            };
            let eightfold = value
                .grains(&Unit("", 8, 0))
                .and_then(Result::ok)
                .map_or_else(|| format!("8 × {number}"), |eight| eight.to_string());
            Some((
                format!("`{symbol}` can mean bits or bytes per second"),
                format!(
                    "write \"{number}{prefix}bit/s\", or \"{eightfold}{prefix}bit/s\" if bytes were meant"
                ),
            ))
        }
        Dimension::Size => {
            let letter = match ["b", "", "bytes", "byte"].into_iter().find_map(prefix)?.as_str() {
                "k" => "K",
                "m" => "M",
                "g" => "G",
                _ if lower == "b" => {
                    let message = "`b` would be bits, and a size is in bytes".to_owned();
                    return Some((message, format!("write \"{number}B\"")));
                }
                _ => return Some((format!("`{symbol}` is not a unit"), format!("write \"{number}B\""))),
            };
            let (iec, si) = match letter {
                "K" => ("KiB\" (1024 B", "kB\" (1000 B"),
                "M" => ("MiB\" (1024² B", "MB\" (1000² B"),
                _ => ("GiB\" (1024³ B", "GB\" (1000³ B"),
            };
            Some((
                format!("`{symbol}` can mean powers of 1000 or of 1024"),
                format!("write \"{number}{iec}) or \"{number}{si})"),
            ))
        }
        Dimension::Power if lower == "mw" || lower == "w" => Some((
            format!("`{symbol}` is linear, and levels are written in dBm"),
            "1mW is 0dBm, 10mW 10dBm, 100mW 20dBm, 1W 30dBm".to_owned(),
        )),
        _ => None,
    }
}
