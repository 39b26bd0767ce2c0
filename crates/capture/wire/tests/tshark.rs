//! Captures as tshark sees them: no warning, no malformed frame, every field as written.
//!
//! Skipped, loudly, where tshark is not installed.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

use airperf_units::{Rate, Time};
use airperf_wire::LinkType;
use airperf_wire::pcapng::{Interface, Writer};
use airperf_wire::{
    AirCapture, AirConfig, AirFrame, AirKind, EtherCapture, Flags, TcpOptions, TcpPacket, station_mac,
};

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
const REQUEST: &[u8] = b"GET /1024 HTTP/1.1\r\nUser-Agent: test\r\nHost: server\r\n\r\n";
const REPLY: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n\r\nhello";

fn tshark(arguments: &[&str], capture: &Path) -> Option<String> {
    let mut command = Command::new("tshark");
    // A run as root warns about being root; that is not about the capture.
    let out = match command.arg("-r").arg(capture).args(arguments).output() {
        Ok(out) => out,
        Err(e) => {
            eprintln!("SKIPPED: tshark cannot be run ({e}); install it to test captures against it");
            return None;
        }
    };
    let said = String::from_utf8(out.stderr).unwrap();
    let complaints: Vec<&str> = said.lines().filter(|l| !l.starts_with("Running as user")).collect();
    assert!(out.status.success() && complaints.is_empty(), "{complaints:#?}");
    Some(String::from_utf8(out.stdout).unwrap())
}

/// Sender, sequence and acknowledgement number, flags, options and payload.
type Step<'a> = (u16, u32, u32, Flags, TcpOptions<'a>, &'a [u8]);

/// The packets of one exchange, with who sends them: handshake, GET, reply, FIN both ways.
fn exchange() -> Vec<(u16, Vec<u8>)> {
    let syn = TcpOptions {
        mss: Some(1460),
        sack_permitted: true,
        timestamps: Some((100, 0)),
        window_scale: Some(0),
        sack: &[],
    };
    let plain = TcpOptions { timestamps: Some((101, 100)), ..TcpOptions::default() };
    let (request, reply) = (REQUEST.len() as u32, REPLY.len() as u32);
    let ack = Flags::ACK;
    let steps: [Step<'_>; 10] = [
        (1, 1000, 0, Flags::SYN, syn, &[]),
        (0, 9000, 1001, Flags::SYN.with(ack), syn, &[]),
        (1, 1001, 9001, ack, plain, &[]),
        (1, 1001, 9001, Flags::PSH.with(ack), plain, REQUEST),
        (0, 9001, 1001 + request, ack, plain, &[]),
        (0, 9001, 1001 + request, Flags::PSH.with(ack), plain, REPLY),
        (1, 1001 + request, 9001 + reply, ack, plain, &[]),
        (1, 1001 + request, 9001 + reply, Flags::FIN.with(ack), plain, &[]),
        (0, 9001 + reply, 1002 + request, Flags::FIN.with(ack), plain, &[]),
        (1, 1002 + request, 9002 + reply, ack, plain, &[]),
    ];
    let mut packets = Vec::new();
    for (n, (station, seq, acked, flags, options, payload)) in steps.into_iter().enumerate() {
        let (source, destination) = if station == 0 { (SERVER, CLIENT) } else { (CLIENT, SERVER) };
        let (source_port, destination_port) = if station == 0 { (80, 40_000) } else { (40_000, 80) };
        let packet = TcpPacket {
            source,
            destination,
            source_port,
            destination_port,
            seq,
            ack: acked,
            flags,
            window: 5840,
            options,
            identification: n as u16,
            ttl: 64,
        };
        let mut bytes = Vec::new();
        packet.write(payload, &mut bytes);
        packets.push((station, bytes));
    }
    packets
}

const START_NS: u64 = 5_000_000_123;

/// The exchange on the air, each packet acknowledged, a beacon and an RTS/CTS pair before; where `garbled`,
/// the GET is first heard with a bad FCS and then sent again.
fn air(path: &Path, garbled: bool) {
    let stations = [(SERVER, "server"), (CLIENT, "client")];
    let mut capture = AirCapture::new(Vec::new(), AirConfig::dsss(), 0, stations).unwrap();
    let packets = exchange();
    let mut at = START_NS;
    let mut put =
        |from: u16, to: Option<u16>, kind: AirKind<'_>, sequence: u16, attempt: u8, bad_fcs: bool| {
            let rate = if matches!(kind, AirKind::Data(_)) { Rate::mbps(11) } else { Rate::mbps(1) };
            let frame = AirFrame {
                start: Time::from_ns(at),
                rate,
                from,
                to,
                kind,
                sequence,
                attempt,
                bad_fcs,
                reserves: None,
            };
            capture.frame(&frame).unwrap();
            at += 1_000_001;
        };
    put(0, None, AirKind::Beacon, 0, 1, false);
    put(1, Some(0), AirKind::Rts, 0, 1, false);
    put(0, Some(1), AirKind::Cts, 0, 1, false);
    for (n, (station, packet)) in packets.iter().enumerate() {
        let (to, sequence) = (Some(1 - station), 4090 + n as u16);
        if garbled && n == 3 {
            put(*station, to, AirKind::Data(packet), sequence % 4096, 1, true);
            put(*station, to, AirKind::Data(packet), sequence % 4096, 2, false);
        } else {
            put(*station, to, AirKind::Data(packet), sequence % 4096, 1, false);
        }
        put(1 - station, Some(*station), AirKind::Ack, 0, 1, false);
    }
    fs::write(path, capture.into_inner()).unwrap();
}

fn table(fields: &[&str], options: &[&str], capture: &Path) -> Option<Vec<Vec<String>>> {
    let mut arguments = vec!["-n", "-T", "fields", "-E", "separator=|"];
    fields.iter().for_each(|f| arguments.extend(["-e", f]));
    arguments.extend(options);
    let text = tshark(&arguments, capture)?;
    Some(text.lines().map(|l| l.split('|').map(str::to_owned).collect()).collect())
}

#[test]
fn the_air_is_read_as_it_was_written() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("air.pcapng");
    air(&path, true);
    let fields = [
        "frame.time_epoch",
        "wlan.fc.type_subtype",
        "radiotap.datarate",
        "radiotap.flags.badfcs",
        "wlan.fcs.status",
        "wlan.fc.retry",
        "wlan.seq",
        "wlan.duration",
        "wlan.ra",
        "radiotap.data_retries",
        "radiotap.mactime",
        "radiotap.channel.freq",
    ];
    let Some(rows) = table(&fields, &["-o", "wlan.check_checksum:TRUE"], &path) else { return };
    assert_eq!(rows.len(), 3 + 10 * 2 + 1);
    for (n, row) in rows.iter().enumerate() {
        let time = START_NS + n as u64 * 1_000_001;
        assert_eq!(row[0], format!("{}.{:09}", time / 1_000_000_000, time % 1_000_000_000));
        assert_eq!(row[10], ((time + 192_000) / 1_000).to_string(), "TSFT is a preamble later");
        assert_eq!(row[11], "2437");
        let bad = n == 9;
        // 1 is good, 0 bad.
        assert_eq!((row[3].as_str(), row[4].as_str()), if bad { ("1", "0") } else { ("0", "1") }, "{row:?}");
    }
    let kinds: Vec<&str> = rows.iter().map(|r| r[1].as_str()).collect();
    assert_eq!(kinds[..7], ["0x0008", "0x001b", "0x001c", "0x0020", "0x001d", "0x0020", "0x001d"]);
    let mac = |station| station_mac(station).map(|o| format!("{o:02x}")).join(":");
    let data = |n: usize| {
        [&rows[n][2], &rows[n][5], &rows[n][6], &rows[n][7], &rows[n][8], &rows[n][9]].map(String::as_str)
    };
    assert_eq!(data(3), ["11", "0", "4090", "314", &mac(0), "0"]);
    assert_eq!(data(4), ["1", "0", "", "0", &mac(1), "0"]);
    assert_eq!(data(9), ["11", "0", "4093", "314", &mac(0), "0"]);
    assert_eq!(data(10), ["11", "1", "4093", "314", &mac(0), "1"]);
    assert_eq!(rows[18][6], "1", "sequence numbers wrap at 4096");
}

#[test]
fn beacons_name_the_network() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("air.pcapng");
    air(&path, true);
    let fields =
        ["wlan.ssid", "wlan.fixed.capabilities.ibss", "wlan.ds.current_channel", "wlan.supported_rates"];
    let Some(rows) = table(&fields, &["-Y", "wlan.fc.type_subtype == 8"], &path) else { return };
    // 4.0 shows the name as text, other versions as octets.
    assert!(["airperf", "61697270657266"].contains(&rows[0][0].as_str()), "{rows:?}");
    assert_eq!(rows[0][1..3], ["1", "6"]);
}

fn expect_exchange(path: &Path) {
    let fields = [
        "ip.src",
        "tcp.seq_raw",
        "tcp.ack_raw",
        "tcp.flags",
        "tcp.len",
        "ip.checksum.status",
        "tcp.checksum.status",
        "http.request.uri",
        "http.response.code",
        "tcp.options.mss_val",
        "tcp.options.timestamp.tsval",
    ];
    let options = ["-Y", "tcp", "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"];
    let Some(rows) = table(&fields, &options, path) else { return };
    let (q, r) = (REQUEST.len(), REPLY.len());
    let expected = [
        "10.77.0.2 1000 0 0x0002 0 1 1 1460 100".to_owned(),
        "10.77.0.1 9000 1001 0x0012 0 1 1 1460 100".to_owned(),
        "10.77.0.2 1001 9001 0x0010 0 1 1 101".to_owned(),
        format!("10.77.0.2 1001 9001 0x0018 {q} 1 1 /1024 101"),
        format!("10.77.0.1 9001 {} 0x0010 0 1 1 101", 1001 + q),
        format!("10.77.0.1 9001 {} 0x0018 {r} 1 1 200 101", 1001 + q),
        format!("10.77.0.2 {} {} 0x0010 0 1 1 101", 1001 + q, 9001 + r),
        format!("10.77.0.2 {} {} 0x0011 0 1 1 101", 1001 + q, 9001 + r),
        format!("10.77.0.1 {} {} 0x0011 0 1 1 101", 9001 + r, 1002 + q),
        format!("10.77.0.2 {} {} 0x0010 0 1 1 101", 1002 + q, 9002 + r),
    ];
    // Fields that a packet does not have are empty.
    let words = |line: String| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let shown: Vec<_> = rows.iter().map(|row| words(row.join(" "))).collect();
    assert_eq!(shown, expected.map(words));
}

#[test]
fn the_exchange_is_read_from_all_three_link_types() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("air.pcapng");
    // tshark feeds frames with a bad FCS to TCP, too.
    air(&path, false);
    expect_exchange(&path);

    let path = home.path().join("wire.pcapng");
    let stations = [(SERVER, "server"), (CLIENT, "client")];
    let mut capture = EtherCapture::new(Vec::new(), 0, stations).unwrap();
    for (n, (station, packet)) in exchange().iter().enumerate() {
        capture.frame(Time::from_ns(n as u64 * 1_000_000), *station, Some(1 - station), packet).unwrap();
    }
    fs::write(&path, capture.into_inner()).unwrap();
    expect_exchange(&path);

    let path = home.path().join("ip.pcapng");
    let mut capture = Writer::new(Vec::new(), "test", 0).unwrap();
    let interface = Interface { link_type: LinkType::RAW, name: "tun", description: "station" };
    let interface = capture.interface(interface).unwrap();
    for (n, (_, packet)) in exchange().iter().enumerate() {
        capture.packet(interface, n as u64 * 1_000_000, &[packet], Some("a comment")).unwrap();
    }
    fs::write(&path, capture.into_inner()).unwrap();
    expect_exchange(&path);
    let Some(rows) = table(&["frame.comment", "frame.interface_name"], &[], &path) else { return };
    assert!(rows.iter().all(|r| r[..] == ["a comment", "tun"]), "{rows:?}");
}

#[test]
fn experts_find_no_fault() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("air.pcapng");
    air(&path, true);
    let Some(text) = tshark(&["-q", "-z", "expert,note"], &path) else { return };
    let faults = ["Malformed", "Errors", "Warns", "malformed", "checksum"];
    assert!(!faults.iter().any(|f| text.contains(f)), "{text}");
    let Some(names) = tshark(&["-q", "-z", "hosts"], &path) else { return };
    assert!(names.contains("10.77.0.1") && names.contains("server"), "{names}");
}
