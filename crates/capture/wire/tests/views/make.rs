//! Makes frames and packets octet by octet, and captures of them.
//!
//! Leaves out anything a test could get from the code under test.

use airperf_wire::container::{Batch, Limits, Record, Source};
use airperf_wire::{Decoder, Flags, Frame, LinkType, Payload, TcpOptions, TcpPacket, Transport};
use std::net::Ipv4Addr;

pub(crate) const DATA: &[u8] = b"GET / HTTP/1.1\r\n\r\n";
pub(crate) const A: [u8; 6] = [2, 0, 0, 0, 0, 0xa];
pub(crate) const B: [u8; 6] = [2, 0, 0, 0, 0, 0xb];
pub(crate) const C: [u8; 6] = [2, 0, 0, 0, 0, 0xc];
pub(crate) const D: [u8; 6] = [2, 0, 0, 0, 0, 0xd];

/// An IPv4 packet with a TCP segment and these octets.
pub(crate) fn tcp(payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    TcpPacket {
        source: Ipv4Addr::new(10, 1, 2, 3),
        destination: Ipv4Addr::new(10, 4, 5, 6),
        source_port: 40_000,
        destination_port: 80,
        seq: 1_000,
        ack: 2_000,
        flags: Flags::ACK.with(Flags::PSH),
        window: 5_840,
        options: TcpOptions::default(),
        identification: 77,
        ttl: 64,
    }
    .write(payload, &mut bytes);
    bytes
}

/// An IPv4 header of protocol `protocol` before `payload`.
pub(crate) fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (20 + payload.len() as u16).to_be_bytes();
    let mut header = vec![0x45, 0, high, low, 0, 1, 0, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
    let sum = airperf_wire::checksum(0, &header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    [&header, payload].concat()
}

/// An IPv6 header with next header `next` before `payload`.
pub(crate) fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (payload.len() as u16).to_be_bytes();
    let source = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let destination = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
    [&[0x60, 0, 0, 0, high, low, next, 64][..], &source, &destination, payload].concat()
}

/// The TCP segment of [`tcp`] without its IP header.
pub(crate) fn segment(payload: &[u8]) -> Vec<u8> {
    tcp(payload).split_off(20)
}

/// Ethernet from A to B.
pub(crate) fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    [&B[..], &A, &kind.to_be_bytes(), payload].concat()
}

pub(crate) fn udp(from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    let length = 8 + payload.len() as u16;
    let mut bytes = Vec::new();
    [from, to, length, 0].iter().for_each(|word| bytes.extend(word.to_be_bytes()));
    [&bytes, payload].concat()
}

/// LLC and SNAP of an EtherType.
pub(crate) fn snap(kind: u16, payload: &[u8]) -> Vec<u8> {
    [&[0xaa, 0xaa, 3, 0, 0, 0][..], &kind.to_be_bytes(), payload].concat()
}

/// An 802.11 data frame from A to B in cell C, without check sequence.
pub(crate) fn data(payload: &[u8]) -> Vec<u8> {
    [&[8, 0, 44, 0][..], &B, &A, &C, &[0x50, 1], payload].concat()
}

/// `frame` with its check sequence.
pub(crate) fn with_fcs(frame: &[u8]) -> Vec<u8> {
    [frame, &airperf_wire::fcs(&[frame])].concat()
}

/// A radiotap header of these fields (presence bit, octets), in order, each aligned as its `u8` says.
pub(crate) fn radiotap(fields: &[(u32, usize, &[u8])]) -> Vec<u8> {
    let present = fields.iter().fold(0_u32, |word, (bit, ..)| word | 1 << bit);
    let mut header = [&[0, 0, 0, 0][..], &present.to_le_bytes()].concat();
    for (_, align, octets) in fields {
        header.resize(header.len().next_multiple_of(*align), 0);
        header.extend_from_slice(octets);
    }
    let length = header.len() as u16;
    header[2..4].copy_from_slice(&length.to_le_bytes());
    header
}

/// The flags field of radiotap.
pub(crate) const FCS_AT_END: u8 = 0x10;

/// A radiotap header of flags alone.
pub(crate) fn flags(flags: u8) -> Vec<u8> {
    radiotap(&[(1, 1, &[flags])])
}

/// A classic capture in nanoseconds; each frame with its length on the wire.
pub(crate) fn pcap<'a>(link: LinkType, frames: impl IntoIterator<Item = (&'a [u8], usize)>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut words = |words: &[u32]| words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    words(&[0xa1b2_3c4d, 0x0004_0002, 0, 0, 262_144, u32::from(link.0)]);
    for (n, (frame, original)) in frames.into_iter().enumerate() {
        for word in [1_700_000_000, n as u32, frame.len() as u32, original as u32] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend_from_slice(frame);
    }
    bytes
}

/// A capture read whole: its records and bytes, and a decoder that has seen them.
pub(crate) struct Shots {
    pub(crate) records: Vec<(Record, Vec<u8>)>,
    pub(crate) decoder: Decoder,
}

impl Shots {
    pub(crate) fn read(capture: Vec<u8>) -> Self {
        let stream = Box::new(std::io::Cursor::new(capture));
        let mut source = Source::stream("test", stream, Limits::default()).unwrap();
        let (mut batch, mut decoder, mut records) = (Batch::default(), Decoder::new(), Vec::new());
        while source.read(&mut batch).unwrap() {
            decoder.learn(&batch);
            records.extend(batch.records().iter().map(|record| (*record, batch.bytes(record).to_vec())));
        }
        Self { records, decoder }
    }

    /// Frames of one link type, not cut.
    pub(crate) fn of(link: LinkType, frames: &[Vec<u8>]) -> Self {
        Self::read(pcap(link, frames.iter().map(|frame| (&frame[..], frame.len()))))
    }

    pub(crate) fn frame(&self, n: usize) -> Frame<'_> {
        let (record, bytes) = &self.records[n];
        self.decoder.decode(record, bytes)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Record, Frame<'_>)> {
        self.records.iter().map(|(record, bytes)| (record, self.decoder.decode(record, bytes)))
    }
}

/// Payload of the TCP segment in a frame, captured and as sent.
pub(crate) fn content<'a>(frame: &Frame<'a>) -> Option<(&'a [u8], usize)> {
    match frame.payload {
        Payload::Ip(ip) => match ip.transport() {
            Ok(Transport::Tcp(tcp)) => Some((tcp.payload(), tcp.payload_len())),
            _ => None,
        },
        _ => None,
    }
}

/// Names of a frame's anomalies.
pub(crate) fn odd(frame: &Frame<'_>) -> Vec<&'static str> {
    frame.anomalies.iter().map(|anomaly| anomaly.name()).collect()
}
