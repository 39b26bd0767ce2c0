//! Distributions as text: `8KiB`, or a name with its parameters, `lognormal(mean 8KiB, cv 2)`.
//!
//! A parameter is a word and a value: a quantity of the key's dimension, or a plain number for `cv`, `shape` and the
//! weights of a `choice`. What is shown reads back as the same.
//!
//! Left out: what the distributions are; see [`airperf_units::Distribution`].

use crate::quantity::{self, Dimension, QuantityError, Text};
use airperf_workload::Distribution;
use std::fmt;

/// The forms that may be written, for messages and the reference.
pub(crate) const FORMS: [&str; 6] = ["uniform", "exponential", "lognormal", "pareto", "surge", "choice"];

/// What a name's parameters are called, in the order in which they are shown.
fn parameters(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "uniform" => &["from", "to"],
        "exponential" => &["mean"],
        "lognormal" => &["mean", "cv"],
        "pareto" => &["from", "to", "shape"],
        "surge" => &["to"],
        _ => return None,
    })
}

/// An example of every form, in a dimension's usual unit.
pub(crate) fn examples(dimension: Dimension) -> String {
    let [a, b, c] = match dimension {
        Dimension::Time => ["1s", "10s", "100s"],
        Dimension::Size => ["1KiB", "8KiB", "1MiB"],
        _ => ["1", "3", "30"],
    };
    let surge = if dimension == Dimension::Size { "`surge(to 10MB)`, " } else { "" };
    format!(
        "`uniform(from {a}, to {b})`, `exponential(mean {b})`, `lognormal(mean {b}, cv 2)`, \
         `pareto(from {a}, to {c}, shape 1.5)`, {surge}`choice({a} 0.7, {b} 0.3)`"
    )
}

fn error<T>(message: impl Into<String>, hint: impl Into<String>) -> Result<T, QuantityError> {
    Err(QuantityError { message: message.into(), hint: hint.into() })
}

/// Reads a distribution with all its quantities from `low` to `high` grains.
pub(crate) fn parse(
    text: &str,
    dimension: Dimension,
    low: i128,
    high: i128,
) -> Result<Distribution, QuantityError> {
    let quantity = |text: &str| {
        let fits = |grains: i128| (low..=high).contains(&grains);
        let grains = match dimension {
            Dimension::Count => quantity::parse_bare(text, 0)?,
            _ => quantity::parse_for(text, dimension, &fits)?,
        };
        match u64::try_from(grains).ok().filter(|_| fits(grains)) {
            Some(value) => Ok(value),
            None => error(
                format!("{text} is out of range"),
                format!("allowed: from {} to {}", Text(low, dimension), Text(high, dimension)),
            ),
        }
    };
    let text = text.trim();
    let Some((name, rest)) = text.split_once('(') else { return quantity(text).map(Distribution::Fixed) };
    let name = name.trim();
    let Some(inner) = rest.trim_end().strip_suffix(')') else {
        return error(format!("`{name}(` is not closed"), format!("such as {}", examples(dimension)));
    };
    let made =
        if name == "choice" { choice(inner, &quantity)? } else { named(name, inner, dimension, &quantity)? };
    if made.is_sound() {
        return Ok(made);
    }
    let hint = match made {
        Distribution::Uniform { .. } | Distribution::Pareto { .. } => {
            "`from` must be below `to`, and of pareto, like `shape`, above 0"
        }
        Distribution::Surge { .. } => "its tail begins at 133kB: `to` must be above that",
        Distribution::Choice(_) => "weights must be above 0",
        _ => "its parameters must be above 0",
    };
    error(format!("there is no {name} distribution like this"), hint)
}

/// Reads `8KiB 0.5, 64KiB 0.5`.
fn choice(
    inner: &str,
    quantity: &dyn Fn(&str) -> Result<u64, QuantityError>,
) -> Result<Distribution, QuantityError> {
    let mut choices = Vec::new();
    for part in inner.split(',').map(str::trim) {
        let (value, weight) = part.rsplit_once(char::is_whitespace).unwrap_or((part, "1"));
        choices.push((quantity(value.trim())?, number(weight)?));
    }
    Ok(Distribution::Choice(choices.into()))
}

fn number(text: &str) -> Result<f64, QuantityError> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number + 0.0),
        _ => error(format!("`{text}` is no number"), "write it without a unit, as 1.5"),
    }
}

fn named(
    name: &str,
    inner: &str,
    dimension: Dimension,
    quantity: &dyn Fn(&str) -> Result<u64, QuantityError>,
) -> Result<Distribution, QuantityError> {
    let known = parameters(name).filter(|_| name != "surge" || dimension == Dimension::Size);
    let Some(known) = known else {
        let near = crate::reader::nearest(name, FORMS).map(|near| format!("did you mean `{near}`? "));
        let hint = format!("{}such as {}", near.unwrap_or_default(), examples(dimension));
        return error(format!("there is no distribution `{name}` here"), hint);
    };
    let mut texts = vec![None; known.len()];
    for part in inner.split(',').map(str::trim) {
        let (word, value) = part.split_once(char::is_whitespace).unwrap_or((part, ""));
        let Some(place) = known.iter().position(|known| *known == word) else {
            let message = format!("`{name}` has no parameter `{word}`");
            return error(message, format!("write {name}({})", wanted(known)));
        };
        if texts[place].replace(value.trim()).is_some() {
            return error(format!("`{word}` is given twice"), format!("write {name}({})", wanted(known)));
        }
    }
    let text = |word: &str| {
        let place = known.iter().position(|known| *known == word);
        match place.and_then(|place| texts[place]) {
            Some(text) => Ok(text),
            None => error(format!("`{name}` needs `{word}`"), format!("write {name}({})", wanted(known))),
        }
    };
    let of = |word: &str| quantity(text(word)?);
    Ok(match name {
        "uniform" => Distribution::Uniform { low: of("from")?, high: of("to")? },
        "exponential" => Distribution::Exponential { mean: of("mean")? },
        "lognormal" => Distribution::LogNormal { mean: of("mean")?, cv: number(text("cv")?)? },
        "pareto" => {
            Distribution::Pareto { low: of("from")?, high: of("to")?, shape: number(text("shape")?)? }
        }
        _ => Distribution::Surge { high: of("to")? },
    })
}

fn wanted(known: &[&str]) -> String {
    known.iter().map(|word| format!("{word} …")).collect::<Vec<_>>().join(", ")
}

/// A distribution in the one form that [`parse`] reads back and people read best.
pub(crate) struct Shown<'a>(pub(crate) &'a Distribution, pub(crate) Dimension);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: u64| Text(value.into(), self.1);
        match self.0 {
            Distribution::Fixed(value) => write!(f, "{}", text(*value)),
            Distribution::Uniform { low, high } => {
                write!(f, "uniform(from {}, to {})", text(*low), text(*high))
            }
            Distribution::Exponential { mean } => write!(f, "exponential(mean {})", text(*mean)),
            Distribution::LogNormal { mean, cv } => write!(f, "lognormal(mean {}, cv {cv})", text(*mean)),
            Distribution::Pareto { low, high, shape } => {
                write!(f, "pareto(from {}, to {}, shape {shape})", text(*low), text(*high))
            }
            Distribution::Surge { high } => write!(f, "surge(to {})", text(*high)),
            Distribution::Choice(choices) => {
                f.write_str("choice(")?;
                for (place, (value, weight)) in choices.iter().enumerate() {
                    let comma = if place == 0 { "" } else { ", " };
                    write!(f, "{comma}{} {weight}", text(*value))?;
                }
                f.write_str(")")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: i128 = 1 << 31;

    #[test]
    fn every_form_is_read_and_shown_as_it_reads_back() {
        for (text, shown) in [
            ("1KiB", "1KiB"),
            ("uniform(from 1KiB, to 64KiB)", "uniform(from 1KiB, to 64KiB)"),
            (" uniform( to 64KiB,from 1024B ) ", "uniform(from 1KiB, to 64KiB)"),
            ("exponential(mean 8KiB)", "exponential(mean 8KiB)"),
            ("lognormal(mean 8KiB, cv 2)", "lognormal(mean 8KiB, cv 2)"),
            ("lognormal(cv 0.10, mean 8000B)", "lognormal(mean 8000B, cv 0.1)"),
            ("pareto(from 1KiB, to 1MiB, shape 1.1)", "pareto(from 1KiB, to 1MiB, shape 1.1)"),
            ("surge(to 10MB)", "surge(to 10000000B)"),
            ("choice(1KiB 0.5, 64KiB 3)", "choice(1KiB 0.5, 64KiB 3)"),
            ("choice(1KiB, 64KiB)", "choice(1KiB 1, 64KiB 1)"),
        ] {
            let read = parse(text, Dimension::Size, 0, MOST).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(Shown(&read, Dimension::Size).to_string(), shown);
            assert_eq!(parse(shown, Dimension::Size, 0, MOST), Ok(read));
        }
        let counts = parse("choice(0 1, 12 2)", Dimension::Count, 0, 100).expect("counts have no unit");
        assert_eq!(counts, Distribution::Choice([(0, 1.0), (12, 2.0)].into()));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, message) in [
            ("uniform(from 1KiB, to 64)", "a size needs a unit"),
            ("uniform(from 1KiB)", "`uniform` needs `to`"),
            ("uniform(from 1KiB, from 2KiB)", "`from` is given twice"),
            ("uniform(from 2KiB, to 1KiB)", "no uniform distribution like this"),
            ("uniform(from 1KiB, to 3GiB)", "out of range"),
            ("uniform(from 1KiB, to 3KiB", "is not closed"),
            ("uniform(mean 1KiB)", "no parameter `mean`"),
            ("lognorml(mean 1KiB, cv 1)", "no distribution `lognorml`"),
            ("lognormal(mean 1KiB, cv 1KiB)", "`1KiB` is no number"),
            ("lognormal(mean 1KiB, cv 0)", "no lognormal distribution like this"),
            ("pareto(from 0B, to 1KiB, shape 1)", "no pareto distribution like this"),
            ("surge(to 100kB)", "no surge distribution like this"),
            ("choice(1KiB 0)", "no choice distribution like this"),
            ("choice()", "no number"),
        ] {
            let found = parse(text, Dimension::Size, 0, MOST).expect_err(text);
            assert!(found.message.contains(message), "{text}: {}", found.message);
        }
        let hint = parse("lognorml(mean 1KiB)", Dimension::Size, 0, MOST).expect_err("misspelt").hint;
        assert!(hint.contains("did you mean `lognormal`?"), "{hint}");
        assert!(parse("surge(to 3s)", Dimension::Time, 0, MOST).is_err(), "sizes of files are no times");
    }
}
