//! What is built is what is read, and nothing read goes past what was captured.

use std::net::Ipv4Addr;

use airperf_wire::{Flags, Ipv4, Tcp, TcpOption, TcpOptions, TcpPacket};
use proptest::prelude::*;

const SOURCE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const DESTINATION: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

fn packet(options: TcpOptions<'_>) -> TcpPacket<'_> {
    TcpPacket {
        source: SOURCE,
        destination: DESTINATION,
        source_port: 1025,
        destination_port: 80,
        seq: 1,
        ack: 0,
        flags: Flags::SYN,
        window: 5840,
        options,
        identification: 7,
        ttl: 64,
    }
}

/// A SYN as Linux 2.4 sends it, byte by byte; both checksums were worked out apart from this code.
#[test]
fn a_syn_byte_by_byte() {
    let options = TcpOptions {
        mss: Some(1460),
        sack_permitted: true,
        timestamps: Some((100, 0)),
        window_scale: Some(0),
        sack: &[],
    };
    let mut out = Vec::new();
    packet(options).write(&[], &mut out);
    #[rustfmt::skip]
    let expected = [
        0x45, 0, 0, 60, 0, 7, 0x40, 0, 64, 6, 0x26, 0x19, 10, 77, 0, 1, 10, 77, 0, 2,
        4, 1, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0xa0, 2, 0x16, 0xd0, 0x17, 0xe5, 0, 0,
        2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 100, 0, 0, 0, 0, 1, 3, 3, 0,
    ];
    assert_eq!(out, expected);
    let ip = Ipv4::parse(&out).unwrap();
    assert!(ip.checksum_is_right());
    assert_eq!(
        Tcp::parse(ip.payload(), ip.payload_len()).unwrap().checksum_is_right(SOURCE, DESTINATION),
        Some(true)
    );
}

#[test]
fn options_take_the_octets_the_model_counts() {
    let stamps = TcpOptions { timestamps: Some((1, 2)), ..TcpOptions::default() };
    assert_eq!(TcpOptions::default().bytes(), 0);
    assert_eq!(stamps.bytes(), 12);
    let blocks = [(1, 2), (3, 4), (5, 6), (7, 8)];
    assert_eq!(TcpOptions { sack: &blocks[..1], ..stamps }.bytes(), 12 + 4 + 8);
    assert_eq!(TcpOptions { sack: &blocks, ..stamps }.bytes(), 12 + 4 + 3 * 8, "a fourth block does not fit");
    assert_eq!(TcpOptions { sack: &blocks, ..TcpOptions::default() }.bytes(), 4 + 4 * 8);
}

#[test]
fn malformed_options_end_the_list() {
    let mut out = Vec::new();
    packet(TcpOptions { mss: Some(1460), timestamps: Some((1, 2)), ..TcpOptions::default() })
        .write(&[], &mut out);
    let options = |out: &[u8]| {
        let ip = Ipv4::parse(out).unwrap();
        Tcp::parse(ip.payload(), ip.payload_len()).unwrap().options().count()
    };
    assert_eq!(options(&out), 2);
    for length in [0, 1, 200] {
        let mut broken = out.clone();
        broken[41] = length;
        assert_eq!(options(&broken), 0, "MSS of length {length}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_built_is_read(
        ports: (u16, u16), numbers: (u32, u32), flags in 0u8..64, window: u16, identification: u16,
        mss: Option<u16>, sack_permitted: bool, timestamps: Option<(u32, u32)>, window_scale: Option<u8>,
        sack in prop::collection::vec(any::<(u32, u32)>(), 0..5),
        payload in prop::collection::vec(any::<u8>(), 0..1500),
        padding in 0usize..20,
    ) {
        let options = TcpOptions { mss, sack_permitted, timestamps, window_scale, sack: &sack };
        let built = TcpPacket {
            source_port: ports.0, destination_port: ports.1, seq: numbers.0, ack: numbers.1,
            flags: Flags(flags), window, identification, ..packet(options)
        };
        let mut out = vec![9; 5];
        built.write(&payload, &mut out);
        prop_assert_eq!(out.len(), 40 + options.bytes() + payload.len());
        out.resize(out.len() + padding, 0xee);
        let ip = Ipv4::parse(&out).unwrap();
        prop_assert!(ip.checksum_is_right());
        prop_assert_eq!((ip.source(), ip.destination(), ip.identification()), (SOURCE, DESTINATION, identification));
        let tcp = Tcp::parse(ip.payload(), ip.payload_len()).unwrap();
        prop_assert_eq!(tcp.checksum_is_right(SOURCE, DESTINATION), Some(true));
        prop_assert_eq!((tcp.source_port(), tcp.destination_port()), ports);
        prop_assert_eq!((tcp.seq(), tcp.ack()), numbers);
        prop_assert_eq!((tcp.flags(), tcp.window()), (Flags(flags), window));
        prop_assert_eq!(tcp.payload(), &payload[..]);
        let read: Vec<TcpOption<'_>> = tcp.options().collect();
        prop_assert_eq!(read.contains(&TcpOption::SackPermitted), sack_permitted);
        if let Some(mss) = mss {
            prop_assert!(read.contains(&TcpOption::Mss(mss)));
        }
        if let Some((value, echo)) = timestamps {
            let stamps = TcpOption::Timestamps { value, echo };
            prop_assert!(read.contains(&stamps));
        }
        if let Some(scale) = window_scale {
            prop_assert!(read.contains(&TcpOption::WindowScale(scale)));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..120), version in 4u8..6) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = version << 4 | (*first & 15);
        }
        if let Ok(ip) = Ipv4::parse(&bytes) {
            prop_assert!(ip.payload().len() <= ip.payload_len());
            if let Ok(tcp) = Tcp::parse(ip.payload(), ip.payload_len()) {
                prop_assert!(tcp.payload().len() <= tcp.payload_len());
                prop_assert!(tcp.options().count() <= 20);
                let _ = tcp.checksum_is_right(ip.source(), ip.destination());
            }
        }
    }

    #[test]
    fn cutting_a_packet_keeps_its_lengths(cut in 0usize..140) {
        let mut out = Vec::new();
        packet(TcpOptions { timestamps: Some((1, 2)), ..TcpOptions::default() }).write(&[7; 88], &mut out);
        let Ok(ip) = Ipv4::parse(&out[..cut]) else {
            prop_assert!(cut < 20);
            return Ok(());
        };
        prop_assert_eq!(ip.total_len(), 140);
        match Tcp::parse(ip.payload(), ip.payload_len()) {
            Ok(tcp) => {
                prop_assert_eq!((tcp.payload_len(), tcp.payload().len()), (88, cut.saturating_sub(52)));
                prop_assert_eq!(tcp.checksum_is_right(SOURCE, DESTINATION), None);
            }
            Err(_) => prop_assert!(cut < 40),
        }
    }
}
