//! TCP connections of a capture.

use std::net::IpAddr;

use compact_str::CompactString;

use crate::rows::CONNECTION_CLASSES;
use crate::table::table;

/// Words of `connections.application`.
pub const APPLICATIONS: &[&str] = &["http/1", "http/2", "tls", "ambiguous", "other"];
/// Words of `connections.closed_by`.
pub const CLOSERS: &[&str] = &["client", "server"];

table! {
    /// One TCP connection of a capture; rows are in the order in which connections ended.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ConnectionRow in "connections.parquet" {
        /// Number of the connection, from 0 in order of its first frame.
        pub connection: u64,
        /// Client's address: who sent the SYN; without one, who has the higher port.
        pub client: IpAddr,
        /// Client's port.
        pub client_port: u16,
        /// Server's address.
        pub server: IpAddr,
        /// Server's port.
        pub server_port: u16,
        /// Number of the frame that began it, from 1 as Wireshark counts.
        pub first_frame: u64,
        /// First packet.
        pub opened_ns: u64 = "ns",
        /// First ACK of the client after the SYN-ACK; null when the handshake was not seen whole.
        pub established_ns: Option<u64> = "ns",
        /// Last packet.
        pub last_ns: u64 = "ns",
        /// First octet of payload, either way.
        pub first_data_ns: Option<u64> = "ns",
        /// Last octet of payload, either way.
        pub last_data_ns: Option<u64> = "ns",
        /// How it ended: `syn_fin`, `syn_rst`, `syn_no_synack`, `syn_unfinished`, or `no_syn` when its
        /// beginning was not captured.
        pub class: &'static str => CONNECTION_CLASSES,
        /// Who sent the first FIN, or the RST when there was none.
        pub closed_by: Option<&'static str> => CLOSERS,
        /// Zeek's state: SF, S0, S1, S2, S3, REJ, RSTO, RSTR, RSTOS0, RSTRH, SH, SHR or OTH.
        pub state: CompactString,
        /// Zeek's history letters.
        pub history: CompactString,
        /// What was spoken, by content: `http/1`, `http/2`, `tls`, `ambiguous` where HTTP/1 became
        /// unreadable, or `other`; null without payload, or where what was captured does not tell.
        pub application: Option<&'static str> => APPLICATIONS,
        /// Name the client asked for in its TLS hello (SNI).
        pub server_name: Option<CompactString>,
        /// Application protocol that TLS agreed on or offered first (ALPN).
        pub alpn: Option<CompactString>,
        /// Exchanges whose request was seen.
        pub exchanges: u32 = "exchanges",
        /// Payload octets sent by the client, without repeats.
        pub bytes_up: u64 = "B",
        /// Payload octets sent by the server, without repeats.
        pub bytes_down: u64 = "B",
        /// Payload octets sent by the client, repeats included.
        pub sent_bytes_up: u64 = "B",
        /// Payload octets sent by the server, repeats included.
        pub sent_bytes_down: u64 = "B",
        /// Octets of IP packets from the client.
        pub ip_bytes_up: u64 = "B",
        /// Octets of IP packets from the server.
        pub ip_bytes_down: u64 = "B",
        /// Octets acknowledged by the server that were not captured.
        pub missing_up: u64 = "B",
        /// Octets acknowledged by the client that were not captured.
        pub missing_down: u64 = "B",
        /// Segments from the client.
        pub segments_up: u32 = "segments",
        /// Segments from the server.
        pub segments_down: u32 = "segments",
        /// Segments with payload from the client.
        pub data_segments_up: u32 = "segments",
        /// Segments with payload from the server.
        pub data_segments_down: u32 = "segments",
        /// Full + dup SYN + dup FIN from the client.
        pub retransmissions_up: u32 = "segments",
        /// Full + dup SYN + dup FIN from the server.
        pub retransmissions_down: u32 = "segments",
        /// Segments all of whose octets were sent before.
        pub full: u32 = "segments",
        /// Segments some of whose octets were sent before.
        pub part: u32 = "segments",
        /// Segments none of whose octets were seen before although higher ones were.
        pub late: u32 = "segments",
        /// SYNs (and SYN-ACKs) with the same sequence number again.
        pub dup_syn: u32 = "segments",
        /// FINs with the same sequence number again.
        pub dup_fin: u32 = "segments",
        /// Retransmissions of octets that had been acknowledged already.
        pub spurious: u32 = "segments",
        /// Retransmissions with other octets than the first time.
        pub inconsistent: u32 = "segments",
        /// Acknowledgements without payload that repeat number and window while data is outstanding.
        pub duplicate_acks: u32 = "segments",
        /// Segments that offer a window of nothing; null when the scale is unknown.
        pub zero_windows: Option<u32> = "segments",
        /// One octet sent into a closed window.
        pub window_probes: u32 = "segments",
        /// Nothing or one octet sent just before what was acknowledged.
        pub keep_alives: u32 = "segments",
        /// Segments with RST.
        pub resets: u32 = "segments",
        /// The same packet captured twice; left out of every other count.
        pub duplicates: u32 = "packets",
        /// MAC retransmissions of the client's packets; null where nothing of 802.11 was captured.
        pub mac_retries_up: Option<u32> = "frames",
        /// MAC retransmissions of the server's packets.
        pub mac_retries_down: Option<u32> = "frames",
        /// SYN to SYN-ACK; null without both, or when either was repeated.
        pub handshake_ns: Option<u64> = "ns",
        /// Samples of the time from a segment to its acknowledgement, repeated segments left out.
        pub rtt_samples: u32,
        /// Least of them.
        pub rtt_min_ns: Option<u64> = "ns",
        /// Their mean.
        pub rtt_mean_ns: Option<u64> = "ns",
        /// Greatest of them.
        pub rtt_max_ns: Option<u64> = "ns",
        /// Client's MSS option.
        pub mss_up: Option<u16> = "B",
        /// Server's MSS option.
        pub mss_down: Option<u16> = "B",
        /// Shift of the windows the client offers; null when unknown, 0 when there is none.
        pub window_scale_up: Option<u8>,
        /// Shift of the windows the server offers.
        pub window_scale_down: Option<u8>,
        /// Whether both ends permitted SACK; null when the handshake was not seen whole.
        pub sack: Option<bool>,
        /// Most octets the client had outstanding; null when the beginning was not seen.
        pub most_in_flight_up: Option<u64> = "B",
        /// Most octets the server had outstanding.
        pub most_in_flight_down: Option<u64> = "B",
        /// Time between a response's last octet and the next request, summed: the user thinking.
        pub think_ns: u64 = "ns",
        /// Whether the table of connections was full and this one was the longest idle.
        pub evicted: bool,
    }
}
