//! IPv6 headers and the chain of extension headers behind them.
//!
//! Reference: RFC 8200 §3 and §4, RFC 2675 (jumbograms), RFC 6946 (atomic fragments), RFC 4302 (authentication header).
//! At most [`MOST_HEADERS`] extension headers are followed. Leaves out what routing headers and options ask for.

use crate::view::anomaly::{Anomalies, Anomaly};
use crate::view::bytes::{be16, be32};
use crate::view::ip::{Fragment, Ip};

const HEADER: usize = 40;
/// More than any known use of IPv6 needs; a chain made to keep a reader busy ends here.
const MOST_HEADERS: usize = 10;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const NO_NEXT_HEADER: u8 = 59;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
const HOST_IDENTITY: u8 = 139;
const SHIM6: u8 = 140;

/// Why bytes are no IPv6 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ipv6Error {
    /// The capture ends within the headers.
    #[error("IPv6 headers need {need} bytes, {have} were captured")]
    Cut {
        /// Bytes captured.
        have: usize,
        /// Bytes the headers take at least.
        need: usize,
    },
    /// An extension header reaches past the packet.
    #[error("IPv6 extension headers of {headers} bytes in a packet of {total}")]
    HeaderLength {
        /// Bytes the headers claim.
        headers: usize,
        /// Length of the packet.
        total: usize,
    },
}

/// The packet at the beginning of `bytes`, whose version is known to be 6.
pub(crate) fn parse<'a>(
    bytes: &'a [u8],
    missing: usize,
    anomalies: &mut Anomalies,
) -> Result<Ip<'a>, Ipv6Error> {
    let have = bytes.len();
    let (Some(length), Some(protocol), true) = (be16(bytes, 4), bytes.get(6).copied(), have >= HEADER) else {
        return Err(Ipv6Error::Cut { have, need: HEADER });
    };
    let sent = have + missing;
    let total = match (length, protocol) {
        (0, NO_NEXT_HEADER) => HEADER,
        (0, HOP_BY_HOP) => match jumbo_length(bytes) {
            Some(length) => HEADER.saturating_add(length),
            None => sent,
        },
        // Too long for 16 bits: still to be cut up by the card.
        (0, _) => {
            anomalies.insert(Anomaly::Offload);
            sent
        }
        (length, _) => HEADER + usize::from(length),
    };
    if total > sent {
        anomalies.insert(Anomaly::IpTooLong);
    }
    let ip = Ip {
        bytes: bytes.get(..total).unwrap_or(bytes),
        header: HEADER as u32,
        total: u32::try_from(total).unwrap_or(u32::MAX),
        fragment: None,
        protocol,
        v6: true,
        depth: 0,
    };
    if is_extension(protocol) { follow(ip, anomalies) } else { Ok(ip) }
}

fn is_extension(protocol: u8) -> bool {
    matches!(
        protocol,
        HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION | MOBILITY | HOST_IDENTITY | SHIM6
    )
}

/// Follows extension headers from where `ip.header` ends.
pub(crate) fn follow<'a>(mut ip: Ip<'a>, anomalies: &mut Anomalies) -> Result<Ip<'a>, Ipv6Error> {
    for _ in 0..MOST_HEADERS {
        if !is_extension(ip.protocol) {
            return Ok(ip);
        }
        let at = ip.header as usize;
        let cut = |need| Ipv6Error::Cut { have: ip.bytes.len(), need };
        let &[next, words, ..] = ip.bytes.get(at..).unwrap_or_default() else {
            return Err(past(&ip, at + 8).unwrap_or(cut(at + 8)));
        };
        let length = match ip.protocol {
            FRAGMENT => 8,
            AUTHENTICATION => (usize::from(words) + 2) * 4,
            _ => (usize::from(words) + 1) * 8,
        };
        if let Some(error) = past(&ip, at + length) {
            return Err(error);
        }
        if ip.bytes.len() < at + length {
            return Err(cut(at + length));
        }
        let fragment = (ip.protocol == FRAGMENT).then(|| fragment(ip.bytes, at)).flatten();
        ip.header += length as u32;
        ip.protocol = next;
        match fragment {
            Some(Fragment { offset: 0, more: false, .. }) => anomalies.insert(Anomaly::AtomicFragment),
            Some(_) => {
                ip.fragment = fragment;
                return Ok(ip);
            }
            None => {}
        }
    }
    if is_extension(ip.protocol) {
        anomalies.insert(Anomaly::Ipv6Extensions);
    }
    Ok(ip)
}

/// The error of headers that end at `end`, past the packet.
fn past(ip: &Ip<'_>, end: usize) -> Option<Ipv6Error> {
    let total = ip.total_len();
    (end > total).then_some(Ipv6Error::HeaderLength { headers: end, total })
}

fn fragment(bytes: &[u8], at: usize) -> Option<Fragment> {
    let word = be16(bytes, at + 2)?;
    Some(Fragment { id: be32(bytes, at + 4)?, offset: u32::from(word & !7), more: word & 1 == 1 })
}

/// The payload length that a jumbo option in the hop-by-hop header at once after the IPv6 header tells.
fn jumbo_length(bytes: &[u8]) -> Option<usize> {
    const PAD1: u8 = 0;
    const JUMBO: u8 = 0xc2;
    let header = bytes.get(HEADER..)?;
    let length = (usize::from(*header.get(1)?) + 1) * 8;
    let mut options = header.get(2..length)?;
    loop {
        options = match *options {
            [PAD1, ref rest @ ..] => rest,
            [JUMBO, 4, a, b, c, d, ..] => return usize::try_from(u32::from_be_bytes([a, b, c, d])).ok(),
            [_, length, ref rest @ ..] => rest.get(usize::from(length)..)?,
            _ => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::ip::{PROTOCOL_TCP, Transport};

    /// A packet with these extension headers before 20 octets of TCP header and `data` octets.
    fn packet(chain: &[(u8, Vec<u8>)], data: usize) -> Vec<u8> {
        let mut bytes = vec![0x60, 0, 0, 0, 0, 0, 0, 64];
        bytes.extend([1; 16]);
        bytes.extend([2; 16]);
        bytes[6] = chain.first().map_or(PROTOCOL_TCP, |(kind, _)| *kind);
        for (n, (_, body)) in chain.iter().enumerate() {
            bytes.push(chain.get(n + 1).map_or(PROTOCOL_TCP, |(kind, _)| *kind));
            bytes.extend(body);
        }
        bytes.extend([0, 80, 0, 81, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0, 0, 0, 0, 0, 0]);
        bytes.resize(bytes.len() + data, 7);
        let length = (bytes.len() - HEADER) as u16;
        bytes[4..6].copy_from_slice(&length.to_be_bytes());
        bytes
    }

    fn options(bytes: [u8; 6]) -> Vec<u8> {
        [&[0][..], &bytes].concat()
    }

    fn read(bytes: &[u8]) -> (Result<Ip<'_>, Ipv6Error>, Anomalies) {
        let mut anomalies = Anomalies::default();
        (parse(bytes, 0, &mut anomalies), anomalies)
    }

    fn payload_len(ip: &Ip<'_>) -> usize {
        let Ok(Transport::Tcp(tcp)) = ip.transport() else { panic!("no TCP: {ip:?}") };
        tcp.payload_len()
    }

    #[test]
    fn fault_28_chains_of_extension_headers_lead_to_the_transport() {
        let pad = || options([1, 4, 0, 0, 0, 0]);
        let routing = vec![0, 2, 0, 0, 0, 0, 0];
        let authentication = [&[4][..], &[0; 22]].concat();
        let chain =
            [(HOP_BY_HOP, pad()), (DESTINATION, pad()), (ROUTING, routing), (AUTHENTICATION, authentication)];
        let mut bytes = packet(&chain, 5);
        bytes.extend([0xee; 4]);
        let (ip, anomalies) = read(&bytes);
        let ip = ip.unwrap();
        assert_eq!((ip.protocol(), payload_len(&ip), ip.header().len()), (PROTOCOL_TCP, 5, 40 + 24 + 24));
        assert!(anomalies.is_empty(), "{anomalies:?}");
    }

    #[test]
    fn fault_28_an_endless_chain_ends_and_is_told() {
        let chain = vec![(DESTINATION, options([1, 4, 0, 0, 0, 0])); 300];
        let bytes = packet(&chain, 0);
        let (ip, anomalies) = read(&bytes);
        assert_eq!(ip.unwrap().transport(), Ok(Transport::Other));
        assert!(anomalies.contains(Anomaly::Ipv6Extensions));
    }

    #[test]
    fn fault_28_zero_length_options_do_not_loop() {
        for option in [[0xc2, 0, 0, 0, 0, 0], [5, 0, 5, 0, 5, 0], [0, 0, 0, 0, 0, 0x3e]] {
            let mut bytes = packet(&[(HOP_BY_HOP, options(option))], 3);
            bytes[4..6].fill(0);
            assert_eq!(payload_len(&read(&bytes).0.unwrap()), 3, "{option:?}");
        }
    }

    #[test]
    fn fault_28_a_jumbogram_is_as_long_as_its_option_says() {
        let length = 70_000_u32 + 20 + 8;
        let mut option = [0xc2, 4, 0, 0, 0, 0];
        option[2..].copy_from_slice(&length.to_be_bytes());
        let mut bytes = packet(&[(HOP_BY_HOP, options(option))], 70_000);
        bytes[4..6].fill(0);
        bytes.extend([0xee; 9]);
        assert_eq!(payload_len(&read(&bytes).0.unwrap()), 70_000);
    }

    #[test]
    fn fault_28_atomic_fragments_are_whole_packets_and_counted() {
        let fragment = |word: u16| {
            let [a, b] = word.to_be_bytes();
            [(FRAGMENT, vec![0, a, b, 0, 0, 0, 9])]
        };
        let bytes = packet(&fragment(0), 5);
        let (ip, anomalies) = read(&bytes);
        assert_eq!((ip.unwrap().fragment(), payload_len(&ip.unwrap())), (None, 5));
        assert!(anomalies.contains(Anomaly::AtomicFragment));
        let bytes = packet(&fragment(16), 5);
        let (ip, anomalies) = read(&bytes);
        assert_eq!(ip.unwrap().fragment(), Some(Fragment { id: 9, offset: 16, more: false }));
        assert_eq!(ip.unwrap().transport(), Ok(Transport::Other), "a later fragment has no header");
        assert!(anomalies.is_empty());
        let bytes = packet(&fragment(1), 5);
        assert_eq!(read(&bytes).0.unwrap().fragment(), Some(Fragment { id: 9, offset: 0, more: true }));
    }

    #[test]
    fn headers_cut_or_past_the_packet_are_refused() {
        let bytes = packet(&[(DESTINATION, options([1, 4, 0, 0, 0, 0]))], 0);
        assert_eq!(
            parse(&bytes[..39], 100, &mut Anomalies::default()),
            Err(Ipv6Error::Cut { have: 39, need: 40 })
        );
        for have in 40..48 {
            let cut = parse(&bytes[..have], 100, &mut Anomalies::default());
            assert_eq!(cut, Err(Ipv6Error::Cut { have, need: 48 }));
        }
        let mut long = bytes;
        long[41] = 200;
        assert_eq!(read(&long).0, Err(Ipv6Error::HeaderLength { headers: 40 + 201 * 8, total: 68 }));
    }
}
