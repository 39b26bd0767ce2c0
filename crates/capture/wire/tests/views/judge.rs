//! Frames as tshark reads them: addresses, ports, lengths, radio fields and airtimes.
//!
//! Skipped, loudly, where tshark is not installed.

use std::fs;
use std::process::Command;

use airperf_wire::{Dot11Kind, Fcs, Frame, Guard, Link, LinkType, Modulation, Payload, Transport, Width};

use crate::make::{
    A, B, C, D, DATA, FCS_AT_END, Shots, data, ethernet, ipv4, ipv6, pcap, radiotap, segment, snap, tcp, udp,
    with_fcs,
};

/// The last occurrence of each field in every frame.
fn tshark(link: LinkType, frames: &[Vec<u8>], fields: &[&str], options: &[&str]) -> Option<Vec<Vec<String>>> {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("views.pcap");
    fs::write(&path, pcap(link, frames.iter().map(|f| (&f[..], f.len())))).unwrap();
    let mut command = Command::new("tshark");
    command
        .args(["-n", "-T", "fields", "-E", "separator=|", "-E", "occurrence=l", "-r"])
        .arg(&path)
        .args(options);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let out = match command.output() {
        Ok(out) => out,
        Err(error) => {
            eprintln!("SKIPPED: tshark cannot be run ({error}); install it to test views against it");
            return None;
        }
    };
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).unwrap();
    Some(text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect())
}

/// Addresses, ports, length of the payload, and protocol of the innermost packet.
fn ours(frame: &Frame<'_>) -> Vec<String> {
    let Payload::Ip(ip) = frame.payload else { return vec![] };
    let mut row = vec![ip.source().to_string(), ip.destination().to_string()];
    if let Ok(Transport::Tcp(tcp)) = ip.transport() {
        row.extend([tcp.source_port().to_string(), tcp.payload_len().to_string(), tcp.seq().to_string()]);
    }
    row
}

fn expect_packets(link: LinkType, frames: &[Vec<u8>]) {
    let fields = ["ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.srcport", "tcp.len", "tcp.seq_raw"];
    let Some(rows) = tshark(link, frames, &fields, &[]) else { return };
    let shots = Shots::of(link, frames);
    assert_eq!(rows.len(), frames.len());
    for ((row, (_, frame)), bytes) in rows.iter().zip(shots.iter()).zip(frames) {
        let Payload::Ip(ip) = frame.payload else { panic!("{frame:?}") };
        let addresses = if ip.is_v6() { &row[2..4] } else { &row[..2] };
        let theirs: Vec<_> =
            addresses.iter().chain(&row[4..]).filter(|field| !field.is_empty()).cloned().collect();
        assert_eq!(theirs, ours(&frame), "{link:?} {bytes:02x?}");
    }
}

#[test]
fn packets_are_found_where_tshark_finds_them() {
    let packet = tcp(DATA);
    let six = ipv6(6, &segment(DATA));
    let tagged = [&[0xe0, 5, 8, 0][..], &packet].concat();
    let twice = [&[0, 9, 0x81, 0][..], &tagged].concat();
    let vxlan = [&[8, 0, 0, 0, 0, 0, 42, 0][..], &ethernet(0x0800, &packet)].concat();
    let pppoe =
        [&[0x11, 0, 0, 7][..], &(2 + packet.len() as u16).to_be_bytes(), &[0, 0x21], &packet].concat();
    let options =
        [&[60, 0, 5, 2, 0, 0, 1, 0][..], &[43, 0, 1, 4, 0, 0, 0, 0], &[51, 0, 0, 0, 0, 0, 0, 0]].concat();
    let authentication = [&[44, 4][..], &[0; 22]].concat();
    let atomic = [6, 0, 0, 0, 0, 0, 0, 9];
    let chain = [&options[..], &authentication, &atomic, &segment(DATA)].concat();
    let mut padded = ethernet(0x0800, &tcp(b""));
    padded.resize(60, 0);
    let llc = snap(0x0800, &packet);
    let ether = [
        ethernet(0x0800, &packet),
        padded,
        ethernet(0x86dd, &six),
        ethernet(0x86dd, &ipv6(0, &chain)),
        ethernet(0x8100, &tagged),
        ethernet(0x88a8, &twice),
        ethernet(llc.len() as u16, &llc),
        ethernet(0x8847, &[&[0, 1, 0x20, 64, 0, 1, 0x31, 64][..], &packet].concat()),
        ethernet(0x8864, &pppoe),
        ethernet(0x0800, &ipv4(4, &packet)),
        ethernet(0x0800, &ipv4(41, &six)),
        ethernet(0x86dd, &ipv6(41, &six)),
        ethernet(0x0800, &ipv4(47, &[&[0xb0, 0, 8, 0][..], &[0; 12], &packet].concat())),
        ethernet(0x0800, &ipv4(47, &[&[0, 0, 0x65, 0x58][..], &ethernet(0x8100, &tagged)].concat())),
        ethernet(0x0800, &ipv4(17, &udp(50_000, 4_789, &vxlan))),
    ];
    expect_packets(LinkType::ETHERNET, &ether);
    let cooked = |kind: u16, rest: &[u8]| {
        [&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0][..], &kind.to_be_bytes(), rest].concat()
    };
    let llc = cooked(4, &snap(0x0800, &packet));
    expect_packets(
        LinkType::LINUX_SLL,
        &[cooked(0x0800, &packet), cooked(0x86dd, &six), cooked(0x8100, &tagged), llc],
    );
    let cooked = |kind: u16, rest: &[u8]| {
        [&kind.to_be_bytes()[..], &[0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0], rest].concat()
    };
    expect_packets(LinkType::LINUX_SLL2, &[cooked(0x0800, &packet), cooked(0x86dd, &six)]);
    let family = |order: fn(u32) -> [u8; 4], n, rest: &[u8]| [&order(n)[..], rest].concat();
    let (big, little) = (u32::to_be_bytes, u32::to_le_bytes);
    let loops = [
        family(little, 2, &packet),
        family(big, 2, &packet),
        family(little, 30, &six),
        family(big, 28, &six),
    ];
    expect_packets(LinkType::NULL, &loops);
    expect_packets(LinkType::LOOP, &[family(big, 2, &packet), family(big, 24, &six)]);
    expect_packets(LinkType::RAW, &[packet.clone(), six.clone()]);
    expect_packets(LinkType::IPV4, &[packet]);
    expect_packets(LinkType::IPV6, &[six]);
}

/// Pseudo-random numbers (64-bit linear congruential, Knuth's multiplier).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// A radiotap header with fields chosen at random; the modulation's are `extra`.
fn random_header(random: &mut Random, extra: (u32, usize, Vec<u8>)) -> Vec<u8> {
    let number = |random: &mut Random, octets: usize| {
        (0..octets).map(|_| random.below(256) as u8).collect::<Vec<u8>>()
    };
    // A short preamble at 1 Mbit/s is an impossible pair, of which tshark tells no airtime.
    let short = if random.below(2) == 1 && extra.2 != [2] { 2 } else { 0 };
    let dsss = extra.0 == 2 && extra.2[0] < 12 || extra.2 == [22];
    let mhz = [2_412_u16, 2_437, 5_180][random.below(if dsss { 2 } else { 3 }) as usize];
    // CCK or OFDM, which tshark goes by, and the band.
    let modulation = if dsss { 0x20 } else { 0x40 };
    let band = if mhz < 3_000 { [0x80 | modulation, 0] } else { [modulation, 1] };
    let mut fields = vec![
        (0, 8, number(random, 8)),
        (1, 1, vec![FCS_AT_END | short]),
        (3, 2, [mhz.to_le_bytes(), band].concat()),
        (5, 1, number(random, 1)),
        (6, 1, number(random, 1)),
        (7, 2, number(random, 2)),
        (11, 1, number(random, 1)),
        (14, 2, vec![0, 0]),
        (16, 1, number(random, 1)),
        (17, 1, number(random, 1)),
    ];
    // Flags and channel stay: without them neither of us knows the airtime.
    fields.retain(|(bit, ..)| matches!(bit, 1 | 3) || random.below(2) == 1);
    fields.push(extra);
    fields.sort_by_key(|(bit, ..)| *bit);
    radiotap(&fields.iter().map(|(bit, align, octets)| (*bit, *align, &octets[..])).collect::<Vec<_>>())
}

/// Rate or MCS fields of every kind.
fn modulations() -> Vec<(u32, usize, Vec<u8>)> {
    let mut all = Vec::new();
    for half_mbps in [2, 4, 11, 22, 12, 18, 24, 36, 48, 72, 96, 108] {
        all.push((2, 1, vec![half_mbps]));
    }
    for mcs in 0..16 {
        for bits in [0, 1, 4, 5] {
            all.push((19, 1, vec![0x3f, bits, mcs]));
        }
    }
    for mcs in 0..10 {
        for (streams, width, short) in [(1, 0, 0), (1, 1, 4), (2, 4, 0), (2, 4, 4), (3, 11, 0)] {
            let mut octets = vec![0x44, 0, short, width, mcs << 4 | streams];
            octets.resize(12, 0);
            all.push((21, 2, octets));
        }
    }
    all
}

#[test]
fn radio_fields_and_airtimes_are_those_tshark_tells() {
    let mut random = Random(7);
    let mut frames = Vec::new();
    for modulation in modulations() {
        let body = vec![0x42; 3 + random.below(1_400) as usize];
        let header = random_header(&mut random, modulation);
        frames.push([&header[..], &with_fcs(&data(&body))].concat());
    }
    let fields = [
        "radiotap.mactime",
        "wlan_radio.data_rate",
        "radiotap.channel.freq",
        "radiotap.dbm_antsignal",
        "radiotap.dbm_antnoise",
        "radiotap.antenna",
        "radiotap.data_retries",
        "wlan_radio.duration",
        "wlan_radio.preamble",
        "wlan.fcs.status",
    ];
    let options = ["-o", "wlan.check_checksum:TRUE"];
    let Some(rows) = tshark(LinkType::RADIOTAP, &frames, &fields, &options) else { return };
    let shots = Shots::of(LinkType::RADIOTAP, &frames);
    let text = |value: Option<i64>| value.map_or(String::new(), |value| value.to_string());
    for (n, (row, (_, frame))) in rows.iter().zip(shots.iter()).enumerate() {
        let radio = frame.radio;
        let context = format!("frame {} {radio:?} {row:?}", n + 1);
        assert_eq!(row[0], radio.tsft_us.map_or(String::new(), |v| v.to_string()), "{context}");
        if radio.rate_bps().is_none() {
            // Index 9 on one stream of 20 MHz, or three of 160: 802.11ac has none.
            assert_eq!((&row[1][..], frame.airtime), ("", None), "{context}");
            continue;
        }
        let rate: f64 = row[1].parse().unwrap_or_else(|_| panic!("{context}"));
        let ours = radio.rate_bps().unwrap_or_else(|| panic!("{context}")) as f64 / 1e6;
        assert!((rate - ours).abs() < 0.06, "rate {ours}: {context}");
        assert_eq!(row[2], text(radio.frequency_mhz.map(i64::from)), "{context}");
        assert_eq!(row[3], text(radio.signal_dbm.map(i64::from)), "{context}");
        assert_eq!(row[4], text(radio.noise_dbm.map(i64::from)), "{context}");
        assert_eq!(row[5], text(radio.antenna.map(i64::from)), "{context}");
        assert_eq!(row[6], text(radio.data_retries.map(i64::from)), "{context}");
        assert_eq!((&row[9][..], frame.fcs), ("1", Fcs::Good), "{context}");
        let airtime = frame.airtime.unwrap_or_else(|| panic!("{context}"));
        let [duration, preamble] = [7, 8].map(|n| row[n].parse::<u64>().unwrap_or(0) * 1_000);
        match radio.modulation {
            Modulation::Vht { streams, .. } => {
                // It leaves out VHT-SIG-B and the fourth training symbol of three streams, and divides bits by the rate where symbols are sent whole: at most one is
                // missing, a delimiter of 32 bits, and what fills up the last slot of 4 us.
                let left_out = if streams == 3 { 8_000 } else { 4_000 };
                assert_eq!(preamble + left_out, airtime.preamble_ns, "{context}");
                let delimiter = 1 + 32 * 1_000_000_000 / radio.rate_bps().unwrap();
                let apart = airtime.total_ns().checked_sub(duration).unwrap_or_else(|| panic!("{context}"));
                assert!(apart <= left_out + delimiter + 4_000 + 4_000, "{airtime:?} {context}");
            }
            _ => assert_eq!(duration, as_tshark_reckons(&frame), "{airtime:?} {context}"),
        }
    }
}

/// The airtime, in ns, as tshark 4.0 works it out: without the 6 us of quiet after OFDM in the lower band, with 104
/// carriers in 40 MHz where the standard has 108, and rounded where short guard intervals are filled up to 4 us.
fn as_tshark_reckons(frame: &Frame<'_>) -> u64 {
    let airtime = frame.airtime.unwrap();
    match frame.radio.modulation {
        Modulation::Dsss { .. } => airtime.total_ns(),
        Modulation::Ht { mcs, width, guard, greenfield, stbc, sounding } => {
            let narrow =
                Modulation::Ht { mcs, width: Width::Mhz20, guard: Guard::Ns800, greenfield, stbc, sounding };
            let bits = narrow.rate_bps().unwrap() / 250_000 * if width == Width::Mhz40 { 2 } else { 1 };
            let symbols = (u64::from(frame.length) * 8 + 22).div_ceil(bits);
            let symbol_ns = if guard == Guard::Ns400 { 3_600 } else { 4_000 };
            airtime.preamble_ns + (symbols * symbol_ns + 500) / 1_000 * 1_000
        }
        _ if frame.radio.frequency_mhz < Some(3_000) => airtime.total_ns() - 6_000,
        _ => airtime.total_ns(),
    }
}

#[test]
fn mac_headers_are_read_as_tshark_reads_them() {
    let packet = snap(0x0800, &tcp(DATA));
    let mut frames = Vec::new();
    for first in [0x08, 0x88, 0x48, 0xc8] {
        for flags in [0, 1, 2, 3, 8, 9, 0x88] {
            let mut frame = [&[first, flags, 44, 0][..], &A, &B, &C, &[0x51 & !1, 0xab]].concat();
            frame.extend(if flags & 3 == 3 { &D[..] } else { &[] });
            frame.extend(if first & 0x80 != 0 { &[5, 0][..] } else { &[] });
            frame.extend(if first & 0x80 != 0 && flags & 0x80 != 0 { &[0; 4][..] } else { &[] });
            frame.extend(if first & 0x40 == 0 { &packet[..] } else { &[] });
            frames.push(frame);
        }
    }
    for first in [0x00, 0x10, 0x40, 0x50, 0x80, 0xa0, 0xb0, 0xc0] {
        frames.push([&[first, 0, 44, 0][..], &A, &B, &C, &[0x50, 0xab], &[0; 12], &[0, 0]].concat());
    }
    for (first, more) in [(0xd4, 0), (0xc4, 0), (0xb4, 6), (0xa4, 6), (0xe4, 6)] {
        frames.push([&[first, 0, 0, 0][..], &A, &B[..more]].concat());
    }
    frames.push([&[0x94, 0, 0, 0][..], &A, &B, &[4, 0x50, 0x20, 0, 1, 0, 0, 0, 0, 0, 0, 0]].concat());
    frames.push([&[0x84, 0, 0, 0][..], &A, &B, &[4, 0x50, 0x20, 0]].concat());
    let frames: Vec<_> =
        frames.iter().map(|frame| [&[0, 0, 9, 0, 2, 0, 0, 0, 0x10][..], &with_fcs(frame)].concat()).collect();
    let fields = [
        "wlan.ra",
        "wlan.ta",
        "wlan.sa",
        "wlan.da",
        "wlan.bssid",
        "wlan.seq",
        "wlan.frag",
        "wlan.fc.retry",
        "wlan.qos.tid",
        "tcp.len",
    ];
    let Some(rows) = tshark(LinkType::RADIOTAP, &frames, &fields, &[]) else { return };
    let shots = Shots::of(LinkType::RADIOTAP, &frames);
    let mac = |mac: Option<[u8; 6]>| mac.map_or(String::new(), |m| m.map(|o| format!("{o:02x}")).join(":"));
    let number = |value: Option<u16>| value.map_or(String::new(), |value| value.to_string());
    for ((row, (_, frame)), bytes) in rows.iter().zip(shots.iter()).zip(&frames) {
        let Link::Dot11(dot11) = frame.link else { panic!("{frame:?}") };
        let control = !dot11.kind().is_data() && !dot11.kind().is_management();
        let mine = [
            mac(Some(dot11.receiver())),
            mac(dot11.transmitter()),
            mac(dot11.source()),
            mac(dot11.destination()),
            mac(dot11.bssid()),
            number(dot11.sequence()),
            number(dot11.fragment().map(u16::from)),
            u8::from(dot11.retry()).to_string(),
            number(dot11.tid().map(u16::from)),
            crate::make::content(&frame).map_or(String::new(), |(_, length)| length.to_string()),
        ];
        let mut theirs = row.clone();
        if control {
            // What tshark makes of a poll's second address or of a block acknowledgement's numbers is its own.
            theirs[4..9].clone_from_slice(&mine[4..9]);
        }
        if dot11.kind() == Dot11Kind::CfEnd {
            // It is shown as the address of the cell, which it is, too.
            theirs[1].clone_from(&mine[1]);
        }
        assert_eq!(theirs, mine, "{:?} {bytes:02x?}", dot11.kind());
    }
}
