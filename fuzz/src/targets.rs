//! What is fed, and with what: each target has good inputs to start from and a parser.

use crate::{captures, conversation, kept};
use airperf_link::trace::Trace;
use airperf_scenario::Scenario;
use airperf_wire::{Ipv4, Tcp, TcpOptions, TcpPacket};

/// One parser.
pub(crate) struct Target {
    /// What it is called.
    pub(crate) name: &'static str,
    /// Good inputs.
    pub(crate) seeds: fn() -> Vec<Vec<u8>>,
    /// Words worth planting.
    pub(crate) words: &'static [&'static str],
    /// Parses; true when the input was accepted.
    pub(crate) parse: fn(&[u8]) -> bool,
}

/// Every target.
pub(crate) const ALL: &[Target] = &[
    Target { name: "scenario", seeds: scenarios, words: SCENARIO_WORDS, parse: parse_scenario },
    Target { name: "override", seeds: overrides, words: SCENARIO_WORDS, parse: parse_override },
    Target { name: "trace", seeds: traces, words: TRACE_WORDS, parse: parse_trace },
    Target { name: "packet", seeds: packets, words: &[], parse: parse_packet },
    Target {
        name: "flow",
        seeds: conversation::seeds,
        words: conversation::WORDS,
        parse: conversation::track,
    },
    Target { name: "container", seeds: kept::containers, words: captures::WORDS, parse: captures::read },
    Target { name: "capture", seeds: kept::captures, words: conversation::WORDS, parse: captures::frames },
];

const SCENARIO_WORDS: &[&str] = &[
    "\"11 mbps\"",
    "\"1KB\"",
    "\"1e309Mbit/s\"",
    "nan",
    "-1",
    "\"-5s\"",
    "[[client]]",
    "[link]",
    "count = 1000000000",
    "\"10..160 step 10 /s\"",
    "\"\u{1f4f6}\"",
    "= = =",
    "'''",
    "\"18446744073709551616ns\"",
    "inf",
    "\"0/s\"",
];

fn scenarios() -> Vec<Vec<u8>> {
    [
        include_str!("../../scenarios/bai2006-e1.toml"),
        include_str!("../../scenarios/wired-10mbit.toml"),
        include_str!("../../scenarios/slow-4g.toml"),
        include_str!("../../scenarios/gprs-fading.toml"),
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

fn parse_scenario(input: &[u8]) -> bool {
    Scenario::parse(&String::from_utf8_lossy(input), "fuzz.toml", &[]).is_ok()
}

const TRACE_WORDS: &[&str] = &[
    "0",
    "-1",
    "1e9",
    "2678400000",
    "18446744073709551616",
    "time_s,rate_bps",
    "0,0",
    "\r",
    ",",
    "\u{feff}",
];

fn traces() -> Vec<Vec<u8>> {
    ["1\n5\n5\n900\n2100\n", "time_s,rate_bps\n0,1000000\n0.5,0\n2,33000\n"]
        .map(|text| text.as_bytes().to_vec())
        .to_vec()
}

fn parse_trace(input: &[u8]) -> bool {
    Trace::parse(&String::from_utf8_lossy(input)).is_ok_and(|trace| trace.facts().mean_bps > 0.0)
}

fn overrides() -> Vec<Vec<u8>> {
    [
        "client.rate=40/s",
        "link.preamble=short",
        "link.queue=200",
        "tcp.initial_rto=\"1s\"",
        "emu.lag_p99_limit=1ms",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

fn parse_override(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input);
    let (key, value) = text.split_once('=').unwrap_or((&text, ""));
    let pair = (key.to_owned(), value.to_owned());
    Scenario::parse(include_str!("../../scenarios/bai2006-e1.toml"), "fuzz.toml", &[pair]).is_ok()
}

fn packets() -> Vec<Vec<u8>> {
    let full = TcpOptions {
        mss: Some(1460),
        sack_permitted: true,
        timestamps: Some((1, 2)),
        window_scale: Some(7),
        sack: &[],
    };
    let holes = TcpOptions { timestamps: Some((3, 4)), sack: &[(10, 20), (30, 40)], ..TcpOptions::default() };
    [full, holes]
        .map(|options| {
            let mut bytes = Vec::new();
            TcpPacket { options, ..conversation::PACKET }.write(b"GET / HTTP/1.1\r\n\r\n", &mut bytes);
            bytes
        })
        .to_vec()
}

fn parse_packet(input: &[u8]) -> bool {
    let Ok(ip) = Ipv4::parse(input) else { return false };
    let _ = (ip.payload(), ip.payload_len(), ip.total_len(), ip.checksum_is_right(), ip.is_later_fragment());
    let Ok(tcp) = Tcp::parse(ip.payload(), ip.payload_len()) else { return false };
    let _ = (tcp.payload(), tcp.payload_len(), tcp.checksum_is_right(ip.source(), ip.destination()));
    tcp.options().count() <= 40
}
