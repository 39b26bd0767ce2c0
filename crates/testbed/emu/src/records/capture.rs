//! The capture of an emulated run: what the sniffer heard, with the packets' real bytes.
//!
//! Left out: formats; see `airperf_wire`.

use std::io::Write;

use airperf_link::{FrameEvent, FrameKind, Heard};
use airperf_record::WriteError;
use airperf_scenario::{LinkConfig, Scenario};
use airperf_units::Duration;
use airperf_wifi::SSID;
use airperf_wire::{AirCapture, AirConfig, AirFrame, AirKind, EtherCapture};

use super::RecordsError;
use crate::isolation::address_of;

/// A capture of the air or of the wire.
pub(super) enum Capture<W> {
    Air(AirCapture<W>),
    Wire(EtherCapture<W>),
}

impl<W: Write> Capture<W> {
    /// Begins a capture whose time 0 is `epoch_ns` after 1970.
    pub(super) fn new(sink: W, scenario: &Scenario, epoch_ns: u64) -> std::io::Result<Self> {
        let names = (0u16..).zip(&scenario.stations).map(|(id, s)| (address_of(id), s.name.as_str()));
        Ok(match &scenario.link {
            LinkConfig::Wifi { config, radio } => {
                let air = AirConfig {
                    channel: radio.channel,
                    short_preamble: config.phy.preamble < Duration::from_us(192),
                    preamble: config.phy.preamble,
                    sifs: config.phy.sifs,
                    control_rate: config.control_rate,
                    ssid: SSID.to_owned(),
                };
                Self::Air(AirCapture::new(sink, air, epoch_ns, names)?)
            }
            LinkConfig::Ethernet(_) | LinkConfig::Switch(_) | LinkConfig::Access(_) | LinkConfig::Gprs(_) => {
                Self::Wire(EtherCapture::new(sink, epoch_ns, names)?)
            }
        })
    }

    /// Adds a frame if the sniffer heard it; `packet` is what it carried, if anything.
    pub(super) fn frame(&mut self, frame: &FrameEvent, packet: &[u8]) -> Result<(), RecordsError> {
        if frame.sniffer == Heard::Missed {
            return Ok(());
        }
        let to = frame.to.station().map(|to| to.0);
        let written = match self {
            Self::Wire(wire) => wire.frame(frame.start, frame.from.0, to, packet),
            Self::Air(air) => air.frame(&AirFrame {
                start: frame.start,
                rate: frame.rate,
                from: frame.from.0,
                to,
                kind: match frame.kind {
                    FrameKind::Data => AirKind::Data(packet),
                    FrameKind::Ack => AirKind::Ack,
                    FrameKind::Rts => AirKind::Rts,
                    FrameKind::Cts => AirKind::Cts,
                    FrameKind::Beacon => AirKind::Beacon,
                },
                sequence: frame.sequence,
                attempt: frame.attempt,
                bad_fcs: frame.sniffer == Heard::BadFcs,
                reserves: None,
            }),
        };
        written.map_err(|source| {
            let path = "air.pcapng".into();
            RecordsError::Write(WriteError::Io { doing: "write the capture", path, source })
        })
    }

    /// The file.
    pub(super) fn into_inner(self) -> W {
        match self {
            Self::Air(air) => air.into_inner(),
            Self::Wire(wire) => wire.into_inner(),
        }
    }
}
