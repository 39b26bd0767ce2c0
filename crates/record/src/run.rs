//! Makes a run directory that exists whole or not at all.
//!
//! Everything is written to `DIR.partial-<pid>-<n>` beside `DIR`, put on the disk, and renamed; the
//! manifest comes last. Dropping a [`RunWriter`] removes what it began. A killed process cannot do
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

use crate::file::{Budget, FileEntry, Place, RunFile, free_bytes};
use crate::manifest::{FileInfo, Manifest, TableEntry};
use crate::{FrameRow, Level, PacketRow, Row, TableWriter, WriteError};

const MANIFEST: &str = "manifest.json";
const CAPTURE: &str = "air.pcapng";

/// What a caller may choose about writing a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// How much to write.
    pub level: Level,
    /// Replace a finished run; without it a finished run is refused.
    pub replace: bool,
    /// Bytes the run is expected to need; refused beforehand when the volume has less. 0 when not known.
    pub expected_bytes: u64,
}

/// Writes one run directory.
#[derive(Debug)]
pub struct RunWriter {
    target: PathBuf,
    partial: PathBuf,
    lock: File,
    options: Options,
    budget: Budget,
    entries: BTreeMap<String, Option<FileEntry>>,
    finished: bool,
}

impl RunWriter {
    /// Begins a run that will be `directory`; parents are created.
    ///
    /// # Errors
    /// [`WriteError::Exists`], [`WriteError::NotARun`], [`WriteError::DiskFull`] when `expected_bytes` do
    /// not fit, or what the operating system refuses.
    pub fn create(directory: &Path, options: Options) -> Result<Self, WriteError> {
        // A path such as `results/` or `.` has no name of its own to put beside itself.
        let target = std::path::absolute(directory).map_err(|e| WriteError::io("find it", directory, e))?;
        if fs::symlink_metadata(&target).is_ok() {
            check_target(&target, options.replace)?;
        }
        let parent = target.parent().ok_or_else(|| WriteError::NotARun(target.clone()))?;
        fs::create_dir_all(parent).map_err(|e| WriteError::io("create it", parent, e))?;
        sweep(&target);
        let free = free_bytes(parent).map_err(|e| WriteError::io("find its free space", parent, e))?;
        if options.expected_bytes > free {
            return Err(WriteError::DiskFull { path: target, needed: options.expected_bytes, free });
        }
        let (partial, lock) = make_partial(&target)?;
        let budget = Budget::new(options.expected_bytes);
        Ok(Self { target, partial, lock, options, budget, entries: BTreeMap::new(), finished: false })
    }

    /// Where files are until the run is finished.
    pub fn partial(&self) -> &Path {
        &self.partial
    }

    /// How much is written.
    pub fn level(&self) -> Level {
        self.options.level
    }

    /// Begins a table, or `None` when the level leaves it out.
    ///
    /// # Errors
    /// [`WriteError::Twice`], or what the operating system refuses.
    pub fn table<R: Row>(&mut self) -> Result<Option<TableWriter<R>>, WriteError> {
        let detailed = R::FILE == FrameRow::FILE || R::FILE == PacketRow::FILE;
        if detailed && self.options.level == Level::Analysis {
            return Ok(None);
        }
        TableWriter::new(self.file(R::FILE)?).map(Some)
    }

    /// Begins `air.pcapng`, or `None` when the level leaves it out.
    ///
    /// # Errors
    /// As [`RunWriter::file`].
    pub fn capture(&mut self) -> Result<Option<RunFile>, WriteError> {
        if self.options.level == Level::Analysis { Ok(None) } else { self.file(CAPTURE).map(Some) }
    }

    /// Begins any other file, say `arrivals.bin`.
    ///
    /// # Errors
    /// [`WriteError::Twice`], or what the operating system refuses.
    ///
    /// # Panics
    /// If `name` is not a plain file name.
    pub fn file(&mut self, name: &str) -> Result<RunFile, WriteError> {
        let plain = Path::new(name).file_name().is_some_and(|n| n == name) && name != MANIFEST;
        assert!(plain, "{name:?} is not a plain file name");
        if self.entries.insert(name.to_owned(), None).is_some() {
            return Err(WriteError::Twice(name.to_owned()));
        }
        RunFile::create(&self.partial, name, &self.budget)
    }

    /// The error of this run for a failed write to the file `name`, when the [`RunFile`] is out of reach.
    pub fn error(&self, name: &str, source: io::Error) -> WriteError {
        Place::new(self.partial.join(name), &self.budget).error("write it", 1, source)
    }

    /// Ends a table: its last rows and footer are on the disk.
    ///
    /// # Errors
    /// What the operating system refuses, [`WriteError::DiskFull`] among others.
    pub fn close_table<R: Row>(&mut self, table: TableWriter<R>) -> Result<(), WriteError> {
        let entry = table.finish()?;
        self.entries.insert(entry.name.clone(), Some(entry));
        Ok(())
    }

    /// Ends a file: its bytes are on the disk.
    ///
    /// # Errors
    /// What the operating system refuses, [`WriteError::DiskFull`] among others.
    pub fn close(&mut self, file: RunFile) -> Result<(), WriteError> {
        let entry = file.finish()?;
        self.entries.insert(entry.name.clone(), Some(entry));
        Ok(())
    }

    /// Writes the manifest, with level and files filled in, and gives the directory its name.
    ///
    /// # Errors
    /// What the operating system refuses; then nothing is left of the run, and an earlier one stands.
    ///
    /// # Panics
    /// If a table or file was begun and not closed.
    pub fn finish(mut self, mut manifest: Manifest) -> Result<Manifest, WriteError> {
        manifest.level = self.options.level;
        for (name, entry) in std::mem::take(&mut self.entries) {
            let FileEntry { rows, bytes, sha256, .. } =
                entry.unwrap_or_else(|| panic!("{name} was not closed"));
            match rows {
                Some(rows) => drop(manifest.tables.insert(name, TableEntry { rows, bytes, sha256 })),
                None => drop(manifest.files.insert(name, FileInfo { bytes, sha256 })),
            }
        }
        let mut text = serde_json::to_vec_pretty(&manifest).expect("a manifest is plain data");
        text.push(b'\n');
        let mut file = RunFile::create(&self.partial, MANIFEST, &self.budget)?;
        file.write_all(&text).map_err(|e| file.error(e))?;
        file.finish()?;
        self.lock.sync_all().map_err(|e| WriteError::io("sync it", &self.partial, e))?;
        self.publish()?;
        Ok(manifest)
    }

    fn publish(&mut self) -> Result<(), WriteError> {
        let fail = |e: io::Error| WriteError::io("rename the finished run to it", &self.target, e);
        match fs::symlink_metadata(&self.target) {
            Ok(_) => {
                check_target(&self.target, self.options.replace)?;
                exchange(&self.partial, &self.target).map_err(fail)?;
                // The old run now has the partial name; failing to remove it must not fail the new one.
                let _ = fs::remove_dir_all(&self.partial);
            }
            Err(_) => fs::rename(&self.partial, &self.target).map_err(fail)?,
        }
        self.finished = true;
        let parent = self.target.parent().expect("checked at the start");
        File::open(parent).and_then(|d| d.sync_all()).map_err(|e| WriteError::io("sync it", parent, e))
    }
}

impl Drop for RunWriter {
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

/// Whether `target`, which exists, may become the run: an empty directory, or a run to be replaced.
fn check_target(target: &Path, replace: bool) -> Result<(), WriteError> {
    if target.join(MANIFEST).is_file() {
        return if replace { Ok(()) } else { Err(WriteError::Exists(target.to_owned())) };
    }
    let empty = fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_none());
    if empty { Ok(()) } else { Err(WriteError::NotARun(target.to_owned())) }
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
