//! What a capture is analysed with.
//!
//! Leaves out which tables are wanted, which is `TableSet`'s.

use std::net::IpAddr;
use std::time::Duration;

/// Options of [`analyze`](crate::capture::analyze).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Threads that work, this one included; results do not depend on it.
    pub threads: usize,
    /// Drop segments whose TCP checksum is wrong instead of counting them: cards that fill checksums in
    /// later leave wrong ones in captures of their own host.
    pub strict_checksum: bool,
    /// Put records in order of time where they are out of order by no more than this.
    pub sort_window: Option<Duration>,
    /// Most connections followed at once, closed ones that linger included; those that closed leave first, then the
    /// longest idle ones. The default keeps memory below 100 MB, whatever they do and whichever tables are wanted.
    pub max_connections: usize,
    /// What to look at.
    pub filter: Filter,
    /// Length of the intervals of `series`, ns.
    pub series_interval_ns: u64,
    /// Whether frames and segments on which nothing is odd, which nearly all are, are read and followed by shorter
    /// ways; results do not depend on it, and tests see to that.
    pub short_cuts: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: 1,
            strict_checksum: false,
            sort_window: None,
            max_connections: 25_000,
            filter: Filter::default(),
            series_interval_ns: 1_000_000_000,
            short_cuts: true,
        }
    }
}

/// What to look at; an empty list lets everything pass. Records outside the times are not looked at at
/// all, packets that do not match the addresses and ports are counted and left out of everything above
/// the MAC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// One of them sent or receives the packet.
    pub hosts: Vec<IpAddr>,
    /// Connections of these clients.
    pub clients: Vec<IpAddr>,
    /// Connections to these servers.
    pub servers: Vec<IpAddr>,
    /// One of them is the packet's source or destination port.
    pub ports: Vec<u16>,
    /// First instant, nanoseconds since 1970.
    pub from_ns: Option<i64>,
    /// The instant after the last, nanoseconds since 1970.
    pub to_ns: Option<i64>,
}

impl Filter {
    /// Whether a record of this time is looked at.
    pub(crate) fn has_time(&self, time_ns: i64) -> bool {
        self.from_ns.is_none_or(|from| time_ns >= from) && self.to_ns.is_none_or(|to| time_ns < to)
    }

    /// Whether a packet between these hosts is.
    pub(crate) fn has_hosts(&self, source: IpAddr, destination: IpAddr) -> bool {
        self.hosts.is_empty() || self.hosts.contains(&source) || self.hosts.contains(&destination)
    }

    /// Whether a packet between these ports is.
    pub(crate) fn has_ports(&self, source: u16, destination: u16) -> bool {
        self.ports.is_empty() || self.ports.contains(&source) || self.ports.contains(&destination)
    }

    /// Whether a connection is.
    pub(crate) fn has_connection(&self, client: IpAddr, server: IpAddr) -> bool {
        (self.clients.is_empty() || self.clients.contains(&client))
            && (self.servers.is_empty() || self.servers.contains(&server))
    }
}
