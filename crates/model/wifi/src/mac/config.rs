//! What can be chosen about the MAC: everything the standard leaves to the implementer or the user.
//!
//! Reference: IEEE 802.11-2020 clause 10.3 (DCF). Leaves out fragmentation, EDCA and power save.

use crate::phy::Phy;
use crate::phy::dsss::{self, Preamble};
use airperf_units::{Duration, Rate, Time};
use std::fmt;

/// Configuration of one 802.11 collision domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The PHY table.
    pub phy: Phy,
    /// Highest rate of ACK, CTS and RTS frames. Data sent more slowly is answered at its own rate: the
    /// highest basic rate not above the data rate (IEEE 802.11-2020 §10.6.6.5.2).
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
    /// Probability that the channel garbles an acknowledgement sent to this station.
    pub ack_error: f64,
    /// A time during which its channel is worse, if there is one.
    pub fade: Option<Fade>,
}

/// A time during which a station is hard to hear and hears badly: it moved away, or behind a wall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fade {
    /// When it begins.
    pub from: Time,
    /// When it is over.
    pub until: Time,
    /// Probability, beside the others, that the channel garbles a data frame to or from the station, per attempt.
    /// Acknowledgements are spared: they are short and sent at a lower rate.
    pub error: f64,
}

impl StationConfig {
    /// A station at `rate` with the study's queue of 100 packets, no host gap and a clean channel.
    pub const fn at(rate: Rate) -> Self {
        Self {
            rate,
            queue_packets: 100,
            interface_frames: 1,
            host_gap: Duration::ZERO,
            host_gap_spread: 0.0,
            frame_error: 0.0,
            ack_error: 0.0,
            fade: None,
        }
    }
}

impl Config {
    /// 802.11b with long preamble and the standard's choices, control frames at 1 Mbit/s.
    pub fn dot11b(stations: Vec<StationConfig>) -> Self {
        Self {
            phy: dsss::hr_dsss(Preamble::Long),
            control_rate: Rate::mbps(1),
            mac_bytes: 28,        // IEEE 802.11-2020 §9.3.2.1: 24-byte header, 4-byte FCS
            llc_bytes: 8,         // RFC 1042: LLC 3, SNAP 5
            retry_limit: Some(7), // IEEE 802.11-2020 Annex C, dot11ShortRetryLimit
            rts_threshold: None,
            eifs: None,
            ack_timeout: None,
            mtu: 1500,
            beacons: false,
            stations,
            sniffer_error: 0.0,
        }
    }

    /// Finds what no 802.11 station could be.
    ///
    /// # Errors
    /// The first impossible value, named.
    pub fn check(&self) -> Result<(), ConfigError> {
        let phy = &self.phy;
        let rules = [
            (self.stations.len() >= 2, "a link needs at least two stations"),
            (self.stations.len() < usize::from(u16::MAX), "a collision domain holds at most 65534 stations"),
            (phy.slot > Duration::ZERO, "the slot time must be positive"),
            (phy.sifs < phy.difs, "SIFS must be shorter than DIFS"),
            (phy.cca < phy.preamble, "the CCA time must be shorter than a preamble"),
            (phy.cw_min >= 1 && phy.cw_min <= phy.cw_max, "the contention window needs 1 <= CWmin <= CWmax"),
            (phy.cw_max <= 1023, "CWmax is at most 1023"),
            (self.mtu >= 68, "the MTU is at least 68 bytes (RFC 791)"),
            (phy.rates.contains(&self.control_rate), "the control rate is not a rate of this PHY"),
        ];
        if let Some((_, why)) = rules.iter().find(|(holds, _)| !holds) {
            return Err(ConfigError { station: None, why });
        }
        let share = |p: f64| (0.0..=1.0).contains(&p);
        for (index, station) in self.stations.iter().enumerate() {
            let rules = [
                (phy.rates.contains(&station.rate), "its rate is not a rate of this PHY"),
                (station.queue_packets >= 1, "its transmit queue must hold at least one packet"),
                (station.interface_frames >= 1, "its interface must hold at least one frame"),
                (share(station.host_gap_spread), "its host gap spread must lie in 0..1"),
                (share(station.frame_error) && share(station.ack_error), "its error rates must lie in 0..1"),
                (station.fade.is_none_or(|fade| share(fade.error)), "its fade's error rate must lie in 0..1"),
                (station.fade.is_none_or(|fade| fade.from < fade.until), "its fade must end after it begins"),
            ];
            if let Some((_, why)) = rules.iter().find(|(holds, _)| !holds) {
                return Err(ConfigError { station: Some(index), why });
            }
        }
        Ok(())
    }
}

/// A configuration that no 802.11 station could have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The station at fault, if it is one station's.
    pub station: Option<usize>,
    why: &'static str,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.station {
            Some(index) => write!(f, "802.11 station {index}: {}", self.why),
            None => write!(f, "802.11 link: {}", self.why),
        }
    }
}

impl std::error::Error for ConfigError {}
