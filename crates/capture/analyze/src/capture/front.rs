//! The part of the analysis that takes records strictly in order: it shows each frame to the MAC, puts IP
//! fragments together, and hands every TCP packet to the shard of its connection.
//!
//! Leaves out what needs only the packets of one connection, which is most of the work (`flows`).

use std::net::IpAddr;

use airperf_record::WriteError;
use airperf_wire::container::{Batch, Record};
use airperf_wire::{
    Anomalies, Anomaly, Decoder, Flags, Frame, Ip, Link, Payload, PlainTcp, Tcp, Transport, TransportError,
};

use super::application::quic::Quic;
use super::flows::{Carried, Octets, Packet, Pair, SHARDS, Secret, Way};
use super::fragments::{self, Fragments};
use super::options::{Filter, Options};
use super::ordered::{Ordered, Verdict};

/// Whole segments whose checksums are looked at, to tell whether the capturing host left them to its card.
const CHECKSUM_SAMPLE: u64 = 1_024;

/// Anomalies of the way from records to packets: name and what it means.
pub const ANOMALIES: &[(&str, &str)] = &[
    ("filtered_packets", "packets that the filter's addresses and ports leave out"),
    (
        "checksum_wrong",
        "TCP segments with a wrong checksum, among the first 1,024 whole ones (among all with `strict_checksum`, which leaves them out)",
    ),
];

/// Records of a capture and the TCP packets in them.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    pub(crate) batch: Batch,
    pub(crate) lists: [Vec<Packet>; SHARDS],
    /// Options and payloads of packets that were put together.
    reassembled: Vec<u8>,
}

impl Octets for Packets {
    #[inline]
    fn of(&self, packet: &Packet) -> (&[u8], &[u8]) {
        let bytes = match packet.record {
            Some(index) => self.batch.records().get(index as usize).map(|r| self.batch.bytes(r)),
            None => Some(&self.reassembled[..]),
        };
        let (bytes, at) = (bytes.unwrap_or_default(), packet.at as usize);
        let options = bytes.get(at.saturating_sub(usize::from(packet.options))..at);
        let payload = bytes.get(at..at + packet.captured as usize);
        (options.unwrap_or_default(), payload.unwrap_or_default())
    }
}

/// What was met on the way from records to packets.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) filtered: u64,
    pub(crate) checksums_seen: u64,
    pub(crate) checksums_wrong: u64,
    /// TCP and UDP headers that could not be read, and what fragments hid.
    pub(crate) transport: [u64; 2],
}

impl Read {
    /// Each of [`ANOMALIES`] with its count, and transport headers that could not be read.
    pub(crate) fn anomalies(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = [self.filtered, self.checksums_wrong];
        let transport = [Anomaly::CutHeader.name(), Anomaly::Transport.name()];
        ANOMALIES.iter().map(|a| a.0).zip(counts).chain(transport.into_iter().zip(self.transport))
    }
}

/// Where a packet lies.
#[derive(Clone, Copy)]
struct Place {
    record: Option<u32>,
    /// Where its IP payload begins in the record, or among the reassembled octets.
    at: usize,
    ip_bytes: u32,
}

/// A frame's share in its packets.
#[derive(Clone, Copy)]
struct Arrival {
    frame: u64,
    time_ns: u64,
    delivered_ns: u64,
    carried: Carried,
    way: Way,
}

/// Whose a segment is.
struct Ends {
    source: IpAddr,
    destination: IpAddr,
    /// Identification of its packet; `None` for IPv6.
    identification: Option<u16>,
}

/// Takes records in order.
pub(crate) struct Front {
    pub(crate) decoder: Decoder,
    pub(crate) ordered: Ordered,
    pub(crate) fragments: Fragments,
    pub(crate) quic: Quic,
    pub(crate) read: Read,
    secret: Secret,
    filter: Filter,
    filters_packets: bool,
    strict_checksum: bool,
    /// Whether checksums are still looked at.
    checks_checksums: bool,
    /// Whether plain frames are read by [`PlainTcp`].
    short_cuts: bool,
}

impl Front {
    /// Begins with no record seen.
    pub(crate) fn new(options: &Options, ordered: Ordered) -> Self {
        let filter = options.filter.clone();
        let filters_packets = !filter.hosts.is_empty() || !filter.ports.is_empty();
        Self {
            decoder: Decoder::new(),
            ordered,
            fragments: Fragments::default(),
            quic: Quic::default(),
            read: Read::default(),
            secret: Secret::new(),
            filters_packets,
            filter,
            strict_checksum: options.strict_checksum,
            checks_checksums: true,
            short_cuts: options.short_cuts && !filters_packets,
        }
    }

    /// Takes the records of `packets` and hands out what is in them.
    pub(crate) fn take(&mut self, packets: &mut Packets) -> Result<(), WriteError> {
        let Packets { batch, lists, reassembled } = packets;
        lists.iter_mut().for_each(Vec::clear);
        reassembled.clear();
        self.decoder.learn(batch);
        for (index, record) in batch.records().iter().enumerate() {
            if !self.filter.has_time(record.time_ns) {
                continue;
            }
            let bytes = batch.bytes(record);
            match PlainTcp::read(record, bytes).filter(|_| self.short_cuts) {
                Some(plain) => self.plain(index as u32, record, &plain, lists)?,
                None => self.record(index as u32, record, bytes, lists, reassembled)?,
            }
        }
        Ok(())
    }

    /// Takes a plain frame: as [`Self::record`], of which most has nothing to do.
    #[inline]
    fn plain(
        &mut self,
        index: u32,
        record: &Record,
        plain: &PlainTcp<'_>,
        lists: &mut [Vec<Packet>; SHARDS],
    ) -> Result<(), WriteError> {
        self.ordered.plain(record, plain)?;
        let time_ns = u64::try_from(record.time_ns).unwrap_or(0);
        let arrival = Arrival {
            frame: record.number,
            time_ns,
            delivered_ns: time_ns,
            carried: Carried::Wire,
            way: Way::default(),
        };
        let tcp = &plain.tcp;
        if self.checks_checksums && !self.has_right_checksum(tcp, plain.source, plain.destination) {
            return Ok(());
        }
        let ends = ((plain.source, tcp.source_port()), (plain.destination, tcp.destination_port()));
        let place = Place { record: Some(index), at: plain.at, ip_bytes: plain.total_len };
        self.hand_over(Pair::of_v4(ends.0, ends.1), Some(plain.identification), tcp, place, arrival, lists);
        Ok(())
    }

    fn record(
        &mut self,
        index: u32,
        record: &Record,
        bytes: &[u8],
        lists: &mut [Vec<Packet>; SHARDS],
        reassembled: &mut Vec<u8>,
    ) -> Result<(), WriteError> {
        let frame = self.decoder.decode(record, bytes);
        if self.filters_packets && self.is_left_out(&frame.payload) {
            self.read.filtered += 1;
            return Ok(());
        }
        // Nearly every frame carries one packet: its transport is read once.
        let transport = match &frame.payload {
            Payload::Ip(ip) => Some(ip.transport()),
            _ => None,
        };
        let octets = match (&transport, &frame.payload) {
            (Some(Ok(Transport::Tcp(tcp))), Payload::Ip(ip)) if ip.fragment().is_none() => tcp.payload_len(),
            (_, Payload::Amsdu(parts)) => (*parts).map(|part| tcp_octets(&part)).sum(),
            _ => 0,
        };
        let carried = match self.ordered.frame(record, &frame, octets as u32)? {
            Verdict::Pass { mac: false, .. } => Carried::Wire,
            Verdict::Pass { retry: false, .. } => Carried::First,
            Verdict::Pass { .. } => Carried::Retry,
            Verdict::MacDuplicate => Carried::Duplicate,
            Verdict::Noise => return Ok(()),
        };
        let time_ns = u64::try_from(record.time_ns).unwrap_or(0);
        let delivered_ns = delivered_ns(time_ns, carried, &frame);
        let way = match &frame.link {
            Link::Dot11(dot11) => dot11
                .sequence()
                .map(|number| Way::new(number, dot11.to_ds(), dot11.from_ds()))
                .unwrap_or_default(),
            _ => Way::default(),
        };
        let arrival = Arrival { frame: record.number, time_ns, delivered_ns, carried, way };
        match (frame.payload, transport) {
            (Payload::Ip(ip), Some(transport)) => {
                self.packet(index, bytes, &ip, transport, arrival, lists, reassembled);
            }
            (Payload::Amsdu(parts), _) => {
                for part in parts {
                    if let Payload::Ip(ip) = part {
                        self.packet(index, bytes, &ip, ip.transport(), arrival, lists, reassembled);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether the addresses and ports of the filter leave out what a frame carries.
    fn is_left_out(&self, payload: &Payload<'_>) -> bool {
        let Payload::Ip(ip) = payload else { return false };
        let hosts = self.filter.has_hosts(ip.source(), ip.destination());
        let ports = match ip.transport() {
            _ if self.filter.ports.is_empty() => true,
            Ok(Transport::Tcp(tcp)) => self.filter.has_ports(tcp.source_port(), tcp.destination_port()),
            Ok(Transport::Udp(udp)) => self.filter.has_ports(udp.source_port(), udp.destination_port()),
            // Fragments show no ports: they are looked at when they are whole.
            _ => ip.fragment().is_some(),
        };
        !(hosts && ports)
    }

    #[inline]
    #[allow(clippy::too_many_arguments)]
    fn packet(
        &mut self,
        index: u32,
        bytes: &[u8],
        ip: &Ip<'_>,
        transport: Result<Transport<'_>, TransportError>,
        arrival: Arrival,
        lists: &mut [Vec<Packet>; SHARDS],
        reassembled: &mut Vec<u8>,
    ) {
        let Some(fragment) = ip.fragment() else {
            let at = (ip.payload().as_ptr() as usize).wrapping_sub(bytes.as_ptr() as usize);
            let place = Place { record: Some(index), at, ip_bytes: ip.total_len() as u32 };
            self.transport(ip, transport, place, arrival, lists);
            return;
        };
        if arrival.carried == Carried::Duplicate {
            return;
        }
        let Some(whole) = self.fragments.add(arrival.time_ns, ip, fragment) else { return };
        let mut anomalies = Anomalies::default();
        let Some(ip) = fragments::read(&whole, &mut anomalies) else { return };
        let payload = ip.payload();
        let at = reassembled.len();
        let place = Place { record: None, at, ip_bytes: whole.ip_bytes };
        if self.transport(&ip, ip.transport(), place, arrival, lists) {
            reassembled.extend_from_slice(payload);
        }
    }

    /// Hands a TCP packet to its shard; says whether it was one.
    #[inline]
    fn transport(
        &mut self,
        ip: &Ip<'_>,
        transport: Result<Transport<'_>, TransportError>,
        place: Place,
        arrival: Arrival,
        lists: &mut [Vec<Packet>; SHARDS],
    ) -> bool {
        let tcp = match transport {
            Ok(Transport::Tcp(tcp)) => tcp,
            Ok(Transport::Udp(udp)) => {
                let (source, destination) = (ip.source(), ip.destination());
                let (from, to) = ((source, udp.source_port()), (destination, udp.destination_port()));
                self.quic.datagram(from.into(), to.into(), udp.payload_len(), udp.payload());
                return false;
            }
            Ok(Transport::Other) => return false,
            Err(error) => {
                self.note(error);
                return false;
            }
        };
        if place.record.is_none() && !self.filter.has_ports(tcp.source_port(), tcp.destination_port()) {
            self.read.filtered += 1;
            return false;
        }
        let ends = Ends {
            source: ip.source(),
            destination: ip.destination(),
            identification: (!ip.is_v6()).then(|| ip.identification() as u16),
        };
        self.segment(&ends, &tcp, place, arrival, lists)
    }

    /// Hands a segment to its shard; says whether it did.
    #[inline]
    fn segment(
        &mut self,
        ends: &Ends,
        tcp: &Tcp<'_>,
        place: Place,
        arrival: Arrival,
        lists: &mut [Vec<Packet>; SHARDS],
    ) -> bool {
        let Ends { source, destination, identification } = *ends;
        if self.checks_checksums && !self.has_right_checksum(tcp, source, destination) {
            return false;
        }
        let pair = Pair::of((source, tcp.source_port()), (destination, tcp.destination_port()));
        self.hand_over(pair, identification, tcp, place, arrival, lists);
        true
    }

    /// Looks at the checksum of a segment; false where it is wrong and the segment therefore left out.
    #[cold]
    fn has_right_checksum(
        &mut self,
        tcp: &Tcp<'_>,
        source: impl Into<IpAddr>,
        destination: impl Into<IpAddr>,
    ) -> bool {
        let right = tcp.checksum_is_right(source, destination);
        self.read.checksums_seen += u64::from(right.is_some());
        self.read.checksums_wrong += u64::from(right == Some(false));
        self.checks_checksums = self.strict_checksum || self.read.checksums_seen < CHECKSUM_SAMPLE;
        !(self.strict_checksum && right == Some(false))
    }

    #[inline(always)]
    fn hand_over(
        &self,
        (pair, from_low): (Pair, bool),
        identification: Option<u16>,
        tcp: &Tcp<'_>,
        place: Place,
        arrival: Arrival,
        lists: &mut [Vec<Packet>; SHARDS],
    ) {
        let (header, length, flags) = (tcp.header(), tcp.payload_len(), tcp.flags());
        let options = if says_something(flags, tcp.option_bytes()) { tcp.option_bytes().len() } else { 0 };
        let list = &mut lists[pair.shard()];
        // Where there is room a packet is made in its place.
        if list.len() == list.capacity() {
            list.reserve(1);
        }
        list.push(Packet {
            frame: arrival.frame,
            time_ns: arrival.time_ns,
            delivered_ns: arrival.delivered_ns,
            pair,
            hash: self.secret.hash(&pair),
            from_low,
            flags,
            window: tcp.window(),
            seq: tcp.seq(),
            ack: tcp.ack(),
            length: length as u32,
            ip_bytes: place.ip_bytes,
            identification,
            checksum: tcp.checksum(),
            sum: if length > 0 { header_sum(header, tcp.total_len()) } else { 0 },
            carried: arrival.carried,
            way: arrival.way,
            options: options as u8,
            record: place.record,
            at: (place.at + header.len()) as u32,
            captured: tcp.payload().len() as u32,
        });
    }

    #[cold]
    fn note(&mut self, error: TransportError) {
        self.read.transport[usize::from(error.anomaly() != Anomaly::CutHeader)] += 1;
    }
}

/// Whether options are others than the timestamps of nearly all segments, laid out as RFC 7323 appendix A says:
/// shards need not touch the packet then.
#[inline]
fn says_something(flags: Flags, options: &[u8]) -> bool {
    flags.has(Flags::SYN)
        || !(options.is_empty() || options.len() == 12 && options.starts_with(&[1, 1, 8, 10]))
}

/// Ones' complement sum of a TCP header but for its ports, and of the length of the segment.
#[inline]
fn header_sum(header: &[u8], length: usize) -> u16 {
    // Headers are whole words of 32 bits. The sum does not depend on the order of octets (RFC 1071 §2).
    let words = header.get(4..).unwrap_or_default().as_chunks::<4>().0;
    let sum = words.iter().fold(0, |sum: u64, word| sum + u64::from(u32::from_ne_bytes(*word)));
    let fold = |sum: u64| (sum & 0xffff) + (sum >> 16);
    let sum = u16::from_be(fold(fold(fold(sum))) as u16);
    fold(u64::from(sum) + fold(length as u64)) as u16
}

/// Octets of TCP payload in a part of a frame.
fn tcp_octets(part: &Payload<'_>) -> usize {
    let Payload::Ip(ip) = part else { return 0 };
    match ip.transport() {
        Ok(Transport::Tcp(tcp)) if ip.fragment().is_none() => tcp.payload_len(),
        _ => 0,
    }
}

/// When the receiver had a packet: at the end of an 802.11 frame, whose time is that of its begin.
#[inline]
fn delivered_ns(time_ns: u64, carried: Carried, frame: &Frame<'_>) -> u64 {
    if carried == Carried::Wire {
        return time_ns;
    }
    time_ns.saturating_add(frame.airtime.map_or(0, |airtime| airtime.total_ns()))
}
