//! What is wrong with a frame or packet, by name.
//!
//! Names stand in a summary's `anomalies`; every one is counted and none is passed over in silence. Leaves out
//! frames with a wrong check sequence, which [`crate::Fcs`] tells, and the anomalies of containers and of
//! connections.

/// Declares the enum, its names and the list for the docs in one place.
macro_rules! anomalies {
    ($($(#[doc = $sentence:literal])+ $variant:ident = $name:literal,)+) => {
        /// One kind of anomaly.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Anomaly {
            $($(#[doc = $sentence])+ $variant,)+
        }

        /// Name and explanation of every anomaly of frames and packets, in the order of [`Anomaly`].
        pub const ANOMALIES: &[(&str, &str)] = &[$(($name, concat!($($sentence),+).trim_ascii_start()),)+];

        impl Anomaly {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];
        }
    };
}

anomalies! {
    /// A record without a single octet.
    EmptyFrame = "empty_frame",
    /// A frame shorter than the header it must have.
    Runt = "runt",
    /// The capture ends within a header, so that nothing above it can be read.
    CutHeader = "cut_header",
    /// A packet longer than the 1,500 octets of Ethernet: a jumbo frame or several segments merged by the host, so
    /// that segment sizes may not be those on the wire.
    Jumbo = "jumbo",
    /// A segment that the card was still to cut up or had put together (a total length of 0, or longer than any
    /// jumbo frame): segment sizes are not those on the wire.
    Offload = "offload",
    /// A link type that nothing here reads.
    UnknownLinkType = "unknown_link_type",
    /// A radiotap, Prism or AVS header whose length or fields cannot be right.
    RadioHeader = "radio_header_malformed",
    /// A radiotap header with more words of presence bits than any radio needs.
    RadiotapChain = "radiotap_chain_too_long",
    /// Radiotap calls the frame check sequence bad, but it is right.
    FcsFlag = "fcs_flag_wrong",
    /// An 802.11 frame of an unknown version or shorter than its header.
    Dot11 = "dot11_malformed",
    /// A fragment of an 802.11 frame; its packet is not put together.
    Dot11Fragment = "dot11_fragment",
    /// An aggregate of packets (A-MSDU) whose parts do not fill it.
    Amsdu = "amsdu_malformed",
    /// A header between link and packet (VLAN tag, MPLS label, PPPoE, cooked capture …) that makes no sense.
    LinkHeader = "link_header_malformed",
    /// More than 8 tags, labels and tunnels around a packet; what is inside is not read.
    TooManyLayers = "too_many_layers",
    /// A GRE, VXLAN or IP-in-IP tunnel whose content cannot be read.
    Tunnel = "tunnel_malformed",
    /// An IP header that makes no sense.
    Ip = "ip_malformed",
    /// An IP packet longer than the frame it came in.
    IpTooLong = "ip_longer_than_frame",
    /// More IPv6 extension headers, or longer ones, than are followed.
    Ipv6Extensions = "ipv6_extensions_too_many",
    /// An IPv6 packet with a fragment header that is whole all the same.
    AtomicFragment = "atomic_fragment",
    /// A TCP or UDP header that makes no sense.
    Transport = "transport_malformed",
}

impl Anomaly {
    /// Its name in a summary's `anomalies`.
    pub fn name(self) -> &'static str {
        ANOMALIES.get(self as usize).map_or("", |(name, _)| name)
    }
}

/// A set of anomalies.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Anomalies(u64);

impl Anomalies {
    /// Adds one.
    #[inline]
    pub fn insert(&mut self, anomaly: Anomaly) {
        self.0 |= 1 << anomaly as u64;
    }

    /// Adds those of `other`.
    #[inline]
    pub fn extend(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether it holds this one.
    #[inline]
    pub fn contains(self, anomaly: Anomaly) -> bool {
        self.0 >> (anomaly as u64) & 1 == 1
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those it holds, in the order of [`Anomaly`].
    pub fn iter(self) -> impl Iterator<Item = Anomaly> {
        Anomaly::ALL.iter().copied().filter(move |a| self.contains(*a))
    }
}

impl std::fmt::Debug for Anomalies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter().map(Anomaly::name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sentences_are_those_of_the_variants() {
        assert_eq!(Anomaly::ALL.len(), ANOMALIES.len());
        assert!(ANOMALIES.len() <= 64, "a set has 64 bits");
        assert_eq!(Anomaly::Transport.name(), "transport_malformed");
        assert_eq!(ANOMALIES[0], ("empty_frame", "A record without a single octet."));
        let mut set = Anomalies::default();
        set.insert(Anomaly::Runt);
        set.insert(Anomaly::Transport);
        assert_eq!(set.iter().collect::<Vec<_>>(), [Anomaly::Runt, Anomaly::Transport]);
    }
}
