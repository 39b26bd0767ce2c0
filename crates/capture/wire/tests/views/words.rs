//! Frames in words: what a listing shows, and that nothing in it reaches the terminal raw.

use airperf_wire::LinkType;

use crate::make::{FCS_AT_END, Shots, data, ethernet, radiotap, snap, tcp, with_fcs};

fn words(shots: &Shots) -> String {
    let (record, bytes) = &shots.records[0];
    shots.decoder.describe(record, bytes).to_string()
}

#[test]
fn every_layer_has_a_line() {
    let header =
        radiotap(&[(1, 1, &[FCS_AT_END]), (2, 1, &[22]), (3, 2, &[0x85, 9, 0xa0, 0]), (5, 1, &[216])]);
    let frame = [&header[..], &with_fcs(&data(&snap(0x0800, &tcp(b"GET /a HTTP/1.1\r\n\r\n"))))].concat();
    let expected = "\
frame 1 at 1700000000.000000000, 110 bytes, interface 0
  radio 11 Mbit/s 2437 MHz signal -40 dBm airtime 262 us
  802.11 data 02:00:00:00:00:0a > 02:00:00:00:00:0b seq 21 duration 44 us fcs good
  IPv4 10.1.2.3 > 10.4.5.6 ttl 64 id 77 protocol 6 59 bytes
  TCP 40000 > 80 [PSH+ACK] seq 1000 ack 2000 win 5840 19 bytes
  HTTP GET /a HTTP/1.1
";
    assert_eq!(words(&Shots::of(LinkType::RADIOTAP, &[frame])), expected);
}

#[test]
fn control_characters_are_escaped() {
    let request = b"GET /\x1b]0;owned\x07 HTTP/1.1\r\n";
    let shown = words(&Shots::of(LinkType::ETHERNET, &[ethernet(0x0800, &tcp(request))]));
    assert!(shown.contains(r"HTTP GET /\x1b]0;owned\x07 HTTP/1.1"), "{shown}");
    let elements = [&[0; 12][..], &[0, 4], b"\x1b[2J"].concat();
    let beacon = [&[0x80, 0, 0, 0][..], &[0xff; 6], &[2; 12], &[0, 0], &elements].concat();
    let shown = words(&Shots::of(LinkType::IEEE802_11, &[beacon]));
    assert!(shown.contains(r#"ssid "\x1b[2J""#), "{shown}");
}

#[test]
fn what_is_wrong_is_said() {
    let shown = words(&Shots::of(LinkType::ETHERNET, &[ethernet(0x0800, &[0x41; 30])]));
    assert!(shown.contains("! ip_malformed"), "{shown}");
    let mut frame = ethernet(0x0800, &tcp(b""));
    frame[14 + 32] = 0x10;
    let shown = words(&Shots::of(LinkType::ETHERNET, &[frame]));
    assert!(shown.contains("! transport_malformed: TCP header length of 4 bytes"), "{shown}");
}
