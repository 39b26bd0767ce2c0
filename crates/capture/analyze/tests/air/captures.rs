//! Writes captures with 802.11 frames: radiotap or bare, with and without check sequence.

use std::io::Cursor;
use std::net::Ipv4Addr;
use std::ops::ControlFlow;

use airperf_analyze::capture::{Options, Summary, TableSet, analyze};
use airperf_wire::container::{Limits, Source};
use airperf_wire::{Flags, LinkType, Mac, TcpOptions, TcpPacket, fcs, station_mac};

pub(crate) const SERVER: u16 = 0;
pub(crate) const CLIENT: u16 = 1;
pub(crate) const MS: i64 = 1_000_000;

/// A frame to be captured.
#[derive(Clone, Debug)]
pub(crate) struct Shot {
    pub(crate) at: i64,
    /// From frame control on, without check sequence.
    pub(crate) frame: Vec<u8>,
    /// What is wrong with its check sequence: nothing, or these bits.
    pub(crate) flip: u8,
    /// Rate in 500 kbit/s.
    pub(crate) rate: u8,
}

pub(crate) fn address(station: u16) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, 1 + station as u8)
}

/// A TCP packet from `from` on the one connection there is.
pub(crate) fn packet(from: u16, flags: Flags, seq: u32, ack: u32, payload: &[u8]) -> Vec<u8> {
    let (port, peer_port) = if from == SERVER { (80, 40_000) } else { (40_000, 80) };
    let packet = TcpPacket {
        source: address(from),
        destination: address(1 - from),
        source_port: port,
        destination_port: peer_port,
        seq: 1_000 + seq,
        ack: if flags.has(Flags::ACK) { 1_000 + ack } else { 0 },
        flags,
        window: 5_840,
        options: TcpOptions::default(),
        identification: seq as u16 + 1,
        ttl: 64,
    };
    let mut bytes = Vec::new();
    packet.write(payload, &mut bytes);
    bytes
}

fn header(control: [u8; 2], to: Mac, from: Mac, number: u16) -> Vec<u8> {
    let mut frame = vec![control[0], control[1], 0, 0];
    frame.extend(to);
    frame.extend(from);
    frame.extend(airperf_wire::IBSS);
    frame.extend((number << 4).to_le_bytes());
    frame
}

const LLC_IPV4: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

/// A data frame of `from` that carries `packet`.
pub(crate) fn data(at: i64, from: u16, number: u16, retry: bool, packet: &[u8]) -> Shot {
    let control = [0x08, if retry { 0x08 } else { 0 }];
    let mut frame = header(control, station_mac(1 - from), station_mac(from), number);
    frame.extend(LLC_IPV4);
    frame.extend_from_slice(packet);
    Shot { at, frame, flip: 0, rate: 22 }
}

/// A QoS data frame whose body is an A-MSDU of these packets.
pub(crate) fn amsdu(at: i64, from: u16, number: u16, packets: &[Vec<u8>]) -> Shot {
    let mut frame = header([0x88, 0], station_mac(1 - from), station_mac(from), number);
    frame.extend([0x80, 0]);
    for packet in packets {
        while !(frame.len() - 26).is_multiple_of(4) {
            frame.push(0);
        }
        frame.extend(station_mac(1 - from));
        frame.extend(station_mac(from));
        frame.extend((packet.len() as u16 + 8).to_be_bytes());
        frame.extend(LLC_IPV4);
        frame.extend_from_slice(packet);
    }
    Shot { at, frame, flip: 0, rate: 22 }
}

/// The same encrypted, as far as anybody can tell.
pub(crate) fn protected(mut shot: Shot) -> Shot {
    shot.frame[1] |= 0x40;
    shot.frame[24..].iter_mut().for_each(|octet| *octet ^= 0xa5);
    shot
}

/// An ACK to `to`.
pub(crate) fn ack(at: i64, to: u16) -> Shot {
    let mut frame = vec![0xd4, 0, 0, 0];
    frame.extend(station_mac(to));
    Shot { at, frame, flip: 0, rate: 2 }
}

/// How frames are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Radiotap that tells of a check sequence.
    Radiotap,
    /// Radiotap whose flags say that there is none.
    RadiotapWithoutFcs,
    /// No header before the frame, with a check sequence.
    Bare,
    /// Neither.
    BareWithoutFcs,
}

fn record(shot: &Shot, form: Form) -> Vec<u8> {
    let mut bytes = Vec::new();
    let with_fcs = matches!(form, Form::Radiotap | Form::Bare);
    if matches!(form, Form::Radiotap | Form::RadiotapWithoutFcs) {
        // Flags, rate, channel 6 of the 2.4 GHz band (CCK).
        bytes.extend([0, 0, 14, 0, 0x0e, 0, 0, 0, if with_fcs { 0x10 } else { 0 }, shot.rate]);
        bytes.extend(2_437u16.to_le_bytes());
        bytes.extend(0x00a0u16.to_le_bytes());
    }
    bytes.extend_from_slice(&shot.frame);
    if with_fcs {
        bytes.extend(fcs(&[&shot.frame]).map(|octet| octet ^ shot.flip));
    }
    bytes
}

/// A classic capture (nanoseconds) of these records.
pub(crate) fn pcap(link: LinkType, records: impl IntoIterator<Item = (i64, Vec<u8>)>) -> Source {
    let mut file = Vec::new();
    for word in [0xa1b2_3c4du32, 0x0004_0002, 0, 0, 262_144, u32::from(link.0)] {
        file.extend(word.to_le_bytes());
    }
    for (at, bytes) in records {
        let length = bytes.len() as u32;
        for word in [(at / 1_000_000_000) as u32, (at % 1_000_000_000) as u32, length, length] {
            file.extend(word.to_le_bytes());
        }
        file.extend(bytes);
    }
    Source::stream("test", Box::new(Cursor::new(file)), Limits::default()).unwrap()
}

pub(crate) fn source(shots: &[Shot], form: Form) -> Source {
    let link = match form {
        Form::Radiotap | Form::RadiotapWithoutFcs => LinkType::RADIOTAP,
        Form::Bare | Form::BareWithoutFcs => LinkType::IEEE802_11,
    };
    pcap(link, shots.iter().map(|shot| (shot.at, record(shot, form))))
}

pub(crate) fn summary_with(source: Source, tables: Option<&mut TableSet>, threads: usize) -> Summary {
    let options = Options { threads, ..Options::default() };
    analyze(vec![source], &options, tables, &mut |_, _| ControlFlow::Continue(())).unwrap()
}

pub(crate) fn summary(shots: &[Shot], form: Form) -> Summary {
    summary_with(source(shots, form), None, 1)
}

/// A connection that fetches 2,000 octets and closes; every frame is acknowledged.
pub(crate) fn fetch() -> Vec<Shot> {
    let get = b"GET /1 HTTP/1.1\r\nHost: server\r\n\r\n";
    let mut response = b"HTTP/1.1 200 OK\r\nContent-Length: 1962\r\n\r\n".to_vec();
    response.resize(response.len() + 1_962, b'x');
    let (first, second) = response.split_at(1_448);
    let (asked, half, whole) = (1 + get.len() as u32, 1_449, 1 + response.len() as u32);
    let syn_ack = Flags::SYN.with(Flags::ACK);
    let fin = Flags::FIN.with(Flags::ACK);
    let packets = [
        (CLIENT, packet(CLIENT, Flags::SYN, 0, 0, &[])),
        (SERVER, packet(SERVER, syn_ack, 0, 1, &[])),
        (CLIENT, packet(CLIENT, Flags::ACK, 1, 1, &[])),
        (CLIENT, packet(CLIENT, Flags::ACK, 1, 1, get)),
        (SERVER, packet(SERVER, Flags::ACK, 1, asked, first)),
        (SERVER, packet(SERVER, Flags::ACK, half, asked, second)),
        (CLIENT, packet(CLIENT, Flags::ACK, asked, whole, &[])),
        (CLIENT, packet(CLIENT, fin, asked, whole, &[])),
        (SERVER, packet(SERVER, fin, whole, asked + 1, &[])),
        (CLIENT, packet(CLIENT, Flags::ACK, asked + 1, whole + 1, &[])),
    ];
    let mut shots = Vec::new();
    let mut at = MS;
    for (number, (from, packet)) in (0..).zip(&packets) {
        shots.push(data(at, *from, number, false, packet));
        let octets = packet.len() as u64 + 36;
        let end = at + 192_000 + (octets * 8).div_ceil(11) as i64 * 1_000;
        shots.push(ack(end + 10_000, *from));
        at = end + 3 * MS;
    }
    shots
}
