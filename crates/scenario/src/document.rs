//! A TOML text as a tree in which every key and value remembers where it was written.
//!
//! The parser is the `toml` crate in its recovering form, so that several syntax errors are found at
//! once. Overrides are grafted onto the tree before it is read; what they bring remembers the
//! override's text as its place. Reference: TOML 1.1.
//!
//! Left out: meaning. A tree of unknown keys and absurd values is a good tree here.

use crate::problem::{Findings, Place};
use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) value: Value,
}

/// A TOML value; numbers stay text so that 1e309 and 2^70 can be seen as they were written.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Table(Table),
    Array(Vec<Node>),
    Text(String),
    /// An integer, in decimal unless it began with `0x`, `0o` or `0b`.
    Integer(String),
    Float(String),
    Flag(bool),
    Date,
}

impl Value {
    /// The type in words, with its article.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Table(_) => "a table",
            Self::Array(_) => "a list",
            Self::Text(_) => "a string",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Flag(_) => "true or false",
            Self::Date => "a date",
        }
    }
}

/// The entries of a table in the order of the text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Entry>,
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_place: Place,
    pub(crate) node: Node,
}

impl Table {
    pub(crate) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}

fn table(source: usize, from: &DeTable<'_>) -> Table {
    let mut entries: Vec<Entry> = from
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            key_place: Place { source, at: key.span() },
            node: node(source, value),
        })
        .collect();
    entries.sort_by_key(|entry| entry.key_place.at.start);
    Table { entries }
}

fn node(source: usize, from: &Spanned<DeValue<'_>>) -> Node {
    let value = match from.get_ref() {
        DeValue::Table(inner) => Value::Table(table(source, inner)),
        DeValue::Array(items) => Value::Array(items.iter().map(|item| node(source, item)).collect()),
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(integer) => Value::Integer(match integer.radix() {
            10 => integer.as_str().to_owned(),
            _ => u128::from_str_radix(integer.as_str(), integer.radix())
                .map_or_else(|_| integer.to_string(), |n| n.to_string()),
        }),
        DeValue::Float(float) => Value::Float(float.as_str().to_owned()),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Datetime(_) => Value::Date,
    };
    Node { place: Place { source, at: from.span() }, value }
}

/// Reads the scenario's text. What cannot be read is noted and left out of the tree.
///
/// The parser goes on after an error: a value without quotes is taken as if it had them, so that what
/// else is wrong with it is found in the same pass. After a broken header nobody knows which table the
/// keys below it are in; then the tree is empty.
pub(crate) fn parse(text: &str, findings: &mut Findings) -> Table {
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut headers_good = true;
    for error in &errors {
        let at = error.span().unwrap_or(0..0);
        let line_start = text.get(..at.start).and_then(|before| before.rfind('\n')).map_or(0, |n| n + 1);
        headers_good &= !text.get(line_start..).is_some_and(|line| line.trim_start().starts_with('['));
        let place = Place { source: 0, at: at.clone() };
        let seen = text.get(at).unwrap_or_default();
        let (message, hint, loses_a_key) = match error.message() {
            "duplicate key" => ("this key was given before".to_owned(), "leave one out".to_owned(), false),
            unquoted if unquoted.starts_with("string values must be quoted") && !seen.is_empty() => (
                "a value that is no number, true or false stands in double quotes".to_owned(),
                format!("write \"{}\"", seen.trim()),
                false,
            ),
            other => (format!("this is not TOML: {}", other.replace('\n', "; ")), String::new(), true),
        };
        findings.syntax(&place, message, hint, loses_a_key);
    }
    if headers_good { table(0, document.get_ref()) } else { Table::default() }
}

/// A tree from JSON, without places; null has no counterpart in TOML and becomes a date, which no key
/// wants.
pub(crate) fn from_json(json: &Json) -> Table {
    let value = |json: &Json| match json {
        Json::Object(_) => Value::Table(from_json(json)),
        Json::Array(items) => Value::Array(
            items
                .iter()
                .map(|item| Node { place: Place::default(), value: Value::Table(from_json(item)) })
                .collect(),
        ),
        Json::String(text) => Value::Text(text.clone()),
        Json::Number(number) if number.is_f64() => Value::Float(number.to_string()),
        Json::Number(number) => Value::Integer(number.to_string()),
        Json::Bool(flag) => Value::Flag(*flag),
        Json::Null => Value::Date,
    };
    let entry = |(key, json): (&String, &Json)| Entry {
        key: key.clone(),
        key_place: Place::default(),
        node: Node { place: Place::default(), value: value(json) },
    };
    Table { entries: json.as_object().into_iter().flatten().map(entry).collect() }
}

/// Puts the value of the override `key=text` into the tree, or notes why it cannot be put there.
///
/// A path through `client` reaches every client; `client.2.size` only the second table.
pub(crate) fn graft(root: &mut Table, key: &str, text: &str, findings: &mut Findings) {
    let whole = format!("{key}={text}");
    let source = findings.sources().add(format!("--set {whole}"), whole);
    let key_place = Place { source, at: 0..key.len() };
    let parts: Vec<&str> = key.split('.').map(str::trim).collect();
    if parts.iter().any(|part| part.is_empty()) {
        let place = Place { source, at: 0..key.len() };
        return findings.problem(
            &place,
            key,
            "this is no path to a key",
            "write it as link.rate or client.size",
        );
    }
    let value_at = key.len() + 1..key.len() + 1 + text.len();
    let value = match DeValue::parse(text.trim()) {
        Ok(parsed) => node(source, &parsed).value,
        // Shells eat quotes: a text that is no TOML value is the string it would be in quotes.
        Err(_) => Value::Text(text.to_owned()),
    };
    // Places inside a list or table of an override are those of the whole value.
    let node = Node { place: Place { source, at: value_at }, value };
    let node = replaced(node.clone(), &node.place);
    if let Err((message, hint)) = insert(root, &parts, &key_place, &node) {
        findings.problem(&key_place, key, message, hint);
    }
}

/// `node` with every place in it set to `place`.
fn replaced(mut node: Node, place: &Place) -> Node {
    node.place = place.clone();
    match &mut node.value {
        Value::Table(table) => {
            for entry in &mut table.entries {
                entry.key_place = place.clone();
                entry.node = replaced(entry.node.clone(), place);
            }
        }
        Value::Array(items) => {
            for item in items {
                *item = replaced(item.clone(), place);
            }
        }
        _ => {}
    }
    node
}

fn insert(table: &mut Table, path: &[&str], place: &Place, node: &Node) -> Result<(), (String, String)> {
    let (first, rest) = path.split_first().expect("a path has at least one part");
    let index = table.entries.iter().position(|entry| entry.key == *first);
    let Some(index) = index else {
        let node = if rest.is_empty() {
            node.clone()
        } else {
            let mut inner = Table::default();
            insert(&mut inner, rest, place, node)?;
            Node { place: place.clone(), value: Value::Table(inner) }
        };
        table.entries.push(Entry { key: (*first).to_owned(), key_place: place.clone(), node });
        return Ok(());
    };
    let entry = &mut table.entries[index];
    if rest.is_empty() {
        entry.node = node.clone();
        entry.key_place = place.clone();
        return Ok(());
    }
    match &mut entry.node.value {
        Value::Table(inner) => insert(inner, rest, place, node),
        Value::Array(items) => {
            let count = items.len();
            let (chosen, rest) = match rest[0].parse::<usize>() {
                Ok(number) if (1..=count).contains(&number) => (number - 1..number, &rest[1..]),
                Ok(number) => {
                    let message = format!("there is no {first} number {number}");
                    return Err((message, format!("the scenario has {count}, counted from 1")));
                }
                Err(_) => (0..count, rest),
            };
            if rest.is_empty() {
                return Err((format!("a whole [[{first}]] cannot be set"), "set one of its keys".to_owned()));
            }
            for item in &mut items[chosen] {
                if let Value::Table(inner) = &mut item.value {
                    insert(inner, rest, place, node)?;
                }
            }
            Ok(())
        }
        _ => Err((format!("`{first}` is a value and has no keys below it"), String::new())),
    }
}
