//! A whole TCP connection as one input: each packet behind its length and its sender.
//!
//! Damage to the lengths merges, splits and loses packets; damage to the rest is damage to packets.

use airperf_analyze::FlowTracker;
use airperf_wire::{Flags, TcpOptions, TcpPacket};
use std::net::Ipv4Addr;

const FIN: u8 = 1;
const SYN: u8 = 2;
const PSH: u8 = 8;
const ACK: u8 = 16;

const REQUEST: &[u8] = b"GET /a HTTP/1.1\r\nHost: server\r\n\r\n";
const REPLY: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\n\r\n";

/// Words worth planting in messages.
pub(crate) const WORDS: &[&str] = &[
    "Content-Length: 18446744073709551616\r\n",
    "Content-Length: -1\r\n",
    "Transfer-Encoding: chunked\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 204 No Content\r\n\r\n",
    "ffffffffffffffff\r\n",
    "\r\n",
    "\n\n",
];

/// A plain exchange and a chunked one, opened and closed as it should be.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    [REPLY, CHUNKED].map(conversation).to_vec()
}

fn conversation(reply: &[u8]) -> Vec<u8> {
    let (request, reply_bytes) = (REQUEST.len() as u32, reply.len() as u32);
    let steps: [(bool, u8, u32, u32, &[u8]); 8] = [
        (true, SYN, 0, 0, b""),
        (false, SYN | ACK, 0, 1, b""),
        (true, ACK, 1, 1, b""),
        (true, PSH | ACK, 1, 1, REQUEST),
        (false, PSH | ACK, 1, 1 + request, reply),
        (true, FIN | ACK, 1 + request, 1 + reply_bytes, b""),
        (false, FIN | ACK, 1 + reply_bytes, 2 + request, b""),
        (true, ACK, 2 + request, 2 + reply_bytes, b""),
    ];
    let mut input = Vec::new();
    for (up, flags, seq, ack, payload) in steps {
        let bytes = packet(up, flags, seq, ack, payload);
        input.push(u8::from(up));
        input.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
        input.extend_from_slice(&bytes);
    }
    input
}

/// What the packets of the client have in common.
pub(crate) const PACKET: TcpPacket<'static> = TcpPacket {
    source: Ipv4Addr::new(10, 77, 0, 2),
    destination: Ipv4Addr::new(10, 77, 0, 1),
    source_port: 40_000,
    destination_port: 8080,
    seq: u32::MAX,
    ack: u32::MAX,
    flags: Flags(PSH | ACK),
    window: 5840,
    options: TcpOptions { mss: None, sack_permitted: false, timestamps: None, window_scale: None, sack: &[] },
    identification: 7,
    ttl: 64,
};

/// A packet of the connection; sequence numbers are relative to initial ones that are about to wrap.
fn packet(up: bool, flags: u8, seq: u32, ack: u32, payload: &[u8]) -> Vec<u8> {
    let mut packet = TcpPacket {
        seq: PACKET.seq.wrapping_add(seq),
        ack: PACKET.ack.wrapping_add(ack),
        flags: Flags(flags),
        ..PACKET
    };
    if !up {
        std::mem::swap(&mut packet.source, &mut packet.destination);
        std::mem::swap(&mut packet.source_port, &mut packet.destination_port);
    }
    let mut bytes = Vec::new();
    packet.write(payload, &mut bytes);
    bytes
}

/// Feeds the packets to a tracker; true when it made an exchange without an error of them.
pub(crate) fn track(mut input: &[u8]) -> bool {
    let mut tracker = FlowTracker::new(false);
    let mut time_ns = 0;
    while let [up, high, low, rest @ ..] = input {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
        let (packet, after) = rest.split_at(length);
        let (from, to) = if *up == 0 { (0, 1) } else { (1, 0) };
        let segment = tracker.offered(time_ns, from, Some(to), packet);
        tracker.on_air(&segment, time_ns + 1, time_ns + 2);
        tracker.delivered(time_ns + 2, &segment);
        time_ns += 1_000_000;
        input = after;
    }
    tracker.finish();
    while tracker.next_connection().is_some() {}
    let mut whole = false;
    while let Some(exchange) = tracker.next_exchange() {
        whole |= exchange.error.is_none() && exchange.done_ns.is_some();
    }
    whole
}
