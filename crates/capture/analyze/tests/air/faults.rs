//! Bad and unusual frames (rows 23 to 26), as the summary tells of them.

use airperf_analyze::capture::Summary;
use airperf_wire::{Flags, LinkType, station_mac};
use serde_json::{Value, json};

use crate::captures::*;

fn tcp(summary: &Summary) -> (u64, u64, u64) {
    (summary.flows.segments, summary.flows.syn_fin, summary.flows.retransmitted())
}

fn has_notice(summary: &Summary, words: &str) -> bool {
    summary.notices().iter().any(|notice| notice.contains(words))
}

#[test]
fn fault_25_the_same_frames_give_the_same_with_and_without_check_sequence() {
    let shots = fetch();
    for form in [Form::Radiotap, Form::RadiotapWithoutFcs, Form::Bare, Form::BareWithoutFcs] {
        let summary = summary(&shots, form);
        assert_eq!(tcp(&summary), (10, 1, 0), "{form:?}");
        assert_eq!((summary.flows.requests, summary.flows.responses), (1, 1), "{form:?}");
        let mac = summary.mac.unwrap();
        assert_eq!(
            (mac.frames, mac.data, mac.acks, mac.acknowledged, mac.bad_fcs),
            (20, 10, 10, 10, 0),
            "{form:?}"
        );
        let tried = matches!(form, Form::Bare | Form::BareWithoutFcs);
        assert_eq!(
            has_notice(&summary, "does not say whether frames end in a check sequence"),
            tried,
            "{form:?}"
        );
        assert_eq!(summary.airtime.is_some(), !tried, "only radiotap tells rates");
    }
}

#[test]
fn fault_25_bad_frames_are_noise_and_never_reach_tcp() {
    for form in [Form::Radiotap, Form::Bare] {
        let mut shots = fetch();
        // The response's first part, garbled: the octets are those of another segment.
        shots[8].flip = 0xff;
        let garbled = shots[8].frame.len() - 1;
        shots[8].frame[garbled] ^= 0x40;
        let summary = summary(&shots, form);
        assert_eq!(summary.flows.segments, 9, "{form:?}");
        let mac = summary.mac.unwrap();
        assert_eq!((mac.frames, mac.bad_fcs, mac.data), (20, 1, 9), "{form:?}");
        assert_eq!(summary.anomaly("bad_fcs"), 1);
    }
}

#[test]
fn fault_26_a_mac_duplicate_is_no_tcp_retransmission() {
    let mut shots = fetch();
    let mut again = shots[8].clone();
    again.frame[1] |= 0x08;
    again.at += MS;
    shots.insert(9, again);
    let summary = summary(&shots, Form::Radiotap);
    assert_eq!(tcp(&summary), (10, 1, 0));
    let mac = summary.mac.unwrap();
    assert_eq!((mac.retries, mac.duplicates, mac.missed_originals), (1, 1, 0));
}

#[test]
fn fault_26_a_retry_whose_original_was_missed_is_the_packet() {
    let mut shots = fetch();
    shots[8].frame[1] |= 0x08;
    let summary = summary(&shots, Form::Radiotap);
    assert_eq!(tcp(&summary), (10, 1, 0), "the only copy reaches TCP");
    let mac = summary.mac.unwrap();
    assert_eq!((mac.retries, mac.duplicates, mac.missed_originals), (1, 0, 1));
}

#[test]
fn fault_26_tcp_retransmissions_come_with_a_number_of_their_own() {
    let mut shots = fetch();
    let mut again = shots[8].clone();
    // Another number of the MAC and another identification in the IP header.
    again.frame[23] = 9;
    again.frame[36] ^= 1;
    again.at += MS;
    shots.insert(9, again);
    let summary = summary(&shots, Form::Radiotap);
    assert_eq!((summary.flows.full, summary.mac.unwrap().retries), (1, 0));
}

#[test]
fn fault_26_encrypted_frames_are_told_of_and_only_their_mac_is_analysed() {
    let shots: Vec<Shot> =
        fetch().into_iter().map(|s| if s.frame.len() > 20 { protected(s) } else { s }).collect();
    let summary = summary(&shots, Form::Radiotap);
    assert_eq!((summary.flows.segments, summary.flows.connections()), (0, 0));
    let mac = summary.mac.unwrap();
    assert_eq!((mac.data, mac.protected, mac.acknowledged), (10, 10, 10));
    assert_eq!(summary.anomaly("encrypted"), 10);
    assert!(has_notice(&summary, "10 frames are encrypted: of these only the MAC is analysed"));
    assert!(summary.airtime.is_some());
}

#[test]
fn fault_26_every_packet_of_an_aggregate_is_seen() {
    let shots = fetch();
    let packets =
        [packet(SERVER, Flags::ACK, 1, 35, &[b'x'; 100]), packet(SERVER, Flags::ACK, 101, 35, b"yy")];
    let whole = [&shots[..8], &[amsdu(shots[8].at, SERVER, 4, &packets)]].concat();
    let summary = summary(&whole, Form::Radiotap);
    assert_eq!(summary.flows.segments, 6);
}

#[test]
fn fault_26_missing_acks_lose_no_connection() {
    let shots: Vec<Shot> = fetch().into_iter().filter(|shot| shot.frame.len() > 20).collect();
    let summary = summary(&shots, Form::Radiotap);
    assert_eq!(tcp(&summary), (10, 1, 0));
    assert_eq!(summary.anomaly("mac_unacknowledged"), 10);
}

fn ethernet(packet: &[u8]) -> Vec<u8> {
    let mut frame = station_mac(0).to_vec();
    frame.extend(station_mac(1));
    frame.extend([8, 0]);
    frame.extend_from_slice(packet);
    frame
}

#[test]
fn fault_23_empty_frames_runts_jumbos_and_offload_are_counted_and_told_of() {
    let mut offload = ethernet(&packet(SERVER, Flags::ACK, 1, 1, &vec![b'x'; 60_000]));
    let cut_up_later = ethernet(&packet(SERVER, Flags::ACK, 60_001, 1, &vec![b'x'; 30_000]));
    // A total length of 0: the card fills it in.
    let mut unfinished = cut_up_later.clone();
    unfinished[16..18].fill(0);
    offload.truncate(offload.len());
    let jumbo = ethernet(&packet(SERVER, Flags::ACK, 90_001, 1, &[b'x'; 8_000]));
    let records = [Vec::new(), vec![1, 2, 3], offload, unfinished, jumbo];
    let source = pcap(LinkType::ETHERNET, (0..).zip(records).map(|(i, record)| (i * MS, record)));
    let summary = summary_with(source, None, 1);
    assert_eq!((summary.packets, summary.flows.segments), (5, 3));
    for (name, count) in [("empty_frame", 1), ("runt", 1), ("offload", 2)] {
        assert_eq!(summary.anomaly(name), count, "{name}");
    }
    assert!(summary.anomaly("jumbo") >= 1);
    assert!(has_notice(&summary, "segment sizes are not those on the wire"));
}

/// The keys of an object and of those in it.
fn keys(value: &Value, prefix: &str, all: &mut Vec<String>) {
    for (key, inner) in value.as_object().into_iter().flatten() {
        let name = format!("{prefix}{key}");
        keys(inner, &format!("{name}."), all);
        all.push(name);
    }
}

#[test]
fn the_summary_has_the_keys_that_scripts_rely_on() {
    let json = summary(&fetch(), Form::Radiotap).to_json();
    let mut found = Vec::new();
    keys(&json, "", &mut found);
    let tcp = "segments connections syn_fin syn_rst syn_no_synack syn_unfinished no_syn resets retransmitted \
               retransmission_parts out_of_order duplicate_acks";
    let expected = "schema packets bytes duration_s link_types tcp http mac anomalies truncated_at airtime notices files \
                    tcp.retransmission_parts.full tcp.retransmission_parts.part tcp.retransmission_parts.late \
                    tcp.retransmission_parts.dup_syn tcp.retransmission_parts.dup_fin http.requests http.responses \
                    mac.frames mac.retries mac.bad_fcs mac.beacons mac.acks";
    let expected = expected.split_whitespace().map(str::to_owned);
    for key in expected.chain(tcp.split_whitespace().map(|key| format!("tcp.{key}"))) {
        assert!(found.contains(&key), "{key} is gone");
    }
    assert_eq!((&json["schema"], &json["truncated_at"]), (&json!(1), &Value::Null));
    assert_eq!(json["link_types"], json!({ "ieee802_11_radiotap": 20 }));
    let wired = summary_with(
        pcap(LinkType::ETHERNET, [(0, ethernet(&packet(CLIENT, Flags::SYN, 0, 0, &[])))]),
        None,
        1,
    );
    assert_eq!((&wired.to_json()["mac"], &wired.to_json()["airtime"]), (&Value::Null, &Value::Null));
    assert_eq!(wired.to_json()["tcp"]["syn_no_synack"], 1);
}
