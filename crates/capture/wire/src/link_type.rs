//! What a captured packet begins with: the registry of link-layer header types at tcpdump.org.
//!
//! Leaves out the types that nothing here reads; their numbers are kept as they came.

/// A link-layer header type (LINKTYPE_… of the registry).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: the address family in the byte order of the capturing host.
    pub const NULL: Self = Self(0);
    /// Ethernet header, without frame check sequence unless the file says so.
    pub const ETHERNET: Self = Self(1);
    /// IPv4 or IPv6 header.
    pub const RAW: Self = Self(101);
    /// 802.11 header.
    pub const IEEE802_11: Self = Self(105);
    /// OpenBSD loopback: the address family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux cooked capture.
    pub const LINUX_SLL: Self = Self(113);
    /// Prism header, then 802.11.
    pub const PRISM: Self = Self(119);
    /// Radiotap header, then 802.11.
    pub const RADIOTAP: Self = Self(127);
    /// AVS header, then 802.11.
    pub const AVS: Self = Self(163);
    /// IPv4 header.
    pub const IPV4: Self = Self(228);
    /// IPv6 header.
    pub const IPV6: Self = Self(229);
    /// Linux cooked capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);
}
