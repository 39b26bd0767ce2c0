//! Capture files and streams as batches of records.
//!
//! [`Source`] reads classic pcap (microseconds, nanoseconds, either byte order, Kuznetzov's variant) and
//! pcapng (several sections, byte orders, interfaces and resolutions), plain, in gzip or in zstd.
//! Reference: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. [`Batch`] holds about an eighth of a megabyte of a
//! capture and where each record lies in it; it is filled again and again, so that memory does not grow
//! with the capture. Whatever the bytes are, lengths from a file never size an allocation.
//! Why files are read, not mapped, and in batches of that size: `docs/decisions/0012-captures-are-read-not-mapped.md`.
//! Scanning takes 6 to 14 ns a record (`examples/scan.rs`).
//!
//! gzip and zstd are unpacked by decoders written in Rust (miniz_oxide, ruzstd): for bytes from strangers that is worth
//! more than the speed of C. Measured on text-like HTTP: gzip 0.35 GB/s, zstd 0.45 GB/s (zstd's own: 1.2 GB/s).
//!
//! Leaves out what the bytes of a record mean, other formats (ERF, snoop …), names and secrets in pcapng.

mod batch;
mod clock;
mod counts;
mod detect;
mod error;
mod input;
mod pcap;
mod pcapng;
mod scan;
mod source;
mod zstd;

pub use batch::{Batch, Record};
pub use counts::{ANOMALIES, Counts};
pub use error::{Damage, Limits, OpenError, ReadError};
pub use scan::Interface;
pub use source::Source;
