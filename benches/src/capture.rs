//! Capture analysis: makes a capture of Web traffic, and measures one pass over a capture.
//!
//! The made capture is classic pcap on Ethernet, for tcptrace reads nothing newer: some hundred connections
//! at a time (or as many as one asks for) of 80 clients with one server, one to six exchanges each, sizes from 200 B to 60 KB, one data segment in 200
//! sent again. Same arguments, same bytes. Left out: tshark and tcptrace, which `benches/capture.py` runs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::Ipv4Addr;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use airperf_analyze::capture::{Options, Table, TableSet, analyze};
use airperf_units::{Stream, StreamKey};
use airperf_wire::container::{Limits, Source};
use serde_json::json;

use airperf_wire::{Flags, TcpOptions, TcpPacket, ethernet_frame, station_mac};

use crate::{Figures, counting};

const MSS: u32 = 1448;
/// Connections at a time, unless one asks for others.
pub(crate) const AT_ONCE: u64 = 200;
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// One segment with data in so many is sent again.
const RESENT: u32 = 200;
const ACK: Flags = Flags::ACK;

/// A connection while it is being made.
struct Talk {
    client: u16,
    port: u16,
    /// Next sequence number and octet expected, client's and server's.
    next: [u32; 2],
    step: Step,
    exchanges: u32,
    body: u32,
    unacknowledged: u32,
}

enum Step {
    Syn,
    SynAck,
    Established,
    Ask,
    Answer { left: u32, first: bool },
    Fin,
    FinAck,
    LastAck,
}

/// Writes a capture of `connections` connections, so many at a time, to `path`; it ends after so many packets.
pub(crate) fn make(path: &Path, connections: u64, at_once: u64, packets: u64) -> Option<Figures> {
    let mut out = Pcap::create(path).ok()?;
    let mut draws = StreamKey::new(3).stream("bench-capture");
    let mut waiting = BinaryHeap::new();
    let mut talks: Vec<Talk> = Vec::new();
    let mut begun = 0u64;
    while begun < connections.min(at_once) {
        waiting.push(Reverse((u64::from(draws.up_to(20_000)), talks.len())));
        talks.push(Talk::new(begun, &mut draws));
        begun += 1;
    }
    while let Some(Reverse((time_us, index))) = waiting.pop()
        && out.packets < packets
    {
        let talk = &mut talks[index];
        match talk.step(time_us, &mut draws, &mut out) {
            Some(after_us) => waiting.push(Reverse((time_us + after_us, index))),
            None if begun < connections => {
                *talk = Talk::new(begun, &mut draws);
                begun += 1;
                waiting.push(Reverse((time_us + u64::from(draws.up_to(5_000)), index)));
            }
            None => {}
        }
    }
    let (packets, bytes) = out.finish().ok()?;
    Some(vec![("packets", packets as f64), ("bytes", bytes as f64), ("connections", connections as f64)])
}

impl Talk {
    fn new(number: u64, draws: &mut Stream) -> Self {
        Self {
            client: 1 + (number % 80) as u16,
            // Ports come around, as a load generator's do.
            port: 20_000 + (number / 80 % 40_000) as u16,
            next: [number as u32 * 2_654_435_761 % 4_000_000_000, number as u32 ^ 0x5bd1_e995],
            step: Step::Syn,
            exchanges: 1 + draws.up_to(5),
            body: 0,
            unacknowledged: 0,
        }
    }

    /// Sends what is next; says after how many microseconds it goes on, or that it is over.
    fn step(&mut self, time_us: u64, draws: &mut Stream, out: &mut Pcap) -> Option<u64> {
        let short = 1_000 + u64::from(draws.up_to(4_000));
        match self.step {
            Step::Syn => self.control(time_us, true, Flags::SYN, Step::SynAck, out),
            Step::SynAck => self.control(time_us, false, Flags::SYN.with(ACK), Step::Established, out),
            Step::Established => self.control(time_us, true, ACK, Step::Ask, out),
            Step::Ask => {
                let path = draws.up_to(9_999);
                let request = format!(
                    "GET /object/{path:04}.html HTTP/1.1\r\nHost: server.example\r\nUser-Agent: bench\r\n\
                     Accept: text/html,application/xhtml+xml\r\nAccept-Encoding: gzip\r\n\r\n"
                );
                self.send(time_us, true, ACK.with(Flags::PSH), request.as_bytes(), out);
                // Many small and a few large, as objects are.
                let size = 200 << draws.up_to(8);
                self.body = size + draws.up_to(size / 4);
                let head = self.head();
                self.step = Step::Answer { left: head.len() as u32 + self.body, first: true };
            }
            Step::Answer { left, first } => {
                let size = left.min(MSS);
                let mut payload = if first { self.head().into_bytes() } else { Vec::new() };
                payload.resize(size as usize, b'.');
                let before = self.next[1];
                self.send(time_us, false, ACK.with(Flags::PSH), &payload, out);
                if draws.up_to(RESENT - 1) == 0 {
                    self.next[1] = before;
                    self.send(time_us + 20, false, ACK, &payload, out);
                }
                self.unacknowledged += 1;
                if self.unacknowledged == 2 || left == size {
                    self.unacknowledged = 0;
                    self.send(time_us + 40, true, ACK, &[], out);
                }
                self.step = match (left - size, self.exchanges) {
                    (0, 1) => Step::Fin,
                    (0, _) => Step::Ask,
                    (left, _) => Step::Answer { left, first: false },
                };
                if left == size {
                    self.exchanges -= 1;
                }
            }
            Step::Fin => self.control(time_us, true, Flags::FIN.with(ACK), Step::FinAck, out),
            Step::FinAck => self.control(time_us, false, Flags::FIN.with(ACK), Step::LastAck, out),
            Step::LastAck => {
                self.send(time_us, true, ACK, &[], out);
                return None;
            }
        }
        Some(short)
    }

    fn head(&self) -> String {
        format!(
            "HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n",
            self.body
        )
    }

    fn control(&mut self, time_us: u64, up: bool, flags: Flags, then: Step, out: &mut Pcap) {
        self.send(time_us, up, flags, &[], out);
        self.step = then;
    }

    fn send(&mut self, time_us: u64, up: bool, flags: Flags, payload: &[u8], out: &mut Pcap) {
        let client = Ipv4Addr::from_bits(u32::from(SERVER) + u32::from(self.client));
        let own = usize::from(!up);
        let (source, destination) = if up { (client, SERVER) } else { (SERVER, client) };
        let (source_port, destination_port) = if up { (self.port, 80) } else { (80, self.port) };
        let begins = flags.has(Flags::SYN);
        let packet = TcpPacket {
            source,
            destination,
            source_port,
            destination_port,
            seq: self.next[own],
            ack: if flags.has(ACK) { self.next[1 - own] } else { 0 },
            flags,
            window: 29_200,
            options: TcpOptions {
                mss: begins.then_some(1460),
                sack_permitted: begins,
                timestamps: Some((time_us as u32 / 1_000, 0)),
                window_scale: begins.then_some(7),
                sack: &[],
            },
            identification: out.packets as u16,
            ttl: 64,
        };
        let one = u32::from(begins || flags.has(Flags::FIN));
        self.next[own] = self.next[own].wrapping_add(payload.len() as u32 + one);
        out.packet(time_us, if up { (self.client, 0) } else { (0, self.client) }, &packet, payload);
    }
}

/// A classic pcap being written.
struct Pcap {
    file: BufWriter<File>,
    packets: u64,
    bytes: u64,
    packet: Vec<u8>,
    frame: Vec<u8>,
    failure: Option<std::io::Error>,
    last_us: u64,
}

impl Pcap {
    fn create(path: &Path) -> std::io::Result<Self> {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let header = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1];
        header.iter().try_for_each(|word| file.write_all(&word.to_le_bytes()))?;
        Ok(Self {
            file,
            packets: 0,
            bytes: 24,
            packet: Vec::new(),
            frame: Vec::new(),
            failure: None,
            last_us: 0,
        })
    }

    fn packet(&mut self, time_us: u64, (from, to): (u16, u16), packet: &TcpPacket<'_>, payload: &[u8]) {
        // What a connection sends a moment after its turn must not stand before what others sent meanwhile.
        let time_us = time_us.max(self.last_us);
        self.last_us = time_us;
        packet.write(payload, &mut self.packet);
        self.frame.clear();
        ethernet_frame(station_mac(from), station_mac(to), &self.packet, &mut self.frame);
        let length = self.frame.len() as u32;
        // A time that a tool cannot take for a mistake.
        let seconds = 1_000_000_000 + (time_us / 1_000_000) as u32;
        let header = [seconds, (time_us % 1_000_000) as u32, length, length];
        let written = header
            .iter()
            .try_for_each(|word| self.file.write_all(&word.to_le_bytes()))
            .and_then(|()| self.file.write_all(&self.frame));
        self.failure = self.failure.take().or(written.err());
        self.packets += 1;
        self.bytes += 16 + u64::from(length);
    }

    fn finish(mut self) -> std::io::Result<(u64, u64)> {
        self.file.flush()?;
        self.failure.map_or(Ok((self.packets, self.bytes)), Err)
    }
}

/// One pass over the capture at `path`; with `tables` other than `none` they are written to a directory beside it, whose
/// removal, no part of the analysis, is left to the caller.
pub(crate) fn measure(path: &Path, tables: &str, threads: u64) -> Option<Figures> {
    let wanted: &[Table] = match tables {
        "none" => &[],
        "summary" => &[Table::Connections, Table::Exchanges],
        "all" => Table::ALL,
        _ => return None,
    };
    let options = Options { threads: usize::try_from(threads).ok()?, ..Options::default() };
    let directory = path.with_extension(format!("tables-{}", std::process::id()));
    let start = Instant::now();
    let source = Source::open(path, Limits::default()).ok()?;
    let mut set = match wanted {
        [] => None,
        _ => Some(TableSet::create(&directory, true, wanted, options.threads).ok()?),
    };
    let summary =
        analyze(vec![source], &options, set.as_mut(), &mut |_, _| ControlFlow::Continue(())).ok()?;
    let said = summary.to_json();
    if let Some(set) = set {
        set.finish(vec![path.display().to_string()], json!({}), said.clone()).ok()?;
    }
    let seconds = start.elapsed().as_secs_f64();
    let count = |names: &[&str]| names.iter().fold(&said, |value, name| &value[*name]).as_f64();
    let packets = count(&["packets"])?;
    Some(vec![
        ("packets", packets),
        ("connections", count(&["tcp", "connections"])?),
        ("responses", count(&["http", "responses"])?),
        ("retransmitted", count(&["tcp", "retransmitted"])?),
        ("seconds", seconds),
        ("packets_per_second", packets / seconds),
        ("bytes_per_second", count(&["bytes"])? / seconds),
        ("peak_mib", counting::peak_mib()),
    ])
}
