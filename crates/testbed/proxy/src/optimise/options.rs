//! What an optimising proxy is told, and what it tells.
//!
//! Left out: which of these go together; that is the command line's.

use super::adapted::Path;
use super::coding::Compression;
use super::counts::Counts;
use super::datagram::Repair;
use super::target::Reach;
use airperf_host::Authority;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// Which proxy.
#[derive(Clone, Debug)]
pub enum Role {
    /// The only one.
    Single {
        /// Which coding of bodies a browser gets that takes several equally well; others get what they take.
        compress: Option<Compression>,
        /// Bodies that a browser has are not sent to it again, nor to the proxy those that it has.
        cache: bool,
    },
    /// The half near browsers.
    Client(Halves),
    /// The half near origins; the other one says what it wants.
    Server,
}

/// What the client half does with the server half.
#[derive(Clone, Debug)]
pub struct Halves {
    /// Where the server half is.
    pub peer: SocketAddr,
    /// Compression of bodies.
    pub compress: Option<Compression>,
    /// Bodies that the client half has are not sent again.
    pub cache: bool,
    /// Bodies go as differences from earlier versions.
    pub delta: bool,
    /// Objects of a page are sent before they are asked for.
    pub push: bool,
    /// Names are looked up at the server half.
    pub names_there: bool,
    /// Datagrams with repair between the halves, instead of TCP.
    pub datagrams: Option<Repair>,
}

/// What an optimising proxy does.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which one it is.
    pub role: Role,
    /// Browsers know nothing of it: their connections are redirected here.
    pub transparent: bool,
    /// Connections to each origin; at the client half, of the link.
    pub connections: u32,
    /// Most clients' connections at once; further ones wait in the kernel.
    pub max_connections: u32,
    /// The slow link, where its rate and round trip are known.
    pub path: Option<Path>,
    /// Whether TCP over it is adapted to it.
    pub adapt_tcp: bool,
    /// What requests may reach.
    pub reach: Reach,
    /// Answers the TLS of tunnels to port 443 with certificates of this authority, which browsers then have to trust.
    pub intercept: Option<Arc<Authority>>,
    /// A file of certificates (PEM) of the authorities that origins are believed by; without it no origin is spoken to over TLS.
    pub trusted: Option<PathBuf>,
    /// Put on packets to origins and the other half, so that a redirection lets them pass.
    pub mark: Option<u32>,
}

/// What TCP was adapted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Adapted {
    /// What may be under way at once.
    pub window_bytes: u64,
    /// Whether the kernel keeps the window of a connection out of use.
    pub keeps_window_when_idle: bool,
}

/// How it goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Optimised {
    /// Seconds since the start.
    pub elapsed_s: f64,
    /// Clients' connections open now.
    pub open: u32,
    /// TCP, where it is adapted.
    pub tcp: Option<Adapted>,
    /// Sums since the start.
    pub counts: Counts,
}
