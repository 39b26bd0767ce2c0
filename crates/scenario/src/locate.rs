//! Where every key of any TOML text stands, for readers in other languages that keep no positions.
//!
//! Left out: what the keys mean.

use crate::document::{self, Table, Value};
use crate::problem::{Findings, Problems, Sources};

/// Path, line and column of every value of a TOML text, in the order of the text.
///
/// Paths are dotted keys; an element of a list counts from 0: `experiment.0.rate`. Lines and columns
/// count from 1.
///
/// # Errors
/// Every syntax error, if the text is not TOML.
///
/// ```
/// let places = airperf_scenario::locate("[a]\nb = [1, 2]\n", "x.toml")?;
/// assert_eq!(places[1], ("a.b".to_owned(), 2, 5));
/// assert_eq!(places[3], ("a.b.1".to_owned(), 2, 9));
/// # Ok::<(), airperf_scenario::Problems>(())
/// ```
pub fn locate(text: &str, name: &str) -> Result<Vec<(String, usize, usize)>, Problems> {
    let mut sources = Sources::new(name, text);
    let mut findings = Findings::new(Sources::new(name, text));
    let root = document::parse(text, &mut findings);
    findings.finish()?;
    let mut places = Vec::new();
    visit_table(&root, "", &mut sources, &mut places);
    Ok(places)
}

fn visit_table(table: &Table, path: &str, sources: &mut Sources, places: &mut Vec<(String, usize, usize)>) {
    for entry in &table.entries {
        let path = if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
        // A table's own span is that of its header's key.
        let place =
            if matches!(entry.node.value, Value::Table(_)) { &entry.key_place } else { &entry.node.place };
        let (line, column) = sources.line_column(place);
        places.push((path.clone(), line, column));
        visit(&entry.node.value, &path, sources, places);
    }
}

fn visit(value: &Value, path: &str, sources: &mut Sources, places: &mut Vec<(String, usize, usize)>) {
    match value {
        Value::Table(table) => visit_table(table, path, sources, places),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let path = format!("{path}.{index}");
                let (line, column) = sources.line_column(&item.place);
                places.push((path.clone(), line, column));
                visit(&item.value, &path, sources, places);
            }
        }
        _ => {}
    }
}
