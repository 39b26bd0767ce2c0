//! Reads a directory of a run or capture back: its manifest, whether its files are whole, and rows one by one.
//!
//! [`first_difference`] compares two tables row by row, for replays that must be identical. Analysis
//! reads the tables in Python; this is for the program itself.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use ring::digest::{Context, SHA256};
use serde::de::DeserializeOwned;

use crate::capture::CaptureManifest;
use crate::file::hex;
use crate::{FileInfo, Manifest, ReadError, Row, SCHEMA_VERSION, TableEntry};

/// The manifest of the run in `directory`.
///
/// # Errors
/// [`ReadError::Io`], [`ReadError::Version`] for another schema version, [`ReadError::Kind`] for no run,
/// [`ReadError::Manifest`].
pub fn manifest(directory: &Path) -> Result<Manifest, ReadError> {
    manifest_of(directory, "run")
}

/// The manifest of the analysed capture in `directory`.
///
/// # Errors
/// As [`manifest`].
pub fn capture_manifest(directory: &Path) -> Result<CaptureManifest, ReadError> {
    manifest_of(directory, "capture")
}

fn manifest_of<M: DeserializeOwned>(directory: &Path, expected: &'static str) -> Result<M, ReadError> {
    let path = directory.join("manifest.json");
    let text = fs::read(&path).map_err(|source| ReadError::Io { path: path.clone(), source })?;
    // Version and kind are read by themselves first: another manifest may lack fields of this one.
    #[derive(serde::Deserialize)]
    struct Head {
        schema: u32,
        kind: String,
    }
    let fail = |source| ReadError::Manifest { path: path.clone(), source };
    let Head { schema: found, kind } = serde_json::from_slice(&text).map_err(fail)?;
    if found != SCHEMA_VERSION {
        return Err(ReadError::Version { path, found, expected: SCHEMA_VERSION });
    }
    if kind != expected {
        return Err(ReadError::Kind { path, found: kind, expected });
    }
    serde_json::from_slice(&text).map_err(fail)
}

/// What lists files with their checksums: [`Manifest`] and [`CaptureManifest`].
pub trait Listed {
    /// Name and SHA-256 of every file.
    fn listed(&self) -> impl Iterator<Item = (&String, &String)>;
}

impl Listed for Manifest {
    fn listed(&self) -> impl Iterator<Item = (&String, &String)> {
        listed(&self.tables, &self.files)
    }
}

impl Listed for CaptureManifest {
    fn listed(&self) -> impl Iterator<Item = (&String, &String)> {
        listed(&self.tables, &self.files)
    }
}

fn listed<'a>(
    tables: &'a BTreeMap<String, TableEntry>,
    files: &'a BTreeMap<String, FileInfo>,
) -> impl Iterator<Item = (&'a String, &'a String)> {
    let tables = tables.iter().map(|(name, table)| (name, &table.sha256));
    tables.chain(files.iter().map(|(name, file)| (name, &file.sha256)))
}

/// Checks every file that `manifest` lists in `directory` against its SHA-256.
///
/// # Errors
/// [`ReadError::Damaged`] for the first that differs, [`ReadError::Io`] for one that cannot be read.
pub fn verify(directory: &Path, manifest: &impl Listed) -> Result<(), ReadError> {
    for (name, expected) in manifest.listed() {
        let path = directory.join(name);
        let found = sha256(&path).map_err(|source| ReadError::Io { path: path.clone(), source })?;
        if found != *expected {
            return Err(ReadError::Damaged { path, found, expected: expected.clone() });
        }
    }
    Ok(())
}

/// SHA-256 of a file, in hexadecimal.
///
/// # Errors
/// What the operating system says.
pub fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Context::new(&SHA256);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(hash.finish().as_ref())),
            n => hash.update(&buffer[..n]),
        }
    }
}

/// The rows of the table at `path`, one batch in memory at a time.
///
/// # Errors
/// [`ReadError::Io`] or [`ReadError::Decode`]; later errors come through the iterator, which then ends.
pub fn rows<R: Row>(path: &Path) -> Result<Rows<R>, ReadError> {
    let file = File::open(path).map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
    let batches = ParquetRecordBatchReaderBuilder::try_new(file)
        .and_then(ParquetRecordBatchReaderBuilder::build)
        .map_err(|source| ReadError::Decode { path: path.to_owned(), source })?;
    Ok(Rows {
        path: path.to_owned(),
        batches,
        batch: None,
        next: 0,
        done: 0,
        failed: false,
        row: PhantomData,
    })
}

/// Iterator over the rows of a table; see [`rows`].
pub struct Rows<R> {
    path: PathBuf,
    batches: ParquetRecordBatchReader,
    batch: Option<RecordBatch>,
    next: usize,
    done: u64,
    failed: bool,
    row: PhantomData<R>,
}

impl<R: Row> Rows<R> {
    fn advance(&mut self) -> Option<Result<R, ReadError>> {
        loop {
            if let Some(batch) = self.batch.as_ref().filter(|b| self.next < b.num_rows()) {
                let row = R::take(batch, self.next);
                self.next += 1;
                self.done += 1;
                return Some(
                    row.ok_or_else(|| ReadError::Row { path: self.path.clone(), row: self.done - 1 }),
                );
            }
            self.next = 0;
            match self.batches.next()? {
                Ok(batch) => self.batch = Some(batch),
                Err(e) => {
                    let (path, source) = (self.path.clone(), ParquetError::from(e));
                    return Some(Err(ReadError::Decode { path, source }));
                }
            }
        }
    }
}

impl<R: Row> Iterator for Rows<R> {
    type Item = Result<R, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let row = self.advance();
        self.failed = matches!(row, Some(Err(_)));
        row
    }
}

/// Where two tables first differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference<R> {
    /// Row number, from 0.
    pub row: u64,
    /// The row in the first table; `None` when it has ended.
    pub left: Option<R>,
    /// The row in the second table; `None` when it has ended.
    pub right: Option<R>,
}

/// The first row in which two tables differ, or `None` when all rows are equal.
///
/// # Errors
/// As [`rows`].
pub fn first_difference<R: Row>(left: &Path, right: &Path) -> Result<Option<Difference<R>>, ReadError> {
    let (mut left, mut right) = (rows::<R>(left)?, rows::<R>(right)?);
    for row in 0.. {
        let (l, r) = (left.next().transpose()?, right.next().transpose()?);
        if l != r {
            return Ok(Some(Difference { row, left: l, right: r }));
        }
        if l.is_none() {
            break;
        }
    }
    Ok(None)
}
