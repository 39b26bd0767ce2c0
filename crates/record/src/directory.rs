//! Makes a directory of records that exists whole or not at all: what run and capture writers share.
//!
//! Everything is written to `DIR.partial-<pid>-<n>` beside `DIR`, put on the disk, and renamed; the
//! manifest comes last. Dropping a [`Directory`] removes what it began. A killed process cannot do
//! that: each partial directory is locked by its writer, and the next writer of the same `DIR` removes
//! those whose lock has died with its owner.
//!
//! Leaves out two campaigns in one folder of results: that lock is the experiment's.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, RenameFlags, flock, renameat_with};
use rustix::io::Errno;
use serde::Serialize;

use crate::file::{Budget, FileEntry, Place, RunFile, Written, free_bytes, sync};
use crate::manifest::{FileInfo, TableEntry};
use crate::{Row, TableWriter, WriteError};

const MANIFEST: &str = "manifest.json";

/// What a manifest lists: tables and other files, by name.
pub(crate) type Listing = (BTreeMap<String, TableEntry>, BTreeMap<String, FileInfo>);

/// Writes one directory of records.
#[derive(Debug)]
pub(crate) struct Directory {
    target: PathBuf,
    partial: PathBuf,
    lock: File,
    /// What it holds, as its manifest says: `run` or `capture`.
    kind: &'static str,
    replace: bool,
    budget: Budget,
    entries: BTreeMap<String, Option<Written>>,
    finished: bool,
}

impl Directory {
    /// Begins what will be `directory`; parents are created.
    pub(crate) fn create(
        directory: &Path,
        kind: &'static str,
        replace: bool,
        expected_bytes: u64,
    ) -> Result<Self, WriteError> {
        // A path such as `results/` or `.` has no name of its own to put beside itself.
        let target = std::path::absolute(directory).map_err(|e| WriteError::io("find it", directory, e))?;
        if fs::symlink_metadata(&target).is_ok() {
            check_target(&target, kind, replace)?;
        }
        let parent = target.parent().ok_or_else(|| WriteError::NotRecords(target.clone(), kind))?;
        fs::create_dir_all(parent).map_err(|e| WriteError::io("create it", parent, e))?;
        sweep(&target);
        let free = free_bytes(parent).map_err(|e| WriteError::io("find its free space", parent, e))?;
        if expected_bytes > free {
            return Err(WriteError::DiskFull { path: target, needed: expected_bytes, free });
        }
        let (partial, lock) = make_partial(&target)?;
        let budget = Budget::new(expected_bytes);
        Ok(Self { target, partial, lock, kind, replace, budget, entries: BTreeMap::new(), finished: false })
    }

    /// Whether putting it on the disk is left to the caller.
    pub(crate) fn defer(&mut self, deferred: bool) {
        self.budget.deferred = deferred;
    }

    pub(crate) fn partial(&self) -> &Path {
        &self.partial
    }

    pub(crate) fn table<R: Row>(&mut self) -> Result<TableWriter<R>, WriteError> {
        TableWriter::new(self.file(R::FILE)?, self.kind == "capture")
    }

    pub(crate) fn file(&mut self, name: &str) -> Result<RunFile, WriteError> {
        let plain = Path::new(name).file_name().is_some_and(|n| n == name) && name != MANIFEST;
        assert!(plain, "{name:?} is not a plain file name");
        if self.entries.insert(name.to_owned(), None).is_some() {
            return Err(WriteError::Twice(name.to_owned()));
        }
        RunFile::create(&self.partial, name, &self.budget)
    }

    pub(crate) fn error(&self, name: &str, source: io::Error) -> WriteError {
        Place::new(self.partial.join(name), &self.budget).error("write it", 1, source)
    }

    pub(crate) fn close_table<R: Row>(&mut self, table: TableWriter<R>) -> Result<(), WriteError> {
        self.keep(table.finish()?);
        Ok(())
    }

    pub(crate) fn close(&mut self, file: RunFile) -> Result<(), WriteError> {
        self.keep(file.finish()?);
        Ok(())
    }

    pub(crate) fn keep(&mut self, written: Written) {
        self.entries.insert(written.entry.name.clone(), Some(written));
    }

    /// Writes the manifest that `describe` makes of the files, and gives the directory its name.
    pub(crate) fn finish<M: Serialize>(
        mut self,
        describe: impl FnOnce(Listing) -> M,
    ) -> Result<M, WriteError> {
        let mut listing = Listing::default();
        let mut files = Vec::new();
        for (name, written) in std::mem::take(&mut self.entries) {
            let written = written.unwrap_or_else(|| panic!("{name} was not closed"));
            let FileEntry { rows, bytes, sha256, .. } = written.entry.clone();
            files.push(written);
            match rows {
                Some(rows) => drop(listing.0.insert(name, TableEntry { rows, bytes, sha256 })),
                None => drop(listing.1.insert(name, FileInfo { bytes, sha256 })),
            }
        }
        let manifest = describe(listing);
        let mut text = serde_json::to_vec_pretty(&manifest).expect("a manifest is plain data");
        text.push(b'\n');
        let mut file = RunFile::create(&self.partial, MANIFEST, &self.budget)?;
        file.write_all(&text).map_err(|e| file.error(e))?;
        files.push(file.finish()?);
        if !self.budget.deferred {
            sync(&files)?;
            self.lock.sync_all().map_err(|e| WriteError::io("sync it", &self.partial, e))?;
        }
        self.publish()?;
        Ok(manifest)
    }

    fn publish(&mut self) -> Result<(), WriteError> {
        let fail = |e: io::Error| WriteError::io("rename the finished records to it", &self.target, e);
        match fs::symlink_metadata(&self.target) {
            Ok(_) => {
                check_target(&self.target, self.kind, self.replace)?;
                exchange(&self.partial, &self.target).map_err(fail)?;
                // The old records now have the partial name; failing to remove it must not fail the new one.
                let _ = fs::remove_dir_all(&self.partial);
            }
            Err(_) => fs::rename(&self.partial, &self.target).map_err(fail)?,
        }
        self.finished = true;
        if self.budget.deferred {
            return Ok(());
        }
        let parent = self.target.parent().expect("checked at the start");
        File::open(parent).and_then(|d| d.sync_all()).map_err(|e| WriteError::io("sync it", parent, e))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if !self.finished {
            let _ = fs::remove_dir_all(&self.partial);
        }
    }
}

/// Swaps two directories, at once where the file system can.
fn exchange(new: &Path, old: &Path) -> io::Result<()> {
    let cwd = rustix::fs::CWD;
    match renameat_with(cwd, new, cwd, old, RenameFlags::EXCHANGE) {
        Err(Errno::INVAL | Errno::NOSYS) => {
            let aside = new.with_extension("old");
            fs::rename(old, &aside)?;
            fs::rename(new, old)?;
            fs::rename(&aside, new)
        }
        done => Ok(done?),
    }
}

/// Whether `target`, which exists, may be used: an empty directory, or records of this kind to be replaced.
fn check_target(target: &Path, kind: &'static str, replace: bool) -> Result<(), WriteError> {
    let manifest = target.join(MANIFEST);
    if manifest.is_file() {
        // A run is never replaced by what was made of a capture, nor the other way round.
        return match kind_of(&manifest) {
            Some(found) if found != kind => Err(WriteError::NotRecords(target.to_owned(), kind)),
            _ if replace => Ok(()),
            _ => Err(WriteError::Exists(target.to_owned(), kind)),
        };
    }
    let empty = fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_none());
    if empty { Ok(()) } else { Err(WriteError::NotRecords(target.to_owned(), kind)) }
}

/// What a manifest says its directory holds; `None` when it cannot be read.
fn kind_of(manifest: &Path) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Kind {
        kind: String,
    }
    serde_json::from_slice::<Kind>(&fs::read(manifest).ok()?).ok().map(|found| found.kind)
}

/// `DIR.partial-`, what all partial directories of `target` begin with.
fn prefix(target: &Path) -> OsString {
    let mut prefix = target.file_name().unwrap_or_default().to_owned();
    prefix.push(".partial-");
    prefix
}

fn make_partial(target: &Path) -> Result<(PathBuf, File), WriteError> {
    let mut attempt = 0u32;
    loop {
        let mut name = prefix(target);
        name.push(format!("{}-{attempt}", std::process::id()));
        let partial = target.with_file_name(name);
        match fs::create_dir(&partial) {
            Ok(()) => {
                let lock = File::open(&partial).map_err(|e| WriteError::io("open it", &partial, e))?;
                flock(&lock, FlockOperation::NonBlockingLockExclusive)
                    .map_err(|e| WriteError::io("lock it", &partial, e.into()))?;
                return Ok((partial, lock));
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => attempt += 1,
            Err(e) => {
                return Err(Place::new(partial, &Budget::default()).error("create it", 1, e));
            }
        }
    }
}

/// Removes what killed writers of `target` left behind.
fn sweep(target: &Path) {
    let prefix = prefix(target);
    let Some(Ok(entries)) = target.parent().map(fs::read_dir) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ours = name.as_encoded_bytes().starts_with(prefix.as_encoded_bytes());
        if !ours || !entry.file_type().is_ok_and(|t| t.is_dir()) {
            continue;
        }
        let dead = File::open(entry.path())
            .is_ok_and(|directory| flock(&directory, FlockOperation::NonBlockingLockExclusive).is_ok());
        if dead {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
