//! The same packets shown to tshark give the same counts. Skipped, loudly, where tshark is not installed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::talk::{ACK, FIN, GET, RST, SYN, Show, response};
use airperf_wire::LinkType;
use airperf_wire::pcapng::{Interface, Writer};

const SECOND: u64 = 1_000_000_000;
const GET_BYTES: u32 = GET.len() as u32;

/// A connection that fetches `bodies`, one after the other, beginning at `at`; `lost` says whether every
/// first data segment is sent again, well after tshark stops taking repeats for reordering.
fn fetch(show: &mut Show, at: u64, bodies: &[usize], lost: bool) {
    show.send(at, true, SYN, 0, 0, &[]);
    show.send(at + 1_000, false, airperf_wire::Flags(0x12), 0, 1, &[]);
    show.send(at + 2_000, true, ACK, 1, 1, &[]);
    let (mut q, mut r, mut now) = (1, 1, at + SECOND);
    for body in bodies {
        show.send(now, true, ACK, q, r, GET);
        q += GET_BYTES;
        for (i, piece) in response(*body).chunks(1448).enumerate() {
            now += 1_000_000;
            if lost && i == 0 {
                show.offer(now, false, ACK, r, q, piece);
                now += SECOND;
            }
            show.send(now, false, ACK, r, q, piece);
            r += piece.len() as u32;
        }
        now += 1_000_000;
        show.send(now, true, ACK, q, r, &[]);
    }
    show.send(now + 1_000, true, FIN, q, r, &[]);
    show.send(now + 2_000, false, FIN, r, q + 1, &[]);
    show.send(now + 3_000, true, ACK, q + 1, r + 1, &[]);
}

fn conversations() -> Show {
    let mut show = Show::new();
    for i in 0..20u16 {
        let at = u64::from(i) * 100 * SECOND;
        show.client_port = 20_000 + i % 15;
        show.initial = (0x0c00_0000 * u32::from(i), u32::MAX - 2_000 * u32::from(i));
        match i % 5 {
            0 => fetch(&mut show, at, &[1024], false),
            1 => fetch(&mut show, at, &[10, 5_000, 0], false),
            2 => fetch(&mut show, at, &[1024, 20_000], true),
            3 => {
                show.send(at, true, SYN, 0, 0, &[]);
                show.send(at + 3 * SECOND, true, SYN, 0, 0, &[]);
                show.send(at + 4 * SECOND, false, RST, 0, 1, &[]);
            }
            _ => {
                show.send(at, true, SYN, 0, 0, &[]);
                show.send(at + 1_000, false, airperf_wire::Flags(0x12), 0, 1, &[]);
                show.send(at + 2_000, true, ACK, 1, 1, &[]);
                show.send(at + 3_000, true, ACK, 1, 1, GET);
                show.send(at + 4_000, false, ACK, 1, 1 + GET_BYTES, &response(9_000)[..1448]);
                show.send(at + 5 * SECOND, true, RST, 1 + GET_BYTES, 1449, &[]);
            }
        }
    }
    show
}

/// The fields of every packet that matches `filter`.
fn tshark(capture: &Path, filter: &str, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(capture).args(["-n", "-Y", filter, "-T", "fields", "-E", "separator=|"]);
    command.args(fields.iter().flat_map(|f| ["-e", f]));
    match command.output() {
        Ok(out) => {
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
            let text = String::from_utf8(out.stdout).expect("tshark writes text");
            Some(text.lines().map(|l| l.split('|').map(str::to_owned).collect()).collect())
        }
        Err(e) => {
            eprintln!("SKIPPED: tshark cannot be run ({e}); install it to compare with it");
            None
        }
    }
}

#[test]
fn tshark_counts_the_same() {
    let show = conversations();
    let home = tempfile::tempdir().expect("a place for the capture");
    let path = home.path().join("ip.pcapng");
    let mut writer = Writer::new(Vec::new(), "test", 0).expect("memory");
    let interface = Interface { link_type: LinkType::RAW, name: "ip", description: "test" };
    let interface = writer.interface(interface).expect("memory");
    for (at, packet) in &show.packets {
        writer.packet(interface, *at, &[packet], None).expect("memory");
    }
    std::fs::write(&path, writer.into_inner()).expect("a capture");
    let (connections, exchanges) = show.rows();

    let Some(all) = tshark(&path, "tcp", &["tcp.stream", "ip.src", "tcp.len"]) else { return };
    let streams: BTreeSet<&str> = all.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(connections.len(), streams.len());
    // Of 20 connections 4 × 3 fetch, 4 are refused, 4 give up after the first segment of the reply.
    assert_eq!(connections.iter().filter(|c| c.class == "syn_fin").count(), 12);
    assert_eq!(connections.iter().filter(|c| c.error == Some("connect")).count(), 4);
    assert_eq!(connections.iter().filter(|c| c.error == Some("receive")).count(), 4);

    let count =
        |filter| tshark(&path, filter, &["frame.number"]).map(|rows| rows.len()).expect("it ran before");
    let asked = exchanges.iter().filter(|e| e.sent_ns.is_some()).count();
    assert_eq!(asked, count("http.request && !tcp.analysis.retransmission"));
    let complete = exchanges.iter().filter(|e| e.error.is_none()).count();
    assert_eq!(complete, count("http.response"), "tshark counts complete responses only");

    let again: u32 = connections.iter().map(|c| c.retransmissions_up + c.retransmissions_down).sum();
    assert_eq!(again as usize, count("tcp.analysis.retransmission || tcp.analysis.fast_retransmission"));
    assert_eq!(again, 4 + 4 * 2);

    let sent: u64 = all.iter().map(|row| row[2].parse::<u64>().expect("a length")).sum();
    let repeated = tshark(&path, "tcp.analysis.retransmission", &["tcp.len"]).expect("it ran before");
    let repeated: u64 = repeated.iter().map(|row| row[0].parse::<u64>().expect("a length")).sum();
    let received: u64 = connections.iter().map(|c| c.bytes_up + c.bytes_down).sum();
    assert_eq!(received, sent - repeated);
}
