//! The capture: frames with the octets that the segments stand for.
//!
//! Initial sequence numbers and timestamp offsets are drawn per connection from the run's streams, so a
//! capture is the same for the same seed. Addresses are those of the emulated testbed. SACK blocks are
//! written with the acknowledgement number's neighbourhood, because the model keeps their number only.

use super::flows;
use super::octets::{Kinds, Messages};
use super::visits;
use crate::Payload;
use crate::observer::Opened;
use airperf_link::{FrameEvent, FrameKind, Heard, Packet, StationId};
use airperf_scenario::{Browser, Flow, LinkConfig, Scenario};
use airperf_tcp::{Config, Flags};
use airperf_units::{Duration, StreamKey, Time};
use airperf_wifi::SSID;
use airperf_wire::{
    AirCapture, AirConfig, AirFrame, AirKind, EtherCapture, TcpOptions, TcpPacket, UdpPacket,
};
use std::io::{self, Write};
use std::net::Ipv4Addr;

const SERVER_PORT: u16 = 80;
/// Linux's range of ephemeral ports (net.ipv4.ip_local_port_range).
const FIRST_PORT: u32 = 32_768;
const PORTS: u32 = 28_232;
const TTL: u8 = 64;

/// The client's port of a connection.
pub(super) const fn client_port(connection: u32) -> u16 {
    (FIRST_PORT + connection % PORTS) as u16
}

fn address(station: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(10, 77, 0, 1).to_bits() + u32::from(station))
}

enum Sniffer<W> {
    Air(AirCapture<W>),
    Wire(EtherCapture<W>),
}

/// Writes the capture.
pub(super) struct Capture<W> {
    sniffer: Sniffer<W>,
    key: StreamKey,
    tcp: Config,
    flows: Vec<Flow>,
    browsers: Vec<Browser>,
    kinds: Kinds,
    body: Vec<u8>,
    packet: Vec<u8>,
}

impl<W: Write> Capture<W> {
    pub(super) fn new(sink: W, scenario: &Scenario, key: StreamKey) -> io::Result<Self> {
        let names =
            (0u16..).zip(&scenario.stations).map(|(id, station)| (address(id), station.name.as_str()));
        let sniffer = match &scenario.link {
            LinkConfig::Wifi { config, radio } => {
                let air = AirConfig {
                    channel: radio.channel,
                    short_preamble: config.phy.preamble < Duration::from_us(192),
                    preamble: config.phy.preamble,
                    sifs: config.phy.sifs,
                    control_rate: config.control_rate,
                    ssid: SSID.to_owned(),
                };
                Sniffer::Air(AirCapture::new(sink, air, 0, names)?)
            }
            LinkConfig::Ethernet(_) | LinkConfig::Switch(_) | LinkConfig::Access(_) | LinkConfig::Gprs(_) => {
                Sniffer::Wire(EtherCapture::new(sink, 0, names)?)
            }
        };
        Ok(Self {
            sniffer,
            key,
            tcp: scenario.tcp.clone(),
            flows: scenario.flows.clone(),
            browsers: scenario.browsers.clone(),
            kinds: Kinds::default(),
            body: Vec::new(),
            packet: Vec::new(),
        })
    }

    /// Adds a frame if the sniffer heard it; `carried` is its packet and whose it is.
    pub(super) fn frame(
        &mut self,
        frame: &FrameEvent,
        carried: Option<(&Packet<Payload>, &Opened, &Messages)>,
    ) -> io::Result<()> {
        if frame.sniffer == Heard::Missed {
            return Ok(());
        }
        if let Some((packet, opened, messages)) = carried {
            self.compose(&packet.payload, opened, messages);
        }
        let to = frame.to.station().map(|to| to.0);
        let air = match &mut self.sniffer {
            Sniffer::Wire(wire) => return wire.frame(frame.start, frame.from.0, to, &self.packet),
            Sniffer::Air(air) => air,
        };
        let kind = match frame.kind {
            FrameKind::Data => AirKind::Data(&self.packet),
            FrameKind::Ack => AirKind::Ack,
            FrameKind::Rts => AirKind::Rts,
            FrameKind::Cts => AirKind::Cts,
            FrameKind::Beacon => AirKind::Beacon,
        };
        air.frame(&AirFrame {
            start: frame.start,
            rate: frame.rate,
            from: frame.from.0,
            to,
            kind,
            sequence: frame.sequence,
            attempt: frame.attempt,
            bad_fcs: frame.sniffer == Heard::BadFcs,
            reserves: None,
        })
    }

    /// Makes the IP packet of a segment.
    fn compose(&mut self, payload: &Payload, opened: &Opened, messages: &Messages) {
        let segment = &payload.segment;
        let offset = u64::from(segment.seq).saturating_sub(1);
        let (len, kinds) = (usize::from(segment.len), &mut self.kinds);
        let flow = payload.flow().and_then(|index| self.flows.get(index as usize));
        match flow {
            Some(_) => flows::transfer(offset, len, &mut self.body),
            // TLS or a proxy's frames, which nobody reads.
            None if messages.is_empty() => flows::transfer(offset, len, &mut self.body),
            None => messages.read(kinds, payload.to_server, offset, len, &mut self.body),
        }

        let initial = |side| self.key.indexed(side, u64::from(payload.connection)).bits() as u32;
        let (client, server) = (initial("isn-client"), initial("isn-server"));
        let (own, peer) = if payload.to_server { (client, server) } else { (server, client) };
        let (from, to) =
            if payload.to_server { (opened.client, opened.server) } else { (opened.server, opened.client) };
        let ports = (client_port(payload.connection), flow.map_or(SERVER_PORT, flows::server_port));
        let (source_port, destination_port) = if payload.to_server { ports } else { (ports.1, ports.0) };

        let (syn, rst) = (segment.flags.has(Flags::SYN), segment.flags.has(Flags::RST));
        let acknowledges = segment.flags.has(Flags::ACK);
        let ack = if acknowledges { peer.wrapping_add(segment.ack) } else { 0 };
        let first_hole = ack.wrapping_add(u32::from(self.tcp.mss_bytes as u16));
        let mut blocks = [(0, 0); 4];
        let count = usize::from(segment.sack_blocks(&self.tcp));
        for (place, block) in (0u32..).zip(&mut blocks[..count]) {
            let told = segment.sack[place as usize];
            let from = first_hole.wrapping_add(place * 2 * self.tcp.mss_bytes);
            *block = match told.1 {
                // A sender that does not recover by them is told their number only.
                0 => (from, from.wrapping_add(self.tcp.mss_bytes)),
                _ => (peer.wrapping_add(told.0), peer.wrapping_add(told.1)),
            };
        }
        if payload.is_reliable_udp() {
            return self.udp(from, to, (source_port, destination_port), payload);
        }
        let scale = if syn { 0 } else { self.tcp.window_scale };
        let push = if segment.len > 0 { airperf_wire::Flags::PSH } else { airperf_wire::Flags(0) };
        TcpPacket {
            source: address(from.0),
            destination: address(to.0),
            source_port,
            destination_port,
            seq: own.wrapping_add(segment.seq),
            ack,
            flags: airperf_wire::Flags(segment.flags.on_wire()).with(push),
            window: (segment.window >> scale).min(65_535) as u16,
            options: TcpOptions {
                mss: syn.then_some(self.tcp.mss_bytes as u16),
                sack_permitted: syn && self.tcp.sack,
                timestamps: (self.tcp.timestamps && !rst).then_some((segment.ts_val, segment.ts_ecr)),
                window_scale: syn.then_some(self.tcp.window_scale),
                sack: &blocks[..count],
            },
            identification: payload.packet as u16,
            ttl: TTL,
        }
        .write(&self.body, &mut self.packet);
    }

    /// Makes the IP packet of a datagram that `from` offered at `sent`; the next frame carries it.
    pub(super) fn datagram(&mut self, from: StationId, packet: &Packet<Payload>, sent: Time) {
        let payload = &packet.payload;
        let browser = payload.browser().and_then(|index| self.browsers.get(index as usize));
        let flow = payload.flow().and_then(|index| Some((index, self.flows.get(index as usize)?)));
        let ports = match (browser.zip(payload.look_up()), flow) {
            (Some((browser, host)), _) => {
                visits::look_up(browser, payload, host, address(0), &mut self.body);
                (visits::port(host), visits::NAME_PORT)
            }
            (None, Some((index, flow))) => {
                flows::datagram(payload, index, flow, sent, &mut self.body);
                (flows::station_port(index), flows::server_port(flow))
            }
            (None, None) => return,
        };
        let (source_port, destination_port) = if payload.to_server { ports } else { (ports.1, ports.0) };
        let to = packet.to.station().unwrap_or(from);
        self.udp(from, to, (source_port, destination_port), payload);
    }

    /// Makes the UDP packet around the body.
    fn udp(&mut self, from: StationId, to: StationId, ports: (u16, u16), payload: &Payload) {
        UdpPacket {
            source: address(from.0),
            destination: address(to.0),
            source_port: ports.0,
            destination_port: ports.1,
            identification: payload.packet as u16,
            ttl: TTL,
        }
        .write(&self.body, &mut self.packet);
    }

    pub(super) fn into_inner(self) -> W {
        match self.sniffer {
            Sniffer::Air(air) => air.into_inner(),
            Sniffer::Wire(wire) => wire.into_inner(),
        }
    }
}
