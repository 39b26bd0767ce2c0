//! Fault 25: headers of radios, and check sequences with and without a hint.

use airperf_wire::{Fcs, LinkType, Modulation, Payload};

use crate::make::{
    A, B, C, DATA, FCS_AT_END, Shots, content, data, flags, odd, pcap, radiotap, snap, tcp, with_fcs,
};

fn frame() -> Vec<u8> {
    data(&snap(0x0800, &tcp(DATA)))
}

/// Ends in a wrong check sequence.
fn garbled() -> Vec<u8> {
    let mut frame = with_fcs(&frame());
    frame[40] ^= 0x10;
    frame
}

fn states(shots: &Shots) -> Vec<(Fcs, bool)> {
    shots.iter().map(|(_, frame)| (frame.fcs, content(&frame) == Some((DATA, DATA.len())))).collect()
}

#[test]
fn fault_25_the_radiotap_flag_tells_of_the_check_sequence() {
    let with = |bits, frame: &[u8]| [&flags(bits)[..], frame].concat();
    let frames = [
        with(FCS_AT_END, &with_fcs(&frame())),
        with(FCS_AT_END, &garbled()),
        with(0, &frame()),
        // Drivers set neither flag reliably: only the check sequence decides.
        with(FCS_AT_END | 0x40, &with_fcs(&frame())),
    ];
    let shots = Shots::of(LinkType::RADIOTAP, &frames);
    let expected = [(Fcs::Good, true), (Fcs::Bad, false), (Fcs::Absent, true), (Fcs::Good, true)];
    assert_eq!(states(&shots), expected);
    assert!(matches!(shots.frame(1).payload, Payload::None), "noise never reaches TCP");
    assert_eq!(odd(&shots.frame(3)), ["fcs_flag_wrong"]);
    assert_eq!(shots.decoder.fcs_trials().count(), 0, "nothing had to be tried");
    let (length, bytes) = (shots.frame(0).length as usize, shots.frame(0).bytes.len());
    assert_eq!((length, bytes), (frame().len() + 4, frame().len()));
}

#[test]
fn fault_25_without_a_flag_the_check_sequence_is_tried() {
    let mut frames = vec![with_fcs(&frame()); 3];
    frames.insert(1, garbled());
    for link in [LinkType::IEEE802_11, LinkType::RADIOTAP] {
        let header = if link == LinkType::RADIOTAP { radiotap(&[]) } else { vec![] };
        let put =
            |frames: &[Vec<u8>]| -> Vec<_> { frames.iter().map(|f| [&header[..], f].concat()).collect() };
        let shots = Shots::of(link, &put(&frames));
        assert_eq!(
            states(&shots),
            [(Fcs::Good, true), (Fcs::Bad, false), (Fcs::Good, true), (Fcs::Good, true)]
        );
        let trials: Vec<_> =
            shots.decoder.fcs_trials().map(|(n, t)| (n, t.tried, t.fitted, t.present())).collect();
        assert_eq!(trials, [(0, 4, 3, true)]);
        let without = Shots::of(link, &put(&vec![frame(); 4]));
        assert_eq!(states(&without), [(Fcs::Absent, true); 4]);
        // One with a check sequence among many without is still read rightly.
        let mut mixed = vec![frame(); 8];
        mixed.push(with_fcs(&frame()));
        let mixed = states(&Shots::of(link, &put(&mixed)));
        assert_eq!((mixed[0], mixed[8]), ((Fcs::Absent, true), (Fcs::Good, true)));
    }
}

#[test]
fn fault_25_a_cut_frame_is_unchecked_and_keeps_its_length() {
    let whole = [&flags(FCS_AT_END)[..], &with_fcs(&frame())].concat();
    let called_bad = [&flags(FCS_AT_END | 0x40)[..], &with_fcs(&frame())].concat();
    let n = whole.len();
    let cuts = [(&whole[..n - 10], n), (&whole[..n - 2], n), (&whole[..n - 4], n), (&called_bad[..n - 4], n)];
    let shots = Shots::read(pcap(LinkType::RADIOTAP, cuts));
    let lengths = |n: usize| content(&shots.frame(n)).map(|(captured, sent)| (captured.len(), sent));
    let all = DATA.len();
    assert_eq!(
        [lengths(0), lengths(1), lengths(2)],
        [Some((all - 6, all)), Some((all, all)), Some((all, all))]
    );
    assert!((0..3).all(|n| shots.frame(n).fcs == Fcs::Unchecked && shots.frame(n).anomalies.is_empty()));
    assert_eq!(shots.frame(3).fcs, Fcs::Bad, "the flag is all there is");
}

#[test]
fn fault_25_unaligned_fields_are_found_where_radiotap_puts_them() {
    let frequency = [&2_412_u16.to_le_bytes()[..], &[0xa0, 0]].concat();
    let header = radiotap(&[
        (0, 8, &77_u64.to_le_bytes()),
        (1, 1, &[0x12]),
        (2, 1, &[11]),
        (3, 2, &frequency),
        (5, 1, &[(-40_i8) as u8]),
        (6, 1, &[(-95_i8) as u8]),
        (7, 2, &[9, 9]),
        (11, 1, &[3]),
        (14, 2, &[0, 0]),
        (17, 1, &[4]),
        (20, 4, &[5, 0, 0, 0, 0x0c, 0, 0, 0]),
    ]);
    let shots = Shots::of(LinkType::RADIOTAP, &[[&header[..], &with_fcs(&frame())].concat()]);
    let radio = shots.frame(0).radio;
    assert_eq!((radio.tsft_us, radio.frequency_mhz, radio.antenna), (Some(77), Some(2_412), Some(3)));
    assert_eq!((radio.signal_dbm, radio.noise_dbm, radio.data_retries), (Some(-40), Some(-95), Some(4)));
    assert_eq!(radio.ampdu.map(|a| (a.reference, a.last)), Some((5, true)));
    assert_eq!(radio.modulation, Modulation::Dsss { half_mbps: 11, short_preamble: Some(true) });
    assert_eq!(states(&shots), [(Fcs::Good, true)]);
}

#[test]
fn fault_25_chained_words_antennas_and_vendors_are_passed_over() {
    // Flags; then a namespace of radiotap with an antenna's signal; then a vendor's with 5 octets; then radiotap again.
    let words = [
        1 << 1 | 1 << 5 | 1 << 29 | 1 << 31,
        1 << 5 | 1 << 11 | 1 << 30 | 1 << 31,
        0x1fff_ffff | 1 << 29 | 1 << 31,
        1 << 17,
    ];
    let mut header = vec![0, 0, 0, 0];
    words.iter().for_each(|word: &u32| header.extend(word.to_le_bytes()));
    header.extend([FCS_AT_END, 200, 190, 1, 0, 0x11, 0x22, 9, 5, 0, 1, 2, 3, 4, 5, 6]);
    header[2] = header.len() as u8;
    let shots = Shots::of(LinkType::RADIOTAP, &[[&header[..], &with_fcs(&frame())].concat()]);
    let seen = shots.frame(0);
    assert_eq!(states(&shots), [(Fcs::Good, true)]);
    assert_eq!(
        (seen.radio.signal_dbm, seen.radio.antenna, seen.radio.data_retries),
        (Some(-56), Some(1), Some(6))
    );
    assert!(seen.anomalies.is_empty(), "{:?}", odd(&seen));
}

#[test]
fn fault_25_an_endless_chain_of_words_ends() {
    let mut header = vec![0, 0, 0, 0];
    header.extend([0xff; 4 * 100]);
    header[2..4].copy_from_slice(&404_u16.to_le_bytes());
    let shots = Shots::of(LinkType::RADIOTAP, &[[&header[..], &frame()].concat()]);
    assert_eq!(odd(&shots.frame(0)), ["radiotap_chain_too_long"]);
    assert!(content(&shots.frame(0)).is_some(), "the header's length still leads to the frame");
}

#[test]
fn fault_25_a_wrong_length_of_the_header_is_counted() {
    let good = [&flags(0)[..], &frame()].concat();
    let put = |length: u16| {
        let mut bytes = good.clone();
        bytes[2..4].copy_from_slice(&length.to_le_bytes());
        bytes
    };
    let shots =
        Shots::of(LinkType::RADIOTAP, &[put(7), put(60_000), put(8), [&[1][..], &good[1..]].concat()]);
    for n in [0, 1, 3] {
        let frame = shots.frame(n);
        assert_eq!((odd(&frame), content(&frame)), (vec!["radio_header_malformed"], None), "frame {n}");
    }
    assert!(odd(&shots.frame(2)).contains(&"radio_header_malformed"), "a field past the header");
    let shots = Shots::read(pcap(LinkType::RADIOTAP, [(&good[..6], good.len())]));
    assert_eq!(odd(&shots.frame(0)), ["cut_header"]);
}

#[test]
fn fault_25_padding_between_header_and_body_is_no_body() {
    let qos = [&[0x88, 0, 44, 0][..], &B, &A, &C, &[0x50, 1, 0, 0]].concat();
    let body = snap(0x0800, &tcp(DATA));
    let padded = [&flags(0x20)[..], &qos, &[0, 0], &body].concat();
    let plain = [&flags(0)[..], &qos, &body].concat();
    assert_eq!(states(&Shots::of(LinkType::RADIOTAP, &[padded, plain])), [(Fcs::Absent, true); 2]);
}

/// A Prism header of these items.
fn prism(order: fn(u32) -> [u8; 4], first: u32, ids: fn(u32) -> u32, items: &[(u32, u32)]) -> Vec<u8> {
    let mut bytes = [order(first), order(24 + 12 * items.len() as u32)].concat();
    bytes.extend(b"wlan0\0\0\0\0\0\0\0\0\0\0\0");
    for (number, value) in items {
        bytes.extend([order(ids(*number)), order(4), order(*value)].concat());
        let status = bytes.len() - 8;
        bytes[status..status + 4].copy_from_slice(&[0, 0, 4, 0]);
    }
    bytes
}

#[test]
fn fault_25_prism_and_avs_headers_are_read() {
    let items = [(3, 6), (6, -50_i32 as u32), (7, -90_i32 as u32), (8, 22)];
    let avs = |rate: u32| {
        let words = [0x8021_1001, 64, 0, 99, 0, 0, 4, 6, rate, 1, 0, 2, -50_i32 as u32, -90_i32 as u32, 2, 2];
        words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>()
    };
    let cases = [
        (LinkType::PRISM, prism(u32::to_le_bytes, 0x44, |n| n << 16 | 0x44, &items), None),
        (LinkType::PRISM, prism(u32::to_be_bytes, 0x44, |n| n << 16 | 0x44, &items), None),
        (LinkType::PRISM, prism(u32::to_le_bytes, 0x41, |n| n << 12 | 0x41, &items), None),
        (LinkType::PRISM, avs(110), Some(false)),
        (LinkType::AVS, avs(110), Some(false)),
        (LinkType::AVS, avs(11_000_000), Some(false)),
    ];
    for (link, header, short_preamble) in cases {
        let shots = Shots::of(link, &[[&header[..], &with_fcs(&frame())].concat()]);
        let seen = shots.frame(0);
        assert_eq!(states(&shots), [(Fcs::Good, true)], "{link:?}");
        assert_eq!(seen.radio.frequency_mhz, Some(2_437));
        assert_eq!((seen.radio.signal_dbm, seen.radio.noise_dbm), (Some(-50), Some(-90)));
        assert_eq!(seen.radio.modulation, Modulation::Dsss { half_mbps: 22, short_preamble });
        let cut = Shots::of(link, &[header[..20].to_vec()]);
        assert_eq!(odd(&cut.frame(0)), ["radio_header_malformed"]);
    }
}

#[test]
fn airtime_is_that_of_the_standards_formulas() {
    let channel = |mhz: u16| [&mhz.to_le_bytes()[..], &[0, 0]].concat();
    let old = |half: u8, bits: u8, mhz| radiotap(&[(1, 1, &[bits]), (2, 1, &[half]), (3, 2, &channel(mhz))]);
    let ht =
        |mcs, bits: u8, mhz| radiotap(&[(1, 1, &[0]), (3, 2, &channel(mhz)), (19, 1, &[0x3f, bits, mcs])]);
    let body = vec![0; 1_500 - 28];
    // 1,500 octets with check sequence.
    let of = |header: &[u8]| {
        let shots = Shots::of(LinkType::RADIOTAP, &[[header, &data(&body)].concat()]);
        shots.frame(0).airtime.map(|a| (a.preamble_ns, a.body_ns))
    };
    assert_eq!(of(&old(22, 0, 2_437)), Some((192_000, 1_091_000)), "11 Mbit/s, rounded up to 1 us");
    assert_eq!(of(&old(22, 2, 2_437)), Some((96_000, 1_091_000)), "short preamble");
    assert_eq!(of(&old(2, 2, 2_437)), Some((192_000, 12_000_000)), "1 Mbit/s is always long");
    assert_eq!(
        of(&old(108, 0, 5_180)),
        Some((20_000, 224_000)),
        "54 Mbit/s: 12,022 bits in 56 symbols of 216"
    );
    assert_eq!(of(&old(108, 0, 2_437)), Some((20_000, 230_000)), "and 6 us of quiet in the lower band");
    assert_eq!(of(&ht(7, 0, 5_180)), Some((36_000, 188_000)), "65 Mbit/s: 47 symbols of 260 bits");
    assert_eq!(
        of(&ht(15, 5, 5_180)),
        Some((40_000, 44_000)),
        "300 Mbit/s: 12 symbols of 3.6 us, 43.2 in slots of 4"
    );
    assert_eq!(of(&flags(0)), None, "nothing tells the rate");
    let aggregated = radiotap(&[
        (1, 1, &[0]),
        (3, 2, &channel(5_180)),
        (19, 1, &[0x3f, 0, 7]),
        (20, 4, &[1, 0, 0, 0, 0, 0, 0, 0]),
    ]);
    assert_eq!(of(&aggregated), Some((36_000, 185_108)), "32 + 12,000 bits at 65 Mbit/s");
    let he = |format: u8| {
        // MCS 11, two streams, 80 MHz, guard interval of 0.8 us, training symbols of 6.4 us.
        let field = [0x20 | format, 0x40, 2, 0, 0, 11, 0, 0, 0x82, 0, 2, 0];
        radiotap(&[(1, 1, &[0]), (3, 2, &channel(5_180)), (23, 2, &field)])
    };
    assert_eq!(of(&he(0)), Some((50_400, 13_600)), "12,054 bits in one symbol of 16,333");
    assert_eq!(of(&he(2)), None, "several users");
}
