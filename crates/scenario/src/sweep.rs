//! The values of an experiment's factor: a list, or a range such as `10/s..160/s step 10/s`.
//!
//! Ranges are exact: values are counted in grains, never added up as floats. Left out: what the values
//! are values of; the scenario they are put into checks that.

use crate::document;
use crate::problem::{Findings, Problems, Sources};
use crate::quantity::{self, Dimension, QuantityError};

/// Points of a sweep at most; more are a mistake in the step.
pub const MAX_POINTS: usize = 10_000;

/// The values of `text`, each as it would be written in an override.
///
/// `text` is a list in TOML or JSON (`["1KiB", "2KiB"]`), a range with a step (`"10..160 step 10 /s"`,
/// `"1KiB..64KiB times 2"`) or one value. A unit at the end is everybody's who has none. Both ends
/// belong to a range if a step reaches them.
///
/// # Errors
/// What is wrong with the text: empty, mixed units, a step that leads nowhere or to more than
/// [`MAX_POINTS`] values, a value twice.
///
/// ```
/// let rates = airperf_scenario::sweep::expand("10..40 step 10 /s")?;
/// assert_eq!(rates, ["10/s", "20/s", "30/s", "40/s"]);
/// assert!(airperf_scenario::sweep::expand("0..1000000000 step 1").is_err());
/// # Ok::<(), airperf_scenario::quantity::QuantityError>(())
/// ```
pub fn expand(text: &str) -> Result<Vec<String>, QuantityError> {
    let text = text.trim();
    let values = if text.starts_with('[') {
        list(text)?
    } else if text.contains("..") {
        range(text)?
    } else if text.is_empty() {
        Vec::new()
    } else {
        vec![text.to_owned()]
    };
    if values.is_empty() {
        return fail("the sweep has no values", "give a list or a range, \"10..160 step 10 /s\" say");
    }
    if values.len() > MAX_POINTS {
        return too_many(values.len());
    }
    let mut seen = std::collections::BTreeSet::new();
    match values.iter().find(|value| !seen.insert(value.as_str())) {
        Some(twice) => fail(format!("{twice} stands in the sweep twice"), "leave one out"),
        None => Ok(values),
    }
}

fn fail<T>(message: impl Into<String>, hint: impl Into<String>) -> Result<T, QuantityError> {
    Err(QuantityError { message: message.into(), hint: hint.into() })
}

fn too_many<T>(points: impl std::fmt::Display) -> Result<T, QuantityError> {
    fail(format!("the sweep has {points} values"), format!("allowed: up to {MAX_POINTS}; take a larger step"))
}

fn list(text: &str) -> Result<Vec<String>, QuantityError> {
    let wrapped = format!("x = {text}\n");
    let mut findings = Findings::new(Sources::new("", &wrapped));
    let table = document::parse(&wrapped, &mut findings);
    if let Err(Problems(problems)) = findings.finish() {
        return fail(problems[0].message.clone(), "write [\"10/s\", \"20/s\"], say");
    }
    let Some(document::Value::Array(items)) = table.get("x").map(|entry| &entry.node.value) else {
        return fail("this is no list", "write [\"10/s\", \"20/s\"], say");
    };
    items
        .iter()
        .map(|item| match &item.value {
            document::Value::Text(text) | document::Value::Integer(text) | document::Value::Float(text) => {
                Ok(text.clone())
            }
            document::Value::Flag(flag) => Ok(flag.to_string()),
            other => fail(format!("{} cannot be a value of a sweep", other.type_name()), ""),
        })
        .collect()
}

/// How a range goes on from one value to the next.
enum Pace {
    Step(i128),
    Times(i128),
}

fn range(text: &str) -> Result<Vec<String>, QuantityError> {
    const FORM: &str = "write \"10..160 step 10 /s\" or \"1KiB..64KiB times 2\", say";
    let Some((low, rest)) = text.split_once("..") else { return fail("this is no range", FORM) };
    let (high, word, pace) = match (rest.split_once(" step "), rest.split_once(" times ")) {
        (Some((high, pace)), None) => (high, "step", pace),
        (None, Some((high, pace))) => (high, "times", pace),
        _ => return fail("the range has no step", FORM),
    };
    let (pace, last_unit) = match pace.trim().split_once(' ') {
        Some((pace, unit)) => (pace, unit.trim()),
        None => (pace.trim(), ""),
    };
    let (low, high) = (with_unit(low, last_unit), with_unit(high, last_unit));
    let unit = quantity::unit_of(&low);
    let dimension = unit.map(|(dimension, _)| dimension);
    let (low, high) = (read(&low, dimension)?, read(&high, dimension)?);
    let pace = match word {
        "step" => Pace::Step(read(&with_unit(pace, last_unit), dimension)?),
        _ => Pace::Times(quantity::parse(pace, Dimension::Count)?),
    };
    if low > high {
        return fail("the range runs backwards and has no values", "write the smaller end first");
    }
    match pace {
        Pace::Step(step) if step <= 0 => return fail("the step must be positive", FORM),
        Pace::Step(step) if (high - low) / step >= MAX_POINTS as i128 => {
            return too_many((high - low) / step + 1);
        }
        Pace::Times(factor) if factor < 2 || low <= 0 => {
            return fail("`times` needs a start above zero and a factor of at least 2", FORM);
        }
        _ => {}
    }
    let next = |value: &i128| match pace {
        Pace::Step(step) => value.checked_add(step),
        Pace::Times(factor) => value.checked_mul(factor),
    };
    let values = std::iter::successors(Some(low), next).take_while(|value| *value <= high);
    Ok(shown(&values.collect::<Vec<_>>(), unit))
}

/// `text`, with `unit` behind it unless it has one.
fn with_unit(text: &str, unit: &str) -> String {
    let text = text.trim();
    if text.ends_with(|c: char| c.is_ascii_digit()) { format!("{text}{unit}") } else { text.to_owned() }
}

/// Grains of a bare number: billionths, so that probabilities can be swept.
const BARE: i128 = 1_000_000_000;

fn read(text: &str, dimension: Option<Dimension>) -> Result<i128, QuantityError> {
    match dimension {
        Some(dimension) => quantity::parse(text, dimension),
        None => quantity::parse_bare(text, 9),
    }
}

/// The values in one unit, so that their numbers make an axis: that of the first if they have exact
/// decimals in it, else the most usual in which they have.
fn shown(values: &[i128], unit: Option<(Dimension, &'static str)>) -> Vec<String> {
    let Some((dimension, symbol)) = unit else {
        return values.iter().map(|&grains| quantity::Fraction(grains, BARE).to_string()).collect();
    };
    let all_in = |symbol| values.iter().map(|&grains| quantity::in_unit(grains, dimension, symbol)).collect();
    std::iter::once(symbol).chain(dimension.usual().iter().copied()).find_map(all_in).unwrap_or_default()
}
