//! What can be wrong with a capture, and how much of one is taken.

use std::io;

/// Bounds on what is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes that come out of a compressed capture.
    pub decompressed_bytes: u64,
    /// Most bytes that come out for each byte that went in, past [`Self::ratio_after_bytes`].
    pub ratio: u32,
    /// Bytes from which on the ratio counts.
    pub ratio_after_bytes: u64,
    /// Bytes of a batch; longer records make it grow, up to half a megabyte.
    pub batch_bytes: usize,
}

impl Default for Limits {
    /// 1 TiB, 200 to 1 after 10 MB: a capture of equal frames hardly exceeds 100 to 1, a bomb has 1,000.
    fn default() -> Self {
        Self {
            decompressed_bytes: 1 << 40,
            ratio: 200,
            ratio_after_bytes: 10_000_000,
            batch_bytes: 128 << 10,
        }
    }
}

/// Where a capture stops to make sense; what comes before was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Byte of the (uncompressed) capture: where it ends, if it was cut; else where the bad block begins.
    pub at: u64,
    /// A sentence that says it.
    pub what: String,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

/// Why something is no capture.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It cannot be opened or read.
    #[error("{name}: {source}")]
    Io {
        /// File or stream.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// There is nothing in it.
    #[error("{name} is empty: a capture has at least a header of 24 bytes")]
    Empty {
        /// File or stream.
        name: String,
    },
    /// It is something else.
    #[error("{name} is no capture that airperf reads: it {looks}. {remedy}")]
    Unknown {
        /// File or stream.
        name: String,
        /// What it looks like.
        looks: String,
        /// What to do.
        remedy: &'static str,
    },
}

/// Why a capture cannot be read on, other than by its own fault.
#[derive(Debug, thiserror::Error)]
#[error("{name}, from byte {at} on: {source}")]
pub struct ReadError {
    /// File or stream.
    pub name: String,
    /// Byte of the (uncompressed) capture up to which it was read.
    pub at: u64,
    /// What the system says.
    pub source: io::Error,
}
