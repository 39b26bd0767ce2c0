//! Captures written packet by packet, and what the analysis finds in them.

use std::io::Cursor;
use std::net::Ipv4Addr;
use std::ops::ControlFlow;

use airperf_analyze::capture::{Options, Summary, Table, TableSet, analyze};
use airperf_record::capture::{ConnectionRow, ExchangeRow, RetransmissionRow, SegmentRow, SeriesRow};
use airperf_record::{Row, read};
use airperf_wire::container::{Limits, Source};
use airperf_wire::{Flags, LinkType, TcpOptions, TcpPacket};

pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
pub(crate) const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
pub(crate) const SYN: Flags = Flags::SYN;
pub(crate) const SYN_ACK: Flags = Flags(0x12);
pub(crate) const ACK: Flags = Flags::ACK;
pub(crate) const FIN: Flags = Flags(0x11);
pub(crate) const RST: Flags = Flags(0x14);
pub(crate) const GET: &[u8] = b"GET /1 HTTP/1.1\r\nHost: server\r\n\r\n";
pub(crate) const GET_BYTES: u32 = GET.len() as u32;
pub(crate) const MS: i64 = 1_000_000;

/// A response with a body of `length` octets.
pub(crate) fn response(length: usize) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").into_bytes();
    bytes.resize(bytes.len() + length, b'x');
    bytes
}

/// A packet of the conversation at hand, to be changed before it is written.
pub(crate) struct Change<'a> {
    pub(crate) packet: TcpPacket<'a>,
}

/// Packets of a capture, and the conversation that goes on in them.
#[derive(Clone)]
pub(crate) struct Script {
    pub(crate) client: Ipv4Addr,
    pub(crate) client_port: u16,
    /// Initial sequence numbers of client and server.
    pub(crate) initial: (u32, u32),
    pub(crate) window: u16,
    pub(crate) identification: u16,
    /// Times and IP packets.
    pub(crate) packets: Vec<(i64, Vec<u8>)>,
    /// Most octets captured of each.
    pub(crate) snap: usize,
}

impl Script {
    pub(crate) fn new() -> Self {
        Self {
            client: CLIENT,
            client_port: 40_000,
            initial: (u32::MAX - 3, 7_000),
            window: 5_840,
            identification: 1,
            packets: Vec::new(),
            snap: usize::MAX,
        }
    }

    /// A packet of the client (`up`) or the server; numbers are relative to the initial ones.
    pub(crate) fn send(&mut self, at: i64, up: bool, flags: Flags, seq: u32, ack: u32, payload: &[u8]) {
        self.send_with(at, up, flags, seq, ack, payload, |_| {});
    }

    #[allow(clippy::too_many_arguments)]
    pub(crate) fn send_with<'a>(
        &mut self,
        at: i64,
        up: bool,
        flags: Flags,
        seq: u32,
        ack: u32,
        payload: &[u8],
        change: impl FnOnce(&mut Change<'a>),
    ) {
        let (client, server) = self.initial;
        let (mine, theirs) = if up { (client, server) } else { (server, client) };
        let ends = (self.client, self.client_port, SERVER, 80);
        let (source, source_port, destination, destination_port) =
            if up { ends } else { (ends.2, ends.3, ends.0, ends.1) };
        let mut change_of = Change {
            packet: TcpPacket {
                source,
                destination,
                source_port,
                destination_port,
                seq: mine.wrapping_add(seq),
                ack: if flags.has(ACK) { theirs.wrapping_add(ack) } else { 0 },
                flags,
                window: self.window,
                options: TcpOptions::default(),
                identification: self.identification,
                ttl: 64,
            },
        };
        self.identification = self.identification.wrapping_add(1).max(1);
        change(&mut change_of);
        let mut bytes = Vec::new();
        change_of.packet.write(payload, &mut bytes);
        self.packets.push((at, bytes));
    }

    /// The handshake, 10 ms a step.
    pub(crate) fn handshake(&mut self, at: i64) {
        self.send(at, true, SYN, 0, 0, &[]);
        self.send(at + 10 * MS, false, SYN_ACK, 0, 1, &[]);
        self.send(at + 20 * MS, true, ACK, 1, 1, &[]);
    }

    /// The handshake with a window scale on both sides.
    pub(crate) fn scaled_handshake(&mut self, at: i64, scale: u8) {
        let scaled = |c: &mut Change<'_>| c.packet.options.window_scale = Some(scale);
        self.send_with(at, true, SYN, 0, 0, &[], scaled);
        self.send_with(at + 10 * MS, false, SYN_ACK, 0, 1, &[], scaled);
        self.send(at + 20 * MS, true, ACK, 1, 1, &[]);
    }

    /// A connection that fetches one object of `body` octets and closes.
    pub(crate) fn fetch(&mut self, at: i64, body: usize) {
        self.handshake(at);
        let (q, mut r, mut now) = (1 + GET_BYTES, 1, at + 30 * MS);
        self.send(now, true, ACK, 1, 1, GET);
        for piece in response(body).chunks(1_448) {
            now += MS;
            self.send(now, false, ACK, r, q, piece);
            r += piece.len() as u32;
            self.send(now + MS / 2, true, ACK, q, r, &[]);
        }
        self.send(now + 2 * MS, true, FIN, q, r, &[]);
        self.send(now + 3 * MS, false, FIN, r, q + 1, &[]);
        self.send(now + 4 * MS, true, ACK, q + 1, r + 1, &[]);
    }

    /// The capture as a file: pcap, nanoseconds.
    pub(crate) fn pcap(&self, link: LinkType) -> Vec<u8> {
        let mut file = Vec::new();
        for word in [0xa1b2_3c4du32, 0x0004_0002, 0, 0, 262_144, u32::from(link.0)] {
            file.extend(word.to_le_bytes());
        }
        for (at, bytes) in &self.packets {
            let captured = bytes.len().min(self.snap);
            let (second, nanosecond) = (at / 1_000_000_000, at % 1_000_000_000);
            for word in [second as u32, nanosecond as u32, captured as u32, bytes.len() as u32] {
                file.extend(word.to_le_bytes());
            }
            file.extend_from_slice(&bytes[..captured]);
        }
        file
    }

    pub(crate) fn source(&self) -> Source {
        source(self.pcap(LinkType::RAW))
    }

    /// Everything the analysis finds.
    pub(crate) fn seen(&self) -> Seen {
        Seen::of(vec![self.source()], &Options::default())
    }

    pub(crate) fn seen_with(&self, options: &Options) -> Seen {
        Seen::of(vec![self.source()], options)
    }
}

pub(crate) fn source(file: Vec<u8>) -> Source {
    Source::stream("test", Box::new(Cursor::new(file)), Limits::default()).expect("a capture")
}

/// What the analysis found.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) summary: Summary,
    pub(crate) connections: Vec<ConnectionRow>,
    pub(crate) exchanges: Vec<ExchangeRow>,
    pub(crate) segments: Vec<SegmentRow>,
    pub(crate) series: Vec<SeriesRow>,
    pub(crate) retransmissions: Vec<RetransmissionRow>,
}

impl Seen {
    pub(crate) fn of(sources: Vec<Source>, options: &Options) -> Self {
        let home = tempfile::tempdir().expect("a place for tables");
        let path = home.path().join("capture");
        let mut tables = TableSet::create(&path, false, Table::ALL, options.threads).expect("tables");
        let summary = analyze(sources, options, Some(&mut tables), &mut |_, _| ControlFlow::Continue(()));
        let summary = summary.expect("an analysis");
        tables.finish(Vec::new(), serde_json::json!({}), summary.to_json()).expect("tables");
        fn rows<R: Row>(path: &std::path::Path) -> Vec<R> {
            read::rows(&path.join(R::FILE)).expect("a table").map(|row| row.expect("a row")).collect()
        }
        Self {
            summary,
            connections: rows(&path),
            exchanges: rows(&path),
            segments: rows(&path),
            series: rows(&path),
            retransmissions: rows(&path),
        }
    }

    /// The only connection.
    pub(crate) fn connection(&self) -> &ConnectionRow {
        let [connection] = &self.connections[..] else { panic!("{:?}", self.connections) };
        connection
    }

    pub(crate) fn novelties(&self) -> Vec<&'static str> {
        self.segments.iter().map(|s| s.novelty).collect()
    }
}
