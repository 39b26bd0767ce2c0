//! A browser that loads a page of objects on several hosts, and what a proxy beyond a slow link does for it.
//!
//! [`PageLoad`] is one load, with the browser's and the servers' halves of every connection: HTTP/1.0, HTTP/1.1 with and
//! without pipelining, HTTP/2 and the framed link of a proxy's two halves. Left out: caches of browsers, cookies, QUIC.

mod config;
mod lane;
mod load;
mod page;

pub use config::{BrowserConfig, Cache, LookUps, Protocol, Proxy, Way};
pub use load::{Action, Outcome, PageLoad, Seen};
pub use page::{Host, Object, Page};

#[cfg(test)]
mod tests;
