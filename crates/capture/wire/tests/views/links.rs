//! Faults 24 and 27: what stands between a link and the packet, and what follows the packet.

use airperf_wire::{LinkType, Payload};

use crate::make::{DATA, Shots, content, ethernet, ipv4, ipv6, odd, segment, snap, tcp, udp};

fn expect(link: LinkType, frame: Vec<u8>, what: &str) {
    let shots = Shots::of(link, &[frame]);
    let frame = shots.frame(0);
    assert_eq!(content(&frame), Some((DATA, DATA.len())), "{what}: {:?}", odd(&frame));
    assert!(frame.anomalies.is_empty(), "{what}: {:?}", odd(&frame));
}

fn vlan(depth: usize) -> Vec<u8> {
    let tags = [0x81, 0, 0, 5].repeat(depth.saturating_sub(1));
    [&[0, 5][..], &tags, &[8, 0], &tcp(DATA)].concat()
}

#[test]
fn fault_24_padding_is_no_payload() {
    let mut frame = ethernet(0x0800, &tcp(b""));
    frame.resize(60, 0xee);
    let shots = Shots::of(LinkType::ETHERNET, &[frame]);
    assert_eq!(content(&shots.frame(0)), Some((&[][..], 0)));
    let mut frame = ethernet(0x86dd, &ipv6(6, &segment(b"x")));
    frame.resize(90, 0xee);
    let shots = Shots::of(LinkType::ETHERNET, &[frame]);
    assert_eq!(content(&shots.frame(0)), Some((&b"x"[..], 1)));
}

#[test]
fn fault_27_ethernet_is_unwrapped() {
    let packet = tcp(DATA);
    let six = ipv6(6, &segment(DATA));
    expect(LinkType::ETHERNET, ethernet(0x0800, &packet), "plain");
    expect(LinkType::ETHERNET, ethernet(0x86dd, &six), "IPv6");
    expect(LinkType::ETHERNET, ethernet(0x8100, &vlan(1)), "VLAN");
    expect(LinkType::ETHERNET, ethernet(0x88a8, &vlan(2)), "QinQ");
    let llc = snap(0x0800, &packet);
    let mut padded = ethernet(llc.len() as u16, &llc);
    padded.extend([0; 9]);
    expect(LinkType::ETHERNET, padded, "802.3");
    let labels = [&[0, 1, 0x20, 64, 0, 1, 0x31, 64][..], &packet].concat();
    expect(LinkType::ETHERNET, ethernet(0x8847, &labels), "MPLS");
    for (protocol, inner) in [(0x21, &packet), (0x57, &six)] {
        let length = (2 + inner.len() as u16).to_be_bytes();
        let session = [&[0x11, 0, 0, 7][..], &length, &[0, protocol], inner].concat();
        expect(LinkType::ETHERNET, ethernet(0x8864, &session), "PPPoE");
    }
}

#[test]
fn fault_27_tunnels_are_unwrapped() {
    let packet = tcp(DATA);
    let on = |protocol, payload: &[u8]| ethernet(0x0800, &ipv4(protocol, payload));
    let six = ipv6(6, &segment(DATA));
    expect(LinkType::ETHERNET, on(4, &packet), "IP in IP");
    expect(LinkType::ETHERNET, on(41, &six), "IPv6 in IPv4");
    expect(LinkType::ETHERNET, ethernet(0x86dd, &ipv6(4, &packet)), "IPv4 in IPv6");
    expect(LinkType::ETHERNET, on(47, &[&[0, 0, 8, 0][..], &packet].concat()), "GRE");
    let optional = [&[0xb0, 0, 0x86, 0xdd][..], &[0; 12], &six].concat();
    expect(LinkType::ETHERNET, on(47, &optional), "GRE with checksum, key and number");
    let bridged = [&[0, 0, 0x65, 0x58][..], &ethernet(0x0800, &packet)].concat();
    expect(LinkType::ETHERNET, on(47, &bridged), "bridged over GRE");
    let pptp = [&[0x30, 1, 0x88, 0x0b][..], &[0; 8], &[0xff, 3, 0, 0x21], &packet].concat();
    expect(LinkType::ETHERNET, on(47, &pptp), "PPTP");
    let inner = [&[8, 0, 0, 0, 0, 0, 42, 0][..], &ethernet(0x8100, &vlan(1))].concat();
    expect(LinkType::ETHERNET, on(17, &udp(50_000, 4_789, &inner)), "VXLAN");
}

#[test]
fn fault_27_other_links_lead_to_the_same_packet() {
    let packet = tcp(DATA);
    let six = ipv6(6, &segment(DATA));
    let cooked = |kind: u16, rest: &[u8]| {
        [&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0][..], &kind.to_be_bytes(), rest].concat()
    };
    expect(LinkType::LINUX_SLL, cooked(0x0800, &packet), "SLL");
    expect(LinkType::LINUX_SLL, cooked(0x8100, &vlan(1)), "SLL, VLAN");
    expect(LinkType::LINUX_SLL, cooked(4, &snap(0x0800, &packet)), "SLL, LLC");
    let cooked2 = [&[0x86, 0xdd, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0][..], &six].concat();
    expect(LinkType::LINUX_SLL2, cooked2, "SLL2");
    for family in [2_u32, 24, 28, 30] {
        let inner = if family == 2 { &packet } else { &six };
        expect(LinkType::NULL, [&family.to_le_bytes()[..], inner].concat(), "NULL of a PC");
        expect(LinkType::NULL, [&family.to_be_bytes()[..], inner].concat(), "NULL of a PowerPC");
        expect(LinkType::LOOP, [&family.to_be_bytes()[..], inner].concat(), "LOOP");
    }
    expect(LinkType::RAW, packet.clone(), "raw IPv4");
    expect(LinkType::RAW, six.clone(), "raw IPv6");
    expect(LinkType(12), packet.clone(), "raw as BSD numbers it");
    expect(LinkType::IPV4, packet, "IPv4");
    expect(LinkType::IPV6, six, "IPv6");
}

#[test]
fn fault_27_more_than_eight_layers_are_counted_and_left() {
    let shots = Shots::of(LinkType::ETHERNET, &[ethernet(0x8100, &vlan(8)), ethernet(0x8100, &vlan(9))]);
    assert_eq!(content(&shots.frame(0)), Some((DATA, DATA.len())));
    assert_eq!(odd(&shots.frame(1)), ["too_many_layers"]);
    assert!(matches!(shots.frame(1).payload, Payload::Other(0x8100)));
    let mut packet = tcp(DATA);
    for _ in 0..9 {
        packet = ipv4(4, &packet);
    }
    let shots = Shots::of(LinkType::RAW, &[packet]);
    assert_eq!(odd(&shots.frame(0)), ["too_many_layers"]);
    let Payload::Ip(ip) = shots.frame(0).payload else { panic!("the packet that was reached is kept") };
    assert_eq!((ip.protocol(), ip.depth()), (4, 8));
}

#[test]
fn fault_27_a_tunnel_that_cannot_be_read_leaves_the_packet_around_it() {
    let frames = [
        ethernet(0x0800, &ipv4(47, &[0, 2, 8, 0])),
        ethernet(0x0800, &ipv4(47, &[0])),
        ethernet(0x0800, &ipv4(4, &[0x45, 0])),
        ethernet(0x0800, &ipv4(17, &udp(1, 4_789, &[0; 20]))),
    ];
    let shots = Shots::of(LinkType::ETHERNET, &frames);
    let expected =
        [(47, "tunnel_malformed"), (47, "tunnel_malformed"), (4, "ip_malformed"), (17, "tunnel_malformed")];
    for ((_, frame), (protocol, name)) in shots.iter().zip(expected) {
        let Payload::Ip(ip) = frame.payload else { panic!("{frame:?}") };
        assert_eq!((ip.protocol(), odd(&frame)), (protocol, vec![name]));
    }
}

#[test]
fn frames_that_carry_no_ip_tell_their_type() {
    let stp = ethernet(38, &[0x42; 38]);
    let shots = Shots::of(LinkType::ETHERNET, &[ethernet(0x0806, &[0; 28]), stp, ethernet(0x8100, &[0])]);
    assert!(matches!(shots.frame(0).payload, Payload::Other(0x0806)));
    assert!(matches!(shots.frame(1).payload, Payload::Other(0)));
    assert_eq!(odd(&shots.frame(2)), ["link_header_malformed"]);
    assert_eq!(odd(&Shots::of(LinkType(250), &[vec![1]]).frame(0)), ["unknown_link_type"]);
}
