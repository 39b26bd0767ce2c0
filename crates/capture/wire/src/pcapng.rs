//! Writes pcapng: one little-endian section, nanosecond time stamps, any number of interfaces.
//!
//! Reference: draft-ietf-opsawg-pcapng (section header §4.1, interface description §4.2, enhanced packet
//! §4.3, name resolution §4.5). Every packet goes straight to the sink in its pieces; nothing is copied
//! or allocated. Put a buffer under it: a packet is several small writes.
//!
//! Leaves out reading, statistics blocks, and time stamps of other resolutions.

use std::io::{self, Write};
use std::net::Ipv4Addr;

/// What the packets of an interface begin with (the registry of link types at tcpdump.org).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum LinkType {
    /// Ethernet header, without frame check sequence.
    Ethernet = 1,
    /// IPv4 or IPv6 header.
    RawIp = 101,
    /// Radiotap, then an 802.11 header.
    Radiotap = 127,
}

/// An interface of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Interface<'a> {
    /// What its packets begin with.
    pub link_type: LinkType,
    /// Short name.
    pub name: &'a str,
    /// What it is, for a reader.
    pub description: &'a str,
}

/// Number of an interface within its capture, from [`Writer::interface`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceId(u32);

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const INTERFACE_DESCRIPTION: u32 = 1;
const NAME_RESOLUTION: u32 = 4;
const ENHANCED_PACKET: u32 = 6;
/// Type and length before a block's body, length after it.
const BLOCK_OVERHEAD: usize = 12;
/// Interface, time stamp (two words), captured and original length.
const PACKET_FIELDS: usize = 20;

const OPT_COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
/// Time stamps count units of 10^-9 s.
const NANOSECONDS: u8 = 9;
const NRB_RECORD_IPV4: u16 = 1;

/// Writes a capture to `W`.
#[derive(Debug)]
pub struct Writer<W> {
    sink: W,
    interfaces: u32,
    epoch_ns: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a capture whose time 0 is `epoch_ns` nanoseconds after 1970; 0 where a run has no date.
    ///
    /// # Errors
    /// The sink's.
    pub fn new(sink: W, application: &str, epoch_ns: u64) -> io::Result<Self> {
        let mut body = Vec::new();
        body.extend_from_slice(&BYTE_ORDER_MAGIC.to_le_bytes());
        body.extend_from_slice(&1u16.to_le_bytes());
        body.extend_from_slice(&0u16.to_le_bytes());
        // The length of the section is not known beforehand: −1 (§4.1).
        body.extend_from_slice(&u64::MAX.to_le_bytes());
        option(&mut body, SHB_USERAPPL, application.as_bytes());
        end_of_options(&mut body);
        let mut writer = Self { sink, interfaces: 0, epoch_ns };
        writer.block(SECTION_HEADER, &body)?;
        Ok(writer)
    }

    /// Adds an interface.
    ///
    /// # Errors
    /// The sink's.
    pub fn interface(&mut self, interface: Interface<'_>) -> io::Result<InterfaceId> {
        let mut body = Vec::new();
        body.extend_from_slice(&(interface.link_type as u16).to_le_bytes());
        body.extend_from_slice(&[0; 2]);
        // No limit on the length of packets.
        body.extend_from_slice(&0u32.to_le_bytes());
        option(&mut body, IF_NAME, interface.name.as_bytes());
        option(&mut body, IF_DESCRIPTION, interface.description.as_bytes());
        option(&mut body, IF_TSRESOL, &[NANOSECONDS]);
        end_of_options(&mut body);
        self.block(INTERFACE_DESCRIPTION, &body)?;
        self.interfaces += 1;
        Ok(InterfaceId(self.interfaces - 1))
    }

    /// Gives IPv4 addresses the names of the stations that have them.
    ///
    /// # Errors
    /// The sink's.
    pub fn names<'a>(&mut self, names: impl IntoIterator<Item = (Ipv4Addr, &'a str)>) -> io::Result<()> {
        let mut body = Vec::new();
        for (address, name) in names {
            let mut record = address.octets().to_vec();
            record.extend(name.bytes().filter(|b| *b != 0));
            record.push(0);
            option(&mut body, NRB_RECORD_IPV4, &record);
        }
        end_of_options(&mut body);
        self.block(NAME_RESOLUTION, &body)
    }

    /// Adds a packet made of `parts`, seen on `interface` at `time_ns` since the start of the run.
    ///
    /// # Errors
    /// The sink's; [`io::ErrorKind::InvalidInput`] for a packet of 4 GiB or more.
    pub fn packet(
        &mut self,
        interface: InterfaceId,
        time_ns: u64,
        parts: &[&[u8]],
        comment: Option<&str>,
    ) -> io::Result<()> {
        let length: usize = parts.iter().map(|p| p.len()).sum();
        let options = comment.map_or(0, |c| 4 + padded(c.len()) + 4);
        let total = BLOCK_OVERHEAD + PACKET_FIELDS + padded(length) + options;
        let total = u32::try_from(total)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, format!("packet of {length} bytes")))?;
        let time = self.epoch_ns.saturating_add(time_ns);
        let words = [
            ENHANCED_PACKET,
            total,
            interface.0,
            (time >> 32) as u32,
            time as u32,
            length as u32,
            length as u32,
        ];
        let mut head = [0; 28];
        for (place, word) in head.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self.sink.write_all(&head)?;
        for part in parts {
            self.sink.write_all(part)?;
        }
        self.pad(length)?;
        if let Some(comment) = comment {
            self.sink.write_all(&OPT_COMMENT.to_le_bytes())?;
            self.sink.write_all(&(comment.len() as u16).to_le_bytes())?;
            self.sink.write_all(comment.as_bytes())?;
            self.pad(comment.len())?;
            self.sink.write_all(&[0; 4])?;
        }
        self.sink.write_all(&total.to_le_bytes())
    }

    /// Gives the sink back; there is nothing to write at the end.
    pub fn into_inner(self) -> W {
        self.sink
    }

    fn block(&mut self, kind: u32, body: &[u8]) -> io::Result<()> {
        let total = (BLOCK_OVERHEAD + body.len()) as u32;
        self.sink.write_all(&kind.to_le_bytes())?;
        self.sink.write_all(&total.to_le_bytes())?;
        self.sink.write_all(body)?;
        self.sink.write_all(&total.to_le_bytes())
    }

    fn pad(&mut self, length: usize) -> io::Result<()> {
        self.sink.write_all(&[0; 3][..padded(length) - length])
    }
}

/// Blocks and options fill whole 32-bit words.
fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}

/// Appends an option, or a record of the same form, cut at the 65,535 bytes that fit.
fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    body.extend_from_slice(&code.to_le_bytes());
    body.extend_from_slice(&(value.len() as u16).to_le_bytes());
    body.extend_from_slice(value);
    body.resize(padded(body.len()), 0);
}

fn end_of_options(body: &mut Vec<u8>) {
    body.extend_from_slice(&[0; 4]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_capture_byte_by_byte() {
        let mut writer = Writer::new(Vec::new(), "app", 1_000).unwrap();
        let interface = Interface { link_type: LinkType::RawIp, name: "a", description: "bc" };
        let id = writer.interface(interface).unwrap();
        writer.packet(id, 1 << 32, &[&[1, 2], &[3]], Some("why")).unwrap();
        let bytes = writer.into_inner();
        #[rustfmt::skip]
        let expected: &[u8] = &[
            0x0a, 0x0d, 0x0d, 0x0a, 40, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0,
            0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 4, 0, 3, 0, b'a', b'p', b'p', 0, 0, 0, 0, 0, 40, 0, 0, 0,
            1, 0, 0, 0, 48, 0, 0, 0, 101, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, b'a', 0, 0, 0,
            3, 0, 2, 0, b'b', b'c', 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 48, 0, 0, 0,
            6, 0, 0, 0, 48, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0xe8, 3, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 1, 2, 3, 0,
            1, 0, 3, 0, b'w', b'h', b'y', 0, 0, 0, 0, 0, 48, 0, 0, 0,
        ];
        assert_eq!(bytes, expected);
    }
}
