//! What is counted over a capture: per station, per second, as histograms, and the retransmission table.

use std::net::IpAddr;

use crate::MacAddress;
use crate::table::table;

/// Words of `histograms.what`.
pub const HISTOGRAMS: &[&str] = &["packet_bytes", "interarrival_ns"];
/// Words of `retransmissions.kind`: the rows of the study's table, and what it left out.
pub const SEGMENT_TYPES: &[&str] =
    &["syn", "syn_ack", "get", "data", "fin", "fin_ack", "ack", "rst", "other"];

table! {
    /// What one 802.11 transmitter did; rows are in order of address.
    #[derive(Clone, Debug, PartialEq)]
    pub struct StationRow in "stations.parquet" {
        /// MAC address.
        pub station: MacAddress,
        /// IP addresses it sent from, separated by spaces, at most 8.
        pub addresses: String,
        /// Frames, group-addressed and control included.
        pub frames: u64 = "frames",
        /// Data frames.
        pub data_frames: u64 = "frames",
        /// Frames with the retry bit.
        pub retries: u64 = "frames",
        /// Frames to one station that ask for an acknowledgement.
        pub unicast: u64 = "frames",
        /// Those whose acknowledgement was captured; a missing one does not mean that the frame was lost.
        pub acknowledged: u64 = "frames",
        /// Bytes of its frames.
        pub bytes: u64 = "B",
        /// Time on the air of its data and management frames.
        pub airtime_ns: u64 = "ns",
        /// Share of the elapsed time that its frames, and the SIFS and acknowledgements they ask for, used.
        pub utilisation: f64,
        /// Mean signal at the sniffer.
        pub signal_dbm: Option<f64> = "dBm",
    }
}

table! {
    /// Packets and bytes in one interval, of all or of one client.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct SeriesRow in "series.parquet" {
        /// Begin of the interval.
        pub time_ns: u64 = "ns",
        /// Length of the interval.
        pub length_ns: u64 = "ns",
        /// Client's address; null for all traffic, that of no connection included.
        pub client: Option<IpAddr>,
        /// Packets (frames, for all traffic).
        pub packets: u64 = "packets",
        /// Bytes on the wire.
        pub bytes: u64 = "B",
        /// Octets of TCP payload towards the client (all traffic: either way), repeats included.
        pub payload_bytes: u64 = "B",
        /// Connections opened.
        pub connections: u64 = "connections",
        /// HTTP requests begun.
        pub requests: u64 = "requests",
    }
}

table! {
    /// One bin of a distribution over all packets of a capture.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct HistogramRow in "histograms.parquet" {
        /// What was measured: IP packet sizes (one bin per size) or times between packets (bins of 1/32 octave).
        pub what: &'static str => HISTOGRAMS,
        /// Lower edge of the bin.
        pub from: u64,
        /// Upper edge, not included.
        pub below: u64,
        /// How many fell into it.
        pub count: u64 = "packets",
    }
}

table! {
    /// The study's retransmission table: segments of one type of one client's connections.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct RetransmissionRow in "retransmissions.parquet" {
        /// Client's address.
        pub client: IpAddr,
        /// Type: `syn`, `syn_ack`, `get` (client data), `data` (server data), `fin` (the first), `fin_ack` (the other
        /// side's), `ack`, `rst` or `other`.
        pub kind: &'static str => SEGMENT_TYPES,
        /// Segments of this type captured, MAC duplicates left out.
        pub segments: u64 = "segments",
        /// Sent again by TCP: full + dup SYN + dup FIN.
        pub tcp_retransmissions: u64 = "segments",
        /// Sent again by the MAC: good frames with the retry bit; null where nothing of 802.11 was captured.
        pub mac_retransmissions: Option<u64> = "frames",
    }
}
