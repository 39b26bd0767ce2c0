//! A conversation between a client (station 1) and a server (station 0), packet by packet.

use std::net::Ipv4Addr;

use airperf_analyze::{FlowTracker, Segment};
use airperf_record::{ConnectionRow, ExchangeRow};
use airperf_wire::{Flags, TcpPacket};

pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
pub(crate) const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
pub(crate) const SYN: Flags = Flags::SYN;
pub(crate) const ACK: Flags = Flags::ACK;
pub(crate) const FIN: Flags = Flags(0x11);
pub(crate) const RST: Flags = Flags(0x14);
pub(crate) const GET: &[u8] = b"GET /1 HTTP/1.1\r\nHost: server\r\n\r\n";

/// A response with a body of `length` octets.
pub(crate) fn response(length: usize) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").into_bytes();
    bytes.resize(bytes.len() + length, b'x');
    bytes
}

/// Shows packets to a tracker; numbers are relative to the initial ones, as in the records.
pub(crate) struct Show {
    pub(crate) tracker: FlowTracker,
    pub(crate) client_port: u16,
    /// Initial sequence numbers of client and server.
    pub(crate) initial: (u32, u32),
    /// Every packet offered, with its time.
    pub(crate) packets: Vec<(u64, Vec<u8>)>,
}

impl Show {
    pub(crate) fn new() -> Self {
        Self {
            tracker: FlowTracker::new(true),
            client_port: 40_000,
            initial: (u32::MAX - 3, 7_000),
            packets: Vec::new(),
        }
    }

    /// Offers a packet of the client (`up`) or the server.
    pub(crate) fn offer(
        &mut self,
        now: u64,
        up: bool,
        flags: Flags,
        seq: u32,
        ack: u32,
        payload: &[u8],
    ) -> Segment {
        let (client, server) = self.initial;
        let (mine, theirs) = if up { (client, server) } else { (server, client) };
        let (source, destination) = if up { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
        let (source_port, destination_port) =
            if up { (self.client_port, 80) } else { (80, self.client_port) };
        let packet = TcpPacket {
            source,
            destination,
            source_port,
            destination_port,
            seq: mine.wrapping_add(seq),
            ack: if flags.has(ACK) { theirs.wrapping_add(ack) } else { 0 },
            flags,
            window: 5840,
            options: Default::default(),
            identification: 0,
            ttl: 64,
        };
        let mut bytes = Vec::new();
        packet.write(payload, &mut bytes);
        let segment = self.tracker.offered(now, u16::from(up), Some(u16::from(!up)), &bytes);
        self.packets.push((now, bytes));
        segment
    }

    /// Offers a packet and delivers it 5 time units later.
    pub(crate) fn send(
        &mut self,
        now: u64,
        up: bool,
        flags: Flags,
        seq: u32,
        ack: u32,
        payload: &[u8],
    ) -> Segment {
        let segment = self.offer(now, up, flags, seq, ack, payload);
        self.tracker.delivered(now + 5, &segment);
        segment
    }

    /// The handshake, at 0, 10 and 20: established at 15.
    pub(crate) fn handshake(&mut self) {
        self.send(0, true, SYN, 0, 0, &[]);
        self.send(10, false, Flags(0x12), 0, 1, &[]);
        self.send(20, true, ACK, 1, 1, &[]);
    }

    /// Everything that was found.
    pub(crate) fn rows(mut self) -> (Vec<ConnectionRow>, Vec<ExchangeRow>) {
        self.tracker.finish();
        let connections = std::iter::from_fn(|| self.tracker.next_connection()).collect();
        let exchanges = std::iter::from_fn(|| self.tracker.next_exchange()).collect();
        (connections, exchanges)
    }
}
