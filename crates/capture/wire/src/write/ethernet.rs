//! Ethernet framing, and captures of an Ethernet segment.
//!
//! Reference: IEEE 802.3-2018 §3.1.1 (frame), RFC 894 (IPv4 in it). Captures leave out preamble and frame
//! check sequence, as captures of Ethernet do, and keep the padding of short frames.

use std::io::{self, Write};
use std::net::Ipv4Addr;

use airperf_units::Time;

use crate::LinkType;
use crate::pcapng::{Interface, InterfaceId, Writer};
use crate::{BROADCAST, Mac, station_mac};

/// minFrameSize less the frame check sequence (IEEE 802.3-2018 Table 4-2).
const SHORTEST: usize = 60;
const TYPE_IPV4: [u8; 2] = [8, 0];
const HEADER: usize = 14;

/// The header of a frame that carries an IPv4 packet.
fn header(from: Mac, to: Mac) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..6].copy_from_slice(&to);
    header[6..12].copy_from_slice(&from);
    header[12..].copy_from_slice(&TYPE_IPV4);
    header
}

/// Appends the frame that carries `packet` to `out`, padded to the shortest length, without check sequence.
pub fn ethernet_frame(from: Mac, to: Mac, packet: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&header(from, to));
    out.extend_from_slice(packet);
    out.resize(out.len().max(start + SHORTEST), 0);
}

/// Writes a capture of an Ethernet segment to `W`.
#[derive(Debug)]
pub struct EtherCapture<W> {
    writer: Writer<W>,
    interface: InterfaceId,
}

impl<W: Write> EtherCapture<W> {
    /// Begins a capture; arguments as [`crate::AirCapture::new`].
    ///
    /// # Errors
    /// The sink's.
    pub fn new<'a>(
        sink: W,
        epoch_ns: u64,
        stations: impl IntoIterator<Item = (Ipv4Addr, &'a str)>,
    ) -> io::Result<Self> {
        let mut writer = Writer::new(sink, concat!("airperf ", env!("CARGO_PKG_VERSION")), epoch_ns)?;
        let description = "tap on the segment";
        let interface = Interface { link_type: LinkType::ETHERNET, name: "wire", description };
        let interface = writer.interface(interface)?;
        writer.names(stations)?;
        Ok(Self { writer, interface })
    }

    /// Adds a frame that carries `packet`; `to` is `None` for everybody.
    ///
    /// # Errors
    /// The sink's.
    pub fn frame(&mut self, start: Time, from: u16, to: Option<u16>, packet: &[u8]) -> io::Result<()> {
        let header = header(station_mac(from), to.map_or(BROADCAST, station_mac));
        let padding = [0; SHORTEST];
        let missing = SHORTEST.saturating_sub(HEADER + packet.len());
        self.writer.packet(self.interface, start.as_ns(), &[&header, packet, &padding[..missing]], None)
    }

    /// Gives the sink back; there is nothing to write at the end.
    pub fn into_inner(self) -> W {
        self.writer.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_frames_are_padded_and_long_ones_are_not() {
        let mut out = vec![9];
        ethernet_frame(station_mac(0), station_mac(1), &[7; 40], &mut out);
        assert_eq!(out.len(), 1 + 60);
        assert_eq!(out[1..15], [2, 0x41, 0x50, 0, 0, 2, 2, 0x41, 0x50, 0, 0, 1, 8, 0]);
        assert_eq!(out[55..], [0; 6]);
        let mut out = Vec::new();
        ethernet_frame(station_mac(0), station_mac(1), &[7; 100], &mut out);
        assert_eq!(out.len(), 114);
    }
}
