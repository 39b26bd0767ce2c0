//! A file of a run: buffered, hashed as it is written, put on the disk together with the others.
//!
//! The SHA-256 (FIPS 180-4) is computed on the way, so that no file is read again for the manifest.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use ring::digest::{Context, SHA256};

use crate::WriteError;

/// Bytes gathered before the operating system is asked to write.
const BUFFER: usize = 1 << 16;

/// What the whole run has written and is expected to write, shared by its files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Budget {
    written: Arc<AtomicU64>,
    pub(crate) expected: u64,
    /// Whether its files are put on the disk later, by whoever asked for that.
    pub(crate) deferred: bool,
}

impl Budget {
    pub(crate) fn new(expected: u64) -> Self {
        Self { expected, ..Self::default() }
    }
}

/// A file of a run, and what its failures must say.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    budget: Budget,
    failure: Arc<OnceLock<io::ErrorKind>>,
}

impl Place {
    pub(crate) fn new(path: PathBuf, budget: &Budget) -> Self {
        Self { path, budget: budget.clone(), failure: Arc::default() }
    }

    /// How the first write that failed did.
    pub(crate) fn failure(&self) -> Option<io::ErrorKind> {
        self.failure.get().copied()
    }

    /// The error for a failed write of `pending` bytes: a full disk says how much is needed and free.
    pub(crate) fn error(&self, doing: &'static str, pending: u64, source: io::Error) -> WriteError {
        if !matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
            return WriteError::io(doing, &self.path, source);
        }
        let written = self.budget.written.load(Ordering::Relaxed);
        let free = self.path.parent().and_then(|p| free_bytes(p).ok()).unwrap_or(0);
        WriteError::DiskFull {
            path: self.path.clone(),
            needed: self.budget.expected.max(written + pending),
            free: free.saturating_add(written),
        }
    }
}

/// Bytes an ordinary user may still write to the volume that holds `directory`.
pub(crate) fn free_bytes(directory: &Path) -> io::Result<u64> {
    let volume = rustix::fs::statvfs(directory)?;
    Ok(volume.f_bavail.saturating_mul(volume.f_frsize))
}

/// What a finished file is: an entry of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileEntry {
    /// Name in the run directory.
    pub name: String,
    /// Rows, for a table.
    pub rows: Option<u64>,
    /// Length in bytes.
    pub bytes: u64,
    /// SHA-256 of the contents, in hexadecimal.
    pub sha256: String,
}

/// A file with all its bytes, which the operating system still has to put on the disk.
#[derive(Debug)]
pub struct Written {
    pub(crate) entry: FileEntry,
    file: File,
    place: Place,
}

impl Written {
    fn sync(&self) -> Result<(), WriteError> {
        self.file.sync_all().map_err(|e| self.place.error("sync it", 1, e))
    }
}

/// Puts files on the disk, all at once: one after the other each would wait for a commit of its own.
pub(crate) fn sync(files: &[Written]) -> Result<(), WriteError> {
    std::thread::scope(|scope| {
        let start = |file| std::thread::Builder::new().spawn_scoped(scope, move || Written::sync(file));
        let started: Vec<_> = files.iter().map(|file| (file, start(file))).collect();
        started.into_iter().try_for_each(|(file, thread)| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|_| file.sync()),
            Err(_) => file.sync(),
        })
    })
}

/// A file of a run being written; give it back with [`crate::RunWriter::close`].
///
/// Hand it to another thread if you like. Errors of [`Write`] become a [`WriteError`] through
/// [`RunFile::error`], which knows the path and recognises a full disk.
#[derive(Debug)]
pub struct RunFile {
    name: String,
    place: Place,
    sink: BufWriter<Counted>,
}

/// The unbuffered file with its hash, and what it adds to the run's bytes.
struct Counted {
    file: File,
    hash: Context,
    bytes: u64,
    total: Arc<AtomicU64>,
    failure: Arc<OnceLock<io::ErrorKind>>,
}

/// Without the hash, which has no text.
impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counted")
            .field("file", &self.file)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl Write for Counted {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let n = self.file.write(data).inspect_err(|e| {
            if e.kind() != io::ErrorKind::Interrupted {
                let _ = self.failure.set(e.kind());
            }
        })?;
        self.hash.update(&data[..n]);
        self.bytes += n as u64;
        self.total.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl RunFile {
    /// Creates `name` in `directory`.
    pub(crate) fn create(directory: &Path, name: &str, budget: &Budget) -> Result<Self, WriteError> {
        let place = Place::new(directory.join(name), budget);
        let file = File::create(&place.path).map_err(|e| place.error("create it", 1, e))?;
        let (total, failure) = (budget.written.clone(), place.failure.clone());
        let counted = Counted { file, hash: Context::new(&SHA256), bytes: 0, total, failure };
        let sink = BufWriter::with_capacity(BUFFER, counted);
        Ok(Self { name: name.to_owned(), place, sink })
    }

    /// Where the file is until the run is finished.
    pub fn path(&self) -> &Path {
        &self.place.path
    }

    pub(crate) fn place(&self) -> Place {
        self.place.clone()
    }

    /// The error of this file for a failed write.
    pub fn error(&self, source: io::Error) -> WriteError {
        self.place.error("write it", self.sink.buffer().len().max(1) as u64, source)
    }

    /// Hands everything to the operating system.
    pub(crate) fn finish(mut self) -> Result<Written, WriteError> {
        if let Err(e) = self.sink.flush() {
            return Err(self.error(e));
        }
        let Counted { file, hash, bytes, .. } = self.sink.into_parts().0;
        let entry = FileEntry { name: self.name, rows: None, bytes, sha256: hex(hash.finish().as_ref()) };
        Ok(Written { entry, file, place: self.place })
    }
}

impl Write for RunFile {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.sink.write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|b| [b >> 4, b & 15]).map(|d| char::from(DIGITS[usize::from(d)])).collect()
}
