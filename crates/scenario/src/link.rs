//! The medium of a scenario, and the one place where its kind becomes a model.
//!
//! Left out: reading (see [`crate::build`]); what drives the link (the testbeds).

use airperf_link::access::{Access, AccessConfig};
use airperf_link::ethernet::{Ethernet, EthernetConfig};
use airperf_link::switch::{Switch, SwitchConfig};
use airperf_link::{Link, StationId};
use airperf_units::{Duration, Rate, StreamKey};
use airperf_wifi::Domain;
use airperf_wwan::Gprs;

/// The medium.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkConfig {
    /// One 802.11 collision domain.
    Wifi {
        /// The domain.
        config: airperf_wifi::Config,
        /// What the records say about the radio.
        radio: Radio,
    },
    /// One shared Ethernet segment.
    Ethernet(EthernetConfig),
    /// One Ethernet switch.
    Switch(SwitchConfig),
    /// Pipes to every station, of stated rates or driven by traces.
    Access(AccessConfig),
    /// GPRS or EDGE.
    Gprs(airperf_wwan::Config),
}

/// Work over a link of whatever kind a scenario has.
pub trait OverLink<P> {
    /// What comes of it.
    type Output;

    /// Does the work.
    fn over<L: Link<P> + Send + 'static>(self, link: L) -> Self::Output;
}

impl LinkConfig {
    /// Makes the link, silent at time zero, with the streams of `key`, and hands it to `work`.
    ///
    /// # Errors
    /// A link that cannot be built. That of a scenario that was read from text has been checked and gives none.
    pub fn build<P: Send + 'static, W: OverLink<P>>(
        &self,
        key: StreamKey,
        work: W,
    ) -> Result<W::Output, airperf_wifi::ConfigError> {
        Ok(match self {
            Self::Wifi { config, .. } => work.over(Domain::new(config.clone(), key)?),
            Self::Ethernet(config) => work.over(Ethernet::new(config.clone(), key)),
            Self::Switch(config) => work.over(Switch::new(config.clone())),
            Self::Access(config) => work.over(Access::new(config.clone(), key)),
            Self::Gprs(config) => work.over(Gprs::new(config.clone(), key)),
        })
    }

    /// Longest IP packet, in bytes.
    pub fn mtu(&self) -> u32 {
        match self {
            Self::Wifi { config, .. } => config.mtu,
            Self::Ethernet(config) => config.mtu,
            Self::Switch(config) => config.mtu,
            Self::Access(config) => config.mtu,
            Self::Gprs(config) => config.mtu,
        }
    }

    /// Places of a station's transmit queue.
    ///
    /// # Panics
    /// If it is not a station of this link.
    pub fn queue_packets(&self, station: StationId) -> u32 {
        let index = station.index();
        match self {
            Self::Wifi { config, .. } => config.stations[index].queue_packets,
            Self::Ethernet(config) => config.stations[index].queue_packets,
            Self::Switch(config) => config.stations[index].queue_packets,
            Self::Access(config) => config.stations[index].queue_packets,
            Self::Gprs(config) => config.stations[index].queue_packets,
        }
    }

    /// Packets that the link holds at most when all its queues are full; where it has no bound, or packets are long on
    /// their way, what it usually holds.
    pub fn packets(&self) -> u32 {
        match self {
            Self::Wifi { config, .. } => {
                config.stations.iter().map(|s| s.queue_packets + s.interface_frames).sum()
            }
            Self::Ethernet(config) => config.stations.iter().map(|s| s.queue_packets + 1).sum(),
            Self::Switch(config) => {
                let hosts: u32 = config.stations.iter().map(|s| s.queue_packets + 1).sum();
                hosts + (config.port_queue_packets + 3) * config.stations.len() as u32
            }
            Self::Access(config) => config.stations.iter().map(|s| s.queue_packets.min(1000) + 100).sum(),
            Self::Gprs(config) => config.stations.iter().map(|s| s.queue_packets.min(1000) + 100).sum(),
        }
    }

    /// Full packets from the server that keep the link busy until the first of them was acknowledged; `None` where the
    /// stations share the medium, and nobody can say.
    pub(crate) fn packets_on_their_way(&self) -> Option<u32> {
        match self {
            Self::Access(config) => Some(config.packets_on_their_way()),
            Self::Gprs(config) => Some(config.packets_on_their_way()),
            Self::Wifi { .. } | Self::Ethernet(_) | Self::Switch(_) => None,
        }
    }

    /// The rate of full packets from the server and to it; `None` where the stations share the medium.
    pub(crate) fn rates(&self) -> Option<[Rate; 2]> {
        match self {
            Self::Access(config) => Some([&config.down, &config.up].map(|way| way.capacity.rate())),
            Self::Gprs(config) => Some([&config.down, &config.up].map(|way| {
                let (rate, mtu) = (way.payload_rate(config.family), u64::from(config.mtu));
                Rate::bps((rate.as_bps() * mtu / (mtu + u64::from(way.overhead_bytes))).max(1))
            })),
            Self::Wifi { .. } | Self::Ethernet(_) | Self::Switch(_) => None,
        }
    }

    /// The path from the server: the rate of full packets, and the time of a round trip by those on their way; `None`
    /// where the stations share the medium.
    pub fn path(&self) -> Option<(Rate, Duration)> {
        let rate = self.rates()?[0];
        Some((rate, rate.time_for(self.mtu().into()) * u64::from(self.packets_on_their_way()?)))
    }

    /// Small packets of `bytes` per second at most.
    pub(crate) fn most_packets(&self, bytes: u32) -> f64 {
        let each = match self {
            Self::Wifi { config, .. } => {
                let fastest = config.stations.iter().map(|station| station.rate).max();
                let rate = fastest.unwrap_or(config.control_rate);
                let phy = &config.phy;
                let data = phy.airtime(bytes + config.mac_bytes + config.llc_bytes, rate);
                let ack = phy.airtime(14, config.control_rate);
                phy.difs + data + phy.sifs + ack
            }
            // The shortest frame with preamble and gap: IEEE 802.3-2018 §3.1.1, Table 4-2.
            Self::Ethernet(config) => config.rate.time_for(84),
            Self::Switch(config) => config.rate.time_for(84),
            Self::Access(config) => {
                let ways = if config.shared { 1 } else { config.stations.len().saturating_sub(1).max(1) };
                let rate = config.down.capacity.rate().max(config.up.capacity.rate());
                Duration::from_ns(rate.time_for(bytes.into()).as_ns().div_ceil(ways as u64))
            }
            Self::Gprs(config) => {
                let rate = config.down.payload_rate(config.family);
                let mobiles = config.stations.len().saturating_sub(1).max(1) as u64;
                let octets = u64::from(bytes + config.down.overhead_bytes);
                Duration::from_ns(rate.time_for(octets).as_ns().div_ceil(mobiles))
            }
        };
        1.0 / each.as_secs_f64()
    }

    /// Asks the model whether it can work with its part: a second opinion on the ranges of the keys.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self {
            Self::Wifi { config, .. } => config.check().map_err(|error| error.to_string()),
            Self::Access(config) => config.check().map_err(|error| error.to_string()),
            Self::Gprs(config) => config.check().map_err(|error| error.to_string()),
            Self::Ethernet(_) | Self::Switch(_) => Ok(()),
        }
    }
}

/// Where the radios are in the spectrum and how loud. Stated in records; not a cause of anything yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Radio {
    /// Channel of the 2.4 GHz band, 1 to 14.
    pub channel: u8,
    /// Transmit power in thousandths of a dBm, if the scenario states it.
    pub tx_power_mdbm: Option<i32>,
}

impl Radio {
    /// Centre frequency in MHz (IEEE 802.11-2020 §15.4.4.3).
    pub fn centre_mhz(self) -> u16 {
        if self.channel == 14 { 2484 } else { 2407 + 5 * u16::from(self.channel) }
    }
}
