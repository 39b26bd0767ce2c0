//! The rows of a capture's tables: what a sniffer or tcpdump saw, whoever captured it.
//!
//! They differ from a run's rows in that ends have addresses instead of station numbers and that nothing
//! is known but what was on the wire. Times are nanoseconds since 1970. `Option` means "not seen" or "does
//! not apply", never zero. `up` is from client to server. [`CaptureWriter`] writes them to a directory.

mod connections;
mod exchanges;
mod frames;
mod measures;
mod segments;
mod writer;

pub use connections::{APPLICATIONS, CLOSERS, ConnectionRow};
pub use exchanges::{EXCHANGE_ERRORS, ExchangeRow};
pub use frames::{FCS_STATES, FRAME_TYPES, FrameRow, MAC_VIEWS};
pub use measures::{HISTOGRAMS, HistogramRow, RetransmissionRow, SEGMENT_TYPES, SeriesRow, StationRow};
pub use segments::{NOVELTIES, SegmentRow};
pub use writer::{CaptureManifest, CaptureWriter};
