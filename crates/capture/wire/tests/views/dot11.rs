//! Fault 26: the shapes of 802.11 frames.

use airperf_units::{Rate, Time};
use airperf_wire::{
    AirCapture, AirConfig, AirFrame, AirKind, Dot11, Dot11Kind, Fcs, Link, LinkType, Payload,
};

use crate::make::{A, B, C, D, DATA, Shots, content, data, odd, pcap, snap, tcp, with_fcs};

fn one(frame: Vec<u8>) -> Shots {
    Shots::of(LinkType::IEEE802_11, &[with_fcs(&frame)])
}

fn dot11(shots: &Shots) -> Dot11<'_> {
    match shots.frame(0).link {
        Link::Dot11(dot11) => dot11,
        other => panic!("{other:?}"),
    }
}

fn packet() -> Vec<u8> {
    snap(0x0800, &tcp(DATA))
}

#[test]
fn addresses_follow_the_direction() {
    let of = |bits: u8| {
        let fourth = if bits & 3 == 3 { &D[..] } else { &[] };
        one([&[8, bits, 0, 0][..], &A, &B, &C, &[0, 0], fourth, &packet()].concat())
    };
    let seen = |bits| {
        let shots = of(bits);
        assert_eq!(content(&shots.frame(0)), Some((DATA, DATA.len())), "bits {bits}");
        let view = dot11(&shots);
        assert_eq!((view.receiver(), view.transmitter()), (A, Some(B)));
        (view.destination().unwrap(), view.source().unwrap(), view.bssid())
    };
    assert_eq!(seen(0), (A, B, Some(C)));
    assert_eq!(seen(1), (C, B, Some(A)));
    assert_eq!(seen(2), (A, C, Some(B)));
    assert_eq!(seen(3), (C, D, None));
}

#[test]
fn fault_26_qos_ht_control_and_four_addresses_move_the_body() {
    for (bits, fourth, ht_control) in
        [(0, false, false), (3, true, false), (0x80, false, true), (0x83, true, true)]
    {
        let mut frame = [&[0x88, bits, 0, 0][..], &A, &B, &C, &[0x50, 1]].concat();
        if fourth {
            frame.extend(D);
        }
        frame.extend([6, 0]);
        if ht_control {
            frame.extend([1, 2, 3, 4]);
        }
        let shots = one([&frame[..], &packet()].concat());
        assert_eq!(content(&shots.frame(0)), Some((DATA, DATA.len())), "flags {bits:#x}");
        let view = dot11(&shots);
        assert_eq!((view.kind(), view.tid(), view.sequence()), (Dot11Kind::QosData, Some(6), Some(21)));
        assert_eq!(view.ht_control(), ht_control.then_some(0x0403_0201));
        assert!(view.expects_ack());
    }
}

#[test]
fn fault_26_aggregates_are_taken_apart() {
    let part = |inner: &[u8]| [&A[..], &B, &(inner.len() as u16).to_be_bytes(), inner].concat();
    let header = [&[0x88, 0, 0, 0][..], &A, &B, &C, &[0x50, 1, 0x80, 0]].concat();
    let mut body = part(&snap(0x0800, &tcp(b"first")));
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend(part(&snap(0x0806, &[0; 28])));
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend(part(&snap(0x0800, &tcp(b"last"))));
    let whole = with_fcs(&[&header[..], &body].concat());
    let sent = |shots: &Shots| -> Vec<_> {
        let Payload::Amsdu(parts) = shots.frame(0).payload else { panic!("no aggregate") };
        parts
            .map(|payload| match payload {
                Payload::Ip(ip) => ip.total_len(),
                Payload::Other(kind) => usize::from(kind),
                other => panic!("{other:?}"),
            })
            .collect()
    };
    let shots = Shots::of(LinkType::IEEE802_11, std::slice::from_ref(&whole));
    assert_eq!((sent(&shots), odd(&shots.frame(0))), (vec![45, 0x0806, 44], vec![]));
    let cut = Shots::read(pcap(LinkType::IEEE802_11, [(&whole[..whole.len() - 6], whole.len())]));
    assert_eq!(sent(&cut), [45, 0x0806, 44], "a part that was cut keeps its length");
    let broken = one([&header[..], &body[..body.len() - 3]].concat());
    assert_eq!((sent(&broken), odd(&broken.frame(0))), (vec![45, 0x0806], vec!["amsdu_malformed"]));
}

#[test]
fn fault_26_encrypted_bodies_are_not_read() {
    let mut frame = data(&packet());
    frame[1] = 0x40;
    let shots = one(frame);
    assert!(matches!(shots.frame(0).payload, Payload::Protected));
    assert_eq!((odd(&shots.frame(0)), dot11(&shots).sequence()), (vec![], Some(21)));
}

#[test]
fn fault_26_retries_and_fragments_are_told() {
    let mut frame = data(&packet());
    frame[1] = 8;
    assert!(dot11(&one(frame.clone())).retry());
    frame[22] = 0x51;
    let later = one(frame.clone());
    assert_eq!(dot11(&later).fragment(), Some(1));
    assert!(matches!(later.frame(0).payload, Payload::None));
    assert_eq!(odd(&later.frame(0)), ["dot11_fragment"]);
    frame[1] = 4;
    frame[22] = 0x50;
    frame.truncate(frame.len() - 5);
    let first = one(frame);
    assert_eq!(content(&first.frame(0)).unwrap().1, DATA.len(), "the length of the whole packet is known");
    assert_eq!(odd(&first.frame(0)), ["dot11_fragment"]);
}

#[test]
fn control_frames_tell_what_they_can() {
    let shots = one([&[0xd4, 0, 0, 0][..], &A].concat());
    assert_eq!((dot11(&shots).kind(), dot11(&shots).receiver()), (Dot11Kind::Ack, A));
    assert_eq!((dot11(&shots).transmitter(), dot11(&shots).sequence()), (None, None));
    let shots = one([&[0xb4, 0, 44, 1][..], &A, &B].concat());
    assert_eq!((dot11(&shots).transmitter(), dot11(&shots).duration_us()), (Some(B), Some(300)));
    let shots = one([&[0xa4, 0, 1, 0xc0][..], &A, &B].concat());
    assert_eq!((dot11(&shots).kind().name(), dot11(&shots).duration_us()), ("ps_poll", None));
    assert_eq!(dot11(&shots).bssid(), Some(A));
    assert!(matches!(shots.frame(0).payload, Payload::None));
}

#[test]
fn block_acknowledgements_tell_which_frames_came() {
    // Compressed, traffic class 5, from number 4094 on: 4094, 1 and 9 came.
    let body = [4, 0x50, 0xe0, 0xff, 0b1001, 0b1000, 0, 0, 0, 0, 0, 0];
    let shots = one([&[0x94, 0, 0, 0][..], &A, &B, &body].concat());
    let block = dot11(&shots).block_ack().unwrap();
    assert_eq!((block.tid, block.start, block.compressed, block.bitmap.len()), (5, 4_094, true, 8));
    let came: Vec<u16> = (0..4_096).filter(|n| block.received(*n) == Some(true)).collect();
    assert_eq!(came, [1, 9, 4_094]);
    assert_eq!(block.received(62), None, "past the bitmap");
    let request = one([&[0x84, 0, 0, 0][..], &A, &B, &body[..4]].concat());
    assert_eq!(dot11(&request).block_ack().map(|b| (b.start, b.bitmap.len())), Some((4_094, 0)));
    let mut basic = [&[0x94, 0, 0, 0][..], &A, &B, &[0, 0, 0x20, 0]].concat();
    basic.extend([1, 0, 0, 0, 0, 0x80]);
    basic.resize(basic.len() + 122, 0);
    let basic = one(basic);
    let block = dot11(&basic).block_ack().unwrap();
    assert_eq!([2, 3, 4, 5].map(|n| block.received(n)), [Some(true), Some(false), Some(true), Some(false)]);
}

#[test]
fn management_frames_name_the_network() {
    let header = |first: u8| [&[first, 0, 0, 0][..], &[0xff; 6], &A, &A, &[0x50, 1]].concat();
    let elements = [&[0, 3][..], b"a\x1bb", &[1, 1, 0x82, 3, 1, 11]].concat();
    let beacon = one([&header(0x80)[..], &[0; 12], &elements].concat());
    assert_eq!((dot11(&beacon).ssid(), dot11(&beacon).channel()), (Some(&b"a\x1bb"[..]), Some(11)));
    assert!(dot11(&beacon).is_group() && !dot11(&beacon).expects_ack());
    assert_eq!(dot11(&one([&header(0x40)[..], &elements].concat())).ssid(), Some(&b"a\x1bb"[..]));
    assert_eq!(dot11(&one([&header(0)[..], &[0; 4], &elements].concat())).ssid(), Some(&b"a\x1bb"[..]));
    let past = one([&header(0x80)[..], &[0; 12], &[0, 200, 1]].concat());
    assert_eq!(dot11(&past).ssid(), None);
    let long = one([&header(0x80)[..], &[0; 12], &[0, 33], &[b'x'; 33]].concat());
    assert_eq!(dot11(&long).ssid(), None, "a name of more than 32 octets is none");
}

#[test]
fn frames_that_are_none_are_counted_unless_they_are_noise() {
    let of = |frame: Vec<u8>| {
        // The second frame shows that frames end in a check sequence.
        let good = with_fcs(&data(&packet()));
        let shots = Shots::of(LinkType::IEEE802_11, &[frame, good]);
        (shots.frame(0).fcs, odd(&shots.frame(0)))
    };
    assert_eq!(of(with_fcs(&[9; 30])), (Fcs::Good, vec!["dot11_malformed"]));
    assert_eq!(of(with_fcs(&data(&[])[..23])), (Fcs::Good, vec!["dot11_malformed"]));
    assert_eq!(of(vec![9; 30]), (Fcs::Bad, vec![]));
}

#[test]
fn captures_written_here_are_read_without_a_complaint() {
    let mut capture = AirCapture::new(Vec::new(), AirConfig::dsss(), 0, []).unwrap();
    let packet = tcp(DATA);
    let kinds = [
        (AirKind::Beacon, None, "beacon"),
        (AirKind::Rts, Some(0), "rts"),
        (AirKind::Cts, Some(0), "cts"),
        (AirKind::Data(&packet), Some(0), "data"),
        (AirKind::Ack, Some(0), "ack"),
    ];
    for (n, (kind, to, _)) in kinds.iter().enumerate() {
        let rate = if n == 3 { Rate::mbps(11) } else { Rate::mbps(1) };
        let start = Time::from_ns(n as u64 * 1_000_000);
        let (kind, to) = (*kind, *to);
        let frame = AirFrame {
            start,
            rate,
            from: 1,
            to,
            kind,
            sequence: 5,
            attempt: 2,
            bad_fcs: false,
            reserves: None,
        };
        capture.frame(&frame).unwrap();
    }
    let shots = Shots::read(capture.into_inner());
    for ((_, frame), (.., name)) in shots.iter().zip(kinds) {
        let Link::Dot11(dot11) = frame.link else { panic!("{frame:?}") };
        assert_eq!((dot11.kind().name(), frame.fcs, odd(&frame)), (name, Fcs::Good, vec![]));
    }
    let data = shots.frame(3);
    assert_eq!(content(&data), Some((DATA, DATA.len())));
    // 24 octets of header, 8 of LLC and SNAP, 58 of packet, 4 of check sequence at 11 Mbit/s.
    assert_eq!(data.airtime.map(|a| (a.preamble_ns, a.body_ns)), Some((192_000, 69_000)));
    assert_eq!((data.radio.data_retries, data.radio.frequency_mhz), (Some(1), Some(2_437)));
    assert_eq!(shots.frame(4).airtime.map(|a| a.total_ns()), Some(192_000 + 14 * 8_000));
}
