//! One declarative line per key: its name, what may be written, its meaning, and where it goes.
//!
//! The same table reads a scenario, fills in the resolved form, and writes the reference page, so the
//! three cannot disagree.
//!
//! Left out: relations between keys (SIFS against DIFS, say); [`crate::build`] checks those.

use crate::distribution::Shown;
use crate::quantity::{Dimension, Text};
use airperf_units::{Duration, Rate};
use airperf_workload::Distribution;
use serde_json::Value as Json;

/// A value of a key, checked for its type and range.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Setting {
    /// A count of a dimension's grains.
    Amount(i128),
    /// A number without a unit, such as a probability.
    Share(f64),
    /// On or off.
    Flag(bool),
    /// One of the words a key allows.
    Word(&'static str),
    /// Free text.
    Text(String),
    /// A distribution of a dimension's grains.
    Distribution(Distribution),
}

/// What may be written as the value of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// A quantity within limits, in grains, both included.
    Amount(Dimension, i128, i128),
    /// The same, or a distribution of such quantities.
    Distribution(Dimension, i128, i128),
    /// One of a few quantities, in grains.
    OneOf(Dimension, &'static [i128]),
    /// A number without a unit, within limits, both included.
    Share(f64, f64),
    /// `true` or `false`.
    Flag,
    /// Only the words of the key.
    Word,
    /// A line of text up to this many characters.
    Text(usize),
    /// A name: letters, digits, `-`, `_` and `.`, up to this many; it becomes part of file names.
    Name(usize),
}

/// One microsecond in grains.
pub(crate) const US: i128 = 1_000;
/// One millisecond in grains.
pub(crate) const MS: i128 = 1_000 * US;
/// One second in grains.
pub(crate) const S: i128 = 1_000 * MS;

/// A time within limits.
pub(crate) const fn time(low: i128, high: i128) -> Form {
    Form::Amount(Dimension::Time, low, high)
}

/// A size within limits.
pub(crate) const fn size(low: i128, high: i128) -> Form {
    Form::Amount(Dimension::Size, low, high)
}

/// A whole number within limits.
pub(crate) const fn count(low: i128, high: i128) -> Form {
    Form::Amount(Dimension::Count, low, high)
}

/// A size, or a distribution of sizes, within limits.
pub(crate) const fn sizes(low: i128, high: i128) -> Form {
    Form::Distribution(Dimension::Size, low, high)
}

/// A time, or a distribution of times, within limits.
pub(crate) const fn times(low: i128, high: i128) -> Form {
    Form::Distribution(Dimension::Time, low, high)
}

/// A whole number, or a distribution of them, within limits.
pub(crate) const fn counts(low: i128, high: i128) -> Form {
    Form::Distribution(Dimension::Count, low, high)
}

/// One key of a table of type `T`.
pub(crate) struct Key<T: 'static> {
    /// As written in TOML.
    pub(crate) name: &'static str,
    /// Without it there is no scenario.
    pub(crate) required: bool,
    /// What may be written.
    pub(crate) form: Form,
    /// Words that may stand instead of the form's value.
    pub(crate) words: &'static [&'static str],
    /// One sentence for the reference.
    pub(crate) meaning: &'static str,
    /// The value in force.
    pub(crate) get: fn(&T) -> Setting,
    /// Puts a checked value in force.
    pub(crate) set: fn(&mut T, Setting),
}

impl Setting {
    fn amount(self) -> i128 {
        match self {
            Self::Amount(grains) => grains,
            other => unreachable!("the key's form admits no {other:?}"),
        }
    }

    /// The span of a time.
    pub(crate) fn time(self) -> Duration {
        Duration::from_ns(self.count())
    }

    /// The rate of a link rate.
    pub(crate) fn rate(self) -> Rate {
        Rate::bps(self.count())
    }

    /// An amount in any integer type; the key's range keeps it within.
    pub(crate) fn count<N: TryFrom<i128>>(self) -> N {
        N::try_from(self.amount()).unwrap_or_else(|_| unreachable!("the key's range exceeds its type"))
    }

    /// A number.
    pub(crate) fn share(self) -> f64 {
        match self {
            Self::Share(share) => share,
            other => unreachable!("the key's form admits no {other:?}"),
        }
    }

    /// A distribution; an amount is one that has no other value.
    pub(crate) fn distribution(self) -> Distribution {
        match self {
            Self::Distribution(distribution) => distribution,
            amount => Distribution::Fixed(amount.count()),
        }
    }

    /// On or off.
    pub(crate) fn flag(self) -> bool {
        self == Self::Flag(true)
    }

    /// The word, or nothing when the value is an amount.
    pub(crate) fn word(&self) -> Option<&'static str> {
        match self {
            Self::Word(word) => Some(word),
            _ => None,
        }
    }

    /// A text, or a word as text.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Word(word) => word.to_owned(),
            other => unreachable!("the key's form admits no {other:?}"),
        }
    }

    /// An amount unless a word stands for nothing.
    pub(crate) fn optional<N>(self, of: fn(Self) -> N) -> Option<N> {
        if self.word().is_some() { None } else { Some(of(self)) }
    }

    pub(crate) fn of(distribution: &Distribution) -> Self {
        match distribution.fixed() {
            Some(value) => Self::of_count(value),
            None => Self::Distribution(distribution.clone()),
        }
    }

    pub(crate) fn of_time(time: Duration) -> Self {
        Self::Amount(time.as_ns().into())
    }

    pub(crate) fn of_rate(rate: Rate) -> Self {
        Self::Amount(rate.as_bps().into())
    }

    pub(crate) fn of_count(count: impl Into<u64>) -> Self {
        Self::Amount(count.into().into())
    }
}

impl Form {
    fn dimension(self) -> Option<Dimension> {
        match self {
            Self::Amount(dimension, ..) | Self::Distribution(dimension, ..) | Self::OneOf(dimension, _) => {
                Some(dimension)
            }
            _ => None,
        }
    }

    /// What is wanted, in words with an article: `a time from 1ms to 1h`.
    pub(crate) fn wanted(self, words: &[&str]) -> String {
        let article = match self {
            Self::Amount(dimension, ..) | Self::Distribution(dimension, ..) | Self::OneOf(dimension, _) => {
                format!("{} ", dimension.name())
            }
            Self::Share(..) => "a number ".to_owned(),
            _ => String::new(),
        };
        article + &self.allowed(words)
    }

    /// The limits in words, with the words that may stand instead.
    pub(crate) fn allowed(self, words: &[&str]) -> String {
        let text = |dimension| move |grains: &i128| Text(*grains, dimension).to_string();
        let mut all: Vec<String> = match self {
            Self::Amount(dimension, low, high) if low == high => vec![text(dimension)(&low)],
            Self::Amount(dimension, low, high) => {
                vec![format!("from {} to {}", Text(low, dimension), Text(high, dimension))]
            }
            Self::Distribution(dimension, low, high) => {
                let limits = format!("from {} to {}", Text(low, dimension), Text(high, dimension));
                vec![limits, "a distribution".to_owned()]
            }
            Self::OneOf(dimension, choices) => choices.iter().map(text(dimension)).collect(),
            Self::Share(low, high) => vec![format!("from {low} to {high}")],
            Self::Flag => vec!["true or false".to_owned()],
            Self::Text(max) => vec![format!("a text of up to {max} characters")],
            Self::Name(max) => vec![format!("a name of up to {max} letters, digits, `-`, `_` and `.`")],
            Self::Word => Vec::new(),
        };
        all.extend(words.iter().map(|word| format!("\"{word}\"")));
        match all.split_last() {
            Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
            _ => all.concat(),
        }
    }
}

impl<T> Key<T> {
    /// A key that may be left out and knows no words.
    pub(crate) const fn new(
        name: &'static str,
        form: Form,
        meaning: &'static str,
        get: fn(&T) -> Setting,
        set: fn(&mut T, Setting),
    ) -> Self {
        Self { name, required: false, form, words: &[], meaning, get, set }
    }

    /// The same key, without which there is no scenario.
    pub(crate) const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// The same key, which may also be one of these words.
    pub(crate) const fn words(mut self, words: &'static [&'static str]) -> Self {
        self.words = words;
        self
    }

    /// The value in force, as it would be written in TOML.
    pub(crate) fn shown(&self, of: &T) -> Json {
        match ((self.get)(of), self.form.dimension()) {
            // No key that counts is negative.
            (Setting::Amount(grains), Some(Dimension::Count)) => {
                u64::try_from(grains).unwrap_or_default().into()
            }
            (Setting::Amount(grains), Some(dimension)) => Text(grains, dimension).to_string().into(),
            (Setting::Amount(grains), None) => unreachable!("{}: {grains} has no dimension", self.name),
            (Setting::Distribution(of), dimension) => {
                Shown(&of, dimension.unwrap_or(Dimension::Count)).to_string().into()
            }
            (Setting::Share(share), _) => share.into(),
            (Setting::Flag(flag), _) => flag.into(),
            (Setting::Word(word), _) => word.into(),
            (Setting::Text(text), _) => text.into(),
        }
    }
}
