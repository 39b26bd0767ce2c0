//! Anonymised captures beside what they were: what must be gone is gone, what must stay is the same.

use super::*;
use crate::container::{Limits, Source};
use crate::view::frame::Payload as Carried;
use crate::view::ip::Transport;
use crate::{AirCapture, AirConfig, AirFrame, AirKind, EtherCapture, Flags, TcpOptions, TcpPacket};
use airperf_units::{Rate, StreamKey, Time};
use std::net::Ipv4Addr;

const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 77);
const CLIENT: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 99);
const REQUEST: &[u8] = b"GET /secret/ann HTTP/1.1\r\nHost: ann.example\r\nContent-Length: 4\r\n\r\nann!";

fn options(payload: Payload) -> AnonymizeOptions {
    AnonymizeOptions { key: Key::from_secret(b"test"), payload }
}

fn source(bytes: &[u8]) -> Source {
    Source::stream("test", Box::new(io::Cursor::new(bytes.to_vec())), Limits::default()).unwrap()
}

fn run(bytes: &[u8], payload: Payload) -> (Vec<u8>, AnonymizeReport) {
    let mut out = Vec::new();
    let report = anonymize(source(bytes), &mut out, &options(payload)).unwrap();
    (out, report)
}

fn packet(up: bool, seq: u32, flags: Flags, payload: &[u8]) -> Vec<u8> {
    let (source, destination) = if up { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
    let ports = if up { (40_000, 80) } else { (80, 40_000) };
    let mut bytes = Vec::new();
    let packet = TcpPacket {
        source,
        destination,
        source_port: ports.0,
        destination_port: ports.1,
        seq,
        ack: 9,
        flags,
        window: 5840,
        options: TcpOptions { timestamps: Some((7, 8)), mss: Some(1460), ..TcpOptions::default() },
        identification: 5,
        ttl: 64,
    };
    packet.write(payload, &mut bytes);
    bytes
}

fn packets() -> Vec<(bool, Vec<u8>)> {
    let ack = Flags::ACK;
    vec![
        (true, packet(true, 1, Flags::SYN, b"")),
        (false, packet(false, 5, Flags::SYN.with(ack), b"")),
        (true, packet(true, 2, ack, REQUEST)),
        (true, packet(true, 2, ack, REQUEST)),
        (false, packet(false, 6, ack, b"HTTP/1.1 200 OK\r\n\r\nsecret")),
        (true, packet(true, 60, ack.with(Flags::FIN), b"")),
    ]
}

fn wired() -> Vec<u8> {
    let mut capture = EtherCapture::new(Vec::new(), 0, [(SERVER, "server")]).unwrap();
    for (n, (up, packet)) in packets().iter().enumerate() {
        let (from, to) = (u16::from(*up), Some(u16::from(!*up)));
        capture.frame(Time::from_ns(n as u64 * 1_000_003), from, to, packet).unwrap();
    }
    capture.into_inner()
}

/// Beacon, then each packet and its acknowledgement; the third packet is heard badly before it is heard well.
fn air() -> Vec<u8> {
    let mut capture = AirCapture::new(Vec::new(), AirConfig::dsss(), 0, [(SERVER, "server")]).unwrap();
    let mut at = 1_000;
    let mut put = |from, to, kind: AirKind<'_>, sequence, bad_fcs| {
        at += 1_000_000;
        let (start, rate) = (Time::from_ns(at), Rate::mbps(1));
        let frame = AirFrame { start, rate, from, to, kind, sequence, attempt: 1, bad_fcs, reserves: None };
        capture.frame(&frame).unwrap();
    };
    put(0, None, AirKind::Beacon, 0, false);
    for (n, (up, packet)) in packets().iter().enumerate() {
        let (from, to) = (u16::from(*up), u16::from(!*up));
        if n == 2 {
            put(from, Some(to), AirKind::Data(packet), n as u16, true);
        }
        put(from, Some(to), AirKind::Data(packet), n as u16, false);
        put(to, Some(from), AirKind::Ack, 0, false);
    }
    capture.into_inner()
}

/// What an analysis sees of each record, addresses left out.
fn seen(bytes: &[u8]) -> Vec<String> {
    let (mut source, mut batch, mut decoder) = (source(bytes), Batch::default(), Decoder::new());
    let mut seen = Vec::new();
    while source.read(&mut batch).unwrap() {
        decoder.learn(&batch);
        for record in batch.records() {
            let frame = decoder.decode(record, batch.bytes(record));
            let mut line =
                format!("{} {} {} {:?}", record.number, record.time_ns, record.original, record.link);
            let bad = frame.fcs == Fcs::Bad;
            if let Link::Dot11(dot11) = frame.link {
                line += &format!(" {:?} {:?} {bad}", dot11.kind(), dot11.sequence());
            }
            if let Carried::Ip(ip) = frame.payload
                && let Ok(Transport::Tcp(tcp)) = ip.transport()
            {
                line += &format!(" {} {} {:?}", ip.total_len(), ip.identification(), tcp.flags());
                line += &format!(" {} {} {}", tcp.seq(), tcp.payload_len(), tcp.source_port());
                line +=
                    &format!(" {:?} {:?}", ip.header_checksum_is_right(), tcp.options().collect::<Vec<_>>());
            }
            seen.push(line);
        }
    }
    seen
}

fn holds(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}

#[test]
fn connections_look_the_same_and_nobody_can_be_recognised() {
    for (name, capture) in [("wired", wired()), ("air", air())] {
        for payload in [Payload::Strip, Payload::Headers, Payload::Keep] {
            let (out, report) = run(&capture, payload);
            assert_eq!(seen(&out), seen(&capture), "{name} {payload:?}");
            assert_eq!((report.unknown, report.before_1970, &report.damage), (0, 0, &None));
            for address in [SERVER, CLIENT] {
                assert!(!holds(&out, &address.octets()), "{name} {payload:?}: {address}");
            }
            assert!(!holds(&out, b"server") && !holds(&out, b"airperf\x01"), "names of hosts and networks");
            for station in [0, 1] {
                assert!(!holds(&out, &crate::station_mac(station)), "{name} {payload:?}: {station}");
            }
            assert_eq!(holds(&out, b"secret"), payload == Payload::Keep, "{name} {payload:?}");
            assert_eq!(holds(&out, b"Content-Length: 4\r\n\r\n"), payload != Payload::Strip);
            assert_eq!(run(&capture, payload).0, out, "the same key gives the same bytes");
        }
    }
}

#[test]
fn another_key_gives_another_mapping() {
    let other = AnonymizeOptions { key: Key::random().unwrap(), payload: Payload::Strip };
    let mut out = Vec::new();
    anonymize(source(&wired()), &mut out, &other).unwrap();
    assert_ne!(out, run(&wired(), Payload::Strip).0);
    assert_eq!(seen(&out), seen(&wired()));
}

/// The frame of a capture with one Ethernet frame, before and after.
fn one(link: u16, frame: &[u8], payload: Payload) -> (Vec<u8>, AnonymizeReport) {
    let mut writer = Writer::new(Vec::new(), "test", 0).unwrap();
    let id = writer.captured_interface(LinkType(link), "eth0", 0, None).unwrap();
    writer.captured(id, 1, frame, frame.len() as u32, Notes::default()).unwrap();
    let (out, report) = run(&writer.into_inner(), payload);
    let (mut source, mut batch) = (source(&out), Batch::default());
    source.read(&mut batch).unwrap();
    let record = batch.records()[0];
    assert_eq!(record.original as usize, frame.len());
    (batch.bytes(&record).to_vec(), report)
}

#[test]
fn checksums_that_were_right_are_right_and_wrong_ones_wrong() {
    let good = packet(true, 1, Flags::ACK, REQUEST);
    let right = |frame: &[u8], flip: usize| {
        let mut frame = frame.to_vec();
        if flip > 0 {
            frame[flip] ^= 0x40;
        }
        let (kept, _) = one(101, &frame, Payload::Keep);
        let ip = crate::Ip::parse(&kept, 0, &mut Default::default()).unwrap();
        (ip.header_checksum_is_right(), ip.transport_checksum_is_right())
    };
    assert_eq!(right(&good, 0), (Some(true), Some(true)));
    assert_eq!(right(&good, 10), (Some(false), Some(true)));
    assert_eq!(right(&good, 36), (Some(true), Some(false)));
    // A checksum that the card was to compute: the sum over the pseudo header, which tells the addresses.
    let mut offloaded = good.clone();
    offloaded[36..38].copy_from_slice(&0x1234_u16.to_be_bytes());
    let mut other = offloaded.clone();
    other[36..38].copy_from_slice(&0x4321_u16.to_be_bytes());
    assert_eq!(one(101, &offloaded, Payload::Keep).0, one(101, &other, Payload::Keep).0);
    assert_eq!(right(&offloaded, 0).1, Some(false));
}

#[test]
fn stripped_records_end_behind_the_transport_header() {
    let frame = packet(true, 1, Flags::ACK, REQUEST);
    let (kept, report) = one(101, &frame, Payload::Strip);
    assert_eq!(kept.len(), frame.len() - REQUEST.len());
    assert_eq!((report.bytes_before, report.bytes_after), (frame.len() as u64, kept.len() as u64));
    let (kept, _) = one(101, &frame, Payload::Headers);
    assert_eq!(kept.len(), frame.len() - 4, "the head of the request stays, its body goes");
}

#[test]
fn names_in_dns_and_addresses_in_arp_and_icmp_do_not_stay() {
    let ethernet = |kind: [u8; 2], body: &[u8]| {
        let header = [2, 9, 9, 9, 9, 1, 2, 9, 9, 9, 9, 2];
        [&header[..], &kind, body].concat()
    };
    let ip = |protocol: u8, body: &[u8]| {
        let mut packet = packet(true, 0, Flags::ACK, b"")[..20].to_vec();
        packet[9] = protocol;
        packet[2..4].copy_from_slice(&(20 + body.len() as u16).to_be_bytes());
        packet.extend_from_slice(body);
        packet
    };
    let mac = [2, 9, 9, 9, 9, 2];
    let arp = [&[0, 1, 8, 0, 6, 4, 0, 1][..], &mac, &CLIENT.octets(), &[0; 6], &SERVER.octets()].concat();
    let quoted = packet(false, 1, Flags::ACK, b"");
    let icmp = [&[3, 1, 0, 0, 0, 0, 0, 0][..], &quoted[..28]].concat();
    let redirect = [&[5, 1, 0, 0][..], &SERVER.octets(), &quoted[..28]].concat();
    let dns = [&[0x9c, 0x40, 0, 53, 0, 20, 0, 0][..], b"ann.example."].concat();
    let cases = [
        (ethernet([8, 6], &arp), 14 + 28),
        (ethernet([8, 0], &ip(1, &icmp)), 14 + 20 + 36),
        (ethernet([8, 0], &ip(1, &redirect)), 14 + 20 + 36),
        (ethernet([8, 0], &ip(17, &dns)), 14 + 28),
        (ethernet([0x81, 0], &[&[0, 5, 8, 0][..], &ip(17, &dns)].concat()), 18 + 28),
        (ethernet([0x88, 0x64], &[&[0x11, 0, 0, 1, 0, 50, 0, 0x21][..], &ip(17, &dns)].concat()), 22 + 28),
    ];
    for (frame, length) in cases {
        let (kept, report) = one(1, &frame, Payload::Keep);
        assert_eq!((kept.len(), report.unknown), (length, 0), "{frame:x?}");
        for secret in [&CLIENT.octets()[..], &SERVER.octets(), b"example", &mac] {
            assert!(!holds(&kept, secret), "{kept:x?}");
        }
    }
}

#[test]
fn addresses_in_neighbour_discovery_do_not_stay() {
    let host = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9];
    let group = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 9, 9, 9];
    let mac = [2, 9, 9, 9, 9, 2];
    let body = [&[135, 0, 0, 0, 0, 0, 0, 0][..], &host, &[1, 1], &mac].concat();
    let mut frame = [&[0x60, 0, 0, 0, 0, 32, 58, 255][..], &host, &group, &body].concat();
    let sum = crate::view::checksum::pseudo_header(host, group, 58, 32);
    let right = crate::checksum(sum, &frame[40..]);
    frame[42..44].copy_from_slice(&right.to_be_bytes());
    let (kept, report) = one(101, &frame, Payload::Strip);
    assert_eq!((kept.len(), report.unknown), (72, 0));
    assert!(!holds(&kept, &[9, 9, 9]), "{kept:x?}");
    let (source, destination) = (&kept[8..24], &kept[24..40]);
    assert_eq!(source, &kept[48..64], "the same host is the same everywhere");
    let address = |octets: &[u8]| <[u8; 16]>::try_from(octets).unwrap();
    let sum = crate::view::checksum::pseudo_header(address(source), address(destination), 58, 32);
    assert_eq!(crate::checksum(sum, &kept[40..]), 0);
}

#[test]
fn unknown_protocols_and_fragments_are_handled_without_their_contents() {
    let mut frame = packet(true, 1, Flags::ACK, REQUEST);
    frame[9] = 132;
    let (kept, report) = one(101, &frame, Payload::Keep);
    assert_eq!((kept.len(), report.unknown), (20, 1));
    let (kept, report) = one(147, b"private", Payload::Keep);
    assert_eq!((kept.len(), report.unknown), (0, 1));

    for position in [0x2000_u16, 0x0010] {
        let mut fragment = packet(true, 1, Flags::ACK, REQUEST);
        fragment[6..8].copy_from_slice(&position.to_be_bytes());
        let (kept, _) = one(101, &fragment, Payload::Strip);
        assert_eq!(kept.len(), fragment.len(), "it can still be put together");
        assert!(!holds(&kept, b"secret"));
    }
}

#[test]
fn damaged_frames_of_every_link_type_end_no_run_and_show_no_address() {
    let mut draws = StreamKey::new(11).stream("anonymize");
    let frames: Vec<(u16, Vec<u8>)> = {
        let (mut source, mut batch) = (source(&air()), Batch::default());
        source.read(&mut batch).unwrap();
        let air = batch.records().iter().map(|r| (127, batch.bytes(r).to_vec()));
        air.chain([(1, wired_frame()), (101, packet(true, 1, Flags::ACK, REQUEST))]).collect()
    };
    let mut scrub = Scrub::new(&options(Payload::Headers));
    for _ in 0..40_000 {
        let (link, mut bytes) = frames[draws.up_to(frames.len() as u32 - 1) as usize].clone();
        for _ in 0..draws.up_to(4) {
            let at = draws.up_to(bytes.len() as u32 - 1) as usize;
            bytes[at] = draws.up_to(255) as u8;
        }
        bytes.truncate(draws.up_to(bytes.len() as u32) as usize);
        let links = [link, 0, 1, 101, 105, 108, 113, 119, 127, 163, 228, 276];
        let link = LinkType(links[draws.up_to(24).min(11) as usize]);
        let kept = scrub.record(&Decoder::new(), &record(link, bytes.len()), &mut bytes);
        assert!(kept <= bytes.len());
    }
}

#[test]
fn headers_cut_anywhere_show_no_part_of_an_address() {
    let (mut source, mut batch) = (source(&air()), Batch::default());
    source.read(&mut batch).unwrap();
    let mut frames: Vec<_> =
        batch.records().iter().map(|r| (LinkType(127), batch.bytes(r).to_vec())).collect();
    frames.push((LinkType::ETHERNET, wired_frame()));
    let mut scrub = Scrub::new(&options(Payload::Strip));
    for (link, whole) in frames {
        for cut in 0..whole.len() {
            let mut bytes = whole[..cut].to_vec();
            let kept =
                scrub.record(&Decoder::new(), &Record { original: 2_000, ..record(link, cut) }, &mut bytes);
            // Three octets of each station's address, and the network's part of the hosts'.
            for secret in [[0x41, 0x50, 0], [192, 0, 2]] {
                assert!(!holds(&bytes[..kept], &secret), "{link:?} cut at {cut}");
            }
        }
    }
}

fn wired_frame() -> Vec<u8> {
    let (mut source, mut batch) = (source(&wired()), Batch::default());
    source.read(&mut batch).unwrap();
    batch.bytes(&batch.records()[2]).to_vec()
}

fn record(link: LinkType, length: usize) -> Record {
    Record {
        number: 1,
        time_ns: 0,
        place: 0,
        interface: 0,
        link,
        fcs_octets: None,
        captured: length as u32,
        original: length as u32,
        at: 0,
    }
}
