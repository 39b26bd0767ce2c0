//! TCP segments of a capture: what sequence plots and xplot files are drawn from.

use crate::rows::PACKET_KINDS;
use crate::table::table;

/// Words of `segments.novelty`.
pub const NOVELTIES: &[&str] = &["new", "full", "part", "late", "dup_syn", "dup_fin"];

table! {
    /// One TCP segment of a capture, MAC duplicates left out; rows are in order of `frame`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct SegmentRow in "segments.parquet" {
        /// Number of its frame, from 1.
        pub frame: u64,
        /// When it was captured.
        pub time_ns: u64 = "ns",
        /// Connection; null for segments of none.
        pub connection: Option<u64>,
        /// Whether it is the client's.
        pub up: bool,
        /// What it is, as `packets.kind` of a run.
        pub kind: &'static str => PACKET_KINDS,
        /// Sequence number relative to the initial one, unwrapped.
        pub seq: u64 = "B",
        /// Acknowledgement number relative to the peer's initial one, unwrapped; null without ACK.
        pub ack: Option<u64> = "B",
        /// Octets of payload, from the IP header.
        pub payload_bytes: u32 = "B",
        /// Octets of the IP packet.
        pub ip_bytes: u32 = "B",
        /// Window, scaled where the scale is known.
        pub window: u32 = "B",
        /// Control bits as in the header: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128.
        pub flags: u8,
        /// Whether its octets were sent before; `full`, `dup_syn` and `dup_fin` are retransmissions.
        pub novelty: &'static str => NOVELTIES,
        /// A retransmission of what had been acknowledged.
        pub spurious: bool,
        /// A duplicate acknowledgement.
        pub duplicate_ack: bool,
        /// A window of nothing, with the scale known.
        pub zero_window: bool,
        /// A probe of a closed window.
        pub window_probe: bool,
        /// A keep-alive.
        pub keep_alive: bool,
        /// First and one after the last octet of the first SACK block, relative.
        pub sack_from: Option<u64> = "B",
        /// See `sack_from`.
        pub sack_to: Option<u64> = "B",
        /// Time to its acknowledgement's segment this one is, when it acknowledges anew.
        pub rtt_ns: Option<u64> = "ns",
        /// Octets its sender has outstanding after it; null when the beginning was not seen.
        pub in_flight: Option<u64> = "B",
        /// MAC retransmissions of it seen; null where nothing of 802.11 was captured.
        pub mac_retries: Option<u8> = "frames",
    }
}
