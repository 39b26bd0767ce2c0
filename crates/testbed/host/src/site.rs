//! The form of a recorded site on disk: `site.json`, and bodies in files named after their SHA-256.
//!
//! Bodies are named by what they hold, never by a URL, so that no recorded name can reach outside the folder. Everything
//! is checked when it is read. Left out: making this form, which is the Python package's.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// The version of `site.json` that this crate reads.
pub(crate) const SCHEMA: u32 = 1;
/// Most octets of bodies that a site may have: they are held in memory, so that no disk shows in a page's time.
pub(crate) const MOST_BODY_BYTES: u64 = 1 << 30;
/// Most origins: each has an address of its own in a /16.
pub(crate) const MOST_ORIGINS: usize = 4_096;
/// Most exchanges.
pub(crate) const MOST_ENTRIES: usize = 1_000_000;

/// Where a resource comes from (RFC 6454 §4).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// `http` or `https`.
    pub scheme: String,
    /// Its name in lower case, or a numeric address.
    pub host: String,
    /// Its port.
    pub port: u16,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        match (self.scheme.as_str(), self.port) {
            ("http", 80) | ("https", 443) => Ok(()),
            (_, port) => write!(f, ":{port}"),
        }
    }
}

/// One recorded exchange.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Place of its origin in the site's list.
    pub origin: usize,
    /// The request's method.
    pub method: String,
    /// The request's target: path and query.
    pub target: String,
    /// The response's status code.
    pub status: u16,
    /// The response's header fields, without those of one hop and without its length.
    pub headers: Vec<(String, String)>,
    /// SHA-256 of the body, in hexadecimal; none for an empty body.
    pub body: Option<String>,
    /// Octets of the body.
    pub body_bytes: u64,
    /// How long the server took before its first octet, nanoseconds.
    pub think_ns: u64,
}

/// What the name system said of a name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Name {
    /// How long an answer may be kept, seconds.
    pub ttl_s: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    schema: u32,
    title: String,
    #[serde(rename = "source")]
    _source: serde_json::Value,
    names: BTreeMap<String, Name>,
    origins: Vec<Origin>,
    entries: Vec<Entry>,
    #[serde(default, rename = "notes")]
    _notes: serde_json::Value,
}

/// A recorded site, checked and in memory.
#[derive(Clone, Debug)]
pub struct Site {
    /// What to call it.
    pub title: String,
    /// What the name system said of its names.
    pub names: BTreeMap<String, Name>,
    /// Its origins.
    pub origins: Vec<Origin>,
    /// Its exchanges, in the order of their recording.
    pub entries: Vec<Entry>,
    bodies: BTreeMap<String, Bytes>,
}

/// Why a folder is no site that can be served.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// A file could not be read.
    #[error("{path}: {error}; `airperf host FILE.har --keep FOLDER` makes one")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// `site.json` does not have the form.
    #[error("{path}: {what}")]
    Form {
        /// Its path.
        path: PathBuf,
        /// What was seen and what is wanted.
        what: String,
    },
}

impl Site {
    /// Reads the site in a folder.
    ///
    /// # Errors
    /// [`SiteError`] names the file and what is wrong with it.
    pub fn load(folder: &Path) -> Result<Self, SiteError> {
        let path = folder.join("site.json");
        let text = fs::read(&path).map_err(|error| SiteError::Read { path: path.clone(), error })?;
        let wrong = |what: String| SiteError::Form { path: path.clone(), what };
        let form: Form = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        check(&form).map_err(wrong)?;
        let mut bodies = BTreeMap::new();
        let mut total = 0;
        for entry in &form.entries {
            let Some(hash) = &entry.body else { continue };
            if bodies.contains_key(hash) {
                continue;
            }
            let body = read_body(&folder.join("bodies").join(hash), hash, entry.body_bytes)?;
            total += body.len() as u64;
            if total > MOST_BODY_BYTES {
                return Err(wrong(format!("its bodies are longer than {MOST_BODY_BYTES} octets in all")));
            }
            bodies.insert(hash.clone(), body);
        }
        let Form { title, names, origins, entries, .. } = form;
        Ok(Self { title, names, origins, entries, bodies })
    }

    /// The body of an exchange.
    pub fn body(&self, entry: &Entry) -> Bytes {
        entry.body.as_ref().and_then(|hash| self.bodies.get(hash)).cloned().unwrap_or_default()
    }

    /// Puts another body in place of each that `change` gives one for: by its type and whether it is gzip.
    pub(crate) fn change_bodies(&mut self, change: impl Fn(&str, bool, &Bytes) -> Option<Bytes>) {
        for entry in &self.entries {
            let field =
                |name: &str| entry.headers.iter().find(|(n, _)| n == name).map_or("", |(_, value)| value);
            let Some(body) = entry.body.as_ref().and_then(|hash| self.bodies.get_mut(hash)) else { continue };
            if let Some(other) = change(field("content-type"), field("content-encoding") == "gzip", body) {
                *body = other;
            }
        }
    }

    /// The address of every host, in the order of first appearance: 10.78.0.1 is the name server's.
    ///
    /// A host that was recorded as a number keeps a number of its own too: what is private stays inside.
    pub fn addresses(&self) -> BTreeMap<String, Ipv4Addr> {
        let mut addresses = BTreeMap::new();
        for origin in &self.origins {
            let next = addresses.len() as u32 + 2;
            addresses
                .entry(origin.host.clone())
                .or_insert_with(|| Ipv4Addr::from_bits(NETWORK.to_bits() + next));
        }
        addresses
    }
}

/// First address of the /16 in which a site is hosted: private (RFC 1918).
pub(crate) const NETWORK: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 0);

fn check(form: &Form) -> Result<(), String> {
    if form.schema != SCHEMA {
        return Err(format!("schema version {}, this airperf reads {SCHEMA}", form.schema));
    }
    if form.origins.is_empty() || form.entries.is_empty() {
        return Err("it has no exchange to serve".into());
    }
    if form.origins.len() > MOST_ORIGINS {
        return Err(format!("{} origins, at most {MOST_ORIGINS} can be hosted", form.origins.len()));
    }
    if form.entries.len() > MOST_ENTRIES {
        return Err(format!("{} exchanges, at most {MOST_ENTRIES} can be hosted", form.entries.len()));
    }
    for (place, origin) in form.origins.iter().enumerate() {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-._:[]".contains(c);
        if !matches!(origin.scheme.as_str(), "http" | "https") {
            return Err(format!("origins[{place}]: scheme {:?}, wanted http or https", origin.scheme));
        }
        if origin.host.is_empty()
            || origin.host.len() > 253
            || !origin.host.chars().all(plain)
            || origin.port == 0
        {
            return Err(format!("origins[{place}]: {:?} port {} is no host", origin.host, origin.port));
        }
    }
    for (place, entry) in form.entries.iter().enumerate() {
        let bad = |what: &str| Err(format!("entries[{place}]: {what}"));
        if entry.origin >= form.origins.len() {
            return bad("its origin is not in the list");
        }
        if !(100..=599).contains(&entry.status) {
            return bad(&format!("status {} is none", entry.status));
        }
        if !entry.target.starts_with('/') && entry.target != "*" {
            return bad("its target does not begin with /");
        }
        let hexadecimal =
            |hash: &String| hash.len() == 64 && hash.bytes().all(|b| b"0123456789abcdef".contains(&b));
        if entry.body.as_ref().is_some_and(|hash| !hexadecimal(hash)) {
            return bad("its body is not named by a SHA-256");
        }
    }
    Ok(())
}

fn read_body(path: &Path, hash: &str, bytes: u64) -> Result<Bytes, SiteError> {
    let body = fs::read(path).map_err(|error| SiteError::Read { path: path.into(), error })?;
    if body.len() as u64 != bytes || hex(&Sha256::digest(&body)) != hash {
        let what = "its content is not what was recorded; import the site again".into();
        return Err(SiteError::Form { path: path.into(), what });
    }
    Ok(Bytes::from(body))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
