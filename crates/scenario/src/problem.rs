//! What is wrong with a text, and where: every problem names its line and column, what was seen, and
//! what to do about it.
//!
//! Left out: drawing the offending line; whoever shows a problem has the text.

use std::fmt;
use std::ops::Range;

/// One thing wrong with a scenario or with an override of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The text it is in: the scenario's file name, or `--set KEY=VALUE`.
    pub source: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Path of the key, such as `link.rate` or `client[2].size`; empty for the document as a whole.
    pub key: String,
    /// The text found there, cut to 60 characters.
    pub seen: String,
    /// What is wrong, in one clause.
    pub message: String,
    /// What to write instead; may be empty.
    pub hint: String,
}

impl Problem {
    /// What is wrong with what: `link.queue = 0: is out of range`, without the place and the hint.
    pub fn statement(&self) -> String {
        // Where the key itself is to blame, what was seen is the key.
        match (self.key.as_str(), self.seen.as_str()) {
            ("", "") => self.message.clone(),
            ("", seen) => format!("{seen}: {}", self.message),
            (key, seen) if key.ends_with(seen) => format!("{key}: {}", self.message),
            (key, seen) => format!("{key} = {seen}: {}", self.message),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.source, self.line, self.column, self.statement())?;
        if !self.hint.is_empty() {
            write!(f, "\n    {}", self.hint)?;
        }
        Ok(())
    }
}

/// All problems of one scenario, in the order of the texts and then of the lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Something odd but possible: the run may start, and the user should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning(pub Problem);

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A place in one of the texts that make a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Index into [`Sources`]: 0 is the scenario, the others are overrides.
    pub(crate) source: usize,
    /// Bytes of that text.
    pub(crate) at: Range<usize>,
}

/// One text with its name.
struct Source {
    name: String,
    text: String,
}

/// The texts that make a scenario: the file first, then each override.
pub(crate) struct Sources(Vec<Source>);

/// Problems that are told; a text with more is no scenario, and nobody reads on.
const MAX_PROBLEMS: usize = 500;

/// The longest excerpt shown as `seen`.
const MAX_SEEN: usize = 60;

impl Sources {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        Self(vec![Source { name: name.to_owned(), text: text.to_owned() }])
    }

    pub(crate) fn add(&mut self, name: String, text: String) -> usize {
        self.0.push(Source { name, text });
        self.0.len() - 1
    }

    /// Line and column, both from 1, of the start of a place.
    pub(crate) fn line_column(&self, place: &Place) -> (usize, usize) {
        let text = &self.0[place.source].text;
        let before = floor(text, place.at.start);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    /// The first line of what stands at a place, shortened, with control characters made harmless.
    pub(crate) fn excerpt(&self, place: &Place) -> String {
        let text = &self.0[place.source].text;
        let (start, end) = (floor(text, place.at.start).len(), floor(text, place.at.end).len());
        let line = text.get(start..end).unwrap_or_default().lines().next().unwrap_or_default().trim();
        let clean = harmless(line);
        if clean.chars().count() <= MAX_SEEN {
            return clean;
        }
        clean.chars().take(MAX_SEEN - 1).chain(['…']).collect()
    }
}

/// `text` without control characters, which could command the reader's terminal.
fn harmless(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// The part of `text` before byte `at`, moved back to a character boundary.
fn floor(text: &str, at: usize) -> &str {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    &text[..at]
}

/// Gathers problems and warnings while a document is walked.
pub(crate) struct Findings {
    sources: Sources,
    problems: Vec<(Place, Problem)>,
    warnings: Vec<(Place, Problem)>,
    /// Whether a key was lost to a syntax error.
    lost_a_key: bool,
    /// Problems beyond [`MAX_PROBLEMS`], and the place of the first of them.
    untold: Option<(Place, usize)>,
}

impl Findings {
    pub(crate) fn new(sources: Sources) -> Self {
        Self { sources, problems: Vec::new(), warnings: Vec::new(), lost_a_key: false, untold: None }
    }

    pub(crate) fn sources(&mut self) -> &mut Sources {
        &mut self.sources
    }

    fn make(&self, place: &Place, key: &str, message: String, hint: String) -> Problem {
        let (line, column) = self.sources.line_column(place);
        let source = harmless(&self.sources.0[place.source].name);
        let seen = self.sources.excerpt(place);
        let [key, message, hint] = [key, &message, &hint].map(harmless);
        Problem { source, line, column, key, seen, message, hint }
    }

    /// Notes a problem at `place`.
    pub(crate) fn problem(
        &mut self,
        place: &Place,
        key: &str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.add(place, |findings| findings.make(place, key, message.into(), hint.into()));
    }

    fn add(&mut self, place: &Place, make: impl FnOnce(&Self) -> Problem) {
        if self.is_full() {
            self.untold.get_or_insert_with(|| (place.clone(), 0)).1 += 1;
            return;
        }
        let problem = make(self);
        // An override reaches every client, and is told once.
        let told = |(at, told): &(Place, Problem)| at == place && told.message == problem.message;
        let once = place.source > 0 && self.problems.iter().any(told);
        if !once && !self.problems.iter().any(|(_, told)| *told == problem) {
            self.problems.push((place.clone(), problem));
        }
    }

    /// Whether further problems are only counted.
    pub(crate) fn is_full(&self) -> bool {
        self.problems.len() >= MAX_PROBLEMS
    }

    /// Notes something odd at `place`.
    pub(crate) fn warning(
        &mut self,
        place: &Place,
        key: &str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let warning = self.make(place, key, message.into(), hint.into());
        if !self.warnings.iter().any(|(_, seen)| *seen == warning) {
            self.warnings.push((place.clone(), warning));
        }
    }

    /// Notes that something required is absent from the table at `place`.
    ///
    /// Not when a key was lost to a syntax error: it may have been this one.
    pub(crate) fn missing(&mut self, place: &Place, key: &str, wanted: &str) {
        if !self.lost_a_key {
            self.add(place, |findings| {
                let problem = findings.make(place, key, "is missing".into(), format!("wanted: {wanted}"));
                Problem { seen: String::new(), ..problem }
            });
        }
    }

    /// Notes that the text is not TOML at `place`, and whether a key may have been lost by that.
    pub(crate) fn syntax(&mut self, place: &Place, message: String, hint: String, loses_a_key: bool) {
        self.lost_a_key |= loses_a_key;
        self.problem(place, "", message, hint);
    }

    /// The warnings, or the problems if there are any; each in the order of the text.
    pub(crate) fn finish(mut self) -> Result<Vec<Warning>, Problems> {
        let order = |(place, _): &(Place, Problem)| (place.source, place.at.start);
        self.problems.sort_by_key(order);
        if let Some((place, count)) = self.untold.take() {
            let message = format!("there are {count} more problems");
            let problem = self.make(&place, "", message, "solve these first".to_owned());
            self.problems.push((place, Problem { seen: String::new(), ..problem }));
        }
        self.warnings.sort_by_key(order);
        if self.problems.is_empty() {
            Ok(self.warnings.into_iter().map(|(_, warning)| Warning(warning)).collect())
        } else {
            Err(Problems(self.problems.into_iter().map(|(_, problem)| problem).collect()))
        }
    }
}
