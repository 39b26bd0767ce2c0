//! The spans a MAC derives from its PHY table, computed once.
//!
//! Reference: IEEE 802.11-2020 §10.3.2.3 (interframe spaces), §10.3.2.11 (ACK timeout), §9.3.1 (control
//! frame lengths). Leaves out: anything that depends on a frame's own length.

use super::config::Config;
use crate::phy::Phy;
use airperf_units::{Duration, Rate};

/// Bytes of an ACK or CTS frame (IEEE 802.11-2020 §9.3.1.3, §9.3.1.4).
pub(crate) const ACK_BYTES: u32 = 14;
/// Bytes of an RTS frame (§9.3.1.2).
pub(crate) const RTS_BYTES: u32 = 20;
/// Name of every modelled IBSS; its length is part of the beacon's.
pub const SSID: &str = "airperf";
/// Bytes of an IBSS beacon with SSID, four rates, DS and IBSS parameter sets (§9.3.3.2).
pub(crate) const BEACON_BYTES: u32 = 24 + 12 + (2 + SSID.len() as u32) + (2 + 4) + (2 + 1) + (2 + 2) + 4;
/// Time between target beacon transmission times: 100 time units of 1024 µs (§9.4.1.3).
pub(crate) const BEACON_INTERVAL: Duration = Duration::from_us(102_400);

/// How long data frames last at one rate, for every length of packet up to the MTU.
#[derive(Clone, Debug)]
pub(crate) struct FrameTimes {
    rate: Rate,
    /// By bytes of IP packet: the whole frame, and the part of it that is the packet.
    by_bytes: Box<[(Duration, Duration)]>,
}

impl FrameTimes {
    fn at(rate: Rate, phy: &Phy, overhead: u32, mtu: u32) -> Self {
        let time = |bytes| (phy.airtime(bytes + overhead, rate), rate.time_for(u64::from(bytes)));
        Self { rate, by_bytes: (0..=mtu).map(time).collect() }
    }

    /// One table for each rate in use, the lowest rate first.
    pub(crate) fn of(config: &Config) -> Vec<Self> {
        let mut rates = vec![config.phy.lowest_rate()];
        rates.extend(config.stations.iter().map(|s| s.rate));
        rates[1..].sort_unstable();
        rates.dedup();
        let overhead = config.llc_bytes + config.mac_bytes;
        rates.into_iter().map(|rate| Self::at(rate, &config.phy, overhead, config.mtu)).collect()
    }

    /// Which of `tables` is for `rate`.
    pub(crate) fn position(tables: &[Self], rate: Rate) -> usize {
        tables.iter().position(|t| t.rate == rate).expect("every station's rate has a table")
    }

    /// How long the frame of a packet lasts, and the part of it that is the packet.
    #[inline]
    pub(crate) fn frame_and_packet(&self, packet_bytes: u32) -> (Duration, Duration) {
        self.by_bytes[packet_bytes as usize]
    }
}

/// Spans used at every frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) sifs: Duration,
    pub(crate) difs: Duration,
    pub(crate) eifs: Duration,
    /// From the end of an unanswered frame to the start of its sender's DIFS.
    pub(crate) ack_timeout: Duration,
    pub(crate) beacon: Duration,
}

/// Spans that depend on the rate at which a station sends its data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Control {
    pub(crate) rate: Rate,
    pub(crate) rts: Duration,
    pub(crate) cts: Duration,
    pub(crate) ack: Duration,
}

impl Control {
    pub(crate) fn of(config: &Config, data_rate: Rate) -> Self {
        let rate = config.control_rate.min(data_rate);
        let airtime = |bytes| config.phy.airtime(bytes, rate);
        Self { rate, rts: airtime(RTS_BYTES), cts: airtime(ACK_BYTES), ack: airtime(ACK_BYTES) }
    }
}

impl Timing {
    pub(crate) fn of(config: &Config) -> Self {
        let phy = &config.phy;
        let slowest_ack = phy.airtime(ACK_BYTES, phy.lowest_rate());
        let rx_start = phy.preamble_at(config.control_rate);
        Self {
            sifs: phy.sifs,
            difs: phy.difs,
            eifs: config.eifs.unwrap_or(phy.sifs + slowest_ack + phy.difs),
            ack_timeout: config.ack_timeout.unwrap_or(phy.sifs + phy.slot + rx_start),
            beacon: phy.airtime(BEACON_BYTES, phy.lowest_rate()),
        }
    }
}
