//! Working proxies: `airperf proxy`.
//!
//! Those that make a slow link feel faster are in [`optimise`]. The rest is a reverse proxy before one Web server: it reads requests, asks admission control for a place ([`airperf_http::Admission`], the very policy that the
//! simulated server has), and passes them on to its one upstream; bodies stream through. A place is given back when
//! the client's kernel has acknowledged the last octet of the reply, so that the proxy counts what is still on
//! its way, not what is still in its memory. Reference: RFC 9110 §7.6 (intermediaries), RFC 9112.
//!
//! One thread, one upstream; it is no open proxy: whatever a request names, it goes there or nowhere. Left out: TLS to
//! origins, upgrades.

mod admit;
mod crowd;
mod forward;
mod head;
pub mod optimise;
mod serve;
mod socket;

pub use serve::{Counts, Options, ProxyError, Served, Upstream, serve};
