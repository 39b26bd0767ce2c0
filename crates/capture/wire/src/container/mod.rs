//! Capture files and streams as batches of records.
//!
//! [`Source`] reads classic pcap (microseconds, nanoseconds, either byte order, Kuznetzov's variant) and
//! pcapng (several sections, byte orders, interfaces and resolutions), plain, in gzip or in zstd.
//! Reference: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. [`Batch`] holds about a quarter of a megabyte of a
//! capture and where each record lies in it; it is filled again and again, so that memory does not grow
//! with the capture. Whatever the bytes are, lengths from a file never size an allocation. So large a batch is still in the
//! second cache when it is analysed, and large enough for threads that take turns at batches: with one thread the
//! analysis takes 7% less than with batches of a megabyte, with two the same.
//!
//! Files are read, not mapped. Reading is faster: a capture of 1.28 million records and 1 GB, in memory already, takes
//! 0.13 s of processor time read a megabyte at a time and 0.17 s mapped (walking the headers included, one
//! core of a cloud machine), since the megabyte stays in the cache and pages need not be mapped. Windows whose pages are mapped
//! in one call, and each header fetched while the record before it in the last window is analysed, take as long as reading a quarter of
//! a megabyte at a time (0.064 s for 147,000 records both). Windows of whole large pages
//! are mapped at no cost, and still the analysis of 2.05 million records took 0.84 s for 0.62: where the next record begins
//! stands in the one before, and each was a wait for memory. And a file that
//! another program cuts short while it is mapped ends the process, mapping needs unsafe code, and a pipe cannot be
//! mapped. Scanning takes 6 to 14 ns a record (`examples/scan.rs`).
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
