//! Faults 23, 28 and 30, and 17 at the level of frames: lengths and checksums that hosts and cards make wrong.

use airperf_wire::{Anomalies, Ip, LinkType, Payload, Transport};

use crate::make::{DATA, Shots, content, ethernet, ipv6, odd, pcap, segment, tcp, udp};

#[test]
fn fault_23_empty_frames_and_runts_are_counted() {
    let shots = Shots::of(LinkType::ETHERNET, &[vec![], vec![1; 13], ethernet(0x0800, &[])]);
    let names: Vec<_> = shots.iter().map(|(_, frame)| odd(&frame)).collect();
    assert_eq!(names, [vec!["empty_frame"], vec!["runt"], vec!["ip_malformed"]]);
    assert_eq!(odd(&Shots::of(LinkType::RADIOTAP, &[vec![]]).frame(0)), ["empty_frame"]);
    assert_eq!(odd(&Shots::of(LinkType::IEEE802_11, &[vec![8]]).frame(0)), ["dot11_malformed"]);
    assert_eq!(odd(&Shots::of(LinkType::LINUX_SLL, &[vec![0; 15]]).frame(0)), ["runt"]);
}

#[test]
fn fault_23_jumbo_frames_and_merged_segments_are_told_apart() {
    let of = |octets| ethernet(0x0800, &tcp(&vec![7; octets]));
    let mut unknown = of(20_000);
    unknown[16..18].fill(0);
    let mut six = ethernet(0x86dd, &ipv6(6, &segment(&[7; 20_000])));
    six[18..20].fill(0);
    let shots = Shots::of(LinkType::ETHERNET, &[of(1_460), of(1_461), of(8_960), of(64_000), unknown, six]);
    let names: Vec<_> = shots.iter().map(|(_, frame)| odd(&frame)).collect();
    assert_eq!(
        names,
        [vec![], vec!["jumbo"], vec!["jumbo"], vec!["offload"], vec!["offload"], vec!["offload"]]
    );
    for (n, octets) in [1_460, 1_461, 8_960, 64_000, 20_000, 20_000].into_iter().enumerate() {
        assert_eq!(content(&shots.frame(n)).unwrap().1, octets, "frame {n}");
    }
}

#[test]
fn fault_17_a_cut_packet_counts_as_long_as_it_was_sent() {
    let frame = ethernet(0x0800, &tcp(&[7; 1_000]));
    let mut merged = frame.clone();
    merged[16..18].fill(0);
    let cuts = [(&frame[..68], frame.len()), (&merged[..68], frame.len()), (&frame[..40], frame.len())];
    let shots = Shots::read(pcap(LinkType::ETHERNET, cuts));
    assert_eq!(content(&shots.frame(0)), Some((&[7; 14][..], 1_000)));
    assert!(shots.frame(0).anomalies.is_empty());
    assert_eq!(content(&shots.frame(1)).unwrap().1, 1_000, "where only the record tells how long it was");
    let Payload::Ip(ip) = shots.frame(2).payload else { panic!("the IP header is whole") };
    assert_eq!(ip.transport().unwrap_err().anomaly().name(), "cut_header");
    let shots = Shots::read(pcap(LinkType::ETHERNET, [(&frame[..30], frame.len())]));
    assert_eq!(odd(&shots.frame(0)), ["cut_header"], "not malformed: cut");
}

#[test]
fn a_packet_longer_than_its_frame_is_counted_and_its_length_believed() {
    let frame = ethernet(0x0800, &tcp(&[7; 1_000]));
    let shots = Shots::of(LinkType::ETHERNET, &[frame[..200].to_vec()]);
    assert_eq!(odd(&shots.frame(0)), ["ip_longer_than_frame"]);
    assert_eq!(content(&shots.frame(0)).unwrap().1, 1_000);
}

#[test]
fn fault_28_ipv4_options_are_passed_over() {
    let segment = segment(DATA);
    for options in [&[7, 7, 4, 0, 0, 0, 0, 0][..], &[148, 4, 0, 0], &[5, 0, 0, 0], &[1; 40]] {
        let words = 5 + options.len() / 4;
        let total = (words * 4 + segment.len()) as u16;
        let mut packet = vec![0x40 | words as u8, 0];
        packet.extend(total.to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        packet.extend(options);
        packet.extend(&segment);
        let shots = Shots::of(LinkType::RAW, &[packet]);
        assert_eq!(content(&shots.frame(0)), Some((DATA, DATA.len())), "{options:?}");
    }
}

#[test]
fn fault_30_checksums_can_be_verified_and_are_not_unless_asked() {
    let mut wrong = tcp(DATA);
    wrong[36] ^= 0xff;
    let mut header = tcp(DATA);
    header[11] ^= 1;
    let datagram = crate::make::ipv4(17, &udp(1, 2, b"no checksum"));
    let shots = Shots::of(LinkType::RAW, &[tcp(DATA), wrong, header, datagram]);
    let ips: Vec<_> = shots
        .iter()
        .map(|(_, frame)| match frame.payload {
            Payload::Ip(ip) => ip,
            _ => panic!("{frame:?}"),
        })
        .collect();
    let checks = |n: usize| (ips[n].header_checksum_is_right(), ips[n].transport_checksum_is_right());
    assert_eq!(checks(0), (Some(true), Some(true)));
    assert_eq!(checks(1), (Some(true), Some(false)));
    assert_eq!(checks(2), (Some(false), Some(true)));
    assert_eq!(checks(3), (Some(true), Some(true)), "UDP over IPv4 may go without");
    assert!(matches!(ips[1].transport(), Ok(Transport::Tcp(_))), "a wrong checksum is accepted");
    let cut = tcp(&[7; 100]);
    let shots = Shots::read(pcap(LinkType::RAW, [(&cut[..90], cut.len())]));
    let Payload::Ip(ip) = shots.frame(0).payload else { panic!("cut") };
    assert_eq!(ip.transport_checksum_is_right(), None, "nobody can tell");
}

#[test]
fn packets_put_together_from_fragments_are_read_like_others() {
    let whole = segment(DATA);
    let fragment =
        [&[44, 0, 1, 4, 0, 0, 0, 0, 60, 0, 0, 1, 0, 0, 0, 9, 6, 0, 1, 4, 0, 0, 0, 0][..], &whole[..16]]
            .concat();
    let mut four = tcp(DATA)[..40].to_vec();
    four[6] = 0x20;
    four[2..4].copy_from_slice(&40_u16.to_be_bytes());
    for (first, header, rest) in
        [(ipv6(60, &fragment), 56, [&fragment[16..24], &whole].concat()), (four, 20, whole.clone())]
    {
        let shots = Shots::of(LinkType::RAW, &[first]);
        let Payload::Ip(first) = shots.frame(0).payload else { panic!("no packet") };
        assert_eq!(
            (first.fragment().map(|f| (f.offset, f.more)), first.header().len()),
            (Some((0, true)), header)
        );
        let bytes = [first.header(), &rest].concat();
        let ip = Ip::reassembled(&first, &bytes, &mut Anomalies::default()).unwrap();
        let Ok(Transport::Tcp(tcp)) = ip.transport() else { panic!("{ip:?}") };
        assert_eq!((tcp.payload(), ip.fragment(), ip.source()), (DATA, None, first.source()));
    }
}
