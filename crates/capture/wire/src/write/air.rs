//! The sniffer: every frame on the air as a pcapng packet with radiotap.
//!
//! A frame's time stamp is the first instant of its preamble, so that packets stand in the order of
//! `frames.start_ns`; radiotap's TSFT is the start of the MAC frame, one preamble later. A frame heard
//! badly keeps its contents and has every bit of its FCS inverted. Reference: IEEE 802.11-2020 §9.2.5
//! (duration field). Leaves out what the sniffer did not hear: do not hand it in.

use std::io::{self, Write};

use airperf_units::{Duration, Rate, Time};

use crate::LinkType;
use crate::pcapng::{Interface, InterfaceId, Writer};
use crate::write::dot11::{Beacon, Dot11, fcs};
use crate::write::radiotap::Radiotap;
use crate::{BROADCAST, station_mac};

/// What all frames of a capture have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct AirConfig {
    /// Channel of the 2.4 GHz band, 1 to 14.
    pub channel: u8,
    /// Whether preambles are short.
    pub short_preamble: bool,
    /// Preamble and PLCP header, before the MAC frame.
    pub preamble: Duration,
    /// Short interframe space.
    pub sifs: Duration,
    /// Rate of control frames.
    pub control_rate: Rate,
    /// Name of the network, in beacons.
    pub ssid: String,
}

impl AirConfig {
    /// 802.11b on channel 6 with long preambles and control frames at 1 Mbit/s.
    pub fn dsss() -> Self {
        Self {
            channel: 6,
            short_preamble: false,
            // IEEE 802.11-2020 §16.2.2.2: 144 µs preamble and 48 µs header at 1 Mbit/s.
            preamble: Duration::from_us(192),
            // IEEE 802.11-2020 Table 16-4.
            sifs: Duration::from_us(10),
            control_rate: Rate::mbps(1),
            ssid: "airperf".to_owned(),
        }
    }
}

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AirKind<'a> {
    /// Carries this IPv4 packet.
    Data(&'a [u8]),
    /// Acknowledges.
    Ack,
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Beacon.
    Beacon,
}

/// A frame the sniffer heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AirFrame<'a> {
    /// First instant of the preamble.
    pub start: Time,
    /// Rate of the body.
    pub rate: Rate,
    /// Sender.
    pub from: u16,
    /// Receiver; `None` for everybody.
    pub to: Option<u16>,
    /// What it is.
    pub kind: AirKind<'a>,
    /// MAC sequence number, below 4096.
    pub sequence: u16,
    /// Attempt, from 1.
    pub attempt: u8,
    /// Whether its frame check sequence is wrong.
    pub bad_fcs: bool,
    /// How long it reserves the medium after its end; `None` for what follows from the kind: a
    /// data frame to one station reserves SIFS and the ACK, any other nothing.
    pub reserves: Option<Duration>,
}

/// Writes a capture of the air to `W`.
#[derive(Debug)]
pub struct AirCapture<W> {
    writer: Writer<W>,
    interface: InterfaceId,
    config: AirConfig,
    ack_reservation: Duration,
    frames: Dot11,
}

impl<W: Write> AirCapture<W> {
    /// Begins a capture whose time 0 is `epoch_ns` nanoseconds after 1970; 0 where a run has no date.
    /// `stations` are the names of the stations' IPv4 addresses.
    ///
    /// # Errors
    /// The sink's.
    pub fn new<'a>(
        sink: W,
        config: AirConfig,
        epoch_ns: u64,
        stations: impl IntoIterator<Item = (std::net::Ipv4Addr, &'a str)>,
    ) -> io::Result<Self> {
        let application = concat!("airperf ", env!("CARGO_PKG_VERSION"));
        let mut writer = Writer::new(sink, application, epoch_ns)?;
        let description = "sniffer within reach of every station";
        let interface = Interface { link_type: LinkType::RADIOTAP, name: "air", description };
        let interface = writer.interface(interface)?;
        writer.names(stations)?;
        let ack_reservation = config.sifs + config.preamble + config.control_rate.time_for(14);
        Ok(Self { writer, interface, config, ack_reservation, frames: Dot11::default() })
    }

    /// Adds a frame; give them in order of start.
    ///
    /// # Errors
    /// The sink's.
    pub fn frame(&mut self, frame: &AirFrame<'_>) -> io::Result<()> {
        let from = station_mac(frame.from);
        let to = frame.to.map_or(BROADCAST, station_mac);
        let body_start = frame.start + self.config.preamble;
        let retry = frame.attempt > 1;
        let usual = match frame.kind {
            AirKind::Data(_) if frame.to.is_some() => self.ack_reservation,
            _ => Duration::ZERO,
        };
        let duration_us = microseconds(frame.reserves.unwrap_or(usual));
        let (header, packet): (&[u8], &[u8]) = match frame.kind {
            AirKind::Data(packet) => (self.frames.data(from, to, frame.sequence, retry, duration_us), packet),
            AirKind::Ack => (self.frames.ack(to), &[]),
            AirKind::Rts => (self.frames.rts(from, to, retry, duration_us), &[]),
            AirKind::Cts => (self.frames.cts(to, duration_us), &[]),
            AirKind::Beacon => {
                let beacon = Beacon {
                    timestamp_us: body_start.as_ns() / 1_000,
                    interval_tu: 100,
                    ssid: &self.config.ssid,
                    channel: self.config.channel,
                    short_preamble: self.config.short_preamble,
                };
                (self.frames.beacon(from, frame.sequence, beacon), &[])
            }
        };
        let radiotap = Radiotap {
            tsft_us: body_start.as_ns() / 1_000,
            rate: frame.rate,
            channel: self.config.channel,
            short_preamble: self.config.short_preamble,
            bad_fcs: frame.bad_fcs,
            retries: frame.attempt.saturating_sub(1),
        };
        let mut check = fcs(&[header, packet]);
        if frame.bad_fcs {
            check = check.map(|octet| !octet);
        }
        let parts = [&radiotap.to_bytes()[..], header, packet, &check];
        self.writer.packet(self.interface, frame.start.as_ns(), &parts, None)
    }

    /// Gives the sink back; there is nothing to write at the end.
    pub fn into_inner(self) -> W {
        self.writer.into_inner()
    }
}

/// Whole microseconds, rounded up, at most the largest duration (§9.2.4.2).
fn microseconds(duration: Duration) -> u16 {
    duration.as_ns().div_ceil(1_000).min(32_767) as u16
}
