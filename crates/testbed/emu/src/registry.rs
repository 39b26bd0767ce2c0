//! What a run leaves in the file system while it lasts, so that the next start can clear up after a kill.
//!
//! Namespaces, devices and processes die with us; directories do not. Before a run makes one it writes
//! its path into a file of the state directory and keeps that file locked (flock(2)). A lock that can be
//! had is a dead run's: what it lists is removed, and nothing else ever is (faults row 39). A file gets its name
//! when it is locked already, and what is read is the file that was locked: its name may be another run's by then.
//!
//! Left out: partial run directories of other testbeds; `airperf_record` sweeps those.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

/// First part of the name of every directory we make outside the run directory.
const PREFIX: &str = "airperf-emu-";
/// What the name of an unfinished run directory contains.
const PARTIAL: &str = ".partial-";

/// Where the registry is unless the caller has another place: `$XDG_STATE_HOME/airperf`.
pub fn default_state_dir() -> PathBuf {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .unwrap_or_else(std::env::temp_dir)
        .join("airperf")
}

/// One run's entry; dropping it removes its directories and itself.
#[derive(Debug)]
pub(crate) struct Entry {
    path: PathBuf,
    file: Flock<File>,
    private: PathBuf,
}

impl Entry {
    /// Registers a run, and makes a private directory for its programs.
    ///
    /// # Errors
    /// When the state directory or the private directory cannot be made.
    pub(crate) fn new(state: &Path) -> io::Result<Self> {
        fs::create_dir_all(state.join("emu"))?;
        let mut attempt = 0;
        loop {
            let name = format!("{}-{attempt}", std::process::id());
            let path = state.join("emu").join(&name);
            let file = tempfile::NamedTempFile::new_in(state)?;
            let lock = Flock::lock(file.reopen()?, FlockArg::LockExclusiveNonblock);
            let lock = lock.map_err(|(_, errno)| errno)?;
            match file.persist_noclobber(&path) {
                Err(refused) if refused.error.kind() == io::ErrorKind::AlreadyExists => attempt += 1,
                Err(refused) => return Err(refused.error),
                Ok(_) => {
                    let private = std::env::temp_dir().join(format!("{PREFIX}{name}-{}", unique()));
                    let mut entry = Self { path, file: lock, private };
                    let private = entry.private.clone();
                    entry.add(&private)?;
                    fs::DirBuilder::new().mode(0o700).create(&private)?;
                    return Ok(entry);
                }
            }
        }
    }

    /// The private directory.
    pub(crate) fn private(&self) -> &Path {
        &self.private
    }

    /// Adds a directory that the next start should remove if we cannot.
    pub(crate) fn add(&mut self, directory: &Path) -> io::Result<()> {
        writeln!(&mut *self.file, "{}", directory.display())?;
        self.file.sync_all()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.private);
        let _ = fs::remove_file(&self.path);
    }
}

/// A number no other run of this process id has had.
fn unique() -> u128 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |now| now.as_nanos())
}

/// Removes what dead runs registered; the directories removed.
///
/// # Errors
/// When the state directory exists and cannot be read.
pub fn clean(state: &Path) -> io::Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    let entries = match fs::read_dir(state.join("emu")) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(removed),
        Err(error) => return Err(error),
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let Ok(file) = File::open(&path) else { continue };
        removed.extend(clear(&path, file));
    }
    Ok(removed)
}

/// Removes what a registered run's file lists, and the file, if its run is dead; what was removed.
fn clear(path: &Path, file: File) -> Vec<PathBuf> {
    let Ok(mut lock) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else { return Vec::new() };
    if !is_at(&lock, path) {
        return Vec::new(); // its run has just ended, and the name may be a living run's
    }
    let mut listed = String::new();
    let _ = lock.read_to_string(&mut listed);
    let ours = listed.lines().map(PathBuf::from).filter(|directory| is_ours(directory));
    let removed = ours.filter(|directory| fs::remove_dir_all(directory).is_ok()).collect();
    let _ = fs::remove_file(path);
    removed
}

/// Whether a path still leads to this file.
fn is_at(file: &File, path: &Path) -> bool {
    let there = fs::metadata(path).map(|there| (there.dev(), there.ino()));
    there.ok() == file.metadata().map(|here| (here.dev(), here.ino())).ok()
}

/// A real directory with a name of ours: a damaged entry must not cost anybody else's files.
fn is_ours(directory: &Path) -> bool {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    directory.is_absolute()
        && (name.starts_with(PREFIX) || name.contains(PARTIAL))
        && fs::symlink_metadata(directory).is_ok_and(|metadata| metadata.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_39_a_file_opened_before_its_run_ended_never_costs_the_next_run_its_directory() {
        let folder = tempfile::tempdir().unwrap();
        let first = Entry::new(folder.path()).unwrap();
        let (path, opened) = (first.path.clone(), File::open(&first.path).unwrap());
        drop(first);
        let second = Entry::new(folder.path()).unwrap();
        assert_eq!(second.path, path, "the same process takes the same name again");
        assert_eq!(clear(&path, opened), Vec::<PathBuf>::new());
        assert!(second.private().is_dir() && path.exists());
    }

    #[test]
    fn fault_39_only_registered_directories_of_dead_runs_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let alive = Entry::new(&state).unwrap();
        let dead = folder.path().join("airperf-emu-dead");
        let partial = folder.path().join("run.partial-1-0");
        let (others, link) = (folder.path().join("others"), folder.path().join("airperf-emu-link"));
        for directory in [&dead, &partial, &others] {
            fs::create_dir(directory).unwrap();
            fs::write(directory.join("file"), "x").unwrap();
        }
        std::os::unix::fs::symlink(&others, &link).unwrap();
        let listed = [&dead, &partial, &others, &link].map(|path| path.display().to_string()).join("\n");
        fs::write(state.join("emu/1-0"), listed).unwrap();

        assert_eq!(clean(&state).unwrap(), [dead.clone(), partial.clone()]);
        assert!(!dead.exists() && !partial.exists() && others.join("file").exists());
        assert!(alive.private().is_dir(), "a running run's directory stays");
        assert_eq!(clean(&state).unwrap(), Vec::<PathBuf>::new());

        let private = alive.private().to_owned();
        drop(alive);
        assert!(!private.exists());
        assert_eq!(fs::read_dir(state.join("emu")).unwrap().count(), 0);
        assert_eq!(clean(Path::new("/no/such/state")).unwrap(), Vec::<PathBuf>::new());
    }
}
