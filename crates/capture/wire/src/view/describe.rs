//! A frame in words: one line for each layer.
//!
//! Whatever comes from outside is escaped, so that a listing can be shown on a terminal. Lines and fields are for people
//! and may change; programs read the tables. Leaves out payloads, but for the first line of HTTP messages.

use std::fmt;

use crate::container::Record;
use crate::view::amsdu::Amsdu;
use crate::view::decoder::Decoder;
use crate::view::dot11::Dot11;
use crate::view::frame::{Frame, Link, Payload};
use crate::view::ip::{Ip, Transport};
use crate::view::layers::Layer;
use crate::view::radio::{Modulation, Radio};
use crate::view::tcp::Tcp;
use crate::view::tcp_option::{TcpOption, sack_blocks};
use crate::{Anomaly, Mac};

/// Longest first line of an HTTP message that is shown.
const LONGEST_LINE: usize = 200;

/// A frame in words; see [`Decoder::describe`].
#[derive(Debug)]
pub struct Description<'a> {
    record: Record,
    frame: Frame<'a>,
    layers: Vec<Layer<'a>>,
}

impl Decoder {
    /// The captured `bytes` of `record` in words, one line for each layer and a newline after each.
    pub fn describe<'a>(&self, record: &Record, bytes: &'a [u8]) -> Description<'a> {
        let mut layers = Vec::new();
        let frame = self.read(record, bytes, |layer| layers.push(layer));
        Description { record: *record, frame, layers }
    }
}

impl fmt::Display for Description<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (record, frame) = (&self.record, &self.frame);
        let (seconds, nanos) =
            (record.time_ns.div_euclid(1_000_000_000), record.time_ns.rem_euclid(1_000_000_000));
        write!(f, "frame {} at {seconds}.{nanos:09}, {} bytes", record.number, record.original)?;
        if record.captured < record.original {
            write!(f, " ({} captured)", record.captured)?;
        }
        writeln!(f, ", interface {}", record.interface)?;
        radio(f, frame)?;
        link(f, frame)?;
        for layer in &self.layers {
            self::layer(f, layer)?;
        }
        match frame.payload {
            Payload::Ip(ip) => transport(f, &ip)?,
            Payload::Amsdu(parts) => amsdu(f, parts)?,
            Payload::Protected => writeln!(f, "  encrypted")?,
            Payload::Other(0) | Payload::None => {}
            Payload::Other(kind) => writeln!(f, "  type 0x{kind:04x}")?,
        }
        for anomaly in frame.anomalies.iter().map(Anomaly::name) {
            writeln!(f, "  ! {anomaly}")?;
        }
        Ok(())
    }
}

fn radio(f: &mut fmt::Formatter<'_>, frame: &Frame<'_>) -> fmt::Result {
    let radio = &frame.radio;
    if *radio == Radio::default() {
        return Ok(());
    }
    write!(f, "  radio")?;
    if let Some(rate) = radio.rate_bps() {
        write!(f, " {} Mbit/s", rate as f64 / 1e6)?;
    }
    if let Modulation::Dsss { short_preamble: Some(true), .. } = radio.modulation {
        write!(f, " short preamble")?;
    }
    if let Some(mhz) = radio.frequency_mhz {
        write!(f, " {mhz} MHz")?;
    }
    if let Some(dbm) = radio.signal_dbm {
        write!(f, " signal {dbm} dBm")?;
    }
    if let Some(dbm) = radio.noise_dbm {
        write!(f, " noise {dbm} dBm")?;
    }
    if let Some(tsft) = radio.tsft_us {
        write!(f, " clock {tsft} us")?;
    }
    if let Some(airtime) = frame.airtime {
        write!(f, " airtime {} us", airtime.total_ns() as f64 / 1e3)?;
    }
    if let Some(ampdu) = radio.ampdu {
        write!(f, " A-MPDU {}", ampdu.reference)?;
    }
    writeln!(f)
}

fn link(f: &mut fmt::Formatter<'_>, frame: &Frame<'_>) -> fmt::Result {
    match &frame.link {
        Link::None => Ok(()),
        Link::Ethernet { source, destination } => {
            writeln!(f, "  Ethernet {} > {}", Address(*source), Address(*destination))
        }
        Link::Dot11(dot11) => {
            self::dot11(f, dot11)?;
            writeln!(f, " fcs {}", frame.fcs.name())
        }
    }
}

fn dot11(f: &mut fmt::Formatter<'_>, dot11: &Dot11<'_>) -> fmt::Result {
    write!(f, "  802.11 {}", dot11.kind().name())?;
    if let Some(transmitter) = dot11.transmitter() {
        write!(f, " {}", Address(transmitter))?;
    }
    write!(f, " > {}", Address(dot11.receiver()))?;
    if let (Some(sequence), Some(fragment)) = (dot11.sequence(), dot11.fragment()) {
        write!(f, " seq {sequence}")?;
        if fragment > 0 || dot11.more_fragments() {
            write!(f, " fragment {fragment}")?;
        }
    }
    if let Some(tid) = dot11.tid() {
        write!(f, " tid {tid}")?;
    }
    if dot11.retry() {
        write!(f, " retry")?;
    }
    if let Some(duration) = dot11.duration_us() {
        write!(f, " duration {duration} us")?;
    }
    if let Some(block) = dot11.block_ack() {
        write!(f, " from seq {}", block.start)?;
    }
    if let Some(name) = dot11.ssid() {
        write!(f, " ssid \"{}\"", name.escape_ascii())?;
    }
    if let Some(channel) = dot11.channel() {
        write!(f, " channel {channel}")?;
    }
    Ok(())
}

fn layer(f: &mut fmt::Formatter<'_>, layer: &Layer<'_>) -> fmt::Result {
    match layer {
        Layer::Vlan(tag) => writeln!(f, "  VLAN {} priority {}", tag & 0x0fff, tag >> 13),
        Layer::Mpls(entry) => writeln!(f, "  MPLS label {} ttl {}", entry >> 12, entry & 0xff),
        Layer::Pppoe(session) => writeln!(f, "  PPPoE session {session}"),
        Layer::Llc([0xaa, 0xaa, 3]) => Ok(()),
        Layer::Llc([dsap, ssap, control]) => writeln!(f, "  LLC {dsap:#04x} {ssap:#04x} {control:#04x}"),
        Layer::Gre(kind) => writeln!(f, "  GRE of type 0x{kind:04x}"),
        Layer::Vxlan(network) => writeln!(f, "  VXLAN {network}"),
        Layer::Bridged([d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5]) => {
            let (destination, source) = ([*d0, *d1, *d2, *d3, *d4, *d5], [*s0, *s1, *s2, *s3, *s4, *s5]);
            writeln!(f, "  Ethernet {} > {}", Address(source), Address(destination))
        }
        Layer::Ip(ip) => self::ip(f, ip),
    }
}

fn ip(f: &mut fmt::Formatter<'_>, ip: &Ip<'_>) -> fmt::Result {
    let version = if ip.is_v6() { 6 } else { 4 };
    write!(f, "  IPv{version} {} > {} ttl {}", ip.source(), ip.destination(), ip.ttl())?;
    if !ip.is_v6() {
        write!(f, " id {}", ip.identification())?;
    }
    if let Some(fragment) = ip.fragment() {
        let more = if fragment.more { "+" } else { "" };
        write!(f, " fragment {}@{}{more}", fragment.id, fragment.offset)?;
    }
    writeln!(f, " protocol {} {} bytes", ip.protocol(), ip.total_len())
}

fn amsdu(f: &mut fmt::Formatter<'_>, parts: Amsdu<'_>) -> fmt::Result {
    for (n, part) in parts.enumerate() {
        writeln!(f, "  A-MSDU part {}", n + 1)?;
        if let Payload::Ip(ip) = part {
            self::ip(f, &ip)?;
            transport(f, &ip)?;
        }
    }
    Ok(())
}

fn transport(f: &mut fmt::Formatter<'_>, ip: &Ip<'_>) -> fmt::Result {
    match ip.transport() {
        Ok(Transport::Tcp(tcp)) => self::tcp(f, &tcp),
        Ok(Transport::Udp(udp)) => {
            let (from, to) = (udp.source_port(), udp.destination_port());
            writeln!(f, "  UDP {from} > {to} {} bytes", udp.payload_len())
        }
        Ok(Transport::Other) => Ok(()),
        Err(error) => writeln!(f, "  ! {}: {error}", error.anomaly().name()),
    }
}

fn tcp(f: &mut fmt::Formatter<'_>, tcp: &Tcp<'_>) -> fmt::Result {
    let (from, to, seq) = (tcp.source_port(), tcp.destination_port(), tcp.seq());
    write!(f, "  TCP {from} > {to} [{:?}] seq {seq} ack {} win {}", tcp.flags(), tcp.ack(), tcp.window())?;
    write!(f, " {} bytes", tcp.payload_len())?;
    for option in tcp.options() {
        match option {
            TcpOption::Mss(mss) => write!(f, " mss {mss}")?,
            TcpOption::WindowScale(scale) => write!(f, " wscale {scale}")?,
            TcpOption::SackPermitted => write!(f, " sack ok")?,
            TcpOption::Sack(data) => {
                for (from, to) in sack_blocks(data) {
                    write!(f, " sack {from}-{to}")?;
                }
            }
            TcpOption::Timestamps { value, echo } => write!(f, " ts {value}/{echo}")?,
            TcpOption::FastOpen(cookie) => write!(f, " fast open {} bytes", cookie.len())?,
            TcpOption::Other { kind: 30, .. } => write!(f, " mptcp")?,
            TcpOption::Md5(_) => write!(f, " md5")?,
            TcpOption::Authentication(_) => write!(f, " authenticated")?,
            TcpOption::UserTimeout { value, minutes } => {
                write!(f, " user timeout {value} {}", if minutes { "min" } else { "s" })?;
            }
            TcpOption::Other { kind, .. } => write!(f, " option {kind}")?,
        }
    }
    writeln!(f)?;
    match http_line(tcp.payload()) {
        Some(line) => writeln!(f, "  HTTP {}", line.escape_ascii()),
        None => Ok(()),
    }
}

/// The first line of an HTTP/1 message, cut at [`LONGEST_LINE`].
fn http_line(payload: &[u8]) -> Option<&[u8]> {
    let end = payload.iter().take(LONGEST_LINE).position(|octet| *octet == b'\n');
    let line = payload.get(..end.unwrap_or(payload.len().min(LONGEST_LINE)))?.trim_ascii_end();
    let (first, rest) = line.split_at_checked(line.iter().position(|octet| *octet == b' ')?)?;
    let method = !first.is_empty() && first.iter().all(u8::is_ascii_uppercase);
    // A request line that was cut has no version any more.
    let version = end.is_none() || rest.windows(6).any(|w| w == b"HTTP/1");
    (first.starts_with(b"HTTP/1.") || method && version).then_some(line)
}

/// A MAC address as it is usually written.
struct Address(Mac);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}
