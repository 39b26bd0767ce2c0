//! Captures of 802.11: what the MAC repeats is not TCP's doing.

use airperf_analyze::capture::Options;
use airperf_units::{Rate, Time};
use airperf_wire::{AirCapture, AirConfig, AirFrame, AirKind};

use crate::script::{ACK, GET, GET_BYTES, MS, Script, Seen, response, source};

/// A conversation on the air; `attempts` says which attempts of a packet the sniffer heard, and how well.
fn on_air(script: &Script, attempts: impl Fn(usize) -> Vec<(u8, bool)>) -> Seen {
    let mut capture = AirCapture::new(Vec::new(), AirConfig::dsss(), 0, []).expect("memory");
    for (i, (at, packet)) in script.packets.iter().enumerate() {
        let up = packet[15] == 2;
        let (from, to) = if up { (2, 1) } else { (1, 2) };
        for (attempt, bad_fcs) in attempts(i) {
            let frame = AirFrame {
                start: Time::from_ns(*at as u64 + u64::from(attempt) * 3_000_000),
                rate: Rate::mbps(11),
                from,
                to: Some(to),
                kind: AirKind::Data(packet),
                sequence: i as u16,
                attempt,
                bad_fcs,
                reserves: None,
            };
            capture.frame(&frame).expect("memory");
        }
    }
    Seen::of(vec![source(capture.into_inner())], &Options::default())
}

fn conversation() -> Script {
    let mut script = Script::new();
    let (q, answer) = (1 + GET_BYTES, response(1_000));
    script.handshake(0);
    script.send(100 * MS, true, ACK, 1, 1, GET);
    script.send(200 * MS, false, ACK, 1, q, &answer);
    script.send(300 * MS, true, ACK, q, 1 + answer.len() as u32, &[]);
    script
}

#[test]
fn fault_26_what_the_mac_sends_again_is_counted_there_and_left_out_of_tcp() {
    let script = conversation();
    // The response is heard three times; of the request the original is missed, and one attempt of the SYN is noise.
    let seen = on_air(&script, |i| match i {
        0 => vec![(1, true), (2, false)],
        3 => vec![(2, false)],
        4 => vec![(1, false), (2, false), (3, false)],
        _ => vec![(1, false)],
    });
    let c = seen.connection();
    assert_eq!((c.mac_retries_up, c.mac_retries_down), (Some(2), Some(2)));
    assert_eq!((c.full, c.part, c.dup_syn, c.duplicates, c.segments_down), (0, 0, 0, 0, 2));
    assert_eq!(seen.segments.iter().map(|s| s.mac_retries).collect::<Vec<_>>(), [1, 0, 0, 1, 2, 0].map(Some));
    let row = |kind| {
        let row = seen.retransmissions.iter().find(|r| r.kind == kind).expect("a row");
        (row.segments, row.tcp_retransmissions, row.mac_retransmissions)
    };
    assert_eq!((row("syn"), row("get"), row("data")), ((1, 0, Some(1)), (1, 0, Some(1)), (1, 0, Some(2))));
    assert_eq!((seen.exchanges.len(), seen.exchanges[0].complete), (1, true));
}

#[test]
fn a_packet_arrives_at_the_end_of_its_frame() {
    let seen = on_air(&conversation(), |_| vec![(1, false)]);
    let response = seen.segments.iter().find(|s| s.kind == "data").expect("a response");
    // Preamble of 192 µs, 36 octets around the IP packet, 11 Mbit/s.
    let air_ns = 192_000 + (u64::from(response.ip_bytes) + 36) * 8 * 1_000 / 11;
    let done = seen.exchanges[0].done_ns.expect("a complete response");
    assert!((done - response.time_ns).abs_diff(air_ns) <= 1_000, "{} {air_ns}", done - response.time_ns);
}
