//! Captured frames, one row each.

use std::net::IpAddr;

use crate::MacAddress;
use crate::table::table;

/// Words of `frames.kind`.
pub const FRAME_TYPES: &[&str] = &[
    "data",
    "qos_data",
    "null",
    "ack",
    "block_ack",
    "block_ack_request",
    "rts",
    "cts",
    "ps_poll",
    "beacon",
    "probe",
    "association",
    "authentication",
    "action",
    "management",
    "control",
    "extension",
    "ethernet",
    "ip",
    "unreadable",
];
/// Words of `frames.fcs`.
pub const FCS_STATES: &[&str] = &["good", "bad", "absent", "unchecked"];
/// Words of `frames.view`.
pub const MAC_VIEWS: &[&str] = &["first", "retry", "duplicate", "noise"];

table! {
    /// One captured frame; rows are in the order of the capture.
    #[derive(Clone, Debug, PartialEq)]
    pub struct FrameRow in "frames.parquet" {
        /// Number, from 1 as Wireshark counts.
        pub frame: u64,
        /// When it was captured.
        pub time_ns: u64 = "ns",
        /// Number of its interface in the capture.
        pub interface: u32,
        /// Bytes on the wire or air, capture headers (radiotap …) left out.
        pub bytes: u32 = "B",
        /// Bytes captured of them.
        pub captured: u32 = "B",
        /// What it is.
        pub kind: &'static str => FRAME_TYPES,
        /// MAC address of the transmitter.
        pub transmitter: Option<MacAddress>,
        /// MAC address of the receiver.
        pub receiver: Option<MacAddress>,
        /// Whether it was sent to a group address.
        pub group: bool,
        /// MAC sequence number.
        pub sequence: Option<u16>,
        /// MAC fragment number.
        pub fragment: Option<u8>,
        /// Whether the retry bit is set; null outside 802.11.
        pub retry: Option<bool>,
        /// Frame check sequence: `good`, `bad`, `absent` from the capture, or `unchecked` because it was cut.
        pub fcs: &'static str => FCS_STATES,
        /// `first` time seen; a `retry` whose original was not seen; a `duplicate` of the transmitter's previous
        /// frame, left out above the MAC; `noise` with a bad frame check sequence. Null outside 802.11.
        pub view: Option<&'static str> => MAC_VIEWS,
        /// Whether it is encrypted.
        pub protected: Option<bool>,
        /// Rate, bit/s.
        pub rate_bps: Option<u64> = "bit/s",
        /// Signal at the sniffer, dBm.
        pub signal_dbm: Option<f64> = "dBm",
        /// Time on the air, preamble included; null where the capture does not say how it was sent.
        pub airtime_ns: Option<u64> = "ns",
        /// Whether an acknowledgement to it was captured; null when none was due.
        pub acknowledged: Option<bool>,
        /// Source of the IP packet in it.
        pub source: Option<IpAddr>,
        /// Destination of the IP packet in it.
        pub destination: Option<IpAddr>,
        /// IP protocol number.
        pub protocol: Option<u8>,
        /// Octets of the IP packet.
        pub ip_bytes: Option<u32> = "B",
    }
}
