//! Reads a table by its list of keys, and notes everything that does not fit.
//!
//! Every key is looked at whatever happened to the others, so one pass finds all problems.
//! Left out: relations between keys; [`crate::build`] checks those.

use crate::distribution;
use crate::document::{Entry, Node, Table, Value};
use crate::problem::{Findings, Place};
use crate::quantity::{self, Dimension};
use crate::setting::{Form, Key, Setting};

/// The least similarity, of 1, of two names for one to be suggested in place of the other.
const SIMILAR: f64 = 0.6;

/// Longer words are nobody's slip of the finger.
const MAX_SIMILAR: usize = 64;

/// The candidate most like `word`, if any is like it.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > MAX_SIMILAR {
        return None;
    }
    let word = word.to_lowercase().replace('-', "_");
    candidates
        .into_iter()
        .map(|candidate| {
            let plain = candidate.to_lowercase().replace('-', "_");
            (strsim::normalized_damerau_levenshtein(&word, &plain).max(contained(&word, &plain)), candidate)
        })
        .filter(|(score, _)| *score >= SIMILAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// How alike two words are because one is a part of the other.
fn contained(a: &str, b: &str) -> f64 {
    let shorter = a.len().min(b.len());
    if shorter >= 4 && (a.contains(b) || b.contains(a)) { 0.7 } else { 0.0 }
}

/// A table being read: where it is, under which path, and what it holds.
#[derive(Clone, Copy)]
pub(crate) struct Section<'a> {
    /// Path of the table, empty for the document; `client[2]` for the second of several.
    pub(crate) path: &'a str,
    /// Where it begins.
    pub(crate) place: &'a Place,
    /// Its entries; nothing when the table is absent.
    pub(crate) table: Option<&'a Table>,
}

impl Section<'_> {
    /// The path of one of its keys.
    pub(crate) fn key(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    pub(crate) fn entry(&self, name: &str) -> Option<&Entry> {
        self.table.and_then(|table| table.get(name))
    }

    /// Where a key's value stands, or the table when the key is absent.
    pub(crate) fn place_of(&self, name: &str) -> &Place {
        self.entry(name).map_or(self.place, |entry| &entry.node.place)
    }

    /// Reads every key into `into`; keys that are absent or wrong leave it as it is.
    pub(crate) fn read<T>(&self, keys: &[Key<T>], into: &mut T, findings: &mut Findings) {
        for key in keys {
            match self.entry(key.name) {
                Some(entry) => {
                    if let Some(setting) = value(key, &entry.node, &self.key(key.name), findings) {
                        (key.set)(into, setting);
                    }
                }
                None if key.required => {
                    let wanted = key.form.wanted(key.words);
                    findings.missing(self.place, &self.key(key.name), &wanted);
                }
                None => {}
            }
        }
    }

    /// Reads a table that has no other keys than these.
    pub(crate) fn read_all<T>(&self, keys: &'static [Key<T>], into: &mut T, findings: &mut Findings) {
        self.read(keys, into, findings);
        let known: Vec<&str> = keys.iter().map(|key| key.name).collect();
        self.reject_unknown(&known, |key| crate::build::home(key, self.path), findings);
    }

    /// Notes every key that is not in `known`; `elsewhere` names the table a key of that name has its
    /// place in.
    pub(crate) fn reject_unknown(
        &self,
        known: &[&str],
        elsewhere: impl Fn(&str) -> Option<&'static str>,
        findings: &mut Findings,
    ) {
        for entry in self.table.iter().flat_map(|table| &table.entries) {
            if known.contains(&entry.key.as_str()) {
                continue;
            }
            let hint = if findings.is_full() {
                String::new()
            } else if let Some(home) = elsewhere(&entry.key) {
                format!("`{}` belongs to {home}", entry.key)
            } else if let Some(near) = nearest(&entry.key, known.iter().copied()) {
                format!("did you mean `{near}`?")
            } else {
                format!("keys here: {}", known.join(", "))
            };
            findings.problem(&entry.key_place, &self.key(&entry.key), "there is no such key", hint);
        }
    }
}

/// A value checked against its key, or nothing when a problem was noted.
fn value<T>(key: &Key<T>, node: &Node, path: &str, findings: &mut Findings) -> Option<Setting> {
    match check(key.form, key.words, &node.value) {
        Ok(setting) => Some(setting),
        Err((message, hint)) => {
            findings.problem(&node.place, path, message, hint);
            None
        }
    }
}

type Complaint = (String, String);

fn check(form: Form, words: &'static [&'static str], value: &Value) -> Result<Setting, Complaint> {
    let wrong_type = || {
        let wanted = form.wanted(words);
        Err((format!("this is {}, and {wanted} is wanted", value.type_name()), String::new()))
    };
    if let Value::Text(text) = value
        && let Some(word) = words.iter().find(|word| *word == text)
    {
        return Ok(Setting::Word(word));
    }
    match (form, value) {
        (Form::Distribution(dimension, low, high), Value::Text(text))
            if text.contains('(') || distribution::FORMS.contains(&text.trim()) =>
        {
            distribution::parse(text, dimension, low, high)
                .map(Setting::Distribution)
                .map_err(|error| (error.message, error.hint))
        }
        (Form::Distribution(dimension, low, high), _) => {
            check(Form::Amount(dimension, low, high), words, value)
        }
        (Form::Flag, Value::Flag(flag)) => Ok(Setting::Flag(*flag)),
        (Form::Share(low, high), Value::Integer(number) | Value::Float(number)) => share(number, low, high),
        (Form::Amount(Dimension::Count, ..), Value::Float(text))
            if text.parse().is_ok_and(f64::is_finite) =>
        {
            let message = "a whole number is written without a point";
            Err((message.to_owned(), format!("allowed: {}", form.allowed(words))))
        }
        (
            Form::Amount(dimension, ..) | Form::OneOf(dimension, _),
            Value::Integer(text) | Value::Float(text),
        ) => {
            // A bare number is right for counts only; `parse` says which unit is missing elsewhere.
            amount(text, dimension, form, words)
        }
        (Form::Amount(Dimension::Count, ..), Value::Text(text)) if text.parse::<f64>().is_ok() => {
            Err(("a whole number is written without quotes".to_owned(), format!("write {text}")))
        }
        (Form::Amount(..) | Form::OneOf(..), Value::Text(text))
            if !looks_like_word(text) || words.is_empty() =>
        {
            let dimension =
                if let Form::Amount(d, ..) | Form::OneOf(d, _) = form { d } else { Dimension::Count };
            amount(text, dimension, form, words)
        }
        (Form::Text(max), Value::Text(text)) => line(text, max),
        (Form::Name(max), Value::Text(text)) => name(text, max),
        (_, Value::Text(text)) if !words.is_empty() => {
            let hint = nearest(text, words.iter().copied())
                .map_or_else(String::new, |near| format!("did you mean \"{near}\"?"));
            Err((format!("must be {}", form.wanted(words)), hint))
        }
        _ => wrong_type(),
    }
}

/// Whether a text could be a misspelt word rather than a misspelt quantity.
fn looks_like_word(text: &str) -> bool {
    !text.trim_start().starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'))
}

fn amount(text: &str, dimension: Dimension, form: Form, words: &[&str]) -> Result<Setting, Complaint> {
    let fits = |grains: i128| match form {
        Form::Amount(_, low, high) => (low..=high).contains(&grains),
        Form::OneOf(_, choices) => choices.contains(&grains),
        _ => true,
    };
    let grains = quantity::parse_for(text, dimension, &fits).map_err(|error| (error.message, error.hint))?;
    if fits(grains) {
        return Ok(Setting::Amount(grains));
    }
    let message =
        if matches!(form, Form::OneOf(..)) { "is not one of the possible values" } else { "is out of range" };
    Err((message.to_owned(), format!("allowed: {}", form.allowed(words))))
}

fn share(text: &str, low: f64, high: f64) -> Result<Setting, Complaint> {
    let allowed = format!("allowed: {low} to {high}");
    match text.parse::<f64>() {
        Ok(share) if !share.is_finite() => Err(("must be a finite number".to_owned(), allowed)),
        // Adding zero turns -0 into 0, so that equal scenarios have equal resolved forms.
        Ok(share) if (low..=high).contains(&share) => Ok(Setting::Share(share + 0.0)),
        Ok(_) => Err(("is out of range".to_owned(), allowed)),
        Err(_) => Err(("is no readable number".to_owned(), allowed)),
    }
}

fn line(text: &str, max: usize) -> Result<Setting, Complaint> {
    if text.chars().any(|c| c.is_control()) {
        return Err(("must be one line without control characters".to_owned(), String::new()));
    }
    if text.chars().count() > max {
        return Err(("is too long".to_owned(), format!("allowed: up to {max} characters")));
    }
    Ok(Setting::Text(text.to_owned()))
}

fn name(text: &str, max: usize) -> Result<Setting, Complaint> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let good = text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(allowed)
        && text.len() <= max;
    if good {
        return Ok(Setting::Text(text.to_owned()));
    }
    let hint = format!(
        "up to {max} letters, digits, `-`, `_` and `.`, the first a letter or digit: it becomes part of file names"
    );
    Err(("is no name".to_owned(), hint))
}
