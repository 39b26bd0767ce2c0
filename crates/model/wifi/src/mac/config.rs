//! What can be chosen about the MAC: everything the standard leaves to the implementer or the user.

use crate::phy::Phy;
use airperf_units::{Duration, Rate};

/// Configuration of one 802.11 collision domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The PHY table.
    pub phy: Phy,
    /// Rate of ACK, CTS and RTS frames: the highest basic rate not above the data rate (IEEE 802.11-2020 §10.6.6.5).
    pub control_rate: Rate,
    /// Bytes of MAC header and frame check sequence around an MSDU: 24 + 4 for data between two stations.
    pub mac_bytes: u32,
    /// Bytes of LLC/SNAP before an IP packet (RFC 1042): 8.
    pub llc_bytes: u32,
    /// Attempts after the first before a frame is given up; `None` never gives up.
    pub retry_limit: Option<u8>,
    /// MPDUs longer than this are preceded by RTS/CTS; `None` never.
    pub rts_threshold: Option<u32>,
    /// Time after a garbled frame before contention resumes; `None` takes the standard's SIFS + ACK + DIFS.
    pub eifs: Option<Duration>,
    /// Time after an unanswered frame before its sender's DIFS begins; `None` takes the standard's
    /// SIFS + slot + PHY-RX-START (IEEE 802.11-2020 §10.3.2.11).
    pub ack_timeout: Option<Duration>,
    /// Longest IP packet.
    pub mtu: u32,
    /// IBSS beacons, every 102.4 ms when on.
    pub beacons: bool,
    /// The stations, in the order of their ids.
    pub stations: Vec<StationConfig>,
    /// Probability that the sniffer misses or garbles a frame that the receiver decoded.
    pub sniffer_error: f64,
}

/// Configuration of one station.
#[derive(Clone, Debug, PartialEq)]
pub struct StationConfig {
    /// Rate of its data frames.
    pub rate: Rate,
    /// Places in its transmit queue (Linux txqueuelen); the frames in the interface are not counted.
    pub queue_packets: u32,
    /// Frames the interface holds in front of the queue.
    pub interface_frames: u32,
    /// Time after its own transmission during which it does not count down (driver, port I/O, firmware).
    pub host_gap: Duration,
    /// Half-width of the uniform spread of `host_gap`, as a share of it.
    pub host_gap_spread: f64,
    /// Probability that the channel garbles a data frame sent to this station, per attempt.
    pub frame_error: f64,
}
