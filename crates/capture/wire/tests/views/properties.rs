//! Whatever the bytes are, they are read or refused, within what was captured.

use std::net::IpAddr;

use airperf_wire::{Fcs, Frame, LinkType, Payload, PlainTcp, Transport};
use proptest::prelude::*;

use crate::make::{
    DATA, FCS_AT_END, Shots, data, ethernet, flags, ipv4, ipv6, pcap, radiotap, segment, snap, tcp, udp,
    with_fcs,
};

const LINKS: [u16; 14] = [0, 1, 12, 14, 101, 105, 108, 113, 119, 127, 163, 228, 229, 276];

/// Touches everything that can be asked of a frame.
fn exhaust(shots: &Shots) {
    for (record, bytes) in &shots.records {
        let frame = shots.decoder.decode(record, bytes);
        assert!(frame.bytes.len() <= bytes.len() && frame.length <= record.original);
        let within = |part: &[u8]| part.is_empty() || bytes.as_ptr_range().contains(&part.as_ptr());
        assert!(within(frame.bytes));
        match frame.payload {
            Payload::Ip(ip) => packet(&ip, within),
            Payload::Amsdu(parts) => {
                for part in parts {
                    if let Payload::Ip(ip) = part {
                        packet(&ip, within);
                    }
                }
            }
            _ => {}
        }
        if let Some(plain) = PlainTcp::read(record, bytes) {
            same(&plain, bytes, &frame);
        }
        let _ = (frame.link.transmitter(), frame.link.receiver());
        let words = shots.decoder.describe(record, bytes).to_string();
        assert!(words.chars().all(|c| c == '\n' || !c.is_control()), "{words:?}");
    }
}

/// What is read in one step is what the decoder reads.
fn same(plain: &PlainTcp<'_>, bytes: &[u8], frame: &Frame<'_>) {
    let Payload::Ip(ip) = frame.payload else { panic!("{frame:?}") };
    let link = frame.link.transmitter().zip(frame.link.receiver());
    assert_eq!((plain.link, frame.fcs), (link, Fcs::Absent));
    assert!(frame.anomalies.is_empty() && frame.bytes.len() == bytes.len(), "{frame:?}");
    assert_eq!(
        (IpAddr::from(plain.source), IpAddr::from(plain.destination)),
        (ip.source(), ip.destination())
    );
    assert_eq!(
        (u32::from(plain.identification), plain.total_len as usize, None),
        (ip.identification(), ip.total_len(), ip.fragment())
    );
    assert_eq!(ip.transport(), Ok(Transport::Tcp(plain.tcp)));
    assert!(bytes.get(plain.at..).is_some_and(|rest| rest.starts_with(ip.payload())));
}

fn packet(ip: &airperf_wire::Ip<'_>, within: impl Fn(&[u8]) -> bool) {
    assert!(ip.payload().len() <= ip.payload_len() && within(ip.payload()) && within(ip.header()));
    assert!(ip.depth() <= 8 && ip.payload_len() <= ip.total_len());
    let _ = (ip.source(), ip.destination(), ip.identification(), ip.ttl(), ip.fragment());
    let _ = (ip.header_checksum_is_right(), ip.transport_checksum_is_right());
    match ip.transport() {
        Ok(Transport::Tcp(tcp)) => {
            assert!(tcp.payload().len() <= tcp.payload_len() && tcp.options().count() <= 20);
        }
        Ok(Transport::Udp(udp)) => assert!(udp.payload().len() <= udp.payload_len()),
        Ok(Transport::Other) | Err(_) => {}
    }
}

/// Good frames of each link type, to be damaged.
fn good() -> Vec<(LinkType, Vec<u8>)> {
    let packet = tcp(DATA);
    let chain =
        [&[60, 0, 1, 4, 0, 0, 0, 0, 44, 0, 1, 4, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 1][..], &segment(DATA)]
            .concat();
    let part =
        [&[1; 12][..], &(snap(0x0800, &packet).len() as u16).to_be_bytes(), &snap(0x0800, &packet)].concat();
    let aggregate = [&[0x88, 0, 0, 0][..], &[2; 18], &[0, 0, 0x80, 0], &part, &part].concat();
    let vxlan = [&[8, 0, 0, 0, 0, 0, 42, 0][..], &ethernet(0x0800, &packet)].concat();
    let mut radio = radiotap(&[
        (0, 8, &[1; 8]),
        (1, 1, &[FCS_AT_END]),
        (3, 2, &[0x85, 9, 0, 0]),
        (19, 1, &[0x3f, 5, 7]),
        (21, 2, &[0x45, 0, 4, 4, 0x91, 0, 0, 0, 0, 0, 0, 0]),
        (23, 2, &[0x20, 0x40, 6, 0, 0, 7, 0, 0, 0x40, 0, 1, 0]),
    ]);
    radio.extend(with_fcs(&data(&snap(0x0800, &packet))));
    let beacon = [&[0x80, 0, 0, 0][..], &[0xff; 6], &[2; 14], &[0; 12], &[0, 3, 27, 7, 65, 3, 1, 6]].concat();
    vec![
        (LinkType::ETHERNET, ethernet(0x8100, &[&[0, 5, 8, 0][..], &packet].concat())),
        (LinkType::ETHERNET, ethernet(0x0800, &ipv4(17, &udp(1, 4_789, &vxlan)))),
        (
            LinkType::ETHERNET,
            ethernet(0x0800, &ipv4(47, &[&[0x20, 0, 8, 0, 0, 0, 0, 1][..], &packet].concat())),
        ),
        (LinkType::ETHERNET, ethernet(0x0800, &[&packet[..], &[0; 9]].concat())),
        (LinkType::RAW, packet.clone()),
        (LinkType::RAW, ipv6(0, &chain)),
        (LinkType::IEEE802_11, with_fcs(&aggregate)),
        (LinkType::IEEE802_11, beacon),
        (LinkType::RADIOTAP, radio),
        (LinkType::RADIOTAP, [flags(0), data(&snap(0x0800, &packet))].concat()),
        (
            LinkType::PRISM,
            [&[0x44, 0, 0, 0, 48, 0, 0, 0][..], &[0; 40], &data(&snap(0x0800, &packet))].concat(),
        ),
        (LinkType::LINUX_SLL, [&[0; 14][..], &[0x81, 0, 0, 1, 8, 0], &packet].concat()),
        (LinkType::LINUX_SLL2, [&[8, 0][..], &[0; 18], &packet].concat()),
        (LinkType::NULL, [&[2, 0, 0, 0][..], &packet].concat()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fault_25_any_bytes_are_read_or_refused(
        link in prop::sample::select(&LINKS[..]),
        frames in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..200), 0usize..100), 1..8),
    ) {
        let frames = frames.iter().map(|(bytes, missing)| (&bytes[..], bytes.len() + missing));
        exhaust(&Shots::read(pcap(LinkType(link), frames)));
    }

    #[test]
    fn fault_25_damaged_frames_are_read_or_refused(
        which in 0usize..14, cut in 0usize..100,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let (link, mut frame) = good().swap_remove(which);
        let length = frame.len();
        for (place, value) in damage {
            frame[place.index(length)] = value;
        }
        exhaust(&Shots::read(pcap(link, [(&frame[..length - cut.min(length)], length), (&frame[..], length)])));
    }
}

#[test]
fn plain_frames_are_read_in_one_step() {
    let is_plain = |(link, frame): &(LinkType, Vec<u8>)| {
        let shots = Shots::of(*link, std::slice::from_ref(frame));
        let (record, bytes) = &shots.records[0];
        PlainTcp::read(record, bytes).is_some()
    };
    assert_eq!(good().iter().filter(|frame| is_plain(frame)).count(), 2);
}

#[test]
fn the_frames_to_be_damaged_are_good() {
    for (link, frame) in good() {
        let shots = Shots::of(link, &[frame]);
        exhaust(&shots);
        assert!(
            shots.frame(0).anomalies.iter().all(|a| a.name() == "atomic_fragment"),
            "{link:?} {:?}",
            shots.frame(0)
        );
    }
}
