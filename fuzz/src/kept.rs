//! The kept corpus: inputs under corpus/, one folder for each target.
//!
//! `container` holds whole files of every format; `capture` holds a link type and frames, each behind its length in two
//! octets. An input that once found something is added there under a name that says what.

use std::fs;
use std::path::Path;

pub(crate) fn containers() -> Vec<Vec<u8>> {
    folder("container")
}

pub(crate) fn captures() -> Vec<Vec<u8>> {
    folder("capture")
}

/// The inputs of a target, by name.
fn folder(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let entries = fs::read_dir(&folder).expect("the corpus is part of the source");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("it can be read")).collect()
}
