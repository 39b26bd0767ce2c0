//! A recorded site, served again: every origin at its own address under its own name, over HTTP/1.1 and HTTP/2, with
//! certificates and a name server of its own, so that a real browser loads it as it was and nothing else is needed.
//!
//! What is served is what was recorded; whoever was recorded is never contacted: nothing in this crate opens a
//! connection but the recorder, which makes such recordings and is another program. References: RFC 9110, 9112, 9113 (HTTP), RFC 8446 and 6066 §3 (TLS, server names), RFC 1035 (DNS). Left
//! out: reading HAR and WARC files, which the Python package does; QUIC; server push; ranges.

mod certificates;
mod matching;
mod names;
mod record;
mod respond;
mod rewrite;
mod serve;
mod site;

pub use certificates::{Authority, CertificateError, believing};
pub use matching::{Found, Matching};
pub use record::{RecordOptions, Recorded, record};
pub use serve::{Counts, HostError, Options, Told, serve};
pub use site::{Entry, Name, Origin, Site, SiteError};
